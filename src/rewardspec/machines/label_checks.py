"""Checking labels: every atom has one, and it is a degree in [0, 1] or, as robustness, a finite number.

A degree that misses [0, 1] by no more than `TOLERANCE`, as rounding makes them, is clipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rewardspec.errors import LabelError, did_you_mean
from rewardspec.logic.label_ranges import TOLERANCE as TOLERANCE
from rewardspec.logic.label_ranges import checked_number as checked_number
from rewardspec.types import Array, ArrayNamespace, Labels, Semantics

# Among the bit patterns of non-negative doubles, larger patterns are larger numbers, and negative numbers, infinities
# and NaN all lie above that of 1.0: the largest pattern tells whether all labels are in [0, 1]. NumPy finds where it is
# (`argmax`) in a third of the time that it takes to say what it is (`maximum.reduce`).
_ONE_AS_BITS = {np.dtype(t): (u, int(t(1.0).view(u))) for t, u in ((np.float64, np.uint64), (np.float32, np.uint32))}


class CheckedLabels(dict[str, Any]):
    """Labels in NumPy arrays that have been checked already, so that no step need do it again."""


def checked_numbers(labels: Labels, atoms: Iterable[str], semantics: Semantics) -> dict[str, float]:
    """The labels of one trace as floats."""
    atoms = tuple(atoms)
    require_atoms(labels, atoms)
    return {atom: checked_number(atom, labels[atom], semantics) for atom in atoms}


def as_labels(atom: str, values: Array, like: Array, xp: ArrayNamespace) -> Array:
    """The labels of one atom as an array of the same library, type and shape as `like`."""
    try:
        dtype = getattr(values, "dtype", None)
        if getattr(dtype, "kind", "") == "c" or getattr(dtype, "is_complex", False):  # the latter in torch
            raise TypeError
        if dtype is not None and dtype == like.dtype:
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
    """Return whether every label of a NumPy array is in range; one pass over the array."""
    if semantics == "robustness":
        return bool(np.isfinite(values).all())
    known = _ONE_AS_BITS.get(values.dtype)
    if known is not None and values.flags.c_contiguous and values.size:
        unsigned, one = known
        bits = values.view(unsigned)
        if bits.item(bits.argmax()) <= one:
            return True
    return bool(((values >= 0) & (values <= 1)).all())  # NaN is not; -0.0 is


_BITS = 31  # of one word: the sign stays 0
_LOWEST, _HIGHEST = -TOLERANCE, 1.0 + TOLERANCE


def out_of_range(labels: Sequence[Array], semantics: Semantics, xp: ArrayNamespace) -> tuple[Array, ...]:
    """Note which labels are out of range, in one bit each: int32 arrays of the batch's shape, for 31 labels each.

    Nothing is raised, so that this can be compiled, and nothing waits for a device. Bits of one shape with the batch
    join the kernel that computes the values; an array with an axis of labels would need a kernel of its own.
    """
    words: list[Array] = []
    for number, values in enumerate(labels):
        fine = xp.isfinite(values) if semantics == "robustness" else (values >= _LOWEST) & (values <= _HIGHEST)
        bit = xp.asarray(~fine, dtype=xp.int32) * (1 << number % _BITS)
        if number % _BITS:
            words[-1] = words[-1] | bit
        else:
            words.append(bit)
    return tuple(words)


def both_noted(words: tuple[Array, ...], others: tuple[Array, ...]) -> tuple[Array, ...]:
    """Join two notes of `out_of_range`."""
    return tuple(word | other for word, other in zip(words, others, strict=True))


def is_noted(words: tuple[Array, ...], number: int) -> Array:
    """Return where a label is out of range by a note of `out_of_range`: Booleans of the batch's shape."""
    return (words[number // _BITS] & (1 << number % _BITS)) != 0


def into_range(values: np.ndarray, semantics: Semantics = "degree") -> np.ndarray | None:
    """The labels with those clipped that rounding took out of range; None where another is out of range."""
    if semantics == "robustness":
        return None
    clipped = np.clip(values, 0.0, 1.0)
    return clipped if bool((np.abs(values - clipped) <= TOLERANCE).all()) else None


def numpy_labels(
    labels: Labels, atoms: Iterable[str], like: np.ndarray, semantics: Semantics = "degree"
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


def checked_array(atom: str, values: Array, semantics: Semantics = "degree") -> Array:
    """The NumPy labels of one atom, in range, or a LabelError that names the first that is not."""
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


def require_atoms(labels: object, atoms: Iterable[str]) -> None:
    """Raise a LabelError unless every atom has an entry."""
    if not isinstance(labels, Mapping):
        raise LabelError(f"Labels should map each atom to its values. Received a {type(labels).__name__}.")
    for atom in atoms:
        if atom not in labels:
            known = ", ".join(map(str, labels)) or "none"
            raise LabelError(f"There is no label for atom {atom!r}; there are: {known}.{did_you_mean(atom, labels)}")
