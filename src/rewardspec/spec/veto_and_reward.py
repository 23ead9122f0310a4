"""The head of a spec's program: from the values of formulas to the reward, with veto, penalty and payment.

The program's outputs are what each pair is paid for, the value of its formula or its progress, and for each pair that
can veto a number that is positive while the value still can be. From the first violation on the level is the penalty,
the lowest of those violated. Pairs that are paid in a way of their own have a level of their own, which is 0 from then
on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rewardspec.machines.expressions import (
    Expression,
    less,
    number,
    override,
    substitute,
    terms,
    weighted_sum,
)
from rewardspec.machines.heads import Field, Head, given, memory, output
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import BASE_REWARD, BEFORE, DISCOUNT, LEVEL, PAYMENTS
from rewardspec.spec.sorts import Sorts, possible_over_things, things_of, value_over_things
from rewardspec.types import Semantics

NO_PENALTY = math.inf  # what the penalty is while nothing is violated
PENALTY, LEVELS, VALUES = 0, 1, 2  # where the memory of a state holds them


@dataclass(frozen=True)
class RewardHead(Head):
    """Weights, veto, penalties and payments, as expressions; `payments` are the ways to pay, the spec's own first.

    A state remembers the lowest penalty in force, the level of each way to pay, and the value of each formula, after
    all of them the values for single things.
    """

    payments: tuple[str, ...] = ()

    def without_things(self, pairs: int) -> RewardHead:
        """The head that remembers the values of so many formulas, and none for single things."""
        *others, values = self.fields
        assert isinstance(values.initial, tuple)
        assert isinstance(values.after, tuple)
        kept = values._replace(initial=values.initial[:pairs], after=values.after[:pairs])
        return replace(self, fields=(*others, kept))


def reward_head(
    pairs: Sequence[Pair],
    penalties: Sequence[float],
    payment: str,
    discount: float,
    semantics: Semantics = "degree",
    bound: float = math.inf,
    sorts: Sorts | None = None,
) -> RewardHead:
    """The head of a spec, from its arguments and the penalty of each pair that can veto, in order.

    Values are paid as if they were at most the bound, and at least minus it. What a pair about names is paid for, and
    what tells of its veto, are inputs: first the former of all such pairs, then the latter of those that can veto.
    """
    outputs = map(output, itertools.count())
    things = [[next(outputs) for _ in things_of(pair.formula, sorts or {})] for pair in pairs]
    values = [
        value_over_things(pair.formula, own) if own else given(f"named_value{k}")
        for k, (pair, own) in enumerate(zip(pairs, things, strict=True))
    ]
    if math.isfinite(bound):
        values = [Expression("clip", (value, -bound, bound)) for value in values]
    uppers = []
    for k, (pair, own) in enumerate(zip(pairs, things, strict=True)):
        if pair.vetoes and own:
            uppers.append(possible_over_things(pair.formula, [next(outputs) for _ in own]))
        elif pair.vetoes:
            uppers.append(given(f"named_veto{k}"))
    penalty = _penalty_in_force(uppers, penalties, semantics)
    named = [k for k, own in enumerate(things) if not own]
    from_elsewhere = [f"named_value{k}" for k in named] + [f"named_veto{k}" for k in named if pairs[k].vetoes]
    ways = [pair.payment or payment for pair in pairs]
    payments = tuple(dict.fromkeys([payment, *ways]))
    levels = []
    reward = [(1.0, BASE_REWARD)] if PAYMENTS[payment].adds_base else []
    for k, way in enumerate(payments):
        level = weighted_sum((p.weight, v) for p, v, own in zip(pairs, values, ways, strict=True) if own == way)
        if level == number(0.0) and (k > 0 or not penalties):
            level = memory("level", k)  # it stays 0
        elif penalties:
            level = override(Expression("finite", (penalty,)), penalty if k == 0 else 0.0, level)
        levels.append(level)
        meant = {LEVEL: level, BEFORE: memory("level", k), DISCOUNT: number(discount)}
        reward += [(weight, substitute(term, meant)) for weight, term in terms(PAYMENTS[way].pays)]
    values += [value for pair, own in zip(pairs, things, strict=True) if pair.formula.quantifier for value in own]
    return RewardHead(
        (
            Field("penalty", "the lowest in force, infinite while nothing is violated", NO_PENALTY, penalty),
            Field("level", ", ".join(payments), (0.0,) * len(levels), tuple(levels)),
            Field(
                "values",
                "of each formula; progress, where that is paid",
                (0.0,) * len(values),
                tuple(values),
            ),
        ),
        weighted_sum(reward),
        (("base_reward", 0.0), ("terminated", False), ("truncated", False), *((name, 0.0) for name in from_elsewhere)),
        payments,
    )


def _penalty_in_force(uppers: Sequence[Expression], penalties: Sequence[float], semantics: Semantics) -> Expression:
    """The lowest penalty of all violations so far, given the largest value that each veto can still reach."""
    penalty = memory("penalty")
    for upper, own in zip(uppers, penalties, strict=True):
        hopeless = Expression("zero", (upper,)) if semantics == "degree" else less(upper, 0.0)
        lower = hopeless if own == min(penalties) else hopeless & less(own, penalty)
        penalty = override(lower, own, penalty)
    return penalty
