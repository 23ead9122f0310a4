"""The definition of what a spec pays, transcribed literally from its documentation.

Slow and plain on purpose: it shares nothing with the library but the classes of formulas. A spec is read by its
attributes (`pairs`, `payment`, `penalty`, `discount`, `semantics`, `bound`); formulas are evaluated by
`tests/definition.py` on every prefix anew.

Arrays hold one column for each of many episodes of one length: labels have shape (steps + 1, episodes), because the
state after reset has labels too; everything that a step gives has shape (steps, episodes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.logic.formulas import Counted, Formula, Shift, Timed
from tests.definition import bound, over_things, value_by_definition
from tests.synthesis.progress_definition import progress_by_definition

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Labels = Mapping[str, Floats]


@dataclass(frozen=True)
class Paid:
    """What a spec makes of some episodes. After a reset there is everything but a reward.

    Attributes:
        rewards: Shape (steps, episodes).
        values: For each pair what it is paid for, its value or its progress; shape (pairs, steps + 1, episodes).
        violated: Whether a vetoing pair has been violated; shape (steps + 1, episodes).
        cost: 1 at the step of the first violation, else 0; shape (steps + 1, episodes).
        penalty: The penalty in force, infinite while there is none; shape (steps + 1, episodes).
        terminated: Shape (steps, episodes); with `terminate_on_violation` also where an episode is violated.
    """

    rewards: Floats
    values: Floats
    violated: Bools
    cost: Floats
    penalty: Floats
    terminated: Bools


@dataclass(frozen=True)
class Judged:
    """What a spec's formulas say of some episodes, before anything is paid.

    Attributes:
        values: For each pair what it is paid for; shape (pairs, steps + 1, episodes).
        penalty: The penalty in force, infinite while there is none; shape (steps + 1, episodes).
    """

    values: Floats
    penalty: Floats


def judged_by_definition(spec: Any, labels: Labels) -> Judged:
    """What a spec's formulas say of every prefix of some episodes.

    Args:
        spec: The spec.
        labels: For each atom an array of shape (steps + 1, episodes).
    """
    length, episodes = next(iter(labels.values())).shape
    prefixes = [{atom: column[: n + 1] for atom, column in labels.items()} for n in range(length)]
    values = np.empty((len(spec.pairs), length, episodes))
    penalty = np.full((length, episodes), np.inf)
    for k, pair in enumerate(spec.pairs):
        values[k] = _what_is_paid_for(pair, spec, labels, prefixes)
        if pair.vetoes:
            own = spec.penalty if pair.penalty is None else pair.penalty
            for n, prefix in enumerate(prefixes):
                hopeless = _violated(pair.formula, spec, prefix)
                # The violation of a prefix is one of every longer one.
                penalty[n:, hopeless] = np.minimum(penalty[n:, hopeless], own)
    return Judged(values, penalty)


def _violated(formula: Any, spec: Any, prefix: Labels) -> Bools:
    """Whether a formula can no longer hold; one about every thing as soon as it cannot for one of them."""
    if not formula.quantifier:
        return ~can_hold(formula, prefix, spec.semantics)
    traces = [bound(prefix, formula.variable, thing) for thing in spec.sorts[formula.variable]]
    each = np.array([~can_hold(formula.body, trace, spec.semantics) for trace in traces])
    return each.any(axis=0) if formula.quantifier == "forall" else each.all(axis=0)


def paid_by_definition(
    spec: Any,
    judged: Judged,
    base_rewards: Floats,
    terminated: Bools,
    truncated: Bools,
    *,
    terminate_on_violation: bool = False,
) -> Paid:
    """What a spec pays for each step of some episodes.

    Args:
        spec: The spec.
        judged: What its formulas say.
        base_rewards: The environment's own rewards, of shape (steps, episodes).
        terminated: Where an episode ended for good, of shape (steps, episodes).
        truncated: Where it was cut short, likewise.
        terminate_on_violation: Whether a violation ends the episode.
    """
    length, episodes = judged.penalty.shape
    violated = np.isfinite(judged.penalty)
    before = np.vstack([np.zeros((1, episodes), dtype=bool), violated[:-1]])
    if terminate_on_violation:
        terminated = terminated | violated[1:]
    rewards = np.zeros((length - 1, episodes))
    if spec.payment == "potential":
        rewards += base_rewards
    for way in dict.fromkeys([spec.payment, *(pair.payment or spec.payment for pair in spec.pairs)]):
        level = np.zeros((length, episodes))
        for pair, value in zip(spec.pairs, judged.values, strict=True):
            if (pair.payment or spec.payment) == way and pair.weight != 0.0:
                level += pair.weight * value
        # From the first violation on the spec's own level is the penalty, and those of other payments are 0.
        level = np.where(violated, judged.penalty if way == spec.payment else 0.0, level)
        rewards += PAYMENTS[way](level[1:], level[:-1], terminated, truncated, spec.discount)
    cost = (violated & ~before).astype(float)
    return Paid(rewards, judged.values, violated, cost, judged.penalty, terminated)


def _value(level: Floats, before: Floats, terminated: Bools, truncated: Bools, discount: float) -> Floats:
    """The level, every step."""
    return level


def _delta(level: Floats, before: Floats, terminated: Bools, truncated: Bools, discount: float) -> Floats:
    """The level's change; the level of the state after reset counts as 0."""
    before = np.vstack([np.zeros((1, before.shape[1])), before[1:]])
    return level - before


def _potential(level: Floats, before: Floats, terminated: Bools, truncated: Bools, discount: float) -> Floats:
    """The discounted level after the step minus the level before it; after termination the level counts as 0."""
    return np.where(terminated, 0.0, discount * level) - before


def _final(level: Floats, before: Floats, terminated: Bools, truncated: Bools, discount: float) -> Floats:
    """The level, once, when the episode ends."""
    return np.where(terminated | truncated, level, 0.0)


PAYMENTS: dict[str, Callable[..., Floats]] = {
    "value": _value,
    "delta": _delta,
    "potential": _potential,
    "final": _final,
}


def _what_is_paid_for(pair: Any, spec: Any, labels: Labels, prefixes: list[dict[str, Floats]]) -> Floats:
    """The value of a pair's formula after every prefix, or its progress; robustness inside the spec's bound."""
    formula = pair.formula
    if formula.quantifier:
        variable = formula.variable
        each = []
        for thing in spec.sorts[variable]:
            own = [bound(prefix, variable, thing) for prefix in prefixes]
            each.append(_of_one(formula.body, pair.progress, spec, bound(labels, variable, thing), own))
        values = over_things(formula, each)
    else:
        values = _of_one(formula, pair.progress, spec, labels, prefixes)
    return values if spec.bound is None else np.clip(values, -spec.bound, spec.bound)


def _of_one(formula: Formula, progress: bool, spec: Any, labels: Labels, prefixes: list[dict[str, Floats]]) -> Floats:
    """The value of a formula without a quantifier after every prefix, or its progress."""
    if progress and spec.semantics == "degree":
        episodes = next(iter(labels.values())).shape[1]
        columns = [{atom: column[:, k].tolist() for atom, column in labels.items()} for k in range(episodes)]
        return np.array([progress_by_definition(formula, column) for column in columns]).T
    return np.array([value_by_definition(formula, prefix, spec.semantics) for prefix in prefixes])


def can_hold(
    formula: Formula, prefix: Labels, semantics: str = "degree", lengths: Iterable[int] | None = None
) -> Bools:
    """Whether some continuation of each trace, the empty one included, has a positive value; shape (traces,).

    As robustness, whether some continuation has a value of at least 0.

    A continuation in which every label is 1/2, or 0 as robustness, makes every literal hold. Values are monotone in
    the literals' values, so it is the best there is: only how long it lasts has to be tried
    (`tests/test_spec_definition.py` tries all others, for small formulas): all `lengths` up to the horizon, by default.
    """
    middle = 0.5 if semantics == "degree" else 0.0
    traces = next(iter(prefix.values())).shape[1]
    found = np.zeros(traces, dtype=bool)
    for more in range(horizon(formula) + 1) if lengths is None else lengths:
        rest = np.full((more, traces), middle)
        value = value_by_definition(formula, {a: np.vstack([c, rest]) for a, c in prefix.items()}, semantics)
        found |= value > 0.0 if semantics == "degree" else value >= 0.0
        if found.all():
            break
    return found


def horizon(formula: Formula) -> int:
    """After how many equal letters nothing about a formula can change any more: a generous bound."""
    steps = 1
    for part in formula.subformulas():
        steps += 1
        if isinstance(part, Shift):
            steps += part.steps
        if isinstance(part, Timed):
            steps += max(part.low, part.high or 0)
        if isinstance(part, Counted):
            steps += part.count
    return steps
