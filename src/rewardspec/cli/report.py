"""`rewardspec report DIR`: the table, the curves and the report, from results that are there."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from rewardspec.cli.options import command


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
    """Write the outputs of a directory of results, print the table, and say where the rest is."""
    from rewardspec.experiments.outputs.writing import write_outputs
    from rewardspec.experiments.runs.results import each_cell, is_quick

    print("Writing the report …", file=sys.stderr, flush=True)
    written = write_outputs(Path(directory), each_cell(directory), quick=is_quick(directory))
    for path in written:
        if path.name == "table.txt":
            print(path.read_text(encoding="utf-8"))
    for path in written:
        print(f"Wrote {path}")
