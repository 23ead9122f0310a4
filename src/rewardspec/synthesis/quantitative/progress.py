"""Progress: how far a trace has come with what a formula asks for, between the formula's value and 1.

For each set S of formulas that can be owed, the machine of `equations` holds c[S], how truly the trace so far leaves
exactly S to be done. Let owed(S) be the number of literals on the shortest way from S to where the trace may end, as
`owed` defines it, and at least 1: where it may end already, that is the value. Then

    progress = the largest of the value and of min(c[S], 1 - owed(S) / owed(start)) over all S

For `F(key & F(door & F goal))` that is 1/3 after the key, 2/3 after the door and 1 after the goal.

* A formula that is true of an empty trace, as `G safe` is, owes nothing at the start.
* A conjunction at the top owes what its parts owe together; a disjunction is as far as the one of its parts that has
  come furthest, and under a conjunction it owes what the nearest of them owes.
* A part with a discount without a bound owes its goal until it is met, if it is an `F`, and else nothing.
* Where nothing is owed at the start, where it is too much work, and for robustness, progress is the value.

The machine of the value is often another one, with fewer registers, so that progress is put side by side with it. All
that progress adds are the registers that the value does not have already: none for most formulas.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import And, Eventually, Formula, Or
from rewardspec.logic.normal_form import to_nnf
from rewardspec.machines.expressions import (
    ONE,
    ZERO,
    Expression,
    Substitution,
    constant,
    maximum,
    minimum,
    register,
)
from rewardspec.machines.polynomials import ZERO as NOTHING
from rewardspec.machines.polynomials import Polynomial
from rewardspec.machines.program import Program, after_letter, side_by_side
from rewardspec.synthesis.quantitative.compiler import Synthesis, branches, fold_branches
from rewardspec.synthesis.quantitative.discounts import is_discounted
from rewardspec.synthesis.quantitative.equations import Equations
from rewardspec.synthesis.quantitative.owed import cheapest_literals, holds_of_nothing, owed_at_start, shortest_ways
from rewardspec.synthesis.quantitative.past import with_past_as_labels
from rewardspec.synthesis.quantitative.splitting import split

_MOST_LITERALS = 100  # owed by a conjunction at the start: beyond that the many ways to owe them are too much work


def with_progress(program: Program, formula: Formula, synthesis: Synthesis) -> Program:
    """The program of a formula's value, with `Program.progress` and the registers that this needs."""
    if program.semantics == "robustness":
        return replace(program, progress=(ZERO,) * len(program.steps))
    normal, computed = with_past_as_labels(to_nnf(formula))
    parts = _Parts(synthesis)
    progress = parts.progress(split(normal))
    used = sorted({part.args[0] for part in progress.parts() if part.op == "register"})
    sources = dict.fromkeys(parts.sources[number][0] for number in used)
    programs = [synthesis.with_past(source, computed, formula.atoms) for source in sources]
    joint = side_by_side([program, *programs])
    if len(joint.registers) > max(synthesis.max_registers, len(program.registers)):
        joint, progress, used = program, ZERO, []
    first = dict(
        zip(sources, itertools.accumulate((len(p.steps[0].outputs) for p in programs), initial=1), strict=False)
    )
    values = []
    for step in joint.steps:
        found = {}
        for k in used:
            source, place = parts.sources[k]
            found[register(k)] = step.outputs[first[source] + place]
        values.append(Substitution(found)(progress))
    return replace(joint.output(0), atoms=program.atoms, progress=tuple(values))


def value_and_progress(program: Program) -> Program:
    """A program with progress, as one whose outputs are the value and the progress after the letter."""
    assert program.progress is not None
    outputs = []
    for control, step in enumerate(program.steps):
        (later,) = after_letter(program, control, [program.progress[program.successor(control)]])
        outputs.append((step.outputs[0], maximum(step.outputs[0], later)))
    return replace(program.with_outputs(outputs), progress=None)


class _Owed(NamedTuple):
    """The literals that a part of a formula owes.

    Attributes:
        start: How many literals at the start.
        levels: For each number of literals, how truly the trace so far leaves so many; 0 is the value.
    """

    start: int
    levels: dict[int, Expression]


@dataclass(frozen=True)
class _Part:
    """A temporal part, its equations and what each register owes; both are empty where it counts by value alone."""

    start: int
    equations: Equations | None = None
    owed: tuple[float, ...] = ()


class _Parts:
    """The levels of temporal parts as expressions, in which `register(k)` stands for an output of a program.

    Attributes:
        sources: For each k, the program, and which of its outputs it is.
    """

    def __init__(self, synthesis: Synthesis) -> None:
        self.synthesis = synthesis
        self.sources: list[tuple[Program, int]] = []
        self._parts: dict[Formula, _Part] = {}
        self._found: dict[tuple[Formula, int], _Owed] = {}

    def progress(self, top: Formula) -> Expression:
        """The progress of a formula, where it is more than the value."""
        branching = branches(top)
        members = top.args if isinstance(top, Or) and top in branching else (top,)
        return maximum(*(self._member(member, branching) for member in members))

    def _member(self, top: Formula, branching: set[Formula]) -> Expression:
        start = self._start(top, branching)
        if start > _MOST_LITERALS and top in branching:
            return ZERO

        def combine(branch: Formula, args: dict[Formula, _Owed]) -> _Owed:
            parts = [args[arg] if arg in args else self._levels(arg, start) for arg in branch.args]
            return _both(parts, start) if isinstance(branch, And) else _either(parts)

        found = fold_branches(top, branching, combine) if top in branching else self._levels(top, start)
        return maximum(
            *(
                minimum(level, constant((start - owed) / start))
                for owed, level in found.levels.items()
                if 0 < owed < start
            )
        )

    def _start(self, top: Formula, branching: set[Formula]) -> int:
        def combine(branch: Formula, args: dict[Formula, int]) -> int:
            owed = [args[arg] if arg in args else self._part(arg).start for arg in branch.args]
            return sum(owed) if isinstance(branch, And) else min(owed)

        return fold_branches(top, branching, combine) if top in branching else self._part(top).start

    def _part(self, formula: Formula) -> _Part:
        if formula not in self._parts:
            if is_discounted(formula):  # without a bound, and with a machine of its own
                goal = cheapest_literals(formula.args[-1]) if isinstance(formula, Eventually) else None
                self._parts[formula] = _Part(len(goal or ()))
                return self._parts[formula]
            try:
                system = self.synthesis.equations(formula, self.synthesis.effort())
            except SynthesisError:
                self._parts[formula] = _Part(0)
            else:
                ways = shortest_ways(system, formula.atoms)
                owed = tuple(way.owed for way in ways)
                self._parts[formula] = _Part(owed_at_start(formula, system, ways), system, owed)
        return self._parts[formula]

    def _levels(self, formula: Formula, most: int) -> _Owed:
        """List the debts of a temporal part, up to fewer than so many literals."""
        if (formula, most) not in self._found:
            part = self._part(formula)
            value = self._source(_remembered(self.synthesis.part(formula), holds_of_nothing(formula)), 0)
            levels = {0: value}
            if is_discounted(formula) and 0 < part.start < most:
                levels[part.start] = ONE
            if part.equations is not None:
                by_owed = _by_owed(part.equations, part.owed, most)
                system = replace(part.equations, output=NOTHING, levels=tuple(by_owed.values()))
                try:
                    program = (
                        self.synthesis.machine(system, formula.atoms, self.synthesis.effort()) if by_owed else None
                    )
                except SynthesisError:
                    part = _Part(0)
                else:
                    levels |= {count: self._source(program, k) for k, count in enumerate(by_owed, 1) if program}
            self._found[formula, most] = _Owed(part.start, levels)
        return self._found[formula, most]

    def _source(self, program: Program, place: int) -> Expression:
        self.sources.append((program, place))
        return register(len(self.sources) - 1)


def _by_owed(system: Equations, owed: Sequence[float], most: int) -> dict[int, Polynomial]:
    """For each number of literals, fewer than `most`, the registers that owe so many, as a maximum of them.

    Without those that never exceed the value: every term of theirs is one with which the trace may end.
    """
    found: dict[int, set[int]] = {}
    ends: dict[int, list[int]] = {}
    registers = (1 << len(system.updates)) - 1
    for term in system.output:
        ends.setdefault(term & registers, []).append(term)
    for number, update in enumerate(system.updates):
        count = max(1.0, owed[number])
        if count >= most:
            continue
        if any(not any(end & term == end for end in ends.get(term & registers, ())) for term in update):
            found.setdefault(int(count), set()).add(1 << number)
    return {count: frozenset(found[count]) for count in sorted(found)}


def _remembered(program: Program, initial: bool) -> Program:
    """The program with its value in a register, which is the output."""
    place = register(len(program.registers))
    steps = tuple(replace(step, updates=(*step.updates, step.outputs[0]), outputs=(place,)) for step in program.steps)
    return replace(
        program, registers=(*program.registers, "value"), initial=(*program.initial, float(initial)), steps=steps
    )


def _both(parts: Sequence[_Owed], most: int) -> _Owed:
    """Combine the debts of a conjunction: what its parts owe together, fewer than `most`."""
    levels: dict[int, Expression] = {0: ONE}
    for part in parts:
        choices: dict[int, list[Expression]] = {}
        for (count, level), (more, other) in itertools.product(levels.items(), part.levels.items()):
            if count + more < most:
                choices.setdefault(count + more, []).append(minimum(level, other))
        levels = {count: maximum(*found) for count, found in choices.items()}
    return _Owed(sum(part.start for part in parts), levels)


def _either(parts: Sequence[_Owed]) -> _Owed:
    """Combine the debts of a disjunction: what any of its parts owes."""
    levels: dict[int, list[Expression]] = {}
    for part in parts:
        for count, level in part.levels.items():
            levels.setdefault(count, []).append(level)
    return _Owed(min(part.start for part in parts), {count: maximum(*found) for count, found in levels.items()})
