"""`rewardspec report DIR`: write the tables, curves and report of existing results."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import textwrap
from pathlib import Path

from rewardspec.cli.options import command, importing_from_here
from rewardspec.types import Subparsers


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = command(
        commands,
        "report",
        "write the table, the curves and the report anew from the results in a directory",
        """
        rewardspec report results
        """,
    )
    parser.add_argument("directory", metavar="DIR", help="where `reproduce` or `compare` put their results")
    parser.add_argument(
        "--references",
        action="store_true",
        help="import the module of an environment module:NAME that DIR names, which runs its code",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write tables, curves and the report."""
    with importing_from_here() if arguments.references else contextlib.nullcontext():
        write_report(arguments.directory, references=arguments.references)
    return 0


def write_report(directory: str, *, references: bool) -> None:
    """Write the outputs of a directory of results, and print the table and the names of the files.

    `references` says whether the module of its environment may be imported.
    """
    from rewardspec.lab.experiments.outputs import write_outputs
    from rewardspec.lab.experiments.results import open_results

    study, cells = open_results(directory, references=references)
    print("Writing the report …", file=sys.stderr, flush=True)
    try:
        width = min(shutil.get_terminal_size((120, 24)).columns, 120)
        written = write_outputs(Path(directory), study, cells, width=width)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"Interrupted. The results in {directory!r} are kept; write the report with: rewardspec report {directory}"
        ) from None
    print(written.table)
    first, *others = written.files
    print(f"Wrote {first}")
    if others:
        print(textwrap.fill(f"Beside it: {', '.join(path.name for path in others)}", width))
    if written.highlights:
        print("\nWhat to see:")
        for line in written.highlights:
            print(textwrap.fill(line, width, initial_indent="  ", subsequent_indent="  "))
