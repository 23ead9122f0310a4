"""Reading Boolean labels: each is exactly 0 or 1, and anything else is an error that names it."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rewardspec.errors import LabelError
from rewardspec.machines.label_checks import require_atoms
from rewardspec.machines.namespaces import namespace_of

Array: TypeAlias = Any  # an array of whichever library the caller uses
Namespace: TypeAlias = Any


def not_boolean(atom: str, value: object, where: str = "") -> LabelError:
    """The error for a label that is neither 0 nor 1."""
    what = "NaN" if isinstance(value, float | np.floating) and math.isnan(value) else f"{value!r}"
    return LabelError(
        f"The label of {atom!r}{where} should be 0 or 1 for a Boolean monitor. Received {what}. "
        "Threshold it first, as in `label >= 0.5`, or use the quantitative monitor of `synthesize`."
    )


def common_namespace(values: Sequence[object]) -> Namespace:
    """The array library to compute with: the first that is not NumPy, if there is one."""
    found = [namespace for namespace in map(namespace_of, values) if namespace is not None]
    return next((namespace for namespace in found if namespace is not np), np)


class Letters(NamedTuple):
    """What a batch of labels says.

    Attributes:
        truths: For each atom where its label is 1.
        good: Where all labels are 0 or 1; None if that is known to be everywhere.  It is not known inside a function
            that JAX or torch compiles, where labels have no values yet and no error can be raised for them, nor on a
            GPU, which would have to be waited for.
        shape: The shape of the batch.
        dtype: The type of labels that are floats; None where none are.
    """

    truths: list[Array]
    good: Array | None
    shape: tuple[int, ...]
    dtype: Any


def read_arrays(
    labels: Mapping[str, Any], atoms: Sequence[str], shape: tuple[int, ...] | None, xp: Namespace
) -> Letters:
    """Labels as arrays of truth values.

    Args:
        labels: For each atom an array, or a number that stands for a whole array.
        atoms: The atoms to read.
        shape: The shape that arrays should have; None for whichever shape they have in common.
        xp: The namespace of the arrays.

    Raises:
        LabelError: A label is missing, is neither 0 nor 1, or an array has another shape.
    """
    require_atoms(labels, atoms)
    truths: list[Array] = []
    all_good: Array | None = None
    dtype = None
    for atom in atoms:
        values = labels[atom] if namespace_of(labels[atom]) is xp else _as_array(atom, labels[atom], xp)
        found = tuple(values.shape)
        if found:
            shape = found if shape is None else shape
            if found != shape:
                raise LabelError(f"The labels of {atom!r} should have shape {shape}. Received shape {found}.")
        if getattr(values.dtype, "kind", None) == "b":
            truths.append(values)
            continue
        if dtype is None and namespace_of(labels[atom]) is not None and _is_floating(values.dtype):
            dtype = values.dtype
        truth = values == 1
        truths.append(truth)
        good = values == truth  # both true and 1, or both false and 0
        if _cannot_be_checked(values, xp):
            all_good = good if all_good is None else all_good & good
        elif not good.all():
            raise _first_bad(atom, values, good)
    return Letters(truths, all_good, shape or (), dtype)


def _as_array(atom: str, values: Any, xp: Namespace) -> Array:
    try:
        return xp.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        raise LabelError(f"The labels of {atom!r} should be an array of 0 and 1. Received {values!r}.") from None


def _is_floating(dtype: Any) -> bool:
    return dtype.kind == "f" if isinstance(dtype, np.dtype) else bool(getattr(dtype, "is_floating_point", False))


def _cannot_be_checked(values: Array, xp: Namespace) -> bool:
    if xp is np:
        return False
    if xp.__name__ == "jax.numpy":
        is_traced = isinstance(values, sys.modules["jax"].core.Tracer)
        return is_traced or any(device.platform != "cpu" for device in values.devices())
    if xp.__name__ == "torch":
        return bool(xp.compiler.is_compiling()) or values.device.type != "cpu"
    return False


def _first_bad(atom: str, values: Array, good: Array) -> LabelError:
    first = good.reshape(-1).tolist().index(False)
    value = values.reshape(-1).tolist()[first]
    shape = tuple(values.shape)
    index = tuple(int(k) for k in np.unravel_index(first, shape)) if shape else ()
    where = f" at index {index[0] if len(index) == 1 else index}" if index else ""
    return not_boolean(atom, value, where)
