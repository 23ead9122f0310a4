"""Atoms that are written as expressions over the columns of a record, such as `"pressure - pressure@60s > 3"`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import SpecError
from rewardspec.spec.atoms.expression_atoms import checked_at_reset, evaluator, false_as_margin
from rewardspec.spec.atoms.expression_language import Read, ReadAgo, ReadWord, margin_of, parse_expression, parts_of
from rewardspec.spec.atoms.operations import ON_FLOATS, on_arrays


class Says(NamedTuple):
    """Whether a column has a word: 1 in rows where it has, and 0 in others."""

    column: str
    word: str

    def __str__(self) -> str:
        return f"{self.column} == {self.word!r}"


ColumnSource: TypeAlias = str | Says
"""What numbers are read from: a column, or whether it has a word."""


class ColumnRead(NamedTuple):
    """A column that an expression reads.

    Attributes:
        column: Its name, or whether it has a word.
        ago: How many steps or seconds earlier; 0 is the current row. Before the first row, it is the first row.
        timed: Whether `ago` is in seconds.
    """

    column: ColumnSource
    ago: float = 0
    timed: bool = False

    def __str__(self) -> str:
        lag = f"@{self.ago:g}{'s' * self.timed}" if self.ago else ""
        if isinstance(self.column, Says):
            return str(self.column._replace(column=self.column.column + lag))
        return self.column + lag


class ColumnAtom:
    """An atom's function of the columns of a record.

    A column whose name is no identifier, such as `Pressure (bar)`, is written with underscores, `Pressure_bar`; see
    `column_named`.

    Args:
        text: The expression.
        columns: The columns that there are.
        margin: Whether a comparison gives its margin, as for `predicate_atom`, rather than 1 or 0.
        crisp: The margin of equalities; see `margin_of`.
        at_reset: The label of the first row, where the expression does not give it; see `ExpressionAtom`.

    Attributes:
        reads: What it reads; values are given in this order.
        tree: The expression, or that of its margin.
        found: What the tree reads, in the order of `reads`.
        is_comparison: Whether it is a comparison, or several joined by `and`, `or` and `not`.

    Example:
        >>> rises = ColumnAtom("Pressure_bar - Pressure_bar@60 > 3", ["Pressure (bar)"])
        >>> rises.reads[1], rises([9.0, 5.0])
        (ColumnRead(column='Pressure (bar)', ago=60.0, timed=False), 1.0)
        >>> ColumnAtom("mode != 'auto'", ["mode"]).reads
        (ColumnRead(column=Says(column='mode', word='auto'), ago=0.0, timed=False),)
    """

    def __init__(
        self,
        text: str,
        columns: Iterable[str],
        margin: bool = False,
        crisp: float | None = None,
        at_reset: float | None = None,
    ) -> None:
        self.text = text
        columns = list(columns)
        tree = parse_expression(text, {name: (name,) for column in columns for name in _names(column)})
        try:
            margins = margin_of(tree, crisp)
            self.is_comparison = True
        except SpecError:
            margins = tree
            self.is_comparison = False
        self.tree = margins if margin else tree
        declared = checked_at_reset(at_reset)
        self.at_reset = false_as_margin(declared) if margin and self.is_comparison else declared
        self.found = tuple(dict.fromkeys(part for part in parts_of(self.tree) if isinstance(part, Read)))
        self.reads = tuple(_column_read(read, columns, text) for read in self.found)
        self._evaluate = evaluator(self.tree, self.found, ON_FLOATS)
        self._on_columns = evaluator(self.tree, self.found, on_arrays(np))

    def __call__(self, values: Sequence[float]) -> float:
        """The label, from the values of `reads`."""
        return float(self._evaluate(list(values)))

    def on_columns(self, columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The labels of many rows, from the columns of `reads`, float arrays of shape (rows,); bit by bit the same."""
        with np.errstate(all="ignore"):
            labels: NDArray[np.float64] = np.asarray(self._on_columns(list(columns)), dtype=np.float64)
        return labels


def column_named(name: str, columns: Sequence[str]) -> str | None:
    """The column that has a name, or else the one that has it with underscores for other characters; None for none.

    Raises:
        SpecError: There are several.

    Example:
        >>> [column_named(name, ["Pressure (bar)", "valve.open"]) for name in ("Pressure_bar", "valve_open", "x")]
        ['Pressure (bar)', 'valve.open', None]
    """
    found = [column for column in columns if column == name] or [c for c in columns if _with_underscores(c) == name]
    if len(found) > 1:
        raise SpecError(
            f"{name!r} may be any of the columns {', '.join(map(repr, found))}. Rename columns, so that one is left."
        )
    return found[0] if found else None


def _with_underscores(column: str) -> str:
    if column.isidentifier():
        return column
    name = re.sub(r"\W+", "_", column).strip("_")
    return f"_{name}" if name[:1].isdigit() else name


def _names(column: str) -> list[str]:
    """The names by which expressions can read a column."""
    own = [column] if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", column) else []
    return list(dict.fromkeys([*own, *filter(None, [_with_underscores(column)])]))


def _column_read(read: Read, columns: list[str], text: str) -> ColumnRead:
    path = read.path if read.moment in ("before", "after") else (read.moment, *read.path)
    name = ".".join(map(str, path))
    column = column_named(name, columns)
    if column is None:
        known = ", ".join(name for column in columns for name in _names(column)[:1])
        raise SpecError(f"The expression {text!r} reads {name!r}, which is no column of the record. It has: {known}.")
    source = Says(column, read.word) if isinstance(read, ReadWord) else column
    if read.moment == "before":
        return ColumnRead(source, 1)
    return ColumnRead(source, read.amount, read.timed) if isinstance(read, ReadAgo) else ColumnRead(source)
