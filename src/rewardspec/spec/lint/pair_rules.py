"""The rules of lint about single pairs."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import Always, Not, WeakNext
from rewardspec.logic.fragments import is_cosafe, is_past, is_safe, unguarded_atoms, unguarded_past
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.quantifiers import inside
from rewardspec.logic.simplification import simplify
from rewardspec.machines.expressions import ZERO
from rewardspec.machines.monitor import Monitor
from rewardspec.machines.program import Semantics
from rewardspec.spec.infinite_values import REMEDY as INFINITE_VALUE_REMEDY
from rewardspec.spec.infinite_values import infinite_step, infinite_value_message
from rewardspec.spec.lint.exploration import can_be_violated
from rewardspec.spec.lint.findings import Finding, LintedSpec, called, remedy_at_reset
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import PAYMENTS
from rewardspec.synthesis.quantitative.owed import holds_of_nothing

_MOST_LETTERS = 4_096


def too_large(linted: LintedSpec) -> Iterator[Finding]:
    """A formula without a machine within the budget."""
    for number, pair in enumerate(linted.pairs):
        error = linted.machine(number)
        if isinstance(error, SynthesisError):
            message = f"{called(number, pair)} has no machine: {error}"
            remedy = "Split the formula into several pairs, or raise max_registers."
            yield Finding("too-large", "error", number, message, remedy)


def constant(linted: LintedSpec) -> Iterator[Finding]:
    """A formula with the same value on every trace."""
    spec, bound = linted.spec, math.inf if linted.spec.bound is None else linted.spec.bound
    for number, value in linted.constants.items():
        pair = linted.pairs[number]
        # As robustness, true is as large as possible, and false as small.
        shown = value if spec.semantics == "degree" else math.copysign(bound, value - 0.5)
        message = f"{called(number, pair)} has the value {shown:g} on every trace, so it rewards nothing in particular."
        if value == 0.0:
            effect = " It is a safety objective, so it vetoes every episode from the start." if pair.vetoes else ""
            remedy = "Correct the formula, or remove the pair."
            yield Finding("constant", "error", number, message + effect, remedy)
            continue
        remedy = "Correct the formula, or remove the pair: it pays the same whatever the agent does."
        once = PAYMENTS[linted.payment_of(pair)].if_constant
        if pair.weight < 0 and once is not None:
            message = f"{message} Under payment {linted.payment_of(pair)!r} {once}."
            each = f"Pair({str(pair.formula)!r}, {pair.weight:g}, payment='value')"
            remedy = f"For a cost of every step, pay it by its value: {each}. Else remove it."
        elif pair.weight < 0 and not pair.body.atoms:
            continue  # a fixed cost of every step, written as what it is
        elif pair.weight < 0:
            remedy = "For a fixed cost of every step, write 'F G true'. Else correct the formula, or remove the pair."
        yield Finding("constant", "warning", number, message, remedy)


def first_state_only(linted: LintedSpec) -> Iterator[Finding]:
    """An atom outside every temporal operator."""
    for number, pair, _ in linted.monitored:
        early = unguarded_atoms(pair.body)
        if not early or number in linted.constants:
            continue
        names = ", ".join(map(repr, early))
        message = f"{called(number, pair)} reads {names} at the first state only, outside every temporal operator."
        remedy = "Put G, F, X or F G before the atom, or parentheses after the operator that should cover it."
        if unguarded_past(pair.body):
            message = f"{called(number, pair)} looks back from the first state, before which there is nothing."
            remedy = "Write `now …` to judge it at the current step, or put G or F before it."
        if is_past(simplify(pair.body)):
            message = f"{message} Its value is fixed before the agent acts."
            yield Finding("first-state-only", "error", number, message, remedy)
        else:
            yield Finding("first-state-only", "warning", number, message, remedy)


def negative_veto(linted: LintedSpec) -> Iterator[Finding]:
    """A safety objective with a negative weight."""
    for number, pair, _ in linted.monitored:
        if pair.veto and pair.weight < 0:
            message = (
                f"{called(number, pair)} is a safety objective of weight {pair.weight:g}: it pays for being violated, "
                "and vetoes every reward once it is."
            )
            remedy = "Give it a weight of 0 or more, and put the punishment into its penalty."
            yield Finding("negative-veto", "error", number, message, remedy)


def opposite_sign(linted: LintedSpec) -> Iterator[Finding]:
    """A negative weight on a safety formula: it pays for the violation."""
    for number, pair, _ in linted.monitored:
        # A formula about a fixed number of steps is safe by syntax too, and its negation just as natural.
        lasting = is_safe(pair.formula) and not is_cosafe(pair.formula)
        if lasting and pair.veto is None and pair.weight < 0 and number not in linted.constants:
            yield _opposite_sign(linted, number, pair)


def _opposite_sign(linted: LintedSpec, number: int, pair: Pair) -> Finding:
    formula, weight, way = pair.formula, f"{pair.weight:g}", linted.payment_of(pair)
    if linted.spec.semantics == "robustness":
        effect = "the better it holds, the less is paid"
    elif way == "value":
        effect = f"each step costs {-pair.weight:g} for as long as it holds, and nothing from its violation on"
    else:
        effect = f"the level that {way!r} pays by is {weight} for as long as it holds, and 0 from its violation on"
    forbidden = formula
    first = ""
    if isinstance(formula, Always) and not isinstance(formula.arg, Not):
        # What should never be seen was written as what should always be, so both ways to mend it are shown.
        first = f"To punish each step at which it holds now, use 'F {formula}'. "
        forbidden = Always(~formula.arg)
    return Finding(
        "opposite-sign",
        "error",
        number,
        f"{called(number, pair)} is a safety formula of weight {weight}: {effect}, so that violating it is what pays.",
        f"{first}To punish {'its violation' if forbidden == formula else 'its ever holding'}, use "
        f"Pair('{forbidden}', 0, veto=True, penalty={weight}). If it is meant as it stands, set veto=False.",
    )


def veto_never_fires(linted: LintedSpec) -> Iterator[Finding]:
    """A safety objective that cannot be violated."""
    for number, pair, monitor in linted.monitored:
        if not pair.vetoes or linted.constants.get(number) == 0.0:
            continue
        if can_be_violated(monitor, linted.veto(number)) is False:
            message = (
                f"{called(number, pair)} is a safety objective that no episode violates for good: whatever happens, a "
                "value above 0 stays possible."
            )
            remedy = "Write what must never happen as 'G !…', or set veto=False."
            yield Finding("veto-never-fires", "warning", number, message, remedy)


def late_veto(linted: LintedSpec) -> Iterator[Finding]:
    """A safety objective whose violation may be noticed late, or never."""
    for number, pair, _ in linted.monitored:
        if pair.vetoes and not linted.veto(number).exact:
            message = (
                f"{called(number, pair)} is a safety objective whose violation may be noticed late, or never: to "
                "notice it at once, the monitor would have to follow too many cases."
            )
            remedy = "Shorten the intervals that look back, leave out `last`, raise max_registers, or set veto=False."
            yield Finding("late-veto", "warning", number, message, remedy)


def infinite_value(linted: LintedSpec) -> Iterator[Finding]:
    """A formula whose robustness is infinite where it is paid."""
    if linted.spec.semantics == "degree":
        return
    for number, pair, monitor in linted.monitored:
        found = infinite_step(pair, monitor.program, linted.payment_of(pair), linted.spec.bound)
        if found is not None:
            message = infinite_value_message(pair, found, called(number, pair))
            yield Finding("infinite-value", "error", number, message, INFINITE_VALUE_REMEDY)


def no_progress(linted: LintedSpec) -> Iterator[Finding]:
    """A pair paid for its progress, which is its value."""
    for number, pair, monitor in linted.monitored:
        if pair.progress and number not in linted.constants and set(monitor.program.progress or ()) <= {ZERO}:
            message = f"{called(number, pair)} is paid for its progress, which is always its value:"
            if holds_of_nothing(to_nnf(pair.body)):
                message = f"{message} it owes nothing at the start, and is only ever broken."
            else:
                message = f"{message} it is done in one step, or the work to find more is too much."
            remedy = "Leave out progress, or split the formula into what should be done one after the other."
            yield Finding("no-progress", "warning", number, message, remedy)


def no_effect(linted: LintedSpec) -> Iterator[Finding]:
    """A pair that pays nothing and vetoes nothing."""
    for number, pair, _ in linted.monitored:
        if pair.weight == 0 and not pair.vetoes:
            message = f"{called(number, pair)} has weight 0 and is no veto, so it pays nothing and forbids nothing."
            remedy = "Set veto=True to make it a veto, give it a weight, or remove it."
            yield Finding("no-effect", "warning", number, message, remedy)


def violated_at_reset(linted: LintedSpec) -> Iterator[Finding]:
    """A safety objective that can fail before the first action."""
    for number, pair, monitor in linted.monitored:
        if pair.vetoes and linted.constants.get(number) != 0.0:
            yield from _violated_at_reset(linted, number, pair, monitor)


def _violated_at_reset(linted: LintedSpec, number: int, pair: Pair, monitor: Monitor) -> Iterator[Finding]:
    """A veto before the first action: seen in samples, certain from a label fixed at reset, or of no other use."""
    name = called(number, pair)
    initial_labels, atoms = linted.initial_labels, linted.atoms or {}
    if initial_labels is not None and all(atom in initial_labels for atom in monitor.atoms):
        labels = {atom: np.atleast_1d(np.asarray(initial_labels[atom], dtype=np.float64)) for atom in monitor.atoms}
        lost = _lost_after(monitor, labels, linted.spec.semantics)
        if lost is not None and lost.any():
            message = f"{name} is violated at reset in {int(lost.sum())} of {len(lost)} sampled episodes."
            remedy = remedy_at_reset(pair, linted.atoms, sometimes=not lost.all())
            yield Finding("violated-at-reset", "error", number, message, remedy)
        return
    # What some letters lead to: the atoms in `fixed` as they are after every reset, the others true and false.
    declared = {atom: getattr(atoms.get(atom), "at_reset", None) for atom in monitor.atoms}
    fixed = {atom: float(label) for atom, label in declared.items() if label is not None}
    early = [atom for atom in unguarded_atoms(pair.body) if atom in monitor.atoms and atom not in fixed]
    others = [atom for atom in monitor.atoms if atom not in fixed and atom not in early]
    if not (fixed or early) or 2 ** len(early + others) > _MOST_LETTERS:
        return
    ends = (0.0, 1.0) if linted.spec.semantics == "degree" else (-1.0, 1.0)
    letters = np.array(list(itertools.product(ends, repeat=len(early + others))))
    labels = {atom: letters[:, k] for k, atom in enumerate(early + others)}
    labels |= {atom: np.full(len(letters), label) for atom, label in fixed.items()}
    lost = _lost_after(monitor, labels, linted.spec.semantics)
    if lost is None:
        return
    if fixed and lost.all():
        names = ", ".join(f"{atom!r} ({label:g})" for atom, label in fixed.items())
        message = f"{name} is violated in every episode before the first action, by the label at reset of {names}."
        remedy = f"Correct at_reset, or start with `{inside(pair.formula, WeakNext)}`."
        yield Finding("violated-at-reset", "error", number, message, remedy)
    elif early and lost.reshape(2 ** len(early), -1).all(axis=1).any():
        names = ", ".join(map(repr, early))
        message = f"{name} can be violated before the first action, by {names} at the first state, whatever follows."
        remedy = "Put the atom under G, or leave it out: no action of the agent's can change it."
        yield Finding("violated-at-reset", "warning", number, message, remedy)


def _lost_after(monitor: Monitor, labels: Mapping[str, np.ndarray], semantics: Semantics) -> np.ndarray | None:
    """Find a first letter after which only a violation is possible; None if the bounds are too hard to find."""
    if not labels:
        return None
    size = max(len(column) for column in labels.values())
    monitor = Monitor(monitor.formula, dataclasses.replace(monitor.program, semantics=semantics))
    try:
        state, _ = monitor.step(monitor.initial_state(batch=size), labels)
        upper = monitor.bounds(state)[1]
        return np.asarray(upper == 0.0 if semantics == "degree" else upper < 0.0)
    except SynthesisError:
        return None
