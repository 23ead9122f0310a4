"""The definition of what a formula waits for, transcribed literally and slowly.

It takes from the library the classes of formulas, and what progress is defined over too: normal form, formulas of the
past as labels, and the split into temporal parts. What a part owes after a letter is written out here operator by
operator; every set that can be owed is kept as it is, and ways are found by relaxing all moves until nothing changes.
For formulas without scales and discounts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from rewardspec.episodes.waiting import in_words
from rewardspec.logic.formulas import (
    AllButTimes,
    Always,
    And,
    AtLeastTimes,
    Atom,
    Constant,
    Eventually,
    Formula,
    Next,
    Not,
    Or,
    Release,
    StrongRelease,
    Until,
    WeakNext,
    WeakUntil,
)
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.operators import TEMPORAL
from rewardspec.synthesis.quantitative.past import with_past_as_labels
from rewardspec.synthesis.quantitative.splitting import split
from tests.definition import value_by_definition, values_by_definition

MOST_SETS, MOST_TERMS = 60, 400
Set = frozenset[Formula]


class TooManyError(Exception):
    """There are more sets or terms than can be tried."""


Trace = Mapping[str, Sequence[float]]


def waiting_by_definition(formula: Formula, trace: Trace, semantics: str = "degree") -> list[tuple[str, ...]]:
    """After every prefix the literals that are waited for."""
    top, parts, past = taken_apart(formula, trace, semantics)
    found = []
    for n, most in enumerate(degrees_by_definition(formula, trace, semantics), start=1):
        value = float(value_by_definition(formula, {name: row[:n] for name, row in trace.items()}, semantics))
        is_low, enough = value < most / 2, most / 2
        if semantics == "robustness":
            is_low, enough = value < 0 < most, 0.0
        chosen = cheapest(top, parts, n, enough, is_top=True) if is_low else ()
        literals = chosen[-1] if chosen else ()
        found.append(in_words([(atom_of(x), isinstance(x, Not)) for x in literals], past))
    return found


def degrees_by_definition(formula: Formula, trace: Trace, semantics: str = "degree") -> list[float]:
    """After every prefix the degree to which the formula can be met."""
    top, parts, _ = taken_apart(formula, trace, semantics)
    return [degree_to_be_met(top, parts, n) for n in range(1, len(next(iter(trace.values()))) + 1)]


def taken_apart(
    formula: Formula, trace: Trace, semantics: str
) -> tuple[Formula, dict[Formula, Part], dict[str, Formula]]:
    """The split formula, its parts, and what its computed atoms stand for."""
    normal, computed = with_past_as_labels(to_nnf(formula))
    labels = {name: [float(x) for x in row] for name, row in trace.items()}
    past = {name: [float(x) for x in values_by_definition(f, labels, semantics)] for name, f in computed.items()}
    top, length = split(normal), len(next(iter(labels.values())))
    parts = {part: Part(part, normal.atoms, labels | past, length, semantics) for part in leaves(top)}
    return top, parts, computed


# A formula as conjunctions and disjunctions of its temporal parts.


def is_branch(formula: Formula) -> bool:
    return isinstance(formula, And | Or) and any(isinstance(part, TEMPORAL) for part in formula.subformulas())


def leaves(formula: Formula) -> list[Formula]:
    return [leaf for arg in formula.args for leaf in leaves(arg)] if is_branch(formula) else [formula]


def degree_to_be_met(formula: Formula, parts: Mapping[Formula, Part], n: int) -> float:
    if is_branch(formula):
        degrees = [degree_to_be_met(arg, parts, n) for arg in formula.args]
        return min(degrees) if isinstance(formula, And) else max(degrees)
    part = parts[formula]
    return max([part.values[n], *(degree for s, degree in part.degrees[n].items() if s in part.ways)])


def owed_at_start(formula: Formula, parts: Mapping[Formula, Part]) -> float:
    if not is_branch(formula):
        return parts[formula].start
    owed = [owed_at_start(arg, parts) for arg in formula.args]
    return sum(owed) if isinstance(formula, And) else min(owed)


def cheapest(
    formula: Formula, parts: Mapping[Formula, Part], n: int, enough: float, is_top: bool = False
) -> tuple | None:
    """How many literals are owed, minus the degree, how many come first, their places, and these; the least of all."""
    if not is_branch(formula):
        return parts[formula].cheapest(n, enough)
    found = [(arg, cheapest(arg, parts, n, enough)) for arg in formula.args]
    if isinstance(formula, Or):
        possible = [(arg, one) for arg, one in found if one is not None]

        def preference(each: tuple[Formula, tuple]) -> tuple:
            arg, one = each
            start = owed_at_start(arg, parts)
            left = min(1.0, one[0] / start) if start else 1.0
            return (left, *one[:4]) if is_top else one[:4]

        return min(possible, key=preference)[1] if possible else None
    if any(one is None for _, one in found):
        return None
    chosen = [one for _, one in found if one is not None]
    # Named is what comes first of the part that owes the most, of those that ask for anything.
    *_, count, places, first = min(chosen, key=lambda one: (not one[4], -one[0], one[2], one[3]))
    return sum(one[0] for one in chosen), max(one[1] for one in chosen), count, places, first


class Part:
    """One temporal part: the degree to which each prefix leaves each set to be done, and the ways on from the sets."""

    def __init__(
        self, formula: Formula, atoms: Sequence[str], labels: Mapping[str, Sequence[float]], length: int, semantics: str
    ) -> None:
        self.order = [literal for atom in atoms for literal in (Atom(atom), Not(Atom(atom)))]
        members = formula.args if isinstance(formula, Or) else (formula,)
        starts = [frozenset(member.args if isinstance(member, And) else (member,)) for member in members]
        moves: dict[Set, list[Move]] = {}
        waiting = [*starts]
        while waiting:
            s = waiting.pop()
            if s not in moves:
                moves[s] = [*moves_of(s)]
                waiting.extend(target for _, target, _ in moves[s])
                if len(moves) > MOST_SETS:
                    raise TooManyError
        self.ways = self.shortest_ways(moves)
        least = min(self.ways[s][0] if s in self.ways else math.inf for s in starts)
        self.start = 0 if true_of_nothing(formula) or math.isinf(least) else least

        bottom, top = (0.0, 1.0) if semantics == "degree" else (-math.inf, math.inf)
        self.values = [bottom]
        self.degrees: list[dict[Set, float]] = [{s: top if s in starts else bottom for s in moves}]
        for n in range(length):
            letter = {name: [row[n]] for name, row in labels.items()} or {"": [0.0]}
            now, after, value = self.degrees[-1], dict.fromkeys(moves, bottom), bottom
            for s in moves:
                for guards, target, may_end in moves[s]:
                    asked = [float(value_by_definition(guard, letter, semantics)) for guard in guards]
                    degree = min([now[s], *asked])
                    after[target] = max(after[target], degree)
                    value = max(value, degree) if may_end else value
            self.values.append(value)
            self.degrees.append(after)

    def shortest_ways(self, moves: Mapping[Set, Sequence[Move]]) -> dict[Set, tuple]:
        """For each set from which the trace can come to its end: the way's preference, and its first literals."""
        possible = {
            s: [
                (literals, target, ends)
                for guards, target, ends in row
                if (literals := self.literals(guards)) is not None
            ]
            for s, row in moves.items()
        }
        best: dict[Set, tuple] = {}
        changed = True
        while changed:
            changed = False
            for s, row in possible.items():
                for literals, target, ends in row:
                    ways = [self.way(len(literals), literals)] if ends else []
                    if target in best:
                        owed, _, _, first = best[target]
                        ways.append(self.way(len(literals) + owed, literals or first))
                    for way in ways:
                        if s not in best or way[:3] < best[s][:3]:
                            best[s], changed = way, True
        result = {}
        for s, (owed, _, _, first) in best.items():
            asked = [set(literals) for literals, target, ends in possible[s] if ends or target in best]
            in_any_case = set.intersection(*asked)
            named = [literal for literal in first if literal not in in_any_case] or first
            result[s] = self.way(owed, named)
        return result

    def way(self, owed: float, first: Sequence[Formula]) -> tuple:
        return owed, len(first), [self.order.index(literal) for literal in first], first

    def literals(self, guards: Set) -> list[Formula] | None:
        """What a letter asks for; None for what is false, or for an atom and its negation."""
        if any(guard == Constant(0.0) or Not(guard) in guards for guard in guards):
            return None
        return sorted((guard for guard in guards if not isinstance(guard, Constant)), key=self.order.index)

    def cheapest(self, n: int, enough: float) -> tuple | None:
        if self.values[n] >= enough:
            return 0, -self.values[n], 0, [], []
        found = []
        for s, (owed, count, places, first) in self.ways.items():
            if self.degrees[n][s] >= enough:
                found.append((max(1, owed), -self.degrees[n][s], count, places, first))
        return min(found, key=lambda one: one[:4], default=None)


# What a letter asks for and leaves to be done: guards, the set that is owed from the next letter on, and whether the
# trace may end with this letter.

Move = tuple[Set, Set, bool]


def moves_of(s: Set) -> Iterator[Move]:
    for choice in product([step(formula) for formula in s]):
        guards = frozenset(guard for guards, _ in choice for guard in guards)
        owed = frozenset(formula for _, owed in choice for formula, _ in owed)
        yield guards, owed, not any(strong for _, owed in choice for _, strong in owed)


Term = tuple[Set, frozenset[tuple[Formula, bool]]]


def product(factors: Sequence[Sequence[Term]]) -> list[tuple[Term, ...]]:
    if math.prod(map(len, factors)) > MOST_TERMS:
        raise TooManyError
    return [*itertools.product(*factors)]


def both(*factors: Sequence[Term]) -> list[Term]:
    return [
        (frozenset().union(*(guards for guards, _ in terms)), frozenset().union(*(owed for _, owed in terms)))
        for terms in product(factors)
    ]


def later(formula: Formula, strong: bool) -> list[Term]:
    return [(frozenset(), frozenset({(formula, strong)}))]


def step(f: Formula) -> list[Term]:
    """The terms of a formula: literals to be met now, and formulas owed from the next letter on, strongly or weakly."""
    match f:
        case Constant(value=value):
            return [(frozenset(), frozenset())] if value == 1 else []
        case Atom() | Not():
            return [(frozenset({f}), frozenset())]
        case And(args=args):
            return both(*map(step, args))
        case Or(args=args):
            return [term for arg in args for term in step(arg)]
        case Next(args=(a,), steps=k):
            return later(a if k == 1 else Next(a, k - 1), True)
        case WeakNext(args=(a,), steps=k):
            return later(a if k == 1 else WeakNext(a, k - 1), False)
        case WeakUntil(args=(a, b)):
            return [*step(b), *both(step(a), later(f, False))]
        case StrongRelease(args=(a, b)):
            return both(step(b), [*step(a), *later(f, True)])
        case AtLeastTimes(args=(a,), count=k):
            here = step(a) if k == 1 else both(step(a), later(AtLeastTimes(a, k - 1), True))
            return [*here, *later(f, True)]
        case AllButTimes(args=(a,), count=k):
            here = step(a) if k == 0 else [*step(a), *later(AllButTimes(a, k - 1), False)]
            return both(here, later(f, False))
        case Eventually(args=args, low=low, high=high) | Always(args=args, low=low, high=high):
            pass
        case Until(args=args, low=low, high=high) | Release(args=args, low=low, high=high):
            pass
        case _:
            raise AssertionError(f"the definition does not know {f!r}")
    strong = isinstance(f, Eventually | Until)
    right = step(args[-1])
    if low == high == 0:
        return right
    again = later(type(f)(*args, max(low - 1, 0), None if high is None else high - 1), strong)
    if strong:
        on = both(step(args[0]), again) if len(args) == 2 else again
        return on if low > 0 else [*right, *on]
    on = [*step(args[0]), *again] if len(args) == 2 else again
    return on if low > 0 else both(right, on)


def atom_of(literal: Formula) -> str:
    return (literal.args[0] if isinstance(literal, Not) else literal).name


def true_of_nothing(formula: Formula) -> bool:
    match formula:
        case Constant():
            return formula.value > 0
        case And():
            return all(map(true_of_nothing, formula.args))
        case Or():
            return any(map(true_of_nothing, formula.args))
    return isinstance(formula, Always | Release | WeakUntil | WeakNext | AllButTimes)
