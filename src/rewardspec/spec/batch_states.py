"""States of a batch of episodes: made from that of one, and episodes that begin while the others go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import LabelError
from rewardspec.machines.array_code import Array, Namespace
from rewardspec.machines.label_checks import raise_bad_label
from rewardspec.machines.namespaces import namespace_of
from rewardspec.spec.head_code import NO_PENALTY, ScalarState, SpecState

Places = NDArray[np.intp]


def everywhere(state: ScalarState, controls: int, like: Array, xp: Namespace) -> SpecState:
    """The state of one episode for a whole batch.

    Args:
        state: The state of one episode.
        controls: The number of control states.
        like: An array of the batch's shape and type.
        xp: Its library.
    """
    control, *registers, penalty, level, values = state
    return SpecState(
        xp.zeros_like(like, dtype=xp.int32) + control if controls > 1 else None,
        tuple(xp.full_like(like, number) for number in registers),
        xp.full_like(like, penalty),
        xp.full_like(like, level),
        tuple(xp.full_like(like, value) for value in values),
    )


def batch_of(labels: Any, atoms: Sequence[str]) -> tuple[Array, Namespace]:
    """An array of the shape and type that labels have together, and its library.

    Raises:
        LabelError: The labels are no arrays, or do not fit together.
    """
    spaces = [namespace_of(labels[a]) for a in atoms if isinstance(labels, Mapping) and a in labels]
    xp = next((space for space in spaces if space is not None), None)
    if xp is None or len(spaces) < len(atoms):
        raise_bad_label(labels, atoms)
    try:
        return sum(labels[atom] for atom in atoms) * 0.0, xp
    except (TypeError, ValueError, RuntimeError):
        shapes = {atom: tuple(getattr(labels[atom], "shape", ())) for atom in atoms}
        raise LabelError(f"The labels' shapes do not fit together: {shapes}.") from None


def chosen(mask: Array, new: SpecState, old: SpecState, xp: Namespace) -> SpecState:
    """The new state where the mask is true, the old one elsewhere."""
    return SpecState(
        None if old.control is None else xp.where(mask, new.control, old.control),
        tuple(xp.where(mask, a, b) for a, b in zip(new.registers, old.registers, strict=True)),
        xp.where(mask, new.penalty, old.penalty),
        xp.where(mask, new.level, old.level),
        tuple(xp.where(mask, a, b) for a, b in zip(new.values, old.values, strict=True)),
    )


# In NumPy, where a few elements are quicker to write than all to choose.


def before_first(state: SpecState, initial: Sequence[float], where: Places) -> SpecState:
    """The state in which some elements have read nothing yet; a step on their first labels starts them.

    Args:
        state: The batch's state.
        initial: The registers' first values.
        where: The elements' indices.
    """
    control, registers, penalty, level, values = state
    return SpecState(
        None if control is None else changed(control, where, 0),
        tuple([changed(old, where, new) for old, new in zip(registers, initial, strict=True)]),
        changed(penalty, where, NO_PENALTY),
        level,
        values,
    )


def merged(state: SpecState, where: Places, part: SpecState) -> SpecState:
    """The state in which some elements are those of another one.

    Args:
        state: The batch's state.
        where: The elements' indices.
        part: The state of these alone.
    """
    return SpecState(
        None if state.control is None else changed(state.control, where, part.control),
        tuple([changed(old, where, new) for old, new in zip(state.registers, part.registers, strict=True)]),
        changed(state.penalty, where, part.penalty),
        changed(state.level, where, part.level),
        tuple([changed(old, where, new) for old, new in zip(state.values, part.values, strict=True)]),
    )


def changed(array: NDArray[Any], where: Places, values: Any) -> NDArray[Any]:
    """A copy of the array with other values in some places.

    Example:
        >>> changed(np.array([1, 2, 3]), np.array([2]), 7)
        array([1, 2, 7])
    """
    copy = array.copy()
    copy[where] = values
    return copy
