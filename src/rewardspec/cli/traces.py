"""Recorded traces: a row for each step, and columns that are labels of atoms or numbers that expressions read."""

from __future__ import annotations

import argparse
import copy
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from rewardspec.cli.trace_files import (
    Cell,
    CellReader,
    Column,
    LabelKind,
    Missing,
    PastColumn,
    Row,
    Table,
    checked_labels,
    opened_table,
)
from rewardspec.errors import LabelError, SpecError, did_you_mean
from rewardspec.logic.durations import UNITS, Pace, has_durations, in_steps
from rewardspec.logic.unknown_atoms import atom_hint
from rewardspec.spec.atoms.column_atoms import ColumnAtom, ColumnRead, ColumnSource, Says, column_named
from rewardspec.spec.atoms.functions import looks_like_a_comparison
from rewardspec.spec.atoms.references import is_reference
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import read_draft
from rewardspec.types import Json

Reading: TypeAlias = ColumnAtom | str  # of an atom: an expression, or a column that has its labels

TIME = "time"
_ROWS_AT_ONCE = 4096
_UNEVEN = 0.5  # of the distance between rows, by which times may be off
_SLACK = 0.1  # of it, by which a duration may miss a whole number of rows at most
_LONGEST_FRACTION = 100  # characters
TIME_UNITS = {"ns": 1e-9, "us": 1e-6, **UNITS}

TRACE_HELP = (
    "Columns of a trace are labels of atoms, or numbers that expressions read: in quotes in a\n"
    "formula, as 'G \"pressure < 5\"', or under [atoms] in a spec file. x@60 is the value of column x\n"
    "60 steps ago, x@60s that of 60 seconds ago; F[0s,30s] is a deadline in seconds."
)


def add_trace_options(parser: argparse._ActionsContainer, required: bool = True) -> None:
    """The options of commands that read a trace."""
    parser.add_argument(
        "--trace",
        metavar="FILE",
        required=required,
        help="the record, one row for each step: .csv, .jsonl or .parquet; '-' reads CSV from standard input",
    )
    parser.add_argument(
        "--time",
        metavar="COLUMN",
        help="the column of times, numbers or ISO 8601, that durations such as x@60s need (default: time)",
    )
    parser.add_argument(
        "--time-unit",
        choices=tuple(TIME_UNITS),
        default="s",
        help="the unit of times that are numbers (default: %(default)s)",
    )
    add_period(parser, "which are then taken to be equally far apart, whatever their times (default: from the times)")
    parser.add_argument(
        "--missing",
        choices=("error", "hold", "skip"),
        default="error",
        help="what to do about an empty cell: stop, take the value of the row before, or leave the row out "
        "(default: %(default)s)",
    )


def add_period(parser: argparse._ActionsContainer, remark: str) -> None:
    """Add the option that says how far apart rows are."""
    parser.add_argument(
        "--period",
        metavar="SECONDS",
        type=_period,
        help=f"the seconds from one row to the next, such as 0.5 or 1/30, {remark}",
    )


def _period(text: str) -> float:
    try:
        # As a fraction, 1e999999999 would be computed digit by digit.
        period = float(Fraction(text)) if "/" in text and len(text) <= _LONGEST_FRACTION else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        period = math.nan
    if not 0.0 < period < math.inf:
        raise argparse.ArgumentTypeError(f"should be a number of seconds above 0, such as 0.5 or 1/30; got {text!r}")
    return period


class RecordSpec(NamedTuple):
    """A spec file, as commands that read records need it.

    Attributes:
        spec: The spec, without functions of its atoms.
        entries: The atoms, as the file writes them.
        kind: What counts as a label.
    """

    spec: Spec
    entries: Mapping[str, Json]
    kind: LabelKind


def read_record_spec(path: str, rewrite: Callable[[str], str] | None = None) -> RecordSpec:
    """Read a spec file; `rewrite` is applied to the text of its formulas.

    Raises:
        SpecError: The file is no valid spec, or is about things that appear, which no column can name.
    """
    draft = read_draft(path, atoms=False, rewrite=rewrite)
    spec = Spec(draft.pairs, **draft.options)
    named = [name for name, things in spec.sorts.items() if not things]
    if named:
        raise SpecError(
            f"{path}: the things of {named[0]!r} appear while an episode runs, and a row of a record names none. For "
            "conversations, use `rewardspec transcripts`; in Python, `spec.explain` takes labels about things."
        )
    return RecordSpec(spec, draft.entries, LabelKind(spec.semantics, spec.clip, draft.threshold))


class TraceRow(NamedTuple):
    """The labels of a row of a trace, and the numbers of other columns that were asked for and are there."""

    labels: dict[str, float]
    others: dict[str, float]


class TraceBlock(NamedTuple):
    """Consecutive rows of a trace: labels of each atom and numbers of other columns, float arrays of shape (rows,).

    `stamps` are the times, as the record writes them; None where nothing needs them.
    """

    labels: dict[str, Column]
    others: dict[str, Column]
    length: int
    stamps: list[Cell] | None


@contextmanager
def opened_trace(arguments: argparse.Namespace) -> Iterator[Trace]:
    """Open the trace that the options name."""
    with opened_table(arguments.trace) as table:
        live = not Path(arguments.trace).is_file()  # a pipe, whose rows are wanted as they come
        unit = TIME_UNITS[arguments.time_unit]
        yield Trace(table, arguments.trace, arguments.time, arguments.missing, live, arguments.period, unit)


class Trace:
    """A trace that is being read, and never held as a whole.

    Messages call it by its name. `time` is the column of times; None for `time`, where there is one. With `live`, rows
    come while they are being recorded, and each is given as soon as it is there. `period` is the seconds from one row
    to the next; None to find them in the column of times, whose numbers count so many seconds as `time_unit` says.
    """

    def __init__(
        self,
        table: Table,
        name: str,
        time: str | None = None,
        missing: Missing = "error",
        live: bool = False,
        period: float | None = None,
        time_unit: float = 1.0,
    ) -> None:
        self.columns = table.columns
        self.live = live
        self._rows, self._unit, self._name, self._missing = table.rows, table.unit, name, missing
        self._time_column = TIME if time is None else time
        self._time_unit = time_unit
        self._period = period
        self.pace: Pace | None = None  # once durations in a formula have needed it
        self.has_time = self._time_column in self.columns
        if time is not None and not self.has_time:
            hint = did_you_mean(time, self.columns)
            raise LabelError(f"The trace {name!r} has no column {time!r}; it has: {', '.join(self.columns)}.{hint}")

    def in_steps(self, text: str) -> str:
        """A formula's text with steps in place of durations such as `[0s,30s]`."""
        return in_steps(text, self.needed_pace()) if has_durations(text) else text

    def needed_pace(self) -> Pace:
        """Return how far apart the rows are: the user's period or, if there is none, the mean over the whole record."""
        if self.pace is None:
            self.pace = self._measured_pace() if self._period is None else Pace(self._period)
        return self.pace

    def _measured_pace(self) -> Pace:
        self._time_place()
        if self.live:
            raise LabelError(
                f"Durations need the distance between rows, and the trace {self._name!r} is a pipe, whose times are "
                "not known before its end. Give it: --period SECONDS."
            )
        count, first, last = 0, math.nan, math.nan
        for _, times in self._times_alone():
            first, last, count = float(times[0]) if count == 0 else first, float(times[-1]), count + len(times)
        if count < 2:
            raise LabelError(f"The trace {self._name!r} has less than two rows, and durations need their distance.")
        period = (last - first) / (count - 1)
        # How far times are off; no distance between two of them is off by more than from the lowest to the highest.
        lowest = highest = 0.0
        worst, after, where = 0.0, period, 0  # the row whose distance to the one before it is off most
        count, before = 0, first - period
        for numbers, times in self._times_alone():
            off = times - first - period * np.arange(count, count + len(times))
            lowest, highest = min(lowest, float(off.min())), max(highest, float(off.max()))
            distances = np.diff(times, prepend=before)
            place = int(np.argmax(np.abs(distances - period)))
            if abs(distances[place] - period) > worst:
                worst, after, where = abs(distances[place] - period), distances[place], numbers[place]
            count, before = count + len(times), float(times[-1])
        uneven = (highest - lowest) / period
        if uneven > _UNEVEN:
            raise LabelError(
                f"{self._where(where)}: the row comes {after:g} seconds after the one before it, and rows are "
                f"{period:g} seconds apart on average. Durations need rows that are equally far apart. Resample the "
                "record, write the intervals in steps, or give the distance to assume with --period."
            )
        return Pace(period, min(uneven, _SLACK))

    def _times_alone(self) -> Iterator[tuple[list[int], Column]]:
        """Read the file again, and yield the numbers and the times of its rows, block by block."""
        before = None
        with opened_table(self._name, only=self._time_column) as table:
            place = table.columns.index(self._time_column)
            while taken := list(itertools.islice(table.rows, _ROWS_AT_ONCE)):
                numbers = [number for number, _ in taken]
                times = self._times([cells[place] for _, cells in taken], before, numbers)
                before = float(times[-1])
                yield numbers, times

    def readings(
        self, atoms: Iterable[str], entries: Mapping[str, Json] | None = None, margin: bool = False
    ) -> dict[str, Reading]:
        """How each atom is read: from a column of its name, by the expression of a spec file, or by its own name.

        `entries` are the atoms of a spec file, as it writes them. With `margin`, comparisons give their margins.
        """
        return {atom: self._reading(atom, (entries or {}).get(atom), margin) for atom in atoms}

    def _reading(self, atom: str, entry: Json, margin: bool) -> Reading:
        # The expression of a spec file makes way for a column of exactly this name.
        columns = self.columns if entry is None else [column for column in self.columns if column == atom]
        try:
            column = column_named(atom, columns)
        except SpecError as error:
            raise LabelError(f"Of the trace {self._name!r}: {error}") from error
        if column is not None:
            return column
        entry = {"expression": entry} if isinstance(entry, str) and not is_reference(entry) else entry
        table = entry if isinstance(entry, dict) else {}
        text = table.get("expression", atom if looks_like_a_comparison(atom) else None)
        if not isinstance(text, str):
            raise LabelError(
                f"The trace {self._name!r} has no column {atom!r}; it has: {', '.join(self.columns)}."
                f"{atom_hint(atom, self.columns)}"
            )
        try:
            return ColumnAtom(text, self.columns, margin, at_reset=table.get("at_reset"))
        except SpecError as error:
            raise LabelError(f"The atom {atom!r} is no column of the trace {self._name!r}: {error}") from error

    def rows(
        self,
        readings: Mapping[str, Reading],
        kind: LabelKind,
        others: Sequence[str] = (),
        timed: bool = False,
    ) -> Iterator[TraceRow]:
        """The rows, as they come, and numbers of `others`, columns that may be there or not.

        Times are read where an expression needs them or with `timed`.
        """
        for block in self.blocks(readings, kind, others, timed, 1 if self.live else _ROWS_AT_ONCE):
            names, labels = list(block.labels), [column.tolist() for column in block.labels.values()]
            more, numbers = list(block.others), [column.tolist() for column in block.others.values()]
            for k in range(block.length):
                yield TraceRow(
                    {name: column[k] for name, column in zip(names, labels, strict=True)},
                    {name: column[k] for name, column in zip(more, numbers, strict=True)},
                )

    def blocks(
        self,
        readings: Mapping[str, Reading],
        kind: LabelKind,
        others: Sequence[str] = (),
        timed: bool = False,
        size: int = _ROWS_AT_ONCE,
        kinds: Mapping[Reading, LabelKind] | None = None,
    ) -> Iterator[TraceBlock]:
        """The same rows, many at once. A mistake in a row is told after the rows before it.

        `kinds` says what counts as a label of single readings, where that is not `kind`.
        """
        columns = [reading for reading in readings.values() if isinstance(reading, str)]
        reads = [read for atom in readings.values() if isinstance(atom, ColumnAtom) for read in atom.reads]
        in_time = any(read.timed for read in reads)
        time_place = self._time_place() if timed or (in_time and self._period is None) else None
        needed: dict[ColumnSource, None] = dict.fromkeys([*columns, *(read.column for read in reads)])
        needed |= dict.fromkeys(column for column in others if column in self.columns)
        places = [(it, self.columns.index(it.column if isinstance(it, Says) else it)) for it in needed]
        cells = CellReader(places, self._missing, columns, kind.semantics, self._where)
        past = {read: PastColumn(self._in_rows(read)) for read in dict.fromkeys(reads) if read.ago}
        before: float | None = None
        count = 0

        def block_of(taken: Sequence[Row]) -> TraceBlock:
            nonlocal before, count
            rows, now = cells.read(taken)
            numbers = [number for number, _ in rows]
            if len(rows) < len(taken) and (self.pace is not None or (in_time and self._period is not None)):
                gone = next(number for number, _ in taken if number not in numbers)
                raise LabelError(
                    f"{self._where(gone)}: a cell is empty, and durations need every row. Take the value of the row "
                    "before with --missing hold, or write the intervals in steps."
                )
            times: Column | None = None
            stamps: list[Cell] | None = None
            if time_place is not None:
                stamps = [row[time_place] for _, row in rows]
            if stamps is not None and self._period is None:
                times = self._times(stamps, before, numbers)
            earlier = {read: column.step(now[read.column], times) for read, column in past.items()}
            labels: dict[str, Column] = {}
            for atom, reading in readings.items():
                if isinstance(reading, str):
                    label = now[reading]
                else:
                    label = reading.on_columns([earlier[r] if r.ago else now[r.column] for r in reading.reads])
                    label = np.broadcast_to(label, (len(rows),))
                    if count == 0 and rows and reading.at_reset is not None:
                        label = np.concatenate([[reading.at_reset], label[1:]])
                its_kind = (kinds or {}).get(reading, kind)
                labels[atom] = checked_labels(label, reading, its_kind, numbers, self._where, now, earlier)
            count += len(rows)
            if times is not None and rows:
                before = times[-1]
            return TraceBlock(labels, {column: now[column] for column in others if column in now}, len(rows), stamps)

        for taken in self._taken(size):
            unread = copy.copy(cells), {read: copy.copy(column) for read, column in past.items()}
            try:
                blocks: Iterable[TraceBlock] = [block_of(taken)]
            except LabelError:
                # Row by row, what stands before the mistake is given before it is told.
                cells, past = unread
                blocks = (block_of([row]) for row in taken)
            for block in blocks:
                if block.length:
                    yield block
        if count == 0:
            raise LabelError(
                f"The trace {self._name!r} has a header and no rows. It should have one row for each step."
            )
        for says, words in cells.unheard.items():
            print(
                f"warning: {says.column!r} is never {says.word!r} in this trace. Its first words are "
                f"{', '.join(map(repr, words))}.",
                file=sys.stderr,
            )

    def _in_rows(self, read: ColumnRead) -> ColumnRead:
        """What is read some seconds ago, in rows where the user says how far apart these are, as intervals are."""
        if not read.timed or self._period is None:
            return read
        rows = Pace(self._period).rows(read.ago)
        return ColumnRead(read.column, math.ceil(rows) if math.isfinite(rows) else rows)

    def _taken(self, size: int) -> Iterator[list[Row]]:
        """The rows of the file, many at once. One that cannot be read is told after the rows before it."""
        rows: list[Row] = []
        try:
            for row in self._rows:
                rows.append(row)
                if len(rows) == size:
                    yield rows
                    rows = []
        except LabelError:
            if rows:
                yield rows
            raise
        if rows:
            yield rows

    def _times(self, stamps: Sequence[Cell], before: float | None, numbers: Sequence[int]) -> Column:
        """The times of rows."""
        try:
            times = np.array(list(map(float, stamps))) * self._time_unit  # the usual case
            distances = np.diff(times, prepend=np.nan if before is None else before)[before is None :]
            if np.isfinite(times).all() and (distances > 0.0).all():
                return times
        except (TypeError, ValueError):
            pass  # dates, or a mistake
        found: list[float] = []
        for number, cell in zip(numbers, stamps, strict=True):
            time = self._time_of(cell, number)
            if before is not None and not time > before:
                raise self._not_later(number, cell, before)
            before = time
            found.append(time)
        return np.array(found)

    def _not_later(self, number: int, cell: Cell, before: float) -> LabelError:
        return LabelError(
            f"{self._where(number)}: times should increase. Received {cell} after {before:.17g}. Sort the rows and "
            "leave out repeated ones, or give their distance with --period."
        )

    def _time_of(self, cell: Cell, number: int) -> float:
        try:
            time = float(cell) * self._time_unit
        except (TypeError, ValueError):
            try:
                date = datetime.fromisoformat(str(cell).strip())
                time = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()  # the same on every machine
            except ValueError:
                time = math.nan
        if not math.isfinite(time):
            raise LabelError(
                f"{self._where(number)}: a time should be a number or an ISO 8601 date, such as 2026-01-31T12:00:00. "
                f"Received {'nothing' if cell is None else repr(cell)}. Correct it, name another column with --time, "
                "or give the distance of rows with --period."
            )
        return time

    def _time_place(self) -> int:
        if not self.has_time:
            raise LabelError(
                f"Durations need times, and the trace {self._name!r} has no column {self._time_column!r}. Name its "
                f"column of times with --time; it has: {', '.join(self.columns)}. Or give the distance of rows with "
                "--period."
            )
        return self.columns.index(self._time_column)

    def _where(self, number: int) -> str:
        return f"{self._name}, {self._unit} {number}"
