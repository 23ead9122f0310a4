"""Files of records, CSV, JSON lines and Parquet, read row by row; and the numbers in the rows, as checked labels."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import LabelError, MissingExtraError
from rewardspec.machines.label_checks import TOLERANCE
from rewardspec.machines.program import Semantics
from rewardspec.spec.atoms.column_atoms import ColumnAtom, ColumnRead, ColumnSource, Says
from rewardspec.types import Json

Cell: TypeAlias = Json  # text in CSV files; numbers, truth values, text or None in others

JSON_SUFFIXES = (".jsonl", ".ndjson")


class Table(NamedTuple):
    """A file of records that is being read.

    Each row has the number of its line, from 1, and a cell for each column. `unit` is what the numbers count: "line" or
    "row".
    """

    columns: list[str]
    rows: Iterator[tuple[int, Sequence[Cell]]]
    unit: str = "line"


@contextmanager
def opened_table(name: str, only: str | None = None) -> Iterator[Table]:
    """Open a file of records; its ending says what it is, and `-` is standard input, as CSV.

    If only one column is wanted, others may be left out.
    """
    if Path(name).suffix.lower() == ".parquet":
        with _opened_parquet(name, only) as table:
            yield table
        return
    with _opened(name) as file:
        yield _json_table(file, name) if Path(name).suffix.lower() in JSON_SUFFIXES else _csv_table(file, name)


@contextmanager
def _opened(name: str) -> Iterator[TextIO]:
    try:
        if name == "-":
            # Its bytes, so that a byte order mark or another encoding is treated as in a file.
            yield io.TextIOWrapper(sys.stdin.buffer, newline="", encoding="utf-8-sig")
            return
        with Path(name).open(newline="", encoding="utf-8-sig") as file:
            yield file
    except BrokenPipeError:
        raise  # of our output, not of the trace
    except csv.Error as error:
        raise LabelError(f"Cannot read the trace {name!r}: {error}.") from None
    except FileNotFoundError:
        raise _no_file(name) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise LabelError(f"Cannot read the trace {name!r}: {reason}. Give a CSV file of UTF-8 text.") from None


def _no_file(name: str) -> LabelError:
    return LabelError(f"Cannot read the trace {name!r}: there is no file {os.path.abspath(name)!r}. Correct the name.")


def _csv_table(file: TextIO, name: str) -> Table:
    """A CSV file, whose header tells what stands between cells."""
    first = file.readline()
    # A comma may be part of an atom's name, in quotes; a semicolon or a tab outside them separates.
    bare = "".join(part for number, part in enumerate(first.split('"')) if number % 2 == 0)
    between = next((mark for mark in ",;\t" if mark in bare), ",")
    reader = csv.reader(itertools.chain([first], file), delimiter=between)
    header = [cell.strip() for cell in next(reader, [])]
    if not any(header):
        raise LabelError(f"The trace {name!r} is empty. Its first row should name the atoms.")

    def rows() -> Iterator[tuple[int, Sequence[Cell]]]:
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                where = f"{name}, line {reader.line_num}"
                raise LabelError(f"{where}: expected {len(header)} cells. Received {len(row)}.")
            yield reader.line_num, row

    return Table(header, rows())


def _json_table(file: TextIO, name: str) -> Table:
    """A file with a JSON object in each line; the first names the columns, and keys of inner objects follow a dot."""

    def objects() -> Iterator[tuple[int, dict[str, Json]]]:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise LabelError(f"{name}, line {number}: this is not JSON: {error}.") from None
            if not isinstance(row, dict):
                raise LabelError(
                    f"{name}, line {number}: each line should be a JSON object. Received {line.strip()!r}."
                )
            yield number, _flat(row)

    lines = objects()
    first = next(lines, None)
    if first is None:
        raise LabelError(f"The trace {name!r} is empty. Each line should be a JSON object with an entry per column.")
    columns = list(first[1])
    rows = itertools.chain([first], lines)
    return Table(columns, ((number, [row.get(column) for column in columns]) for number, row in rows))


def _flat(row: Mapping[str, Json]) -> dict[str, Json]:
    """The entries of an object, those of inner objects under dotted names.

    Example:
        >>> _flat({"valve": {"open": True}, "p": 3})
        {'valve.open': True, 'p': 3}
    """
    flat: dict[str, Json] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": cell for inner, cell in _flat(value).items()}
        else:
            flat[key] = value
    return flat


@contextmanager
def _opened_parquet(name: str, only: str | None) -> Iterator[Table]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "Reading Parquet files") from None
    try:
        file = parquet.ParquetFile(name)
    except FileNotFoundError:
        raise _no_file(name) from None
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise LabelError(f"Cannot read the trace {name!r}: {error}. Give a Parquet file.") from None
    with file:
        columns = list(file.schema_arrow.names) if only is None else [only]
        read = file.iter_batches(columns=None if only is None else columns)
        batches = ([_cells(batch.column(k)) for k in range(len(columns))] for batch in read)
        rows = itertools.chain.from_iterable(zip(*batch, strict=True) for batch in batches)
        yield Table(columns, enumerate(rows, start=1), "row")


def _cells(column: Any) -> list[Cell]:
    """The cells of a column of a Parquet file; Python has no times of nanoseconds, and these become microseconds."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_timestamp(kind) and kind.unit == "ns":
        column = column.cast(pyarrow.timestamp("us", kind.tz), safe=False)
    elif kind == pyarrow.time64("ns"):
        column = column.cast(pyarrow.time64("us"), safe=False)
    elif kind == pyarrow.duration("ns"):
        column = column.cast(pyarrow.duration("us"), safe=False)
    cells: list[Cell] = column.to_pylist()
    return cells


Missing: TypeAlias = Literal["error", "hold", "skip"]
Column: TypeAlias = NDArray[np.float64]
Row: TypeAlias = tuple[int, Sequence[Cell]]  # the number of its line, and its cells

_WORDS = (("true", "false"), ("yes", "no"), ("on", "off"), ("t", "f"), ("y", "n"))
_TRUTHS = {word: truth for pair in _WORDS for word, truth in zip(pair, (1.0, 0.0), strict=True)}
_NOTHING = ("", "nan", "na", "n/a", "null", "none")
_MOST_WORDS = 5  # of a column, that a message lists


class CellReader:
    """The numbers of the columns that have these places in a row, of which some are labels of atoms.

    Attributes:
        unheard: The words that no cell has had yet, each with the first words that cells of its column have.
    """

    def __init__(
        self,
        places: Sequence[tuple[ColumnSource, int]],
        missing: Missing,
        labels: Sequence[str],
        semantics: Semantics,
        where: Callable[[int], str],
    ) -> None:
        self._places, self._missing, self._labels, self._semantics = places, missing, labels, semantics
        self._where = where
        self._last: dict[ColumnSource, float] = {}
        self.unheard: dict[Says, list[str]] = {source: [] for source, _ in places if isinstance(source, Says)}

    def read(self, rows: Sequence[Row]) -> tuple[Sequence[Row], dict[ColumnSource, Column]]:
        """The rows that are not left out, and their numbers by column."""
        self._hear(rows)
        try:
            columns = {
                source: _numbers_of(source, [cells[place] for _, cells in rows]) for source, place in self._places
            }
            if all(np.isfinite(values).all() for values in columns.values()):  # the usual case
                self._last = {column: float(values[-1]) for column, values in columns.items()}
                return rows, columns
        except (TypeError, ValueError, AttributeError, KeyError):
            pass
        kept: list[Row] = []
        found: list[dict[ColumnSource, float]] = []
        for row in rows:
            values_here = self._values(*row)
            if values_here is not None:
                kept.append(row)
                found.append(values_here)
                self._last = values_here
        return kept, {column: np.array([values[column] for values in found]) for column, _ in self._places}

    def _hear(self, rows: Sequence[Row]) -> None:
        """Note which words have been read."""
        for source, place in self._places:
            if isinstance(source, Says) and source in self.unheard:
                words = self.unheard[source]
                for _, cells in rows:
                    cell = cells[place]
                    word = cell.strip() if isinstance(cell, str) else ""
                    if word == source.word:
                        del self.unheard[source]
                        break
                    if len(words) < _MOST_WORDS and word and word not in words:
                        words.append(word)

    def _values(self, number: int, cells: Sequence[Cell]) -> dict[ColumnSource, float] | None:
        """The numbers of a row; None where the row is left out."""
        values: dict[ColumnSource, float] = {}
        for source, place in self._places:
            cell = cells[place]
            column = source.column if isinstance(source, Says) else source
            if _is_missing(cell, isinstance(source, Says)):
                if self._missing == "skip":
                    return None
                if self._missing == "error":
                    shown = "is empty" if cell is None or not str(cell).strip() else f"says {str(cell)!r}"
                    raise LabelError(
                        f"{self._where(number)}: the cell of {column!r} {shown}. Write a "
                        f"{'word' if isinstance(source, Says) else 'number'} there, take the value of the row before "
                        "with --missing hold, or leave such rows out with --missing skip."
                    )
                if source not in self._last:
                    raise LabelError(
                        f"{self._where(number)}: the first cell of {column!r} is empty, and there is none before it to "
                        "hold. Leave such rows out with --missing skip."
                    )
                values[source] = self._last[source]
                continue
            try:
                values[source] = float(_numbers_of(source, [cell])[0])
            except (TypeError, ValueError, AttributeError, KeyError):
                if isinstance(source, Says):
                    raise LabelError(
                        f"{self._where(number)}: the entry of {column!r} is compared with the word {source.word!r}, "
                        f"and should be text. Received {cell!r}. Compare it with a number."
                    ) from None
                is_label = column in self._labels
                kind = " in [0, 1]" if is_label and self._semantics == "degree" else ""
                what = "the label of " if is_label else "the entry of "
                raise LabelError(
                    f"{self._where(number)}: {what}{column!r} should be a number{kind}. Received {str(cell)!r}. "
                    f"{_remedy(str(cell).strip())}"
                ) from None
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
            rounding = 4 * np.spacing(np.abs(times) + self._read.ago)  # 8.1 - 5 is less than 3.1
            places = np.searchsorted(self._times, times - self._read.ago + rounding, side="right") - 1
        else:
            places = here - int(min(self._read.ago, len(self._values)))
        places = np.maximum(places, 0)
        earlier: Column = self._values[places]
        if len(values):  # nothing older than what the last row read is read again
            self._values, self._times = self._values[places[-1] :].copy(), self._times[places[-1] :].copy()
        return earlier


class LabelKind(NamedTuple):
    """What numbers count as labels.

    Attributes:
        semantics: Degrees are in [0, 1]; for robustness, labels are any finite numbers.
        clip: Whether degrees out of range are clipped.
        threshold: Degrees from here on count as 1, others as 0; None to keep them.
    """

    semantics: Semantics = "degree"
    clip: bool = False
    threshold: float | None = None


def checked_labels(
    labels: Column,
    reading: ColumnAtom | str,
    kind: LabelKind,
    numbers: Sequence[int],
    where: Callable[[int], str],
    now: Mapping[ColumnSource, Column],
    earlier: Mapping[ColumnRead, Column],
) -> Column:
    """The numbers as labels; an error names the first that is none, and the values that an expression read there."""
    is_margin = kind.semantics == "robustness"
    if is_margin:
        inside, good = labels, np.isfinite(labels)
    else:
        inside = np.where(labels < 0.0, 0.0, np.where(labels > 1.0, 1.0, labels))
        good = ~np.isnan(labels) if kind.clip else np.abs(labels - inside) <= TOLERANCE
    if good.all():
        return inside if kind.threshold is None else (inside >= kind.threshold).astype(np.float64)
    first = int(np.argmin(good))
    value, read = float(labels[first]), ""
    if isinstance(reading, ColumnAtom):
        values = {r: earlier[r][first] if r.ago else now[r.column][first] for r in reading.reads}
        read = f", where {' and '.join(f'{r} = {number:g}' for r, number in values.items())}" if values else ""
    name = reading.text if isinstance(reading, ColumnAtom) else reading
    what = "margin" if read and is_margin else "label"
    should = "a finite number" if is_margin else "in [0, 1]"
    remedy = "Scale the column, or read labels as margins with --semantics robustness."
    if not math.isfinite(value):
        remedy = "Correct these cells." if read else "Write a number there."
    raise LabelError(
        f"{where(numbers[first])}: the {what} of {name!r} should be {should}. Received {value:g}{read}. {remedy}"
    )


def _is_missing(cell: Cell, is_word: bool) -> bool:
    """Whether a cell is empty; of words, none, null and so on may be some."""
    if isinstance(cell, str):
        return cell.strip().lower() in _NOTHING[: 1 if is_word else None]
    return cell is None or cell != cell


def _numbers_of(source: ColumnSource, cells: Sequence[Cell]) -> Column:
    """The numbers of cells; where they are compared with a word, 1 of cells that have it and 0 of others."""
    if not isinstance(source, Says):
        return _numbers(cells)
    words = [cell.strip() for cell in cells if isinstance(cell, str)]
    if len(words) < len(cells) or not all(words):
        raise ValueError("a cell is empty, or no text")
    return np.array([word == source.word for word in words], dtype=np.float64)


def _numbers(cells: Sequence[Cell]) -> Column:
    """The numbers of cells, or of words for true and false."""
    try:
        return np.array(list(map(float, cells)))
    except ValueError:
        return np.array([_TRUTHS[cell.strip().lower()] for cell in cells])


def _remedy(text: str) -> str:
    point = text.replace(",", ".", 1)
    if point.replace(".", "", 1).lstrip("-").isdigit():
        return f"Write it with a point: {point}."
    words = ", ".join(f"{true} and {false}" for true, false in _WORDS)
    return (
        f"Write one there. Of words only {words} are read, as 1 and 0. Compare a column of other words in an "
        "expression: \"mode == 'auto'\"."
    )
