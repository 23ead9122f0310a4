"""`rewardspec report DIR`: the table, the curves and the report, from results that are there."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardspec.cli.options import command
from rewardspec.errors import Error

if TYPE_CHECKING:
    from rewardspec.experiments.cells import Cell


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "report",
        "write the table, the curves and the report anew from the results in a directory",
        """
        rewardspec report results
        """,
    )
    parser.add_argument("directory", metavar="DIR", help="where `rewardspec reproduce` put its results")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write everything down."""
    write_report(arguments.directory)
    return 0


def write_report(directory: str) -> None:
    """Write the outputs of a directory of results, print the table, and say where the rest is.

    Raises:
        Error: There are no results there.
        KeyboardInterrupt: Ctrl-C was pressed; the message says how to go on.
    """
    from rewardspec.experiments.outputs import write_outputs

    cells = _cells(directory)
    print("Writing the report …", file=sys.stderr, flush=True)
    try:
        written = write_outputs(Path(directory), cells)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Interrupted. The results in {directory!r} are kept; write the report with: rewardspec report {directory}"
        ) from None
    for path in written:
        if path.name == "table.txt":
            print(path.read_text(encoding="utf-8"))
    for path in written:
        print(f"Wrote {path}")


def _cells(directory: str) -> Iterator[Cell]:
    """The cells of a directory, of which the first has been seen: where there is none, that is told at once."""
    from rewardspec.experiments.results import each_cell

    if Path(directory).is_file():
        raise Error(f"{directory!r} is a file. Give the directory where `rewardspec reproduce` put its results.")
    cells = each_cell(directory)
    return itertools.chain((next(cells),), cells)
