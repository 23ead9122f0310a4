"""Entries of a vector environment's infos, as Gymnasium arranges them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rewardspec.machines.array_code import State
from rewardspec.machines.machine import Places
from rewardspec.machines.namespaces import namespace_of
from rewardspec.spec import Spec
from rewardspec.types import Array, InfoDict

Mask = NDArray[np.bool_]


def note(infos: InfoDict, key: str, values: Array, mask: Array) -> None:
    """Add an entry and the mask `_key` that tells which environments it is about; zeros stand for the others.

    For arrays of NumPy, JAX and torch. Like Gymnasium, adds nothing in NumPy where it is about none.

    Example:
        >>> infos = {}
        >>> note(infos, "length", np.array([3, 4]), np.array([True, False]))
        >>> infos
        {'length': array([3, 0]), '_length': array([ True, False])}
    """
    xp = namespace_of(values) or np
    if xp is np:
        if not mask.any():
            return
        mask = mask.copy()
    infos[key], infos[f"_{key}"] = xp.where(mask, values, xp.zeros_like(values)), mask


def note_state(infos: InfoDict, spec: Spec, state: State, mask: Array, newly: Array) -> None:
    """Add what is known of the spec's state in some environments; `newly` says where it was just violated."""
    penalty = spec.penalty_in_force(state)
    xp = namespace_of(penalty) or np
    values: dict[str, Array] = {}
    for name, column in zip(spec.names, spec.values(state), strict=True):
        note(values, name, column, mask)
    if xp is not np or mask.any():
        infos["formula_values"], infos["_formula_values"] = values, mask.copy() if xp is np else mask
    if xp is np and mask.any():
        _note_things(infos, spec, state, mask)
    note(infos, "violated", spec.violated(state), mask)
    note(infos, "cost", xp.asarray(newly, dtype=penalty.dtype), mask)


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

    An episode began where `began` says, so that there is no reward. `newly` says where this step caused the first
    violation of the episode. `base_rewards` and `violated` become the entries' own.
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
    """A mask of all environments."""
    mask = np.empty(count, dtype=np.bool_)
    mask.fill(True)
    return mask
