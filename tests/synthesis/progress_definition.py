"""The definition of progress, transcribed literally over the obligations of a formula, before any reduction.

Every part of a formula has one degree for each set of formulas that can be owed. What a conjunction owes is every
choice of such sets, one for each part; what a set owes is found by relaxing all moves until nothing changes.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewardspec.logic.formulas import (
    Affine,
    AllButTimes,
    Always,
    And,
    Atom,
    Constant,
    Eventually,
    Formula,
    Not,
    Or,
    Release,
    Timed,
    WeakNext,
    WeakUntil,
)
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.operators import TEMPORAL
from rewardspec.machines.effort_limit import Effort
from rewardspec.machines.polynomials import bits
from rewardspec.synthesis.quantitative.equations import equations
from rewardspec.synthesis.quantitative.obligations import Obligations
from rewardspec.synthesis.quantitative.past import with_past_as_labels
from rewardspec.synthesis.quantitative.splitting import split
from tests.definition import value_by_definition, values_by_definition

Trace = Mapping[str, Sequence[float]]
MOST_WAYS = 20_000


class TooManyError(Exception):
    """There are more choices than can be tried."""


def progress_by_definition(formula: Formula, trace: Trace) -> list[float]:
    """The progress after every prefix of a trace."""
    normal, computed = with_past_as_labels(to_nnf(formula))
    length = len(next(iter(trace.values())))
    labels = {name: [float(label) for label in row] for name, row in trace.items()}
    past = {name: [float(v) for v in values_by_definition(part, labels)] for name, part in computed.items()}
    top = split(normal)
    members = top.args if isinstance(top, Or) and is_temporal(top) else (top,)
    parts = {part: Part(part, labels | past, length) for member in members for part in leaves(member)}
    found = []
    for n in range(1, length + 1):
        value = float(value_by_definition(formula, {name: row[:n] for name, row in labels.items()}))
        found.append(max([value, *(furthest(member, parts, n) for member in members)]))
    return found


def furthest(member: Formula, parts: Mapping[Formula, Part], n: int) -> float:
    start = owed_at_start(member, parts)
    ways = ways_to_go_on(member, parts, n)
    return max((min(degree, (start - owed) / start) for degree, owed in ways if 0 < owed < start), default=0.0)


def is_temporal(formula: Formula) -> bool:
    return any(isinstance(part, TEMPORAL) for part in formula.subformulas())


def is_branch(formula: Formula) -> bool:
    return isinstance(formula, And | Or) and is_temporal(formula)


def leaves(formula: Formula) -> list[Formula]:
    return [leaf for arg in formula.args for leaf in leaves(arg)] if is_branch(formula) else [formula]


def owed_at_start(formula: Formula, parts: Mapping[Formula, Part]) -> float:
    if not is_branch(formula):
        return parts[formula].start
    owed = [owed_at_start(arg, parts) for arg in formula.args]
    return sum(owed) if isinstance(formula, And) else min(owed)


def ways_to_go_on(formula: Formula, parts: Mapping[Formula, Part], n: int) -> list[tuple[float, float]]:
    """How truly the prefix leaves some sets to be done, and how many literals these owe together."""
    if not is_branch(formula):
        return parts[formula].ways[n]
    choices = [ways_to_go_on(arg, parts, n) for arg in formula.args]
    if isinstance(formula, Or):
        return list(dict.fromkeys(way for ways in choices for way in ways))
    if math.prod(map(len, choices)) > MOST_WAYS:
        raise TooManyError
    ways = itertools.product(*choices)
    return list(dict.fromkeys((min(d for d, _ in way), sum(owed for _, owed in way)) for way in ways))


class Sets(NamedTuple):
    """The sets of formulas that a part can owe: their equations, and how many literals each owes."""

    system: Any
    owed: list[float]
    start: float


@functools.cache
def sets_of(formula: Formula) -> Sets:
    """What can be owed of a part, and what it owes at the start."""
    system = equations(formula, Obligations(Effort(10**9)), 10**4)
    count = len(system.updates)
    literals = [cheapest_literals(guard) for guard in system.guards]
    # Moves: from a set, the price, to a set; None where the trace may end.
    moves: list[tuple[int, float, int | None]] = []
    for target, terms in [*enumerate(system.updates), (None, system.output)]:
        for term in terms:
            (source,) = [v for v in bits(term) if v < count]
            moves.append((source, price([literals[v - count] for v in bits(term) if v >= count]), target))
    owed = [math.inf] * count
    for _ in range(count + 1):
        for source, cost, move_to in moves:
            owed[source] = min(owed[source], cost + (0 if move_to is None else owed[move_to]))
    least = min(owed[k] for k in range(count) if system.initial[k])
    return Sets(system, owed, 0 if true_of_nothing(formula) or math.isinf(least) else least)


class Part:
    """One part of a formula: what it owes at the start, and the ways to go on after each prefix."""

    start: float
    ways: list[list[tuple[float, float]]]

    def __init__(self, formula: Formula, labels: Trace, length: int) -> None:
        if isinstance(formula, Timed) and formula.discount < 1 and formula.high is None:
            # Without a bound: an F owes its goal until it is met, and others owe nothing.
            goal = cheapest_literals(formula.args[-1]) if isinstance(formula, Eventually) else None
            self.start = 0 if goal is None else len(goal)
            prefixes = ({name: row[:n] for name, row in labels.items()} for n in range(1, length + 1))
            values = [float(value_by_definition(formula, prefix)) for prefix in prefixes]
            self.ways = [[], *([(value, 0), *([(1.0, self.start)] if self.start else [])] for value in values)]
            return
        system, owed, self.start = sets_of(formula)
        degrees = [1.0 if one else 0.0 for one in system.initial]
        self.ways = [[]]
        for n in range(length):
            letter = {name: row[n] for name, row in labels.items()}
            now = degrees + [value_now(guard, letter) for guard in system.guards]

            def largest(terms: Any, now: list[float] = now) -> float:
                return max((min(now[v] for v in bits(term)) for term in terms), default=0.0)

            value, degrees = largest(system.output), [largest(terms) for terms in system.updates]
            sets = [(degree, max(1, count)) for degree, count in zip(degrees, owed, strict=True) if count < math.inf]
            self.ways.append(list(dict.fromkeys([(value, 0), *sets])))


def value_now(guard: Formula, letter: Mapping[str, float]) -> float:
    """The value of a propositional formula on one letter."""
    return float(value_by_definition(guard, {name: [label] for name, label in (letter or {"": 0.0}).items()}))


def price(asked: Sequence[frozenset[Formula] | None]) -> float:
    """How many literals a letter asks for; without end where it asks for an atom and its negation."""
    if None in asked:
        return math.inf
    literals = frozenset[Formula]().union(*(each or () for each in asked))
    return math.inf if any(Not(literal) in literals for literal in literals) else len(literals)


def cheapest_literals(guard: Formula) -> frozenset[Formula] | None:
    """The fewest literals that make a propositional formula true, the first of several such."""
    if isinstance(guard, Constant):
        return frozenset() if guard.value > 0 else None
    if isinstance(guard, Atom | Not):
        return frozenset({guard})
    found = [cheapest_literals(arg) for arg in guard.args]
    if isinstance(guard, And):
        return None if None in found else frozenset().union(*(each or () for each in found))
    return min((each for each in found if each is not None), key=len, default=None)


def true_of_nothing(formula: Formula) -> bool:
    match formula:
        case Constant():
            return formula.value > 0
        case And():
            return all(map(true_of_nothing, formula.args))
        case Or():
            return any(map(true_of_nothing, formula.args))
        case Affine():
            return formula.offset > 0 or true_of_nothing(formula.arg)
    return isinstance(formula, Always | Release | WeakUntil | WeakNext | AllButTimes)
