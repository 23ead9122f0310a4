"""The rules of lint about a spec as a whole: its atoms, and pairs beside each other."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from rewardspec.errors import SynthesisError, did_you_mean
from rewardspec.logic.formulas import FALSE, TRUE, Always, Formula, Historically, Implies
from rewardspec.logic.implication import Implication
from rewardspec.logic.normal_form import negate, to_nnf
from rewardspec.logic.quantifiers import AtomOf, Exists, Forall, Quantified, atoms_of
from rewardspec.logic.simplification import simplify
from rewardspec.logic.unknown_atoms import operators_run_together
from rewardspec.machines.monitor import Monitor
from rewardspec.spec.atoms.functions import reads_only_the_state
from rewardspec.spec.lint.exploration import TWO, TooManyError, can_be_violated, compare, outcomes, relations
from rewardspec.spec.lint.findings import Finding, LintedSpec, called, once_violated, value_range
from rewardspec.spec.lint.time_rules import needs_bounds_to_be_safe
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import Payment

_CLEARLY_MORE = 2.0  # times the weight


def no_pairs(linted: LintedSpec) -> Iterator[Finding]:
    """A spec without pairs."""
    if not linted.pairs:
        message = "The spec has no pairs, so that nothing is paid for, whatever happens."
        yield Finding("no-pairs", "error", None, message, "Add pairs of a formula and a weight.")


def _first_readers(linted: LintedSpec) -> dict[str, int]:
    """Each atom that a formula reads, and the first pair that does."""
    readers: dict[str, int] = {}
    for number, pair in enumerate(linted.pairs):
        for atom in atoms_of(pair.formula):
            readers.setdefault(atom, number)
    return readers


def undefined_atom(linted: LintedSpec) -> Iterator[Finding]:
    """An atom that a formula reads and that has no function."""
    for atom, number in _first_readers(linted).items():
        if linted.atoms is not None and atom not in linted.atoms:
            known = ", ".join(linted.atoms) or "none"
            name = called(number, linted.pairs[number])
            message = f"{name} reads the atom {atom!r}, which is not defined; defined: {known}."
            remedy = did_you_mean(atom, linted.atoms).strip() or "Define it."
            yield Finding("undefined-atom", "error", number, message, remedy)


def unused_atom(linted: LintedSpec) -> Iterator[Finding]:
    """An atom with a function that no formula reads."""
    readers, atoms = _first_readers(linted), linted.atoms or {}
    for atom in atoms:
        if atom not in readers:
            message = f"The atom {atom!r} is defined, and no formula reads it."
            near = difflib.get_close_matches(atom, [name for name in readers if name not in atoms], n=1)
            remedy = f"Should the formula that reads {near[0]!r} read it?" if near else "Remove it."
            yield Finding("unused-atom", "warning", None, message, remedy)


def unused_sort(linted: LintedSpec) -> Iterator[Finding]:
    """A sort that no formula says anything of."""
    used = {pair.formula.variable for pair in linted.pairs if isinstance(pair.formula, Quantified)}
    for sort in linted.spec.sorts:
        if sort not in used:
            message = f"The sort {sort!r} is declared, and no formula is about its things."
            remedy = f"Write a formula that starts with 'forall {sort}:', or remove the sort.{did_you_mean(sort, used)}"
            yield Finding("unused-sort", "warning", None, message, remedy)


def unused_variable(linted: LintedSpec) -> Iterator[Finding]:
    """A quantifier whose variable its formula does not use."""
    for number, pair in enumerate(linted.pairs):
        if isinstance(pair.formula, Quantified) and not pair.formula.predicates:
            variable = pair.formula.variable
            message = f"{called(number, pair)} says the same of every {variable}: no atom takes the variable."
            remedy = f"Write the atoms that are about a {variable} as 'held({variable})', or leave the quantifier out."
            yield Finding("unused-variable", "warning", number, message, remedy)


def unnamed_things(linted: LintedSpec) -> Iterator[Finding]:
    """A formula that things decide which no step names."""
    for number, pair in enumerate(linted.pairs):
        formula = pair.formula
        if not isinstance(formula, Forall | Exists) or linted.spec.sorts.get(formula.variable, ("",)):
            continue
        unnamed = simplify(formula.body.fold(_of_nobody))
        if unnamed == (FALSE if isinstance(formula, Forall) else TRUE):
            value, variable = "0" if isinstance(formula, Forall) else "1", formula.variable
            message = (
                f"{called(number, pair)} is about every {variable}, named or not. For one that no step names it has "
                f"the value {value}, which is then its value whatever happens."
            )
            remedy = f"Say what should follow once a {variable} appears, as 'G(placed({variable}) -> …)'; or use mean."
            yield Finding("unnamed-things", "error", number, message, remedy)


def _of_nobody(part: Formula, args: tuple[Formula, ...]) -> Formula:
    """A formula about a thing that no step names."""
    if isinstance(part, AtomOf):
        return FALSE
    return part.rebuild(*args) if args else part


def run_together(linted: LintedSpec) -> Iterator[Finding]:
    """An atom that looks like operators run together, as `GFa`."""
    for atom, number in _first_readers(linted).items():
        spaced = None if atom in (linted.atoms or {}) else operators_run_together(atom)
        if spaced is not None and (not linted.atoms or spaced.split()[-1] in linted.atoms):
            name = called(number, linted.pairs[number])
            message = f"{name} reads an atom {atom!r}, which looks like operators run together."
            remedy = f"Did you mean {spaced!r}? Write it with spaces."
            yield Finding("run-together", "warning", number, message, remedy)


def veto_pays(linted: LintedSpec) -> Iterator[Finding]:
    """A safety objective whose violation ends costs that are above its penalty."""
    if linted.spec.semantics != "degree":
        return  # robustness has no least value, so that any cost can be above any penalty
    vetoes = [
        (number, pair)
        for number, pair, monitor in linted.monitored
        if pair.vetoes and can_be_violated(monitor, linted.veto(number)) is not False
    ]
    for way in dict.fromkeys(linted.payment_of(pair) for pair in linted.pairs):
        costs = [pair for _, pair, _ in linted.monitored if pair.weight < 0 and linted.payment_of(pair) == way]
        costs = [pair for pair in costs if not pair.vetoes]
        # A potential is taken back in the end, so that no violation pays in the whole.
        if not vetoes or not costs or way == "potential":
            continue
        lowest, surely = _lowest_level(linted, way)
        names = " and ".join(f"`{cost.formula}`" for cost in costs)
        for number, pair in vetoes:
            penalty = linted.penalty_of(pair)
            # The penalty is paid as the spec's payment has it; pairs with another one are paid for no longer.
            after = penalty if way == linted.spec.payment else 0.0
            if lowest >= after:
                continue
            what = "a step pays" if way == "value" else f"the level that {way!r} pays by is"
            message = (
                f"{called(number, pair)} can be violated with profit: while it holds, {what} down to {lowest:g}, for "
                f"{names}, and from its violation on {after:g}."
            )
            if not surely:
                message = f"{message} (There is too much to try to be sure.)"
            remedy = f"Give it a penalty below {lowest:g}, or a weight that outweighs the costs."
            if way != linted.spec.payment:
                remedy = (
                    f"Its penalty, {penalty:g}, counts once, and should outweigh what all steps that are left would "
                    "cost; or let them be paid for: set veto=False."
                )
            yield Finding("veto-pays", "warning", number, message, remedy)


def small_veto(linted: LintedSpec) -> Iterator[Finding]:
    """A pair that vetoes by default, and looks like a preference: by a small weight, or as a pause between actions."""
    # A safety objective beside a task of more weight is common, and meant. So a weight is compared with that of other
    # safety objectives, and with that of a task only where the formula is one of those that preferences have. An action
    # that should not be taken again too soon is a preference whatever its weight is.
    for number, pair in enumerate(linted.pairs):
        if pair.veto is not None or not pair.vetoes or pair.penalty is not None or needs_bounds_to_be_safe(pair):
            continue
        others = [(k, other) for k, other in enumerate(linted.pairs) if other.vetoes or _is_pause(pair)]
        least = _CLEARLY_MORE * pair.weight
        if _spaces_out_actions(linted, pair) and any(other.weight > 0.0 for other in linted.pairs if other is not pair):
            others, least = [(k, other) for k, other in others if other is not pair], 0.0
        heaviest, other = max(others, key=lambda each: each[1].weight)
        if other.weight >= least:
            after = once_violated(linted.spec, linted.penalty_of(pair))
            message = (
                f"{called(number, pair)} has the weight {pair.weight:g}, beside {other.weight:g} of pair "
                f"{heaviest + 1}, `{other.formula}`, and vetoes all pairs: once violated, {after}."
            )
            remedy = "If it is a preference, set veto=False; if the veto is meant, veto=True."
            yield Finding("small-veto", "warning", number, message, remedy)


def _is_pause(pair: Pair) -> bool:
    """Return whether a pair asks for a pause before something, as `G(change -> H[1,5] !change)` does."""
    match pair.body:
        case Always(args=(Implies(args=(_, Historically(high=int()))),)):
            return True
    return False


def _spaces_out_actions(linted: LintedSpec, pair: Pair) -> bool:
    """Return whether a pair asks for a pause between two equal events that may be actions."""
    match pair.body:
        case Always(args=(Implies(args=(cause, Historically(low=low, high=int(), args=(held,)))),)) if low > 0:
            again = to_nnf(held) == negate(cause)
            return again and not all(reads_only_the_state((linted.atoms or {}).get(atom)) for atom in cause.atoms)
    return False


def _lowest_level(linted: LintedSpec, way: Payment) -> tuple[float, bool]:
    """The lowest level that labels of 0 and 1 can lead to while no vetoing pair is violated; of pairs paid in one way.

    And whether it can surely be reached; else it is only no higher than what can.
    """
    pairs = [pair for _, pair, _ in linted.monitored]
    monitors = [monitor for *_, monitor in linted.monitored]
    weights = [pair.weight if linted.payment_of(pair) == way else 0.0 for pair in pairs]
    lowest = np.inf
    try:
        if any(pair.formula.quantifier for pair in pairs):
            raise TooManyError  # things are in states of their own
        for states in outcomes(monitors, TWO):
            paid = [
                monitor.progress(state) if pair.progress else state.value
                for pair, monitor, state in zip(pairs, monitors, states, strict=True)
            ]
            level = sum(weight * value for weight, value in zip(weights, paid, strict=True))
            safe = np.ones(np.shape(level), dtype=bool)
            for pair, monitor, state in zip(pairs, monitors, states, strict=True):
                if pair.vetoes:
                    safe &= monitor.bounds(state)[1] > 0.0
            lowest = min(lowest, np.min(level, where=safe, initial=np.inf))
        return float(lowest), True
    except (TooManyError, SynthesisError):
        lowest = 0.0
        for pair, monitor, weight in zip(pairs, monitors, weights, strict=True):
            # A vetoing pair that holds has the value 1, where labels are 0 and 1.
            ends = (1.0, 1.0) if pair.vetoes else value_range(monitor) or (0.0, 1.0)
            if pair.progress:
                ends = ends[0], 1.0
            lowest += min(weight * end for end in ends)
        return lowest, False


def redundant(linted: LintedSpec) -> Iterator[Finding]:
    """A pair that another makes redundant."""
    pairs = linted.pairs
    usable = [(number, monitor) for number, _, monitor in linted.monitored if number not in linted.constants]
    samples = dict(zip((k for k, _ in usable), _sampled_values([m for _, m in usable]), strict=True))
    reported: set[int] = set()
    for (i, first), (j, second) in itertools.combinations(usable, 2):
        if not relations(samples[i], samples[j]) or _quantifier(pairs[i]) != _quantifier(pairs[j]):
            continue
        found = _relations(first, second)
        if pairs[i].formula.quantifier in ("forall", "exists"):
            found.discard("opposite")  # it is for each thing, and not for the least or the largest value
        paid_alike = linted.payment_of(pairs[i]) == linted.payment_of(pairs[j])
        if "equal" in found:
            if j not in reported and paid_alike and pairs[i].progress == pairs[j].progress:
                reported.add(j)
                yield _same_twice(pairs, i, j)
            continue
        if "opposite" in found and pairs[i].weight == pairs[j].weight:
            # A veto makes the two differ, and so does progress.
            if paid_alike and not any(pair.vetoes or pair.progress for pair in (pairs[i], pairs[j])):
                yield _sum_is_constant(linted, i, j)
            continue
        for weaker, stronger, sign in ((j, i, "at most"), (i, j, "at least")):
            if sign in found and _veto_adds_nothing(linted, pairs[weaker], pairs[stronger]):
                message = (
                    f"{called(weaker, pairs[weaker])} has weight 0, and pair {stronger + 1}, "
                    f"`{pairs[stronger].formula}`, is violated whenever it is, at no lesser penalty."
                )
                remedy = "Remove it, or give it a lower penalty than the other's."
                yield Finding("redundant", "warning", weaker, message, remedy)


def _quantifier(pair: Pair) -> tuple[str, str]:
    formula = pair.formula
    return (formula.quantifier, formula.variable) if isinstance(formula, Quantified) else ("", "")


def _same_twice(pairs: Sequence[Pair], i: int, j: int) -> Finding:
    one, other = pairs[i], pairs[j]
    total = one.weight + other.weight
    message = f"{called(j, other)} has the same value as pair {i + 1}, `{one.formula}`, on every trace."
    if total == 0.0 and not (one.vetoes or other.vetoes):
        return Finding("redundant", "error", j, f"{message} Their weights cancel out.", "Remove both, or correct one.")
    return Finding("redundant", "warning", j, message, f"Use one pair of weight {total:g}.")


def _sum_is_constant(linted: LintedSpec, i: int, j: int) -> Finding:
    one, other = linted.pairs[i], linted.pairs[j]
    value, total = ("one minus", one.weight) if linted.spec.semantics == "degree" else ("minus", 0.0)
    message = (
        f"{called(j, other)} has {value} the value of pair {i + 1}, `{one.formula}`, and the same weight: together "
        f"they are worth {total:g} whatever happens."
    )
    return Finding("redundant", "error", j, message, "Remove one of them, or give them different weights.")


def _veto_adds_nothing(linted: LintedSpec, weaker: Pair, stronger: Pair) -> bool:
    if weaker.weight != 0 or not (weaker.vetoes and stronger.vetoes):
        return False
    return linted.penalty_of(weaker) >= linted.penalty_of(stronger)


def _relations(first: Monitor, second: Monitor) -> set[str]:
    """Relate two values for certain: exactly for small formulas, else as far as their shapes tell."""
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
