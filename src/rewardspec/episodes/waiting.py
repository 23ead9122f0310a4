"""What a formula waits for after each step: the literals that come next on the cheapest way to a higher value.

The equations of a formula have a register c[S] for each set S of formulas that can be owed: how truly the trace so far
leaves exactly S to be done.  A value is low *because something is owed* where some c[S] is far above it: where the rest
of S would raise it.  Of these sets the one that owes the fewest atoms is looked at, and what is waited for are the
first literals that it owes, on a way to where the trace may end that has the fewest atoms.  Negated ones are not
counted, since what is not meant to happen seldom happens all the time.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rewardspec.errors import SynthesisError
from rewardspec.logic.definitions import Domain
from rewardspec.logic.formulas import Affine, And, Atom, Constant, Formula, Not, Or
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.semantics import Semantics, domain_of, evaluate_positions
from rewardspec.machines.effort_limit import Effort
from rewardspec.machines.polynomials import bits
from rewardspec.synthesis.quantitative.equations import Equations, equations
from rewardspec.synthesis.quantitative.obligations import Obligations
from rewardspec.synthesis.quantitative.past import with_past_as_labels

_MOST_SETS = 512  # beyond it, and beyond the effort, nothing is said to be waited for
_EFFORT = 500_000

Literals = tuple[str, ...]


def waited_for(
    formula: Formula, labels: Mapping[str, Sequence[float]], values: Sequence[float], semantics: Semantics = "degree"
) -> list[Literals]:
    """For every prefix of a trace the literals that the formula waits for; none where its value is not low.

    A value is low below half of what it could become; for robustness, where it is negative and could be positive.

    Args:
        formula: The formula.
        labels: For each atom its labels, which have been checked.
        values: The formula's value on every prefix.
        semantics: What labels and values are.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> labels = {"key": [0.0, 1.0, 0.0, 0.0], "door": [1.0, 0.0, 0.0, 1.0]}
        >>> waited_for(parse("F(key & F door)"), labels, [0.0, 0.0, 0.0, 1.0])
        [('key',), ('door',), ('door',), ()]
    """
    normal, computed = with_past_as_labels(to_nnf(formula))
    try:
        system = equations(normal, Obligations(Effort(_EFFORT)), _MOST_SETS)
    except SynthesisError:
        return [()] * len(values)
    known = {**labels, **{name: evaluate_positions(past, labels, semantics) for name, past in computed.items()}}
    names = {name: str(computed.get(name, name)) for name in normal.atoms}
    ways = _ways_on(system, names)
    guards = [_column(guard, known, len(values), semantics) for guard in system.guards]
    return _Walk(system, ways, domain_of(formula, semantics)).run(guards, values)


class _Way(NamedTuple):
    """The cheapest way on from a set of obligations.

    Attributes:
        owed: How many atoms it has, the negated ones left out; infinite where no way leads to where the trace may end.
        literals: The first of them, without those that have to hold while nothing else does.
        most: The highest value that any way leads to.
    """

    owed: float
    literals: Literals
    most: float


class _Walk:
    def __init__(self, system: Equations, ways: Sequence[_Way], domain: Domain) -> None:
        self.system = system
        self.ways = ways
        self.domain = domain

    def run(self, guards: Sequence[Sequence[float]], values: Sequence[float]) -> list[Literals]:
        bottom, top = self.domain.bottom, self.domain.top
        updates = [[list(bits(term)) for term in update] for update in self.system.updates]
        registers = [top if one else bottom for one in self.system.initial]
        found = []
        for letter, value in zip(zip(*guards, strict=True) if guards else [()] * len(values), values, strict=True):
            read = [*registers, *letter]
            registers = [
                max((min((read[k] for k in term), default=top) for term in update), default=bottom)
                for update in updates
            ]
            found.append(self._waited_for(registers, value))
        return found

    def _waited_for(self, registers: Sequence[float], value: float) -> Literals:
        reach = [
            min(c, way.most) if way.literals else self.domain.bottom
            for c, way in zip(registers, self.ways, strict=True)
        ]
        best = max(reach)
        if self.domain.total == 0.0:  # robustness
            low, enough = value < 0.0 < best, 0.0
        else:
            low, enough = value < best / 2, best / 2
        if not low:
            return ()
        _, _, chosen = min((self.ways[k].owed, -c, k) for k, c in enumerate(reach) if c >= enough and c > value)
        return self.ways[chosen].literals


def _ways_on(system: Equations, names: Mapping[str, str]) -> list[_Way]:
    """The cheapest way on from every register, by Dijkstra's algorithm from where the trace may end."""
    count = len(system.updates)
    mask = (1 << count) - 1
    cheapest = [_cheapest_literals(guard, names) for guard in system.guards]
    order = {sign + name: k for k, name in enumerate(names.values()) for sign in ("", "!")}  # as the formula has them

    def split(term: int) -> tuple[int, Literals | None]:
        guards = [cheapest[variable - count] for variable in bits(term & ~mask)]
        literals = {x for guard in guards for x in guard or ()}
        possible = None not in guards and not any(f"!{literal}" in literals for literal in literals)
        ordered = tuple(sorted(literals, key=order.__getitem__)) if possible else None
        return (term & mask).bit_length() - 1, ordered

    moves = [(*split(term), target) for target, update in enumerate(system.updates) for term in update]
    ends = [(*split(term), None) for term in system.output]
    into: dict[int | None, list[tuple[int, Literals]]] = {}
    for source, literals, goal in [*moves, *ends]:
        if literals is not None:
            into.setdefault(goal, []).append((source, literals))
    most = _most(system)
    ways = [_Way(math.inf, (), 0.0)] * count
    # Of ways with as many atoms, one whose first letter asks for fewer: they need not come at once.
    queue = [(_atoms(literals), len(literals), source, literals) for source, literals in into.get(None, ())]
    heapq.heapify(queue)
    settled: set[int] = set()
    while queue:
        owed, _, number, literals = heapq.heappop(queue)
        if number in settled:
            continue
        settled.add(number)
        loops = [same for source, same in into.get(number, ()) if source == number]
        staying = min(loops, key=lambda same: (_atoms(same), len(same)), default=())
        new = tuple(literal for literal in literals if literal not in staying)
        ways[number] = _Way(owed, new or literals, most[number])
        for source, more in into.get(number, ()):
            first = more or literals
            heapq.heappush(queue, (owed + _atoms(more), len(first), source, first))
    return ways


def _atoms(literals: Literals) -> int:
    return sum(not literal.startswith("!") for literal in literals)


def _most(system: Equations) -> list[float]:
    """The highest value that each register's set can lead to, which scales and constants limit."""
    count = len(system.updates)
    tops = [guard.fold(_highest) for guard in system.guards]
    moves = [([*bits(term)], target) for target, update in enumerate(system.updates) for term in update]
    found = [-math.inf] * count
    for term in system.output:
        source, *guards = bits(term)
        found[source] = max(found[source], min((tops[k - count] for k in guards), default=math.inf))
    changed = True
    while changed:
        changed = False
        for (source, *guards), target in moves:
            value = min([found[target], *(tops[k - count] for k in guards)])
            if value > found[source]:
                found[source], changed = value, True
    return found


def _highest(part: Formula, args: tuple[float, ...]) -> float:
    match part:
        case Constant():
            return part.value if part.value < 1.0 else math.inf
        case And():
            return min(args)
        case Or():
            return max(args)
        case Affine():
            return part.scale * min(args[0], 1.0) + part.offset
    return math.inf


def _cheapest_literals(guard: Formula, names: Mapping[str, str]) -> Literals | None:
    """The fewest literals that make a propositional formula true; None where nothing does."""

    def fewest(part: Formula, args: tuple[Literals | None, ...]) -> Literals | None:
        match part:
            case Constant():
                return () if part.value > 0.0 else None
            case Atom():
                return (names[part.name],)
            case Not():
                return None if args[0] is None else tuple(f"!{literal}" for literal in args[0])
            case And():
                return None if None in args else tuple(dict.fromkeys(x for arg in args for x in arg or ()))
            case Or():
                return min((arg for arg in args if arg is not None), key=len, default=None)
            case Affine():
                return args[0]
        raise AssertionError(f"not propositional: {part}")

    return guard.fold(fewest)


def _column(guard: Formula, labels: Mapping[str, Sequence[float]], length: int, semantics: Semantics) -> list[float]:
    return evaluate_positions(guard, labels or {"": [0.0] * length}, semantics)
