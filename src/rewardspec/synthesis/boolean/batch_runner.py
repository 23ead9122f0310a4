"""Running an automaton on a whole batch at once, in NumPy, JAX, torch or any array-API namespace.

Where the automaton is small, the state after a letter is looked up in a dense table of states and letters.  Otherwise
the decision diagrams are walked: one comparison of the batch with each variable in turn.

Labels are exactly 0 or 1; anything else is an error that names it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rewardspec.errors import LabelError
from rewardspec.machines.label_checks import require_atoms
from rewardspec.machines.namespaces import namespace_of
from rewardspec.synthesis.boolean.decision_diagrams import DecisionTable
from rewardspec.types import Array, ArrayNamespace, DType, Labels

Columns: TypeAlias = tuple[npt.NDArray[np.generic], ...]

_MOST_VARIABLES = 12  # a dense table has at most 2 ** this many letters
_MOST_ENTRIES = 1 << 18  # and at most this many entries


class Letters(NamedTuple):
    """A batch of labels as letters of the automaton.

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
    dtype: DType


class BatchRunner:
    """Steps of a batch of states.

    Beside the states 0 … n - 1 there is the state n, *lost*: where a label that cannot be checked, inside a compiled
    function, turns out to be neither 0 nor 1.  It is never left again, and its value is NaN.

    Attributes:
        dense: The state after each state and letter, flat: the binary digits of the letter, from the first variable
            of `DecisionTable.used` to the last, follow those of the state.  None where the table would be too large.
    """

    def __init__(self, table: DecisionTable, accepting: Iterable[int]) -> None:
        self.lost = len(table.roots)
        self.used = table.used
        self._values = np.zeros(self.lost + 1)
        self._values[list(accepting)] = 1.0
        self._values[self.lost] = np.nan
        self._walk_columns = _columns(table)
        self._kept: dict[tuple[object, ...], tuple[Array, ...]] = {}
        digits = len(self.used)
        self.dense: npt.NDArray[np.int32] | None = None
        if digits <= _MOST_VARIABLES and (self.lost + 1) << digits <= _MOST_ENTRIES:
            index = np.arange((self.lost + 1) << digits)
            truths = [index >> (digits - 1 - position) & 1 == 1 for position in range(digits)]
            self.dense = self._walk(index >> digits, truths, self._walk_columns, np)

    def step(self, state: Array, letters: Letters, xp: ArrayNamespace) -> tuple[Array, Array]:
        """The states after a letter, and whether each accepts, as 1.0 or 0.0."""
        truths = [letters.truths[variable] for variable in self.used]
        values, *columns = self._tables(state, letters.dtype, xp)
        if self.dense is None:
            state = self._walk(state, truths, columns, xp)
        else:
            index = state
            for truth in truths:
                index = index * 2 + truth
            state = _look_up(columns[0], index, xp)
        if letters.good is not None:
            state = xp.where(letters.good, state, xp.full_like(state, self.lost))
        return state, _look_up(values, state, xp)

    @staticmethod
    def _walk(state: Array, truths: Sequence[Array], columns: Sequence[Array], xp: ArrayNamespace) -> Array:
        roots, variables, lows, highs = columns
        place = roots[state]
        for position, truth in enumerate(truths):
            branch = xp.where(truth, highs[place], lows[place])
            place = xp.where(variables[place] == position, branch, place)
        return place

    def _tables(self, state: Array, dtype: DType, xp: ArrayNamespace) -> tuple[Array, ...]:
        """The values, in the given type, and the tables to look up, all in the batch's library and on its device."""
        tables = self._walk_columns if self.dense is None else (self.dense,)
        if xp is np:
            values = self._values if dtype is None or dtype == np.float64 else self._values.astype(dtype)
            return values, *tables
        if xp.__name__ != "torch":
            # Not kept: what JAX makes inside a traced function belongs to that function.
            return xp.asarray(self._values, dtype=dtype), *(xp.asarray(table) for table in tables)
        key = (state.device, dtype or xp.get_default_dtype())
        if key not in self._kept:
            values = xp.asarray(self._values, dtype=key[1], device=state.device)
            self._kept[key] = values, *(xp.asarray(table, device=state.device) for table in tables)
        return self._kept[key]


def _columns(table: DecisionTable) -> Columns:
    """The table's columns, in which states and *lost* are nodes that lead to themselves and ask for nothing."""
    states = len(table.roots)

    def places(values: Iterable[int]) -> list[int]:
        return [place if place < states else place + 1 for place in values]  # makes room for the state `lost`

    stay = list(range(states + 1))
    position = {variable: k for k, variable in enumerate(table.used)}
    columns: list[list[int]] = [
        [*places(table.roots), states],
        [-1] * (states + 1) + [position[variable] for variable in table.variables],
        stay + places(table.lows),
        stay + places(table.highs),
    ]
    return tuple(np.array(column, dtype=np.int32) for column in columns)


def _look_up(table: Array, index: Array, xp: ArrayNamespace) -> Array:
    return table.take(index) if xp is np else table[index]  # in NumPy, `take` is twice as quick


# Reading labels.


def not_boolean(atom: str, value: object, where: str = "") -> LabelError:
    """The error for a label that is neither 0 nor 1."""
    what = "NaN" if isinstance(value, float | np.floating) and math.isnan(value) else f"{value!r}"
    return LabelError(
        f"The label of {atom!r}{where} should be 0 or 1 for a Boolean monitor. Received {what}. "
        "Threshold it first, as in `label >= 0.5`, or use the quantitative monitor of `synthesize`."
    )


def common_namespace(values: Sequence[object]) -> ArrayNamespace:
    """The array library to compute with: the first that is not NumPy, if there is one."""
    found = [namespace for namespace in map(namespace_of, values) if namespace is not None]
    return next((namespace for namespace in found if namespace is not np), np)


def read_arrays(labels: Labels, atoms: Sequence[str], shape: tuple[int, ...] | None, xp: ArrayNamespace) -> Letters:
    """Labels as arrays of truth values; a number stands for a whole array.

    Without a shape, arrays may have any that they have in common.

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


def _as_array(atom: str, values: Array, xp: ArrayNamespace) -> Array:
    try:
        return xp.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        raise LabelError(f"The labels of {atom!r} should be an array of 0 and 1. Received {values!r}.") from None


def _is_floating(dtype: DType) -> bool:
    return dtype.kind == "f" if isinstance(dtype, np.dtype) else bool(getattr(dtype, "is_floating_point", False))


def _cannot_be_checked(values: Array, xp: ArrayNamespace) -> bool:
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
