"""`rewardspec monitor FORMULA --trace FILE.csv`: the value and its bounds after every step of a recorded trace."""

from __future__ import annotations

import argparse
import csv
import io
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rewardspec.cli.options import add_formula, command, formula_of
from rewardspec.drawing.run_plot import check_picture_path, plot_run, save
from rewardspec.errors import LabelError
from rewardspec.logic.parsing import atom_hint
from rewardspec.synthesis.quantitative.synthesize import synthesize


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "monitor",
        "run a formula's monitor over a trace and print its value and bounds after every step",
        """
        rewardspec monitor "G(request -> F grant)" --trace episode.csv --plot episode.png
        """,
    )
    add_formula(parser)
    parser.add_argument(
        "--trace",
        metavar="FILE.csv",
        required=True,
        help="one column for each atom, one row for each step; '-' reads standard input",
    )
    parser.add_argument("--plot", metavar="FILE", help="also draw atoms, value and bounds over time (.png, .svg, .pdf)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print CSV with the columns step, value, lower and upper."""
    formula = formula_of(arguments)
    monitor = synthesize(formula)
    if arguments.plot:
        check_picture_path(arguments.plot)
    state = monitor.initial_state()
    output = csv.writer(sys.stdout, lineterminator="\n")
    labels: dict[str, list[float]] = {atom: [] for atom in monitor.atoms}
    rows: list[tuple[float, float, float]] = []
    with _opened(arguments.trace) as file:
        for step, letter in enumerate(_letters(file, monitor.atoms, arguments.trace)):
            if step == 0:
                output.writerow(["step", "value", "lower", "upper"])
            state, value = monitor.step(state, letter)
            lower, upper = monitor.bounds(state)
            # Each row as soon as it is known, so that a trace can be piped in while it is being recorded.
            output.writerow([step, *(_number(x) for x in (value, lower, upper))])
            sys.stdout.flush()
            if arguments.plot:
                rows.append((value, lower, upper))
                for atom, column in labels.items():
                    column.append(letter[atom])
    if arguments.plot:
        values, lowers, uppers = (list(column) for column in zip(*rows, strict=True))
        save(plot_run(str(formula), labels, values, lowers, uppers), arguments.plot)
        print(f"Wrote {arguments.plot}", file=sys.stderr)
    return 0


def _number(value: float) -> str:
    return f"{float(value):.10g}"


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


def _letters(file: TextIO, atoms: tuple[str, ...], name: str) -> Iterator[dict[str, float]]:
    """The labels of each row, checked."""
    reader = csv.reader(file)
    header = [cell.strip() for cell in next(reader, [])]
    if not header:
        raise LabelError(f"The trace {name!r} is empty. Its first row should name the atoms.")
    for atom in atoms:
        if header.count(atom) > 1:
            raise LabelError(f"The trace {name!r} has {header.count(atom)} columns {atom!r}. Keep one.")
        if atom not in header:
            raise LabelError(
                f"The trace {name!r} has no column {atom!r}; it has: {', '.join(header)}.{atom_hint(atom, header)}"
            )
    places = {atom: header.index(atom) for atom in atoms}
    found = False
    for row in reader:
        if not row:
            continue
        found = True
        if len(row) != len(header):
            raise LabelError(f"{name}, line {reader.line_num}: expected {len(header)} cells. Received {len(row)}.")
        yield {atom: _cell(row[place], atom, name, reader.line_num) for atom, place in places.items()}
    if not found:
        raise LabelError(f"The trace {name!r} has a header and no rows. It should have one row for each step.")


def _cell(text: str, atom: str, name: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        raise LabelError(
            f"{name}, line {line}: the label of {atom!r} should be a number in [0, 1]. Received {text!r}. "
            "Write one there."
        ) from None
    if not 0.0 <= value <= 1.0:
        remedy = "Scale the column." if math.isfinite(value) else "Write a number there."
        raise LabelError(
            f"{name}, line {line}: the label of {atom!r} should be in [0, 1]. Received {text.strip()}. {remedy}"
        )
    return value
