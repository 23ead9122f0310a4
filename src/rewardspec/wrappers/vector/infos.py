"""Entries of a vector environment's infos, as Gymnasium arranges them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rewardspec.machines.array_code import State
from rewardspec.machines.machine import Places
from rewardspec.spec import Spec
from rewardspec.types import Array, InfoDict

Mask = NDArray[np.bool_]


def note(infos: InfoDict, key: str, values: np.ndarray, mask: Mask) -> None:
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


def note_state(infos: InfoDict, spec: Spec, state: State, mask: Mask, newly: Mask) -> None:
    """Add what is known of the spec's state in some environments; `newly` says where it was just violated."""
    if mask.any():
        values: dict[str, Array] = {}
        for name, column in zip(spec.names, spec.values(state), strict=True):
            note(values, name, np.array(column), mask)
        infos["formula_values"], infos["_formula_values"] = values, mask.copy()
        _note_things(infos, spec, state, mask)
    note(infos, "violated", spec.violated(state), mask)
    note(infos, "cost", newly.astype(np.float64), mask)


def _note_things(infos: InfoDict, spec: Spec, state: State, mask: Mask) -> None:
    """Add which thing has the smallest value of each pair about things; an empty text where the mask is false."""
    if spec.has_quantifiers:
        worst = {name: np.where(mask, things, "") for name, things in spec.worst_things(state).items()}
        infos["worst_things"] = {**worst, **{f"_{name}": mask.copy() for name in worst}}
        infos["_worst_things"] = mask.copy()


def note_step(
    infos: InfoDict,
    spec: Spec,
    state: State,
    base_rewards: NDArray[np.float64],
    began: Places,
    violated: Mask,
    newly: Mask,
) -> None:
    """Add what is known after a step of all environments.

    Args:
        infos: The step's infos.
        spec: The spec.
        state: Its state after the step.
        base_rewards: The environments' own rewards; they become the entry's own.
        began: Where an episode began, so that there is no reward.
        violated: Where a veto is in force; becomes the entry's own.
        newly: Where this step caused the first violation of the episode.
    """
    mask = everyone(base_rewards.size)
    values: dict[str, Array] = {}
    for name, column in zip(spec.names, spec.values(state), strict=True):
        values[name], values["_" + name] = column.copy(), mask
    infos["formula_values"], infos["_formula_values"] = values, mask
    _note_things(infos, spec, state, mask)
    infos["violated"], infos["_violated"] = violated, mask
    infos["cost"], infos["_cost"] = newly.astype(np.float64), mask
    if began.size:
        mask = mask.copy()
        mask[began] = False
        base_rewards[began] = 0.0
    if began.size < mask.size:
        infos["base_reward"], infos["_base_reward"] = base_rewards, mask


def everyone(count: int) -> Mask:
    """A mask of all environments.

    Example:
        >>> everyone(3)
        array([ True,  True,  True])
    """
    mask = np.empty(count, dtype=np.bool_)
    mask.fill(True)
    return mask
