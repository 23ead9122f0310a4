"""`rewardspec draw FORMULA -o FILE`, or `SPEC.toml`: pictures of a formula's machine, or of each pair's."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rewardspec.cli.options import add_formula, command, formula_of
from rewardspec.drawing import render
from rewardspec.drawing.diagrams import diagram_of
from rewardspec.errors import SpecError
from rewardspec.logic.formulas import Formula
from rewardspec.logic.quantifiers import body_of
from rewardspec.spec.toml_reading import read_draft
from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.types import Subparsers


def add_parser(commands: Subparsers) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "draw",
        "draw a formula's monitor, or its automaton, as a picture; of a spec file, those of its pairs",
        """
        rewardspec draw "!a U (a & F b)" -o monitor.svg
        rewardspec draw "!a U (a & F b)" --boolean -o automaton.svg
        rewardspec draw spec.toml -o spec.svg
        """,
        "An argument that ends in .toml is a spec file. Each of several pairs has a picture of\n"
        "its own: with -o spec.svg, spec-1.svg, spec-2.svg and so on.",
    )
    add_formula(parser)
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help=".svg, .png, .pdf, .dot or .mmd")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--boolean", action="store_true", help="the automaton for Boolean labels")
    kind.add_argument(
        "--progress",
        action="store_true",
        help="say how progress is read off the registers; pairs paid for it always do",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the picture, or one for each pair."""
    if arguments.formula.endswith(".toml"):
        return _draw_spec(arguments)
    machine = _machine(
        formula_of(arguments), arguments.boolean, progress=arguments.progress, semantics=arguments.semantics
    )
    render(diagram_of(machine), arguments.output)
    print(f"Wrote {arguments.output}: {machine!r}")
    return 0


def _draw_spec(arguments: argparse.Namespace) -> int:
    draft = read_draft(arguments.formula, atoms=False)
    if not draft.pairs:
        raise SpecError(f'The spec {arguments.formula!r} has no pairs to draw. Add one: pairs = [["F goal", 1]].')
    settings = {name: draft.options[name] for name in ("max_registers", "semantics") if name in draft.options}
    # All machines before the first picture: where one is too large, nothing is written.
    machines = [
        _machine(pair.formula, arguments.boolean, progress=arguments.progress or pair.progress, **settings)
        for pair in draft.pairs
    ]
    target = Path(arguments.output)
    for number, (pair, machine) in enumerate(zip(draft.pairs, machines, strict=True), start=1):
        path = target if len(machines) == 1 else target.with_name(f"{target.stem}-{number}{target.suffix}")
        render(diagram_of(machine), path)
        name = "" if pair.name is None else f" ({pair.name})"
        print(f"Wrote {path}: pair {number}{name}, {machine!r}")
    return 0


def _machine(formula: Formula, boolean: bool, **settings: Any) -> Any:
    formula = body_of(formula)  # of a formula about many things, the machine for one of them
    return synthesize_boolean(formula) if boolean else synthesize(formula, **settings)
