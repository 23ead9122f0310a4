"""Bounds: the smallest and the largest value that a trace so far can still end with.

A continuation's value is a lattice polynomial of the present registers, with the future labels as coefficients, so the
largest value over all continuations is the maximum of terms min(registers in R, s(R)) over sets R of registers.  Here
s(R) is 1 if some future with labels 0 and 1 brings the registers of R, and no others, through to the value; else 1/2 if
some future does in which an atom and its negation may count at once, both at 1/2; else 0.  The sets are found by a
search backwards from the value, on the reduced machine itself.  The lower bound is the same for the negation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rewardspec.errors import SynthesisError
from rewardspec.machines import polynomials
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
_EFFORT = 50_000  # search steps, and terms in one product, beyond which the bounds are given up


class Bounds:
    """The bounds of a program's states.

    Attributes:
        upper: For each control state, the largest value that a further letter or more can lead to.
        lower: Likewise the smallest.
    """

    def __init__(self, program: Program) -> None:
        self.upper = _largest(program, lambda expression: expression)
        # One minus the machine is a machine for the negation, on registers that hold one minus what ours hold.
        self.lower = tuple(dual(best) for best in _largest(program, dual))

    def __call__(self, state: Any) -> tuple[Any, Any]:
        """The lower and the upper bound of a state, of one trace or of a batch."""
        if type(state) is tuple:
            control, *registers, value = state
            upper = self._evaluate(self.upper[control], registers, max, min)
            lower = self._evaluate(self.lower[control], registers, max, min)
            return (lower, upper) if value != value else (min(value, lower), max(value, upper))
        xp = namespace_of(state.value) or np
        zero = xp.zeros_like(state.value)
        ends = []
        for sides in (self.lower, self.upper):
            chosen = None
            for control, side in enumerate(sides):
                found = zero + self._evaluate(side, state.registers, xp.maximum, xp.minimum, like=zero)
                chosen = found if chosen is None else xp.where(state.control == control, found, chosen)
            ends.append(chosen)
        return xp.fmin(state.value, ends[0]), xp.fmax(state.value, ends[1])

    @staticmethod
    def _evaluate(
        expression: Expression,
        registers: Iterable[Any],
        largest: Callable[[Any, Any], Any],
        smallest: Callable[[Any, Any], Any],
        like: Any = 0.0,
    ) -> Any:
        values = tuple(registers)

        def evaluate(part: Expression, args: tuple[Any, ...]) -> Any:
            match part.op:
                case "register":
                    return values[part.args[0]]
                case "constant":
                    return like + part.args[0]
            return functools.reduce(smallest if part.op == "min" else largest, args)

        return expression.fold(evaluate)


def _largest(program: Program, view: Callable[[Expression], Expression]) -> tuple[Expression, ...]:
    """For each control state, the largest value that reading one letter or more can lead to."""
    outputs = [view(step.output) for step in program.steps]
    updates = [[None if u is None else view(u) for u in step.updates] for step in program.steps]
    whole = _sets_that_lead_to_the_value(program, outputs, updates, _Search(both_at_once=False))
    half = _sets_that_lead_to_the_value(program, outputs, updates, _Search(both_at_once=True))
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
                found = polynomials.maximum(found, search.some_letter(minimum(*(e for e in needed if e is not None))))
            if found != sets[control]:
                sets[control], changed = found, True
    return sets


class _Search:
    """Which sets of registers suffice for an expression to hold, given the best letter."""

    def __init__(self, *, both_at_once: bool) -> None:
        self.both_at_once = both_at_once
        self._done: dict[Expression, Polynomial] = {}
        self._steps = 0

    def some_letter(self, expression: Expression) -> Polynomial:
        """The sets of registers for which some letter makes the expression hold."""
        expression = self._free_literals_true(expression)
        if expression not in self._done:
            self._steps += 1
            if self._steps > _EFFORT:
                raise _too_much()
            self._done[expression] = self._search(expression)
        return self._done[expression]

    def _search(self, expression: Expression) -> Polynomial:
        atoms = _atoms(expression)
        if not atoms:
            return _to_polynomial(expression)
        if expression.op == "max":
            return functools.reduce(polynomials.maximum, map(self.some_letter, expression.operands))
        groups = _independent(expression) if expression.op == "min" else [expression]
        if len(groups) > 1:
            return functools.reduce(_product, map(self.some_letter, groups))
        atom = max(sorted(atoms), key=lambda a: atoms[a])
        holds = substitute(expression, {label(atom): ONE, complement(atom): ZERO})
        fails = substitute(expression, {label(atom): ZERO, complement(atom): ONE})
        return polynomials.maximum(self.some_letter(holds), self.some_letter(fails))

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


def _to_polynomial(expression: Expression) -> Polynomial:
    def build(part: Expression, args: tuple[Polynomial, ...]) -> Polynomial:
        match part.op:
            case "constant":
                return polynomials.ONE if part == ONE else polynomials.ZERO
            case "register":
                return frozenset({1 << part.args[0]})
            case "min":
                return functools.reduce(_product, args)
        return functools.reduce(polynomials.maximum, args)

    return expression.fold(build)  # type: ignore[no-any-return]


def _product(left: Polynomial, right: Polynomial) -> Polynomial:
    if len(left) * len(right) > _EFFORT:
        raise _too_much()
    return polynomials.minimum(left, right)


def _too_much() -> SynthesisError:
    return SynthesisError("The exact bounds of this monitor take too long to find. Its values are not affected.")
