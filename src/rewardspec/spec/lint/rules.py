"""The lint rules about single pairs, and about pairs that make others redundant."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import Always, Not
from rewardspec.logic.fragments import is_cosafe, is_propositional, is_safe, unguarded_atoms
from rewardspec.logic.implication import Implication
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.simplification import simplify
from rewardspec.machines.monitor import Monitor
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.lint.exploration import can_be_violated, compare, relations
from rewardspec.spec.lint.findings import Finding, called
from rewardspec.spec.pairs import Pair

_MOST_LETTERS = 4_096


def pair_findings(
    number: int,
    pair: Pair,
    monitor: Monitor,
    atoms: Mapping[str, AtomFunction],
    initial_labels: Mapping[str, Any] | None,
) -> Iterator[Finding]:
    """What looks wrong with one pair."""
    constant = _constant(monitor)
    if constant is not None:
        yield _constant_finding(number, pair, constant)
    elif unguarded_atoms(pair.formula):
        yield _first_state_only(number, pair)
    if pair.veto and pair.weight < 0:
        yield Finding(
            "negative-safety",
            "error",
            number,
            f"{called(number, pair)} is a safety objective of weight {pair.weight:g}: it pays for being violated, and "
            "vetoes every reward once it is.",
            "Give it a weight of 0 or more, and put the punishment into its penalty.",
        )
    elif constant is None and pair.veto is None and pair.weight < 0 and _is_lasting_safety(pair):
        yield _opposite_sign(number, pair)
    if pair.vetoes and constant != 0.0:
        if can_be_violated(monitor) is False:
            yield Finding(
                "veto-never-fires",
                "warning",
                number,
                f"{called(number, pair)} is a safety objective that no episode violates for good: whatever happens, a "
                "value above 0 stays possible.",
                "Write what must never happen as 'G !…', or set veto=False.",
            )
        yield from _violated_at_reset(number, pair, monitor, atoms, initial_labels)
    if pair.weight == 0 and not pair.vetoes:
        yield Finding(
            "no-effect",
            "warning",
            number,
            f"{called(number, pair)} has weight 0 and is no safety objective, so it pays nothing and vetoes nothing.",
            "Set veto=True to make it a veto, give it a weight, or remove it.",
        )


def _constant(monitor: Monitor) -> float | None:
    try:
        lower, upper = monitor.bounds(monitor.initial_state())
    except SynthesisError:  # the bounds alone are too hard to find
        return None
    return float(lower) if lower == upper else None


def _constant_finding(number: int, pair: Pair, value: float) -> Finding:
    message = f"{called(number, pair)} has the value {value:g} on every trace, so it rewards nothing in particular."
    if value == 0.0:
        effect = " It is a safety objective, so it vetoes every episode from the start." if pair.vetoes else ""
        return Finding("constant", "error", number, message + effect, "Correct the formula, or remove the pair.")
    remedy = (
        "Keep it only if a fixed cost for each step is what you want."
        if pair.weight < 0
        else "Correct the formula, or remove the pair: it pays the same whatever the agent does."
    )
    return Finding("constant", "warning", number, message, remedy)


def _first_state_only(number: int, pair: Pair) -> Finding:
    early = unguarded_atoms(pair.formula)
    names = ", ".join(map(repr, early))
    reads = f"{called(number, pair)} reads {names} at the first state only, outside every temporal operator."
    remedy = "Put G, F, X or F G before the atom, or parentheses after the operator that should cover it."
    if is_propositional(simplify(pair.formula)):
        message = f"{reads} Its value is fixed before the agent acts."
        return Finding("first-state-only", "error", number, message, remedy)
    return Finding("first-state-only", "warning", number, reads, remedy)


def _is_lasting_safety(pair: Pair) -> bool:
    # A formula about a fixed number of steps is safe by syntax too, and its negation just as natural.
    return is_safe(pair.formula) and not is_cosafe(pair.formula)


def _opposite_sign(number: int, pair: Pair) -> Finding:
    formula, weight = pair.formula, f"{pair.weight:g}"
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
        f"{called(number, pair)} is a safety formula of weight {weight}: each step costs {-pair.weight:g} for as long "
        "as it holds, and nothing from its violation on, so that violating it is what pays.",
        f"{first}To punish {'its violation' if forbidden == formula else 'its ever holding'}, use "
        f"Pair('{forbidden}', 0, veto=True, penalty={weight}). If it is meant as it stands, set veto=False.",
    )


def _violated_at_reset(
    number: int,
    pair: Pair,
    monitor: Monitor,
    atoms: Mapping[str, AtomFunction],
    initial_labels: Mapping[str, Any] | None,
) -> Iterator[Finding]:
    """A veto before the first action: seen in samples, certain from a label fixed at reset, or of no other use."""
    name = called(number, pair)
    if initial_labels is not None and all(atom in initial_labels for atom in monitor.atoms):
        labels = {atom: np.atleast_1d(np.asarray(initial_labels[atom], dtype=np.float64)) for atom in monitor.atoms}
        lost = _lost_after(monitor, labels)
        if lost is not None and lost.any():
            message = f"{name} is violated at reset in {int(lost.sum())} of {len(lost)} sampled episodes."
            remedy = "Start the objective later, as 'WX G …' does, or correct the atoms' labels at reset."
            yield Finding("violated-at-reset", "error", number, message, remedy)
        return
    # What some letters lead to: the atoms in `fixed` as they are after every reset, the others at 0 and 1.
    fixed = {atom: label for atom in monitor.atoms if (label := getattr(atoms.get(atom), "at_reset", None)) is not None}
    early = [atom for atom in unguarded_atoms(pair.formula) if atom in monitor.atoms and atom not in fixed]
    others = [atom for atom in monitor.atoms if atom not in fixed and atom not in early]
    if not (fixed or early) or 2 ** len(early + others) > _MOST_LETTERS:
        return
    letters = np.array(list(itertools.product((0.0, 1.0), repeat=len(early + others)))).reshape(-1, len(early + others))
    labels = {atom: letters[:, k] for k, atom in enumerate(early + others)}
    labels |= {atom: np.full(len(letters), label) for atom, label in fixed.items()}
    lost = _lost_after(monitor, labels)
    if lost is None:
        return
    if fixed and lost.all():
        names = ", ".join(f"{atom!r} ({label:g})" for atom, label in fixed.items())
        message = f"{name} is violated in every episode before the first action, by the label at reset of {names}."
        yield Finding("violated-at-reset", "error", number, message, "Correct at_reset, or start with 'WX G …'.")
    elif early and lost.reshape(2 ** len(early), -1).all(axis=1).any():
        names = ", ".join(map(repr, early))
        message = f"{name} can be violated before the first action, by {names} at the first state, whatever follows."
        remedy = "Put the atom under G, or leave it out: no action of the agent's can change it."
        yield Finding("violated-at-reset", "warning", number, message, remedy)


def _lost_after(monitor: Monitor, labels: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Where a first letter leaves no value above 0 possible; None where the bounds are too hard to find."""
    if not labels:
        return None
    size = max(len(column) for column in labels.values())
    try:
        state, _ = monitor.step(monitor.initial_state(batch=size), labels)
        return np.asarray(monitor.bounds(state)[1] == 0.0)
    except SynthesisError:
        return None


def redundancies(pairs: Sequence[Pair], monitors: Sequence[Monitor | None], penalty: float) -> Iterator[Finding]:
    """Pairs whose value another pair pays already, and vetoes that another always precedes."""
    usable = [(k, m) for k, m in enumerate(monitors) if m is not None and _constant(m) is None]
    samples = dict(zip((k for k, _ in usable), _sampled_values([m for _, m in usable]), strict=True))
    reported: set[int] = set()
    for (i, first), (j, second) in itertools.combinations(usable, 2):
        likely = relations(samples[i], samples[j])
        if not likely:
            continue
        found = _relations(first, second)
        if "equal" in found:
            if j not in reported:
                reported.add(j)
                yield _same_twice(pairs, i, j)
            continue
        if "opposite" in found and pairs[i].weight == pairs[j].weight:
            if not (pairs[i].vetoes or pairs[j].vetoes):  # a veto makes the two differ
                yield _sum_is_constant(pairs, i, j)
            continue
        for weaker, stronger, sign in ((j, i, "at most"), (i, j, "at least")):
            if sign in found and _veto_adds_nothing(pairs[weaker], pairs[stronger], penalty):
                yield Finding(
                    "redundant",
                    "warning",
                    weaker,
                    f"{called(weaker, pairs[weaker])} has weight 0, and pair {stronger + 1}, "
                    f"`{pairs[stronger].formula}`, is violated whenever it is, at no lesser penalty.",
                    "Remove it, or give it a lower penalty than the other's.",
                )


def _same_twice(pairs: Sequence[Pair], i: int, j: int) -> Finding:
    one, other = pairs[i], pairs[j]
    total = one.weight + other.weight
    message = f"{called(j, other)} has the same value as pair {i + 1}, `{one.formula}`, on every trace."
    if total == 0.0 and not (one.vetoes or other.vetoes):
        return Finding("redundant", "error", j, f"{message} Their weights cancel out.", "Remove both, or correct one.")
    return Finding("redundant", "warning", j, message, f"Use one pair of weight {total:g}.")


def _sum_is_constant(pairs: Sequence[Pair], i: int, j: int) -> Finding:
    one, other = pairs[i], pairs[j]
    message = (
        f"{called(j, other)} has one minus the value of pair {i + 1}, `{one.formula}`, and the same weight: together "
        f"they pay {one.weight:g} whatever happens."
    )
    return Finding("redundant", "error", j, message, "Remove one of them, or give them different weights.")


def _veto_adds_nothing(weaker: Pair, stronger: Pair, penalty: float) -> bool:
    if weaker.weight != 0 or not (weaker.vetoes and stronger.vetoes):
        return False
    paid = [penalty if pair.penalty is None else pair.penalty for pair in (weaker, stronger)]
    return paid[0] >= paid[1]


def _relations(first: Monitor, second: Monitor) -> set[str]:
    """How two values relate for certain: exactly for small formulas, else as far as their shapes tell."""
    found = compare(first, second)
    if found is not None:
        return found
    f, g = simplify(first.formula), simplify(second.formula)
    if f == g:
        return {"equal"}
    if f == simplify(~second.formula):
        return {"opposite"}
    implies = Implication()
    f, g = to_nnf(f), to_nnf(g)
    below, above = implies(f, g), implies(g, f)
    if below and above:
        return {"equal"}
    return ({"at most"} if below else set()) | ({"at least"} if above else set())


def _sampled_values(monitors: Sequence[Monitor]) -> list[np.ndarray]:
    """The values on some random traces, which tell most pairs apart at once."""
    atoms = dict.fromkeys(atom for monitor in monitors for atom in monitor.atoms)
    random = np.random.default_rng(0)
    # A formula without atoms needs some label too, to tell the trace's length.
    trace = {atom: random.choice([0.0, 0.5, 1.0], size=(8, 64)) for atom in [*atoms, "length"]}
    return [np.asarray(monitor.run(trace)) for monitor in monitors]
