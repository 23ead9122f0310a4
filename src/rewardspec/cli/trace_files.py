"""Files of records: CSV, JSON lines and Parquet, read row by row."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO, TypeAlias

from rewardspec.errors import LabelError, MissingExtraError
from rewardspec.types import Json

Cell: TypeAlias = Json  # text in CSV files; numbers, truth values, text or None in others

JSON_SUFFIXES = (".jsonl", ".ndjson")


class Table(NamedTuple):
    """A file of records that is being read.

    Attributes:
        columns: The names of its columns.
        rows: For each row the number of its line, from 1, and a cell for each column.
        unit: What the numbers of rows count: "line" or "row".
    """

    columns: list[str]
    rows: Iterator[tuple[int, Sequence[Cell]]]
    unit: str = "line"


@contextmanager
def opened_table(name: str) -> Iterator[Table]:
    """Open a file of records; its ending says what it is, and `-` is standard input, as CSV."""
    if Path(name).suffix.lower() == ".parquet":
        with _opened_parquet(name) as table:
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
def _opened_parquet(name: str) -> Iterator[Table]:
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
        columns = list(file.schema_arrow.names)
        batches = ([batch.column(k).to_pylist() for k in range(len(columns))] for batch in file.iter_batches())
        rows = itertools.chain.from_iterable(zip(*batch, strict=True) for batch in batches)
        yield Table(columns, enumerate(rows, start=1), "row")
