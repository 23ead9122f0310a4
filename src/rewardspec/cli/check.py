"""`rewardspec check FORMULA` or `SPEC.toml`: what it says, how large its machine is, and what may be wrong with it."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator

from rewardspec.cli.check_spec import add_spec_options, check_spec, kind_of, section, sizes_of
from rewardspec.cli.options import add_formula, command, formula_of
from rewardspec.errors import FormulaError, SpecError, SynthesisError
from rewardspec.logic.formulas import Formula
from rewardspec.logic.quantifiers import Quantified
from rewardspec.logic.words import paraphrase
from rewardspec.machines.monitor import Monitor
from rewardspec.machines.program import Semantics
from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
from rewardspec.synthesis.diagnosis import warnings_about
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.types import Subparsers


def add_parser(commands: Subparsers) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "check",
        "read a formula or a spec file and say what it means, how large its machine is, and what looks wrong",
        """
        rewardspec check "G(request -> F grant)"
        rewardspec check spec.toml --env CartPole-v1
        """,
    )
    parser.epilog = (
        f"{parser.epilog}\n\nAn argument that ends in .toml is a spec file.\n"
        "Exit status: 0 when there is nothing worse than warnings, 1 when a spec has errors,\n"
        "2 when the formula or the file cannot be read."
    )
    add_formula(parser)
    add_spec_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what there is to know about the formula, or the spec."""
    if arguments.formula.endswith(".toml"):
        return check_spec(arguments)
    if arguments.env is not None:
        raise SpecError("--env goes with a spec file, whose atoms read observations. Received a formula.")
    formula = formula_of(arguments)
    for title, text in _report(formula, arguments.semantics):
        print(section(title, text))
    return 0


def _report(formula: Formula, semantics: Semantics) -> Iterator[tuple[str, str]]:
    yield "Formula", _shortened(str(formula))
    in_words = paraphrase(formula)
    if in_words is not None:
        yield "In words", textwrap.fill(in_words, 88)
    yield "Atoms", ", ".join(formula.atoms) or "none"
    yield "Kind", kind_of(formula)
    if isinstance(formula, Quantified):
        yield "Things", f"a spec says how many there are; what follows is for one {formula.variable}"
        formula = formula.body
    monitor: Monitor | None = None
    try:
        monitor = synthesize(formula, semantics=semantics)
    except (SynthesisError, FormulaError) as error:  # the latter where robustness has no such operator
        yield "Monitor", textwrap.fill(f"refused: {error}", 88)
    if monitor is not None:
        yield "Monitor", _machine(monitor)
        try:
            lower, upper = monitor.bounds(monitor.initial_state())
            yield "Range", f"constant {lower:g}" if lower == upper else f"{lower:g} to {upper:g}"
        except SynthesisError as error:
            yield "Range", textwrap.fill(f"not known: {error}", 88)
            monitor = None
    try:
        boolean = synthesize_boolean(formula)
        count = len(boolean.states)
        yield "Automaton", f"{count} state{'s' * (count != 1)}, {len(boolean.accepting)} accepting (Boolean labels)"
    except SynthesisError as error:
        yield "Automaton", textwrap.fill(f"refused: {error}", 88)
    for warning in warnings_about(formula, monitor):
        yield "Warning", textwrap.fill(warning, 88)


def _machine(monitor: Monitor, most_lines: int = 12) -> str:
    """The machine's size and, where it is small, its equations."""
    states = len(monitor.states)
    lines = [sizes_of(monitor.program)]
    if len(monitor.registers) + len(monitor.program.windows) + states <= most_lines:
        diagram = monitor.diagram()
        lines.extend([f"starts with {', '.join(diagram.entry)}"] if diagram.entry else [])
        for node in diagram.nodes:
            indent = "  " if states > 1 else ""
            lines.extend([f"in {node.title}:"] if states > 1 else [])
            lines.extend(f"{indent}{line}" for line in (*node.lines, node.result))
        lines.extend(diagram.notes)
    return "\n".join(lines if len(lines) <= most_lines else lines[:1])


def _shortened(text: str, longest: int = 500) -> str:
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text):,} characters)"
