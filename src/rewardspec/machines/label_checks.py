"""Checking labels: every atom has one, and it is a degree in [0, 1] or, as robustness, a finite number.

A degree that misses [0, 1] by no more than `TOLERANCE`, as rounding makes them, is clipped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rewardspec.errors import LabelError, did_you_mean
from rewardspec.machines.program import Semantics

TOLERANCE = 1e-6

# Among the bit patterns of non-negative doubles, larger patterns are larger numbers, and negative numbers, infinities
# and NaN all lie above that of 1.0: the largest pattern tells whether all labels are in [0, 1]. NumPy finds where it is
# (`argmax`) in a third of the time that it takes to say what it is (`maximum.reduce`).
_ONE = int(np.float64(1.0).view(np.uint64))
_ONE_AS_BITS = {np.dtype(t): (u, int(t(1.0).view(u))) for t, u in ((np.float64, np.uint64), (np.float32, np.uint32))}


class CheckedLabels(dict[str, Any]):
    """Labels in NumPy arrays that have been checked already, so that no step need do it again."""


def checked_number(atom: str, value: Any, semantics: Semantics = "degree", where: str = "") -> float:
    """One label as a float.

    Args:
        atom: The atom, for error messages.
        value: The label.
        semantics: Whether it is a degree or robustness.
        where: Which step and environment it is of, for error messages.

    Raises:
        LabelError: It is no number, or out of range.

    Example:
        >>> checked_number("p", 1.0000001)
        1.0
    """
    if semantics == "degree":
        kind, bounds, low, high = "a number in [0, 1]", "in [0, 1]", 0.0, 1.0
    else:
        kind, bounds, low, high = "a finite number", "finite", -math.inf, math.inf
    try:
        if isinstance(value, str | bytes) or bool(getattr(value, "ndim", False)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise LabelError(f"The label of {atom!r}{where} should be {kind}. Received {value!r}.") from None
    if low <= number <= high and math.isfinite(number):
        return number
    if semantics == "degree" and -TOLERANCE <= number <= 1.0 + TOLERANCE:
        return 0.0 if number < 0.0 else 1.0
    received = "NaN" if math.isnan(number) else repr(number)
    raise LabelError(f"The label of {atom!r}{where} should be {bounds}. Received {received}.")


def checked_numbers(labels: Any, atoms: Iterable[str], semantics: Semantics) -> dict[str, float]:
    """The labels of one trace as floats."""
    atoms = tuple(atoms)
    require_atoms(labels, atoms)
    return {atom: checked_number(atom, labels[atom], semantics) for atom in atoms}


def as_labels(atom: str, values: Any, like: Any, xp: Any) -> Any:
    """The labels of one atom as an array of the same library, type and shape as `like`."""
    try:
        if hasattr(values, "dtype") and values.dtype == like.dtype:
            array = values
        else:
            if xp is np and np.asarray(values).dtype.kind not in "fbiu":
                raise TypeError
            array = xp.asarray(values, dtype=like.dtype)
    except (TypeError, ValueError):
        raise LabelError(f"The labels of {atom!r} are not an array of real numbers: {values!r}.") from None
    if array.shape == like.shape:
        return array
    if array.shape == ():
        return xp.broadcast_to(array, like.shape)
    raise LabelError(
        f"The labels of {atom!r} should have shape {tuple(like.shape)}. Received shape {tuple(array.shape)}."
    )


def in_range(values: np.ndarray, semantics: Semantics = "degree") -> bool:
    """Whether every label of a NumPy array is in range; one pass over the array."""
    if semantics == "robustness":
        return bool(np.isfinite(values).all())
    known = _ONE_AS_BITS.get(values.dtype)
    if known is not None and values.flags.c_contiguous and values.size:
        unsigned, one = known
        bits = values.view(unsigned)
        if bits.item(bits.argmax()) <= one:
            return True
    return bool(((values >= 0) & (values <= 1)).all())  # NaN is not; -0.0 is


def as_bits(values: np.ndarray) -> np.ndarray:
    """The bit patterns of doubles, for `bits_inside`: a view, which follows what is written into the array later."""
    return values.reshape(-1).view(np.uint64)


def bits_inside(bits: np.ndarray) -> bool:
    """Whether all the labels are in [0, 1] by their bits; `in_range` has the last word, on -0.0."""
    return not bits.size or bits.item(bits.argmax()) <= _ONE


def out_of_range(labels: Sequence[Any], semantics: Semantics, xp: Any) -> Any:
    """Where labels of any array library are out of range: Booleans of shape (labels, *batch).

    Nothing is raised, so that this can be compiled, and nothing waits for a device.
    """
    if semantics == "robustness":
        return xp.stack([~xp.isfinite(values) for values in labels])
    return xp.stack([~((values >= -TOLERANCE) & (values <= 1.0 + TOLERANCE)) for values in labels])


def into_range(values: np.ndarray, semantics: Semantics = "degree") -> np.ndarray | None:
    """The labels with those clipped that rounding took out of range; None where another is out of range."""
    if semantics == "robustness":
        return None
    clipped = np.clip(values, 0.0, 1.0)
    return clipped if bool((np.abs(values - clipped) <= TOLERANCE).all()) else None


def numpy_labels(
    labels: Any, atoms: Iterable[str], like: np.ndarray, semantics: Semantics = "degree"
) -> dict[str, np.ndarray]:
    """The labels as arrays of the type and shape of `like`, each checked to be in range.

    Labels that are such arrays already cost one pass over each.
    """
    dtype, shape = like.dtype, like.shape
    if labels.__class__ is CheckedLabels:
        return labels
    unsigned, one = _ONE_AS_BITS.get(dtype, (None, None)) if semantics == "degree" and len(shape) == 1 else (None, None)
    ready = {}
    for atom in atoms:
        try:
            values = labels[atom]
        except (KeyError, TypeError, IndexError):
            require_atoms(labels, atoms)
            raise
        if values.__class__ is not np.ndarray or values.dtype is not dtype or values.shape != shape:
            values = as_labels(atom, values, like, np)
        # The usual case first and in place: in a small batch, calls cost more than the arithmetic.
        ready[atom] = values
        if unsigned and values.flags.c_contiguous and shape[0]:
            bits = values.view(unsigned)
            if bits.item(bits.argmax()) <= one:
                continue
        ready[atom] = checked_array(atom, values, semantics)
    return ready


def checked_array(atom: str, values: Any, semantics: Semantics = "degree") -> Any:
    """The NumPy labels of one atom, in range.

    Raises:
        LabelError: One is not; names the first.
    """
    values = np.asarray(values)
    if in_range(values, semantics):
        return values
    clipped = into_range(values, semantics)
    if clipped is not None:
        return clipped
    bad = ~((values >= -TOLERANCE) & (values <= 1 + TOLERANCE)) if semantics == "degree" else ~np.isfinite(values)
    where = tuple(int(k) for k in np.argwhere(bad)[0])
    index = f" at index {where[0] if len(where) == 1 else where}" if where else ""
    checked_number(atom, float(values[where]), semantics, index)
    raise AssertionError("a label that is out of range is refused")


def require_atoms(labels: Any, atoms: Iterable[str]) -> None:
    """Raise a LabelError unless every atom has an entry."""
    if not isinstance(labels, Mapping):
        raise LabelError(f"Labels should map each atom to its values. Received a {type(labels).__name__}.")
    for atom in atoms:
        if atom not in labels:
            known = ", ".join(map(str, labels)) or "none"
            raise LabelError(f"There is no label for atom {atom!r}; there are: {known}.{did_you_mean(atom, labels)}")
