"""Literals that a formula waits for after each step: those next on the shortest way to a higher value.

As for progress, the formula is taken as the conjunctions and disjunctions of temporal parts that `splitting` finds.
Each part has a register c[S] for each set S of formulas that it can owe: how truly the trace so far leaves exactly S to
be done. A part can be met to the degree r if its value is at least r; then it owes nothing. It can also be met to the
degree r if some c[S] is at least r, and scales allow such a value; then it owes what the shortest way on from S asks
for, see `rewardspec.synthesis.quantitative.owed`. A conjunction owes what its parts owe together; what comes first is
that of the part that owes the most, since the others need not be met at once. A disjunction owes what the part with the
fewest literals owes. At the top of the formula it is the part that has come furthest: the one with the smallest share
left of what it owed at the start, and of these the one with the fewest literals.

A value is low *because something is owed* where the formula can be met to more than twice the value; for robustness,
where it is negative and could be positive. What is waited for are the first literals that are owed if the formula is to
be met at least half as truly as it can be; for robustness, to 0. Where two sets owe as many literals, the one with the
larger c[S] counts, and then the order that `owed` gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, NoReturn, TypeAlias

from rewardspec.errors import SynthesisError
from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import And, Eventually, Formula
from rewardspec.logic.normal_form import negate, to_nnf
from rewardspec.logic.printing import to_string
from rewardspec.logic.semantics import Semantics
from rewardspec.machines.heads import Head, output
from rewardspec.machines.program import Program, side_by_side
from rewardspec.machines.scalar_code import compile_step, initial_state
from rewardspec.synthesis.quantitative.compiler import Synthesis, branches, fold_branches
from rewardspec.synthesis.quantitative.discounts import is_discounted
from rewardspec.synthesis.quantitative.owed import (
    Literal,
    Way,
    cheapest_literals,
    literal_order,
    owed_at_start,
    shortest_ways,
)
from rewardspec.synthesis.quantitative.past import with_past_as_labels
from rewardspec.synthesis.quantitative.splitting import split
from rewardspec.types import MachineState

Literals: TypeAlias = tuple[str, ...]
_TIME = "time to pass"


class Outstanding:
    """The obligations of a formula, followed from step to step.

    The budget of registers is for the machine of each part. A part that needs more counts by its value alone.
    """

    def __init__(self, formula: Formula, semantics: Semantics, max_registers: int) -> None:
        normal, computed = with_past_as_labels(to_nnf(formula))
        self._past = computed
        self._is_robustness = semantics == "robustness"
        synthesis = Synthesis(max_registers)
        parts = _Parts(synthesis, normal.atoms)
        self._top = parts.tree(split(normal))
        programs = [synthesis.with_past(part.program, computed, formula.atoms) for part in parts.found]
        program = replace(side_by_side(programs), atoms=formula.atoms, semantics=semantics)
        self._is_level = [number > 0 for part in parts.found for number in range(1 + len(part.ways))]
        head = Head((), tuple(map(output, range(len(program.steps[0].outputs)))))
        self._step = compile_step(program, head, _refuse)
        self.initial = initial_state(program, head)

    def step(self, state: MachineState, letter: Mapping[str, float]) -> tuple[MachineState, Sequence[float]]:
        """Read one letter: the new state, and the value of each part with how truly each of its ways is left to go."""
        state, outputs = self._step(state, letter)
        _, later = self._step(state, letter)  # levels are read before a letter, whatever it is
        return state, [b if is_level else a for is_level, a, b in zip(self._is_level, outputs, later, strict=True)]

    def value(self, owed: Sequence[float]) -> float:
        """The value, from what `step` gave."""
        return self._top.value(owed)

    def most(self, owed: Sequence[float]) -> float:
        """The degree to which the formula can be met, from what `step` gave: the value or more."""
        return self._top.most(owed)

    def waited_for(self, owed: Sequence[float]) -> Literals:
        """The literals that are waited for, from what `step` gave."""
        value, most = self._top.value(owed), self._top.most(owed)
        if not (value < 0.0 < most if self._is_robustness else value < most / 2):
            return ()
        cheapest = self._top.cheapest(owed, 0.0 if self._is_robustness else most / 2)
        assert cheapest is not None, "what can be met has a way to it"
        return in_words([(x.atom, x.negated) for x in cheapest.literals], self._past)


def in_words(literals: Sequence[tuple[str, bool]], past: Mapping[str, Formula]) -> Literals:
    """Literals, each an atom and whether it is negated, as texts; `past` has what computed atoms stand for.

    That time passes is told only where nothing else is waited for.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> in_words([("a", True), ("held", False), ("late", False)], {"held": parse("H[0,9] b"), "late": fm.FIRST})
        ('!a', 'b for 9 steps', 'first')
    """
    texts = []
    for atom, negated in literals:
        part = negate(past[atom]) if negated and atom in past else past.get(atom)
        match part:
            case None:
                texts.append(f"{'!' * negated}{atom}")
            case fm.Previous(args=(fm.TRUE,)):
                texts.append(_TIME)
            case fm.Historically() if part.low == 0 and part.high is not None:
                held = to_string(part.arg)
                texts.append(f"{f'({held})' if part.arg.size > 2 else held} for {part.high} steps")
            case _:
                texts.append(str(part))
    return tuple([text for text in texts if text != _TIME] or texts)


class _Owed(NamedTuple):
    """Literals owed if a formula is to be met to some degree; smaller ones are preferred.

    Attributes:
        owed: How many literals.
        degree: Minus the degree to which they would meet it.
        first: How many literals come first.
        order: Their places in the formula.
        literals: These.
    """

    owed: float
    degree: float
    first: int
    order: tuple[int, ...]
    literals: tuple[Literal, ...]


@dataclass(frozen=True)
class _Part:
    """A temporal part: a program with its value and, for each way on that it has, the largest c[S] with this way."""

    start: int
    program: Program
    ways: tuple[Way, ...] = ()
    orders: tuple[tuple[int, ...], ...] = ()
    place: int = 0  # of its value among the outputs of all parts

    def value(self, owed: Sequence[float]) -> float:
        return owed[self.place]

    def most(self, owed: Sequence[float]) -> float:
        return max([owed[self.place], *(degree for degree, _, _ in self._degrees(owed))])

    def cheapest(self, owed: Sequence[float], enough: float) -> _Owed | None:
        value = owed[self.place]
        if value >= enough:
            return _Owed(0, -value, 0, (), ())
        found = None
        for degree, way, order in self._degrees(owed):
            if degree >= enough:
                one = _Owed(max(1, way.owed), -degree, len(order), order, way.literals)
                found = one if found is None else min(found, one)
        return found

    def _degrees(self, owed: Sequence[float]) -> Iterator[tuple[float, Way, tuple[int, ...]]]:
        for place, (way, order) in enumerate(zip(self.ways, self.orders, strict=True), start=self.place + 1):
            yield min(owed[place], way.most), way, order


@dataclass(frozen=True)
class _Branch:
    """A conjunction or a disjunction of parts."""

    start: int
    args: tuple[_Node, ...]
    all_of_them: bool
    is_top: bool = False

    def value(self, owed: Sequence[float]) -> float:
        return (min if self.all_of_them else max)([arg.value(owed) for arg in self.args])

    def most(self, owed: Sequence[float]) -> float:
        return (min if self.all_of_them else max)([arg.most(owed) for arg in self.args])

    def cheapest(self, owed: Sequence[float], enough: float) -> _Owed | None:
        found = [(arg.start, one) for arg in self.args if (one := arg.cheapest(owed, enough)) is not None]
        if self.all_of_them:
            return _together([one for _, one in found]) if len(found) == len(self.args) else None
        if not found:
            return None
        if self.is_top:
            return min(found, key=lambda each: (_left(*each), each[1]))[1]
        return min(one for _, one in found)


_Node: TypeAlias = _Part | _Branch


def _left(start: int, owed: _Owed) -> float:
    """The share of what was owed at the start that is left, at most 1."""
    return min(1.0, owed.owed / start) if start else 1.0


def _together(found: Sequence[_Owed]) -> _Owed:
    longest = min(found, key=lambda each: (not each.literals, -each.owed, each.first, each.order))
    return longest._replace(owed=sum(each.owed for each in found), degree=max(each.degree for each in found))


class _Parts:
    """Takes a formula apart; `found` are its temporal parts, in the order of their outputs."""

    def __init__(self, synthesis: Synthesis, atoms: Sequence[str]) -> None:
        self.synthesis = synthesis
        self.found: list[_Part] = []
        self._known: dict[Formula, _Part] = {}
        self._atoms = atoms
        self._places = literal_order(atoms)
        self._outputs = 0

    def tree(self, top: Formula) -> _Node:
        """The formula's branches, down to its parts."""
        branching = branches(top)

        def combine(branch: Formula, args: dict[Formula, _Node]) -> _Node:
            nodes = tuple(args[arg] if arg in args else self._part(arg) for arg in branch.args)
            start = (sum if isinstance(branch, And) else min)([node.start for node in nodes])
            return _Branch(start, nodes, isinstance(branch, And), is_top=branch is top)

        return fold_branches(top, branching, combine) if top in branching else self._part(top)

    def _part(self, formula: Formula) -> _Part:
        if formula not in self._known:
            part = self._known[formula] = replace(self._built(formula), place=self._outputs)
            self._outputs += 1 + len(part.ways)
            self.found.append(part)
        return self._known[formula]

    def _built(self, formula: Formula) -> _Part:
        if is_discounted(formula):  # its value is all that is known of it
            goal = cheapest_literals(formula.args[-1]) if isinstance(formula, Eventually) else None
            return _Part(len(goal or ()), self.synthesis.part(formula))
        try:
            system = self.synthesis.equations(formula, self.synthesis.effort())
            ways = shortest_ways(system, self._atoms)
            start = owed_at_start(formula, system, ways)
            same: dict[Way, list[int]] = {}
            for number, way in enumerate(ways):
                if math.isfinite(way.owed):
                    same.setdefault(way, []).append(number)
            levels = tuple(frozenset(1 << number for number in numbers) for numbers in same.values())
            program = self.synthesis.machine(replace(system, levels=levels), formula.atoms, self.synthesis.effort())
        except SynthesisError:
            return _Part(0, self.synthesis.part(formula))
        orders = tuple(tuple(self._places[literal] for literal in way.literals) for way in same)
        return _Part(start, program, tuple(same), orders)


def _refuse(state: MachineState, labels: Mapping[str, float]) -> NoReturn:
    raise AssertionError(f"labels that were not checked: {labels}")
