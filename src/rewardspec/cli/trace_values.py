"""The numbers in the rows of a record: cells, labels that are checked, and earlier values of columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.cli.trace_files import Cell
from rewardspec.errors import LabelError
from rewardspec.machines.label_checks import TOLERANCE
from rewardspec.machines.program import Semantics
from rewardspec.spec.atoms.column_atoms import ColumnRead

Missing: TypeAlias = Literal["error", "hold", "skip"]
Column: TypeAlias = NDArray[np.float64]
Row: TypeAlias = tuple[int, Sequence[Cell]]  # the number of its line, and its cells

_TRUTHS = {"true": 1.0, "false": 0.0}
_NOTHING = ("", "nan", "na", "n/a", "null", "none")


class CellReader:
    """The numbers of the columns that have these places in a row, of which some are labels of atoms."""

    def __init__(
        self,
        places: Sequence[tuple[str, int]],
        missing: Missing,
        labels: Sequence[str],
        semantics: Semantics,
        where: Callable[[int], str],
    ) -> None:
        self._places, self._missing, self._labels, self._semantics = places, missing, labels, semantics
        self._where = where
        self._last: dict[str, float] = {}

    def read(self, rows: Sequence[Row]) -> tuple[Sequence[Row], dict[str, Column]]:
        """The rows that are not left out, and their numbers by column."""
        try:
            columns = {column: np.array([float(cells[place]) for _, cells in rows]) for column, place in self._places}
            if all(np.isfinite(values).all() for values in columns.values()):  # the usual case
                self._last = {column: float(values[-1]) for column, values in columns.items()}
                return rows, columns
        except (TypeError, ValueError):
            pass
        kept: list[Row] = []
        found: list[dict[str, float]] = []
        for row in rows:
            values_here = self._values(*row)
            if values_here is not None:
                kept.append(row)
                found.append(values_here)
                self._last = values_here
        return kept, {column: np.array([values[column] for values in found]) for column, _ in self._places}

    def _values(self, number: int, cells: Sequence[Cell]) -> dict[str, float] | None:
        """The numbers of a row; None where the row is left out."""
        values: dict[str, float] = {}
        for column, place in self._places:
            cell = cells[place]
            if self._missing != "error" and _is_missing(cell):
                if self._missing == "skip":
                    return None
                if column not in self._last:
                    raise LabelError(
                        f"{self._where(number)}: the first cell of {column!r} is empty, and there is none before it to "
                        "hold. Leave such rows out with --missing skip."
                    )
                values[column] = self._last[column]
                continue
            try:
                values[column] = float(cell)  # the usual case
            except (TypeError, ValueError):
                is_label = column in self._labels
                kind = " in [0, 1]" if is_label and self._semantics == "degree" else ""
                what = "the label of " if is_label else "the entry of "
                values[column] = _number(cell, column, self._where(number), what, kind)
        return values


class PastColumn:
    """The earlier values of a column that an expression reads."""

    def __init__(self, read: ColumnRead) -> None:
        self._read = read
        self._values: Column = np.zeros(0)
        self._times: Column = np.zeros(0)

    def step(self, values: Column, times: Column | None) -> Column:
        """Add the newest values, and return for each the one so long ago, or the first where the trace is younger."""
        known = len(self._values)
        self._values = np.concatenate([self._values, values])
        here = np.arange(known, len(self._values))
        if self._read.timed:
            assert times is not None
            self._times = np.concatenate([self._times, times])
            places = np.searchsorted(self._times, times - self._read.ago, side="right") - 1
        else:
            places = here - int(self._read.ago)
        places = np.maximum(places, 0)
        earlier = self._values[places]
        if len(values):  # nothing older than what the last row read is read again
            self._values, self._times = self._values[places[-1] :].copy(), self._times[places[-1] :].copy()
        return earlier


def checked_labels(
    labels: Column, atom: str, semantics: Semantics, numbers: Sequence[int], where: Callable[[int], str]
) -> Column:
    """The numbers as labels; an error names the first that is none."""
    if semantics == "robustness":
        inside, good = labels, np.isfinite(labels)
    else:
        inside = np.where(labels < 0.0, 0.0, np.where(labels > 1.0, 1.0, labels))
        good = np.abs(labels - inside) <= TOLERANCE
    if not good.all():
        first = int(np.argmin(good))
        raise _wrong_label(float(labels[first]), atom, semantics, where(numbers[first]))
    return inside


def _wrong_label(value: float, atom: str, semantics: Semantics, where: str) -> LabelError:
    if semantics == "robustness":
        what = f"{where}: the label of {atom!r} should be a finite number."
        return LabelError(f"{what} Received {value}. Write one there.")
    remedy = (
        "Scale the column, or read labels as margins with --semantics robustness."
        if math.isfinite(value)
        else "Write a number there."
    )
    return LabelError(f"{where}: the label of {atom!r} should be in [0, 1]. Received {value:g}. {remedy}")


def _is_missing(cell: Cell) -> bool:
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip().lower() in _NOTHING)


def _number(cell: Cell, column: str, where: str, what: str, kind: str) -> float:
    text = "" if cell is None else str(cell)
    if text.strip().lower() in _TRUTHS:
        return _TRUTHS[text.strip().lower()]
    point = text.strip().replace(",", ".", 1)
    remedy = "Write one there."
    if point.replace(".", "", 1).lstrip("-").isdigit():
        remedy = f"Write it with a point: {point}."
    raise LabelError(f"{where}: {what}{column!r} should be a number{kind}. Received {text!r}. {remedy}") from None
