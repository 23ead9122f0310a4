"""Running an automaton on a whole batch at once, in NumPy, JAX, torch or any array-API namespace.

Where the automaton is small, the state after a letter is looked up in a dense table of states and letters.  Otherwise
the decision diagrams are walked: one comparison of the batch with each variable in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rewardspec.synthesis.boolean.boolean_labels import Array, Letters, Namespace
from rewardspec.synthesis.boolean.decision_tables import DecisionTable

Columns: TypeAlias = tuple[npt.NDArray[np.generic], ...]

_MOST_VARIABLES = 12  # a dense table has at most 2 ** this many letters
_MOST_ENTRIES = 1 << 18  # and at most this many entries


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

    def step(self, state: Array, letters: Letters, xp: Namespace) -> tuple[Array, Array]:
        """The states after a letter, and whether each accepts, as 1.0 or 0.0.

        Args:
            state: The states.
            letters: The labels of all atoms.
            xp: The arrays' namespace.
        """
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
    def _walk(state: Array, truths: Sequence[Array], columns: Sequence[Array], xp: Namespace) -> Array:
        roots, variables, lows, highs = columns
        place = roots[state]
        for position, truth in enumerate(truths):
            branch = xp.where(truth, highs[place], lows[place])
            place = xp.where(variables[place] == position, branch, place)
        return place

    def _tables(self, state: Array, dtype: Any, xp: Namespace) -> tuple[Array, ...]:
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


def _look_up(table: Array, index: Array, xp: Namespace) -> Array:
    return table.take(index) if xp is np else table[index]  # in NumPy, `take` is twice as quick
