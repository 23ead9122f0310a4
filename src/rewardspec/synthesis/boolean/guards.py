"""Guards: for each state and each successor a short formula that says which letters lead there."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from rewardspec.logic.formulas import FALSE, TRUE, And, Atom, Constant, Formula, Not, Or, Xor
from rewardspec.synthesis.boolean.decision_diagrams import BooleanDiagrams, Cube, DecisionTable, Diagram

_MOST_CUBES = 64  # a guard with more alternatives than this is written as nested decisions instead


class GuardedEdge(NamedTuple):
    """An edge of an automaton.

    Attributes:
        guard: A propositional formula that says for which letters the edge is taken.
        target: The state it leads to.
    """

    guard: Formula
    target: int


class Transitions(Mapping[int, tuple[GuardedEdge, ...]]):
    """The edges out of each state, computed when they are asked for.

    Each state has one edge for each successor.  Guards exclude each other and cover all letters.  Edges are in the
    order of the first letter that takes each, where letters count up from all-false with the first atom as the most
    significant digit.
    """

    def __init__(self, table: DecisionTable, atoms: Sequence[str]) -> None:
        self._table = table
        self._atoms = [Atom(name) for name in atoms]
        self._store, self._roots = table.to_diagrams()

    def __getitem__(self, state: int) -> tuple[GuardedEdge, ...]:
        if not isinstance(state, int) or not 0 <= state < len(self._roots):
            raise KeyError(state)
        logic = BooleanDiagrams()

        def base(part: Diagram) -> dict[int, Diagram] | None:
            target = self._store.value(part)
            return None if target is None else {target: logic.true}

        def combine(variable: int, low: dict[int, Diagram], high: dict[int, Diagram]) -> dict[int, Diagram]:
            nothing = logic.false
            targets = dict.fromkeys((*low, *high))
            return {t: logic.node(variable, low.get(t, nothing), high.get(t, nothing)) for t in targets}

        conditions = self._store.fold(self._roots[state], base, combine)
        return tuple(GuardedEdge(guard(logic, letters, self._atoms), target) for target, letters in conditions.items())

    def successors(self, state: int) -> list[int]:
        """The states that edges lead to: quicker to find than their guards."""
        return self._store.leaves(self._roots[state])

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._roots)))

    def __len__(self) -> int:
        return len(self._roots)


def guard(logic: BooleanDiagrams, diagram: Diagram, atoms: Sequence[Atom]) -> Formula:
    """A short propositional formula for a diagram: alternatives of literals, or the negation of some.

    Example:
        >>> logic, atoms = BooleanDiagrams(), [Atom("a"), Atom("b")]
        >>> a, b = logic.variable(0), logic.variable(1)
        >>> str(guard(logic, logic.disjunction(logic.negation(a), b), atoms))
        '!a | b'
    """
    positive = cover(logic, diagram)
    negative = cover(logic, logic.negation(diagram))
    if positive is None and negative is None:
        return _decisions(logic, diagram, atoms)
    if negative is None or (positive is not None and _literals(positive) <= _literals(negative)):
        assert positive is not None
        return _alternatives(positive, atoms)
    return Not(_alternatives(negative, atoms))


def cover(logic: BooleanDiagrams, diagram: Diagram) -> list[Cube] | None:
    """Cubes that together are the diagram, none of which can be left out; None if there would be too many.

    This is Minato's and Morreale's irredundant sum of products.

    Example:
        >>> logic = BooleanDiagrams()
        >>> cover(logic, logic.disjunction(logic.variable(0), logic.variable(1)))
        [((0, True),), ((1, True),)]
    """
    # The procedure calls itself, as deep as there are atoms; the stack of its suspended calls is held here.
    known: dict[tuple[Diagram, Diagram], _Covered] = {}
    stack = [((diagram, diagram), _cover(logic, diagram, diagram))]
    result: _Covered | None = None
    while stack:
        bounds, call = stack[-1]
        try:
            request = next(call) if result is None else call.send(result)
        except StopIteration as finished:
            result = known[bounds] = finished.value
            stack.pop()
            if len(result[1]) > _MOST_CUBES:
                return None
        else:
            result = known.get(request)
            if result is None:
                stack.append((request, _cover(logic, *request)))
    assert result is not None
    return sorted(result[1], key=lambda cube: [(variable, not value) for variable, value in cube])


_Covered: TypeAlias = tuple[Diagram, list[Cube]]
_Covering: TypeAlias = Generator[tuple[Diagram, Diagram], _Covered, _Covered]


def _cover(logic: BooleanDiagrams, lower: Diagram, upper: Diagram) -> _Covering:
    """Cubes for some function between two, and that function; yields the calls to itself that it needs."""
    if lower == logic.false:
        return logic.false, []
    if upper == logic.true:
        return logic.true, [()]
    top = min(logic.variables[lower], logic.variables[upper])
    lower0, lower1 = _branches(logic, lower, top)
    upper0, upper1 = _branches(logic, upper, top)
    # What is true only where the variable is false, then only where it is true, then what neither covers.
    function0, cubes0 = yield _without(logic, lower0, upper1), upper0
    function1, cubes1 = yield _without(logic, lower1, upper0), upper1
    missing = logic.disjunction(_without(logic, lower0, function0), _without(logic, lower1, function1))
    function, cubes = yield missing, logic.conjunction(upper0, upper1)
    function = logic.disjunction(function, logic.node(top, function0, function1))
    literal0, literal1 = (top, False), (top, True)
    return function, [*((literal0, *cube) for cube in cubes0), *((literal1, *cube) for cube in cubes1), *cubes]


def _branches(logic: BooleanDiagrams, diagram: Diagram, variable: int) -> tuple[Diagram, Diagram]:
    if logic.variables[diagram] != variable:
        return diagram, diagram
    return logic.lows[diagram], logic.highs[diagram]


def _without(logic: BooleanDiagrams, diagram: Diagram, other: Diagram) -> Diagram:
    return logic.conjunction(diagram, logic.negation(other))


def _literals(cubes: Iterable[Cube]) -> int:
    return sum(map(len, cubes))


def _alternatives(cubes: Sequence[Cube], atoms: Sequence[Atom]) -> Formula:
    if not cubes:
        return FALSE
    if () in cubes:
        return TRUE
    return Or(*(And(*(atoms[v] if value else Not(atoms[v]) for v, value in cube)) for cube in cubes))


def _decisions(logic: BooleanDiagrams, diagram: Diagram, atoms: Sequence[Atom]) -> Formula:
    """The diagram as it stands: a formula that shares its parts as the diagram does."""

    def base(part: Diagram) -> tuple[Diagram, Formula] | None:
        value = logic.value(part)
        return None if value is None else (part, Constant(value))

    def combine(variable: int, low: tuple[Diagram, Formula], high: tuple[Diagram, Formula]) -> tuple[Diagram, Formula]:
        return logic.node(variable, low[0], high[0]), decide(atoms[variable], *low, *high)

    def decide(atom: Atom, low: Diagram, low_formula: Formula, high: Diagram, high_formula: Formula) -> Formula:
        if low == logic.false:
            return atom if high == logic.true else And(atom, high_formula)
        if low == logic.true:
            return Not(atom) if high == logic.false else Or(Not(atom), high_formula)
        if high == logic.false:
            return And(Not(atom), low_formula)
        if high == logic.true:
            return Or(atom, low_formula)
        if high == logic.negation(low):
            return Xor(atom, low_formula)
        return Or(And(atom, high_formula), And(Not(atom), low_formula))

    return logic.fold(diagram, base, combine)[1]
