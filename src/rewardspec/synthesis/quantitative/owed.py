"""Owed literals: those on the shortest way from a set of obligations to a state in which the trace may end.

The equations of a formula have a register for each set S of formulas that can be owed. A *way* on from S is a sequence
of letters after which the trace may end; it costs the literals that its letters ask for, each counted once a letter,
negated ones included. A letter that asks for an atom and for its negation cannot come, so that no way has it.

There is one such definition. `progress` measures along the shortest way how much is left of it, and
`rewardspec.episodes.waiting` names the literals that it asks for first. Of several ways, one is chosen by

1. the fewest literals in all;
2. the fewest literals in the first letter that asks for any, since the others need not come at once;
3. the order in which the formula mentions their atoms, an atom before its negation.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula
from rewardspec.machines.polynomials import bits
from rewardspec.synthesis.quantitative.equations import Equations

_WEAK = (fm.Always, fm.Release, fm.WeakUntil, fm.WeakNext, fm.AllButTimes)  # true of an empty trace


class Literal(NamedTuple):
    """An atom or its negation."""

    atom: str
    negated: bool = False

    def __str__(self) -> str:
        return f"{'!' * self.negated}{self.atom}"


Literals: TypeAlias = tuple[Literal, ...]


class Way(NamedTuple):
    """The shortest way on from a set of obligations.

    Attributes:
        owed: How many literals it asks for; infinite where no way leads to where the trace may end.
        literals: What its first letter asks for that asks for anything, in the order of the formula. What every letter
            that can come next asks for has to hold in any case, and is left out unless nothing else is asked for.
        most: The largest value that any way leads to, as far as scales and constants limit it.
    """

    owed: float
    literals: Literals
    most: float


def shortest_ways(system: Equations, atoms: Sequence[str]) -> list[Way]:
    """Find the shortest way on from the set of each register, by Dijkstra's algorithm from where the trace may end.

    The equations are those without delay lines, and the atoms all of the formula's, in its order.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> from rewardspec.machines.effort_limit import Effort
        >>> from rewardspec.synthesis.quantitative.equations import equations
        >>> from rewardspec.synthesis.quantitative.obligations import Obligations
        >>> system = equations(parse("F(key & F door)"), Obligations(Effort(1000)), 9)
        >>> [(way.owed, *map(str, way.literals)) for way in shortest_ways(system, ("key", "door"))]
        [(2, 'key'), (0,), (1, 'door')]
    """
    order = literal_order(atoms)
    count = len(system.updates)
    registers = (1 << count) - 1
    guards = [cheapest_literals(guard) for guard in system.guards]

    def letter(term: int) -> Literals | None:
        """Literals that a term asks for; None if they cannot come."""
        asked = [guards[variable - count] for variable in bits(term & ~registers)]
        if None in asked:
            return None
        literals = {literal for each in asked for literal in each or ()}
        if len({literal.atom for literal in literals}) < len(literals):
            return None
        return tuple(sorted(literals, key=order.__getitem__))

    into: list[list[tuple[int, Literals]]] = [[] for _ in range(count + 1)]  # the last is where the trace ends
    for target, update in enumerate([*system.updates, system.output]):
        for term in update:
            asked = letter(term)
            if asked is not None:
                into[target].append(((term & registers).bit_length() - 1, asked))

    def entry(owed: int, first: Literals, number: int) -> tuple[int, int, list[int], int, Literals]:
        return owed, len(first), [order[literal] for literal in first], number, first

    found: dict[int, tuple[int, Literals]] = {}
    queue = [entry(len(asked), asked, source) for source, asked in into[count]]
    heapq.heapify(queue)
    while queue:
        owed, _, _, number, first = heapq.heappop(queue)
        if number not in found:
            found[number] = owed, first
            for source, asked in into[number]:
                if source not in found:
                    heapq.heappush(queue, entry(owed + len(asked), asked or first, source))
    always: dict[int, set[Literal]] = {}
    for target, moves in enumerate(into):
        if target == count or target in found:
            for source, asked in moves:
                always[source] = always[source].intersection(asked) if source in always else set(asked)
    most = _largest_values(system)
    ways = []
    for number in range(count):
        owed_here, first = found.get(number, (math.inf, ()))
        new = tuple(literal for literal in first if literal not in always.get(number, ()))
        ways.append(Way(owed_here, new or first, most[number]))
    return ways


def literal_order(atoms: Sequence[str]) -> dict[Literal, int]:
    """The place of each literal in the order of the formula's atoms; an atom comes before its negation."""
    return {
        literal: k for k, literal in enumerate(Literal(atom, negated) for atom in atoms for negated in (False, True))
    }


def owed_at_start(formula: Formula, system: Equations, ways: Sequence[Way]) -> int:
    """Count the literals that a formula owes before the first letter; 0 where no way leads to where it holds."""
    least = min(way.owed for way, one in zip(ways, system.initial, strict=True) if one)
    return 0 if holds_of_nothing(formula) or math.isinf(least) else int(least)


def cheapest_literals(guard: Formula) -> Literals | None:
    """The fewest literals that make a propositional formula true, the first of several such; None where none do.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> [str(literal) for literal in cheapest_literals(parse("!a & !b & c | d & e"))]
        ['d', 'e']
    """

    def cheapest(part: Formula, args: tuple[Literals | None, ...]) -> Literals | None:
        match part:
            case fm.Constant():
                return () if part.value > 0.0 else None
            case fm.Atom():
                return (Literal(part.name),)
            case fm.Not(args=(fm.Atom(name=name),)):
                return (Literal(name, negated=True),)
            case fm.And():
                return None if None in args else tuple(dict.fromkeys(x for arg in args for x in arg or ()))
            case fm.Or():
                return min((arg for arg in args if arg is not None), key=len, default=None)
            case fm.Affine():
                return args[0]
        raise AssertionError(f"not propositional: {part}")

    return guard.fold(cheapest)


def holds_of_nothing(formula: Formula) -> bool:
    """Return whether a formula in normal form is true of an empty trace, so that it owes nothing at the start.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> [holds_of_nothing(parse(text)) for text in ("G a", "F a", "a", "G a | F b")]
        [True, False, False, True]
    """

    def holds(part: Formula, args: tuple[bool, ...]) -> bool:
        match part:
            case fm.Constant():
                return part.value > 0.0
            case fm.And():
                return all(args)
            case fm.Or():
                return any(args)
            case fm.Affine():
                return args[0] or part.offset > 0.0
        return isinstance(part, _WEAK)

    return formula.fold(holds)


def _largest_values(system: Equations) -> list[float]:
    """The largest value that each register's set can lead to, which scales and constants limit."""
    count = len(system.updates)
    tops = [guard.fold(_largest_value) for guard in system.guards]
    into: list[list[tuple[int, float]]] = [[] for _ in range(count + 1)]
    for target, update in enumerate([*system.updates, system.output]):
        for term in update:
            source, *guards = bits(term)
            into[target].append((source, min((tops[k - count] for k in guards), default=math.inf)))
    found = [-math.inf] * count
    queue = [(-value, source) for source, value in into[count]]
    heapq.heapify(queue)
    while queue:  # the widest way first
        value, number = heapq.heappop(queue)
        if -value > found[number]:
            found[number] = -value
            for source, limit in into[number]:
                heapq.heappush(queue, (-min(-value, limit), source))
    return found


def _largest_value(part: Formula, args: tuple[float, ...]) -> float:
    match part:
        case fm.Constant():
            return part.value if part.value < 1.0 else math.inf
        case fm.And():
            return min(args)
        case fm.Or():
            return max(args)
        case fm.Affine():
            return part.scale * min(args[0], 1.0) + part.offset
    return math.inf
