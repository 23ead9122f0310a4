"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rewardspec.logic.formulas import Formula
from rewardspec.logic.parsing import parse


def command(commands: Any, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """A parser for one command, whose help ends with an example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog="example:\n" + textwrap.indent(textwrap.dedent(example).strip(), "  "),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def add_formula(parser: argparse.ArgumentParser) -> None:
    """The FORMULA argument and the ways to read it."""
    parser.add_argument("formula", metavar="FORMULA", help="the formula, quoted for the shell")
    parser.add_argument(
        "--syntax",
        choices=("rewardspec", "spot"),
        default="rewardspec",
        help="'spot' reads a bare X as weak next (default: %(default)s, where X is strong)",
    )


def formula_of(arguments: argparse.Namespace) -> Formula:
    """The formula that was given."""
    return parse(arguments.formula, syntax=arguments.syntax)


@contextmanager
def importing_from_here() -> Iterator[None]:
    """Let atoms and environments come from the current directory, as `python -m` does and a console script does not."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
