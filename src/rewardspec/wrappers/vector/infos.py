"""Entries of a vector environment's infos, as Gymnasium arranges them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.machines.array_code import State
from rewardspec.machines.machine import Places
from rewardspec.spec import Spec

Mask = NDArray[np.bool_]


def note(infos: dict[str, Any], key: str, values: NDArray[Any], mask: Mask) -> None:
    """Add an entry and the mask `_key` that tells which environments it is about; zeros stand for the others.

    The values become the entry's own: they are written over where the mask is false. Like Gymnasium, adds nothing
    where it is about none.

    Example:
        >>> infos = {}
        >>> note(infos, "length", np.array([3, 4]), np.array([True, False]))
        >>> infos
        {'length': array([3, 0]), '_length': array([ True, False])}
    """
    count = np.count_nonzero(mask)
    if count == 0:
        return
    if count < mask.size:
        values[~mask] = 0
    infos[key], infos[f"_{key}"] = values, mask.copy()


def note_state(infos: dict[str, Any], spec: Spec, state: State, mask: Mask, newly: Mask) -> None:
    """Add what is known of the spec's state in some environments; `newly` says where it was just violated."""
    if mask.any():
        values: dict[str, Any] = {}
        for name, column in zip(spec.names, spec.values(state), strict=True):
            note(values, name, np.array(column), mask)
        infos["formula_values"], infos["_formula_values"] = values, mask.copy()
    note(infos, "violated", spec.violated(state), mask)
    note(infos, "cost", newly.astype(np.float64), mask)


def note_step(
    infos: dict[str, Any],
    spec: Spec,
    state: State,
    base_rewards: NDArray[np.float64],
    began: Places,
    newly: Mask,
) -> None:
    """Add what is known after a step of all environments.

    Args:
        infos: The step's infos.
        spec: The spec.
        state: Its state after the step.
        base_rewards: The environments' own rewards; they become the entry's own.
        began: Where an episode began, so that there is no reward.
        newly: Where a safety objective was violated by this step.
    """
    mask = everyone(base_rewards.size)
    values: dict[str, Any] = {}
    for name, column in zip(spec.names, spec.values(state), strict=True):
        values[name], values[f"_{name}"] = column.copy(), mask
    infos["formula_values"], infos["_formula_values"] = values, mask
    infos["violated"], infos["_violated"] = spec.violated(state), mask
    infos["cost"], infos["_cost"] = newly.astype(np.float64), mask
    if began.size:
        mask = everyone(base_rewards.size, but=began)
        base_rewards[began] = 0.0
    if began.size < mask.size:
        infos["base_reward"], infos["_base_reward"] = base_rewards, mask


def everyone(count: int, but: Places | None = None) -> Mask:
    """A mask of all environments, or of all but some.

    Example:
        >>> everyone(3, but=np.array([1]))
        array([ True, False,  True])
    """
    mask = np.empty(count, dtype=np.bool_)
    mask.fill(True)
    if but is not None:
        mask[but] = False
    return mask
