"""Checking labels: every label is a number in [0, 1], and every atom has one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from rewardspec.errors import LabelError, did_you_mean

# Among the bit patterns of non-negative doubles, larger patterns are larger numbers, and negative numbers, infinities
# and NaN all lie above that of 1.0: one integer comparison tells whether a label is in [0, 1].
_largest = np.maximum.reduce
_ONE = np.ones((), dtype=np.float64).view(np.uint64)
_ONE_AS_BITS = {np.dtype(t): (u, t(1.0).view(u)) for t, u in ((np.float64, np.uint64), (np.float32, np.uint32))}


def raise_bad_label(labels: Any, atoms: Iterable[str]) -> NoReturn:
    """Raise the LabelError that fits single-trace labels of which one is missing or bad."""
    if not isinstance(labels, Mapping):
        raise LabelError(f"Labels should map each atom to its value. Received {labels!r}.")
    for atom in atoms:
        if atom not in labels:
            raise _missing(atom, labels)
        value = labels[atom]
        try:
            inside = 0.0 <= value <= 1.0
        except (TypeError, ValueError):
            raise LabelError(f"The label of {atom!r} should be a number in [0, 1]. Received {value!r}.") from None
        if not inside:
            what = "NaN" if isinstance(value, float) and math.isnan(value) else f"{value!r}"
            raise LabelError(f"The label of {atom!r} should be in [0, 1]. Received {what}.")
    raise AssertionError("called with labels that are all good")


def as_labels(atom: str, values: Any, like: Any, xp: Any) -> Any:
    """The labels of one atom as an array of the same library, type and shape as `like`."""
    try:
        fits = hasattr(values, "dtype") and values.dtype == like.dtype
        array = values if fits else xp.asarray(values, dtype=like.dtype)
    except (TypeError, ValueError):
        raise LabelError(f"The labels of {atom!r} are not an array of numbers: {values!r}.") from None
    if array.shape == like.shape:
        return array
    if array.shape == ():
        return xp.broadcast_to(array, like.shape)
    raise LabelError(
        f"The labels of {atom!r} should have shape {tuple(like.shape)}. Received shape {tuple(array.shape)}."
    )


class CheckedLabels(dict[str, Any]):
    """Labels in NumPy arrays that have been checked already, so that no step need do it again."""


def as_bits(values: np.ndarray) -> np.ndarray:
    """The bit patterns of doubles, for `bits_inside`: a view, which follows what is written into the array later."""
    return values.reshape(-1).view(np.uint64)


def bits_inside(bits: np.ndarray) -> bool:
    """Whether all the labels are in [0, 1] by their bits; `inside_unit_interval` has the last word, on -0.0."""
    return not np.count_nonzero(bits > _ONE)


def inside_unit_interval(values: np.ndarray) -> bool:
    """Whether every label is in [0, 1]; one pass over the array."""
    known = _ONE_AS_BITS.get(values.dtype)
    if known is not None and values.flags.c_contiguous and values.size:
        unsigned, one = known
        inside = bool(np.maximum.reduce(values.view(unsigned), axis=None) <= one)
        if inside:
            return True
    return bool(((values >= 0) & (values <= 1)).all())  # NaN is not inside; -0.0 is


def numpy_labels(labels: Any, atoms: Iterable[str], like: np.ndarray) -> dict[str, np.ndarray]:
    """The labels as arrays of the type and shape of `like`, each checked to be in [0, 1].

    Labels that are such arrays already cost one pass over each.
    """
    dtype, shape = like.dtype, like.shape
    checked = labels.__class__ is CheckedLabels
    unsigned, one = _ONE_AS_BITS.get(dtype, (None, None)) if len(shape) == 1 else (None, None)
    ready = {}
    for atom in atoms:
        try:
            values = labels[atom]
        except (KeyError, TypeError, IndexError):
            require_atoms(labels, atoms)
            raise
        if values.__class__ is not np.ndarray or values.dtype is not dtype or values.shape != shape:
            values = as_labels(atom, values, like, np)
        ready[atom] = values
        # The usual case first and in place: in a small batch, calls cost more than the arithmetic.
        if checked or (unsigned and values.flags.c_contiguous and shape[0] and _largest(values.view(unsigned)) <= one):
            continue
        if not inside_unit_interval(values):
            check_numpy({atom: values})
    return ready


def check_numpy(labels: Mapping[str, Any]) -> None:
    """Raise a LabelError that names the first NumPy label outside [0, 1], if there is one."""
    for atom, values in labels.items():
        inside = (values >= 0) & (values <= 1)  # NaN is not; -0.0 is
        if not inside.all():
            where = tuple(int(k) for k in np.argwhere(~inside)[0])
            index = f" at index {where[0] if len(where) == 1 else where}" if where else ""
            raise LabelError(f"The label of {atom!r}{index} should be in [0, 1]. Received {float(values[where]):g}.")


def require_atoms(labels: Any, atoms: Iterable[str]) -> None:
    """Raise a LabelError unless every atom has an entry."""
    if not isinstance(labels, Mapping):
        raise LabelError(f"Labels should map each atom to its values. Received a {type(labels).__name__}.")
    for atom in atoms:
        if atom not in labels:
            raise _missing(atom, labels)


def _missing(atom: str, labels: Mapping[str, Any]) -> LabelError:
    known = ", ".join(map(str, labels)) or "none"
    return LabelError(f"There is no label for atom {atom!r}; there are: {known}.{did_you_mean(atom, labels)}")
