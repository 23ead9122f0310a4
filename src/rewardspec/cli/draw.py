"""`rewardspec draw FORMULA -o FILE`: a picture of a formula's monitor or automaton."""

from __future__ import annotations

import argparse
from typing import Any

from rewardspec.cli.options import add_formula, command, formula_of
from rewardspec.monitors.boolean import synthesize_boolean
from rewardspec.monitors.diagrams import diagram_of
from rewardspec.monitors.drawing import render
from rewardspec.monitors.quantitative import synthesize


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "draw",
        "draw a formula's monitor, or its automaton, as a picture",
        """
        rewardspec draw "!a U (a & F b)" -o monitor.svg
        rewardspec draw "!a U (a & F b)" --boolean -o automaton.svg
        """,
    )
    add_formula(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help=".svg, .png, .pdf, .dot or .mmd")
    parser.add_argument("--boolean", action="store_true", help="the automaton for Boolean labels")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the picture."""
    formula = formula_of(arguments)
    machine = synthesize_boolean(formula) if arguments.boolean else synthesize(formula)
    render(diagram_of(machine), arguments.output)
    print(f"wrote {arguments.output}: {machine!r}")
    return 0
