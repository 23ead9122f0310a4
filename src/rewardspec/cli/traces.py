"""Recorded traces in CSV files: a column for each atom, a row for each step."""

from __future__ import annotations

import csv
import io
import itertools
import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from rewardspec.errors import LabelError
from rewardspec.logic.parsing import atom_hint
from rewardspec.machines.label_checks import TOLERANCE
from rewardspec.machines.program import Semantics

_TRUTHS = {"true": 1.0, "false": 0.0}


class Row(NamedTuple):
    """A row of a trace.

    Attributes:
        labels: The label of each atom.
        others: The numbers of other columns that were asked for and are there.
    """

    labels: dict[str, float]
    others: dict[str, float]


def rows_of(
    name: str, atoms: Sequence[str], others: Sequence[str] = (), semantics: Semantics = "degree"
) -> Iterator[Row]:
    """The rows of a trace, as they come.

    Commas, semicolons and tabs may stand between cells; True and False are 1 and 0.

    Args:
        name: The file; `-` is standard input.
        atoms: Columns of labels, all of which have to be there.
        others: Columns of any numbers, which may be.
        semantics: Whether labels are degrees from 0 to 1 or, as robustness, any finite numbers.

    Raises:
        LabelError: The file cannot be read, lacks a column, or has a cell that is no label. Names the line.
    """
    with _opened(name) as file:
        reader, header = _header(file, name)
        for atom in atoms:
            if header.count(atom) > 1:
                raise LabelError(f"The trace {name!r} has {header.count(atom)} columns {atom!r}. Keep one.")
            if atom not in header:
                raise LabelError(
                    f"The trace {name!r} has no column {atom!r}; it has: {', '.join(header)}.{atom_hint(atom, header)}"
                )
        places = {column: header.index(column) for column in (*atoms, *others) if column in header}
        found = False
        for row in reader:
            if not row:
                continue
            found = True
            where = f"{name}, line {reader.line_num}"
            if len(row) != len(header):
                raise LabelError(f"{where}: expected {len(header)} cells. Received {len(row)}.")
            yield Row(
                {atom: _label(row[places[atom]], atom, where, semantics) for atom in atoms},
                {column: _number(row[places[column]], column, where) for column in others if column in places},
            )
        if not found:
            raise LabelError(f"The trace {name!r} has a header and no rows. It should have one row for each step.")


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
        place = os.path.abspath(name)
        raise LabelError(f"Cannot read the trace {name!r}: there is no file {place!r}. Correct the name.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise LabelError(f"Cannot read the trace {name!r}: {reason}. Give a CSV file of UTF-8 text.") from None


def _header(file: TextIO, name: str) -> tuple[Any, list[str]]:
    """A reader of the rows below the header, and the header, which tells what stands between cells."""
    first = file.readline()
    # A comma may be part of an atom's name, in quotes; a semicolon or a tab outside them separates.
    bare = "".join(part for number, part in enumerate(first.split('"')) if number % 2 == 0)
    between = next((mark for mark in ",;\t" if mark in bare), ",")
    reader = csv.reader(itertools.chain([first], file), delimiter=between)
    header = [cell.strip() for cell in next(reader, [])]
    if not any(header):
        raise LabelError(f"The trace {name!r} is empty. Its first row should name the atoms.")
    return reader, header


def _label(text: str, atom: str, where: str, semantics: Semantics) -> float:
    if semantics == "robustness":
        value = _number(text, atom, where, "the label of ")
        if not math.isfinite(value):
            what = f"{where}: the label of {atom!r} should be a finite number."
            raise LabelError(f"{what} Received {text.strip()}. Write one there.")
        return value
    value = _number(text, atom, where, "the label of ", " in [0, 1]")
    inside = min(max(value, 0.0), 1.0)
    if not abs(value - inside) <= TOLERANCE:
        remedy = (
            "Scale the column, or read labels as margins with --semantics robustness."
            if math.isfinite(value)
            else "Write a number there."
        )
        raise LabelError(f"{where}: the label of {atom!r} should be in [0, 1]. Received {text.strip()}. {remedy}")
    return inside


def _number(text: str, column: str, where: str, what: str = "the entry of ", kind: str = "") -> float:
    try:
        return _TRUTHS[text.strip().lower()] if text.strip().lower() in _TRUTHS else float(text)
    except ValueError:
        point = text.strip().replace(",", ".", 1)
        remedy = "Write one there."
        if point.replace(".", "", 1).lstrip("-").isdigit():
            remedy = f"Write it with a point: {point}."
        raise LabelError(f"{where}: {what}{column!r} should be a number{kind}. Received {text!r}. {remedy}") from None
