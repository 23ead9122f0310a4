"""Bounds: the smallest and the largest value that a trace so far can still end with.

A continuation's value is a lattice polynomial of the present registers, with the future labels as coefficients, so the
largest value over all continuations is the maximum of terms min(registers in R, s(R)) over sets R of registers.  Here
s(R) is 1 if some future with labels 0 and 1 brings the registers of R, and no others, through to the value; else 1/2 if
some future does in which an atom and its negation may count at once, both at 1/2; else 0.  The sets are found by a
search backwards from the value, on the reduced machine itself.  The lower bound is the same for the negation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from rewardspec.errors import SynthesisError
from rewardspec.machines import polynomials
from rewardspec.machines.effort import Effort
from rewardspec.machines.expressions import (
    ONE,
    ZERO,
    Expression,
    all_parts,
    complement,
    constant,
    dual,
    label,
    maximum,
    minimum,
    register,
    substitute,
)
from rewardspec.machines.namespaces import namespace_of
from rewardspec.machines.polynomials import Polynomial, bits
from rewardspec.machines.program import Program

_HALF = constant(0.5)
_EFFORT = 3_000_000  # comparisons of terms beyond which the bounds are given up; they take some seconds


class Bounds:
    """The bounds of a program's states.

    Attributes:
        upper: For each control state, the largest value that a further letter or more can lead to.
        lower: Likewise the smallest.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.upper = largest(program)
        # The complement of the machine is one for the negation, on registers that hold the complements of ours.
        self.lower = tuple(dual(best) for best in largest(program, dual))

    def __call__(self, state: Any) -> tuple[Any, Any]:
        """The lower and the upper bound of a state, of one trace or of a batch."""
        number = self.program.number
        if type(state) is tuple:
            control, *registers, value = state

            def leaf(part: Expression) -> float:
                return registers[part.args[0]] if part.op == "register" else number(part.args[0])

            upper, lower = self.upper[control].evaluate(leaf), self.lower[control].evaluate(leaf)
            return (lower, upper) if value != value else (min(value, lower), max(value, upper))
        xp = namespace_of(state.value) or np

        def array_leaf(part: Expression) -> Any:
            if part.op == "register":
                return state.registers[part.args[0]]
            return xp.full_like(state.value, number(part.args[0]))

        ends = []
        for sides in (self.lower, self.upper):
            chosen = None
            for control, side in enumerate(sides):
                found = side.evaluate(array_leaf, xp.minimum, xp.maximum)
                chosen = found if chosen is None else xp.where(state.control == control, found, chosen)
            ends.append(chosen)
        return xp.fmin(state.value, ends[0]), xp.fmax(state.value, ends[1])


def largest(
    program: Program, view: Callable[[Expression], Expression] = lambda expression: expression
) -> tuple[Expression, ...]:
    """For each control state, the largest value of the output that reading one letter or more can lead to.

    Args:
        program: The program, with one output.
        view: What to take every expression of the program for; `dual` asks about the complement.

    Raises:
        SynthesisError: It takes too long to find.
    """
    outputs = [view(step.outputs[0]) for step in program.steps]
    updates = [[None if u is None else view(u) for u in step.updates] for step in program.steps]
    effort = Effort(_EFFORT)
    try:
        whole = _sets_that_lead_to_the_value(program, outputs, updates, _Search(effort, both_at_once=False))
        half = _sets_that_lead_to_the_value(program, outputs, updates, _Search(effort, both_at_once=True))
    except SynthesisError:
        raise SynthesisError(
            "The exact bounds of this monitor take too long to find. Its values are not affected."
        ) from None
    return tuple(
        maximum(_expression(ones), minimum(_HALF, _expression(halves)))
        for ones, halves in zip(whole, half, strict=True)
    )


def _expression(polynomial: Polynomial) -> Expression:
    return maximum(*(minimum(*(register(r) for r in bits(term))) for term in sorted(polynomial)))


def _sets_that_lead_to_the_value(
    program: Program, outputs: list[Expression], updates: list[list[Expression | None]], search: _Search
) -> list[Polynomial]:
    sets = [search.some_letter(output) for output in outputs]
    changed = True
    while changed:
        changed = False
        for control in reversed(range(len(program.steps))):
            found = sets[control]
            for term in sets[program.successor(control)]:
                # These registers, all of them, must come through the letter.
                needed = [updates[control][r] for r in bits(term)]
                found = search.maximum(found, search.some_letter(minimum(*(e for e in needed if e is not None))))
            if found != sets[control]:
                sets[control], changed = found, True
    return sets


class _Search:
    """Which sets of registers suffice for an expression to hold, given the best letter."""

    def __init__(self, effort: Effort, *, both_at_once: bool) -> None:
        self.effort = effort
        self.both_at_once = both_at_once
        self._done: dict[Expression, Polynomial] = {}

    def some_letter(self, expression: Expression) -> Polynomial:
        """The sets of registers for which some letter makes the expression hold."""
        expression = self._free_literals_true(expression)
        if expression not in self._done:
            self.effort.spend(50 + 10 * len(expression.operands))
            self._done[expression] = self._search(expression)
        return self._done[expression]

    def _search(self, expression: Expression) -> Polynomial:
        atoms = _atoms(expression)
        if not atoms:
            return self._to_polynomial(expression)
        if expression.op == "max":
            return functools.reduce(self.maximum, map(self.some_letter, expression.operands))
        groups = _independent(expression) if expression.op == "min" else [expression]
        if len(groups) > 1:
            return functools.reduce(self.minimum, map(self.some_letter, groups))
        atom = max(sorted(atoms), key=lambda a: atoms[a])
        holds = substitute(expression, {label(atom): ONE, complement(atom): ZERO})
        fails = substitute(expression, {label(atom): ZERO, complement(atom): ONE})
        return self.maximum(self.some_letter(holds), self.some_letter(fails))

    def maximum(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """The maximum of two polynomials, whose terms are compared with each other."""
        self.effort.spend(len(left) * len(right) // 8)
        return polynomials.maximum(left, right)

    def minimum(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """The minimum of two polynomials, whose products are compared with each other."""
        terms = len(left) * len(right)
        self.effort.spend(terms + (terms * terms // 64 if min(len(left), len(right)) > 1 else 0))
        return polynomials.minimum(left, right)

    def _to_polynomial(self, expression: Expression) -> Polynomial:
        def build(part: Expression, args: tuple[Polynomial, ...]) -> Polynomial:
            match part.op:
                case "constant":
                    return polynomials.ONE if part == ONE else polynomials.ZERO
                case "register":
                    return frozenset({1 << part.args[0]})
                case "min":
                    return functools.reduce(self.minimum, args)
            return functools.reduce(self.maximum, args)

        return expression.fold(build)

    def _free_literals_true(self, expression: Expression) -> Expression:
        """The expression with every literal set to 1 whose opposite does not occur: nothing speaks against it."""
        while True:
            literals = {part for part in all_parts([expression]) if part.op in ("label", "complement")}
            free = {part: ONE for part in literals if self.both_at_once or dual(part) not in literals}
            if not free:
                return expression
            expression = substitute(expression, free)


def _atoms(expression: Expression) -> dict[str, int]:
    counts: dict[str, int] = {}
    for part in all_parts([expression]):
        for arg in part.operands:
            if arg.op in ("label", "complement"):
                counts[arg.args[0]] = counts.get(arg.args[0], 0) + 1
    return counts


def _independent(expression: Expression) -> list[Expression]:
    """The arguments of a min, those that share an atom kept together."""
    groups: list[tuple[set[str], list[Expression]]] = []
    for arg in expression.operands:
        names = {part.args[0] for part in all_parts([arg]) if part.op in ("label", "complement")}
        members = [arg]
        for other in [group for group in groups if group[0] & names]:
            names |= other[0]
            members = other[1] + members
            groups.remove(other)
        groups.append((names, members))
    return [minimum(*members) for _, members in groups]
