"""`rewardspec check FORMULA` or `SPEC.toml`: what it says, how large its machine is, and what may be wrong with it."""

from __future__ import annotations

import argparse
import contextlib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rewardspec.cli.options import (
    OBSERVE_CHOICES,
    add_env_arg,
    add_formula,
    add_no_references,
    command,
    draft_in,
    formula_of,
    importing_from_here,
    made,
)
from rewardspec.cli.traces import add_period
from rewardspec.episodes.engine import Transition
from rewardspec.episodes.observation_copies import copied
from rewardspec.errors import FormulaError, SpecError, SynthesisError
from rewardspec.logic import formulas as fm
from rewardspec.logic.durations import Pace, has_durations, in_steps
from rewardspec.logic.formulas import LAST, Formula
from rewardspec.logic.fragments import is_cosafe, is_propositional, is_safe
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.quantifiers import Quantified
from rewardspec.logic.words import paraphrase
from rewardspec.machines.monitor import Monitor
from rewardspec.machines.program import Program, Semantics
from rewardspec.spec.atoms.components import why_unreadable
from rewardspec.spec.lint.findings import Finding, LintedSpec
from rewardspec.spec.lint.linter import findings_of
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import PAYMENTS, Payment
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import SpecDraft
from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
from rewardspec.synthesis.diagnosis import warnings_about
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.types import Environment, Info, Number, Observation, Subparsers
from rewardspec.wrappers.monitor_reward import episode_limit
from rewardspec.wrappers.probing import RandomActions

FirstState: TypeAlias = tuple[Observation, Info]

_INDENT = 12
_WIDTH = 88
_RESETS = 100
_STEPS = 20


class Seen(NamedTuple):
    """What an environment showed.

    Attributes:
        firsts: The observations after some resets, each with its info.
        transitions: Some random steps, each with its number in its episode.
        limit: The most steps of an episode, if known.
    """

    firsts: Sequence[FirstState] = ()
    transitions: Sequence[tuple[int, Transition]] = ()
    limit: int | None = None


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
        "An argument that ends in .toml is a spec file.\n"
        "Exit status: 0 when there is nothing worse than warnings, 1 when a spec has errors,\n"
        "2 when the formula or the file cannot be read, or a label in the environment.",
    )
    add_formula(parser)
    add_no_references(parser)
    parser.add_argument(
        "--env",
        metavar="ID",
        help="for a spec file: reset this Gymnasium environment and play a few random steps, and look for named "
        "components that it does not have, for labels out of range, for safety objectives violated at once, and for "
        "bounds that its episodes do not reach",
    )
    add_env_arg(parser)
    parser.add_argument(
        "--observe",
        choices=OBSERVE_CHOICES,
        help="for a spec file: what of the monitors the learner will see; look for windows and registers "
        "that it does not see",
    )
    parser.add_argument(
        "--resets", metavar="N", type=int, default=_RESETS, help="how many resets to look at (default: %(default)s)"
    )
    add_period(
        parser,
        "for durations such as [0s,30s] in rules about records (default: 1); with it, expressions under [atoms] read "
        "columns, which are not known here",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what there is to know about the formula, or the spec."""
    if arguments.env is not None and arguments.period is not None:
        raise SpecError("--period is about rules of records, and --env about specs of environments. Give one of them.")
    if arguments.formula.endswith(".toml"):
        return _check_spec(arguments)
    if arguments.env is not None:
        raise SpecError("--env goes with a spec file, whose atoms read observations. Received a formula.")
    if arguments.observe is not None:
        raise SpecError("--observe goes with a spec file, which is checked for what an agent sees. Received a formula.")
    durations = _Durations(arguments.period)
    formula = formula_of(arguments, durations.in_steps)
    for title, text in (*durations.report(), *_formula_report(formula, arguments.semantics)):
        print(section(title, text))
    return 0


class _Durations:
    """Durations in formulas, which become steps of a period; None is 1 second, so that nobody need think of it."""

    def __init__(self, period: float | None) -> None:
        self._pace = Pace(1.0 if period is None else period)
        self._found = False

    def in_steps(self, text: str) -> str:
        """A formula's text in steps."""
        self._found = self._found or has_durations(text)
        return in_steps(text, self._pace)

    def report(self) -> Sequence[tuple[str, str]]:
        """What is to be said of the period, if a formula had durations."""
        text = f"{self._pace.period:g} seconds, by which durations become steps; --period changes it"
        return [("Period", text)] if self._found else []


def _formula_report(formula: Formula, semantics: Semantics) -> Iterator[tuple[str, str]]:
    yield "Formula", _shortened(str(formula))
    in_words = paraphrase(formula)
    if in_words is not None:
        yield "In words", textwrap.fill(in_words, _WIDTH)
    yield "Atoms", ", ".join(formula.atoms) or "none"
    yield "Kind", kind_of(formula)
    if isinstance(formula, Quantified):
        yield "Things", f"a spec says how many there are; what follows is for one {formula.variable}"
        formula = formula.body
    monitor: Monitor | None = None
    try:
        monitor = synthesize(formula, semantics=semantics)
    except (SynthesisError, FormulaError) as error:  # the latter where robustness has no such operator
        yield "Monitor", textwrap.fill(f"refused: {error}", _WIDTH)
    if monitor is not None:
        yield "Monitor", _machine(monitor)
        try:
            lower, upper = monitor.bounds(monitor.initial_state())
            yield "Range", f"constant {lower:g}" if lower == upper else f"{lower:g} to {upper:g}"
        except SynthesisError as error:
            yield "Range", textwrap.fill(f"not known: {error}", _WIDTH)
            monitor = None
    try:
        boolean = synthesize_boolean(formula)
        count = len(boolean.states)
        yield "Automaton", f"{count} state{'s' * (count != 1)}, {len(boolean.accepting)} accepting (Boolean labels)"
    except SynthesisError as error:
        yield "Automaton", textwrap.fill(f"refused: {error}", _WIDTH)
    for warning in warnings_about(formula, monitor):
        yield "Warning", textwrap.fill(warning, _WIDTH)


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


def _check_spec(arguments: argparse.Namespace) -> int:
    """Print what there is to know about the spec; 1 where it has errors, else 0."""
    with importing_from_here():
        durations = _Durations(arguments.period)
        rewrite = durations.in_steps if arguments.env is None else None
        draft = draft_in(arguments.formula, arguments, atoms=arguments.period is None, rewrite=rewrite)
        seen = Seen() if arguments.env is None else _seen(arguments.env, arguments.resets)
        missing = list(_missing_components(draft, arguments.env, seen.firsts))
        # Where the observation is not what the file says, labels would be those of other numbers, or none at all.
        initial_labels = _initial_labels(draft.spec(), seen) if seen.firsts and not missing else None
        # Without its atoms' functions the spec can be made even where one is missing.
        spec = Spec(draft.pairs, **draft.options)
        findings = missing + findings_of(
            LintedSpec(spec, draft.functions, initial_labels, seen.limit, arguments.observe)
        )
        looked_at = "" if initial_labels is None else f"{arguments.env}: {_looked_at(seen)}"
        report = _spec_report(arguments.formula, draft, spec, findings, looked_at)
        for title, text in (*durations.report(), *report):
            print(section(title, text))
    return 1 if any(finding.severity == "error" for finding in findings) else 0


def section(title: str, text: str) -> str:
    """A title and what there is to say, indented."""
    return f"{title:<{_INDENT}}{textwrap.indent(text, ' ' * _INDENT).lstrip()}"


def kind_of(formula: Formula) -> str:
    """Name the kind of a formula, and explain it."""
    if is_propositional(formula):
        return "propositional: decided by the first state alone"
    safe, cosafe = is_safe(formula), is_cosafe(formula)
    if LAST in formula.subformulas():
        safe = cosafe = False  # what is said of the last step is judged anew at every step
    if safe and cosafe:
        return "bounded: decided within a fixed number of steps"
    if safe:
        return "safety: asks only that something bad never happens, so it can veto a reward"
    if cosafe:
        goal = "co-safety: asks only that something good happens some day"
        # The end of a finite trace cuts these off, and more steps can break what was kept so far.
        cut = any(isinstance(part, fm.Always | fm.Release | fm.WeakNext) for part in to_nnf(formula).subformulas())
        return f"{goal}; what the episode's end cuts off counts, so its value can fall back" if cut else goal
    return "mixed: neither safety nor goal, it can still turn either way"


def _looked_at(seen: Seen) -> str:
    """Return the sentence about the states and steps whose labels were read."""
    resets, steps = len(seen.firsts), len(seen.transitions)
    states = "state of 1 reset" if resets == 1 else f"states of {resets} resets"
    return f"first {states} and {steps} random steps read"


def _spec_report(
    path: str, draft: SpecDraft, spec: Spec, findings: list[Finding], looked_at: str
) -> Iterator[tuple[str, str]]:
    yield "Spec", path
    labels = "" if draft.threshold is None else f"; labels from {draft.threshold:g} on count as 1, others as 0"
    yield "Payment", f"{spec.payment}{labels}"
    yield "Atoms", ", ".join(draft.atoms or spec.atoms) or "none"
    for number, pair in enumerate(spec.pairs, start=1):
        yield f"Pair {number}", _pair(pair, spec.penalty, spec.payment)
    try:
        yield "Machine", sizes_of(spec.program)
    except SynthesisError as error:
        yield "Machine", textwrap.fill(f"refused: {error}", _WIDTH)
    if looked_at:
        yield "Environment", looked_at
    for finding in findings:
        text = f"[{finding.rule}] {finding.message} {finding.remedy}"
        yield finding.severity.capitalize(), textwrap.fill(text, _WIDTH, break_on_hyphens=False)
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = len(findings) - errors
    found = f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}"
    yield "Found", found if findings else "nothing that looks wrong"


def sizes_of(program: Program) -> str:
    """Count the registers, windows and control states of a program, in words."""
    sizes = {"register": len(program.registers), "window": len(program.windows), "control state": len(program.steps)}
    return ", ".join(f"{n} {noun}{'s' * (n != 1)}" for noun, n in sizes.items() if n or noun != "window")


def _pair(pair: Pair, penalty: float, payment: Payment) -> str:
    name = "" if pair.name is None else f"{pair.name}: "
    paid = "" if pair.payment is None else f", payment {pair.payment}"
    paid += ", for progress" if pair.progress else ""
    kind = kind_of(pair.formula)
    if not pair.vetoes:
        kind = kind.removesuffix(", so it can veto a reward")
    in_words = paraphrase(pair.formula)
    lines = [f"{name}{pair.formula}"]
    if in_words is not None:
        lines.append(textwrap.fill(f"in words: {in_words}", _WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    lines += [f"weight {pair.weight:g}{paid}; {kind}"]
    if pair.vetoes:
        charged = penalty if pair.penalty is None else pair.penalty
        lines.append(f"safety objective: once violated, {PAYMENTS[payment].once_violated.format(penalty=charged)}")
        if pair.veto is None:
            lines.append("with veto = false, a violation would cost what this pair pays, and no more")
    elif pair.veto is False:
        lines.append("no safety objective (veto = false): a violation costs what this pair pays, and no more")
    return "\n".join(lines)


def _seen(env_id: str, resets: int) -> Seen:
    """Reset an environment some times, and then play a few random steps."""
    if resets < 1:
        raise SpecError(f"--resets should be at least 1. Received {resets}.")
    with contextlib.closing(made(env_id)) as env:
        firsts = [(copied(obs), info) for obs, info in (env.reset(seed=seed) for seed in range(resets))]
        return Seen(firsts, list(_random_steps(env)), episode_limit(env))


def _random_steps(env: Environment) -> Iterator[tuple[int, Transition]]:
    """Play a few random steps, in as many episodes as it takes."""
    choose = RandomActions(env, seed=0)
    over, number, episodes = True, 0, 0
    for _ in range(_STEPS):
        if over:
            obs, info = env.reset(seed=episodes)
            choose.begin(obs, info)
            obs, number, episodes = copied(obs), 0, episodes + 1
        action = choose(obs)
        after, _, terminated, truncated, info = env.step(action)
        number += 1
        yield number, Transition(obs, action, copied(after), info)
        obs, over = copied(after), terminated or truncated


def _missing_components(draft: SpecDraft, env_id: str, firsts: Sequence[FirstState]) -> Iterator[Finding]:
    """Components that the file names and an environment's observations do not have."""
    for name, path in draft.components.items() if firsts else ():
        why = why_unreadable(firsts[0][0], path)
        if why is not None:
            message = f"The observation component {name!r} cannot be read in {env_id}: it is {why}."
            remedy = "Correct `observation` in the file, or give the environment that it was written for."
            key, _, inner = name.partition(".")
            if isinstance(firsts[0][0], Mapping) and key not in firsts[0][0] and inner in firsts[0][0]:
                remedy = f"Did you mean {inner} = {{ {key} = {path[-1]!r} }}?"  # nested the wrong way round
            yield Finding("missing-component", "error", None, message, remedy)


def _initial_labels(spec: Spec, seen: Seen) -> dict[str, Number]:
    """The labels of the states after the resets; an error if they, or those of the steps, cannot be read."""
    rows = [spec.labels(obs, None, obs, info, step=0) for obs, info in seen.firsts]
    for number, step in seen.transitions:
        spec.labels(step.obs, step.action, step.next_obs, step.info, step=number)
    return {atom: np.array([row[atom] for row in rows]) for atom in spec.atoms}
