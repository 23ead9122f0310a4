"""Programs that detect the violation of a formula.

A formula is violated when no continuation has a positive value. The program of its value often knows: its registers
and windows give an upper bound of all later values. `veto_program` uses this bound if it can show that the bound is
positive only where the next two steps can make the value positive. Otherwise it compiles a second formula, which holds
while the first one still can; see `rewardspec.logic.continuations`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import NamedTuple

from rewardspec.errors import SynthesisError
from rewardspec.logic.continuations import possible
from rewardspec.logic.formulas import Formula
from rewardspec.machines.bounds import largest
from rewardspec.machines.expressions import (
    ONE,
    ZERO,
    Expression,
    Substitution,
    all_parts,
    held,
    maximum,
    minimum,
    pushed,
    register,
    window,
)
from rewardspec.machines.polynomials import Polynomial
from rewardspec.machines.polynomials import maximum as either
from rewardspec.machines.polynomials import minimum as both
from rewardspec.machines.program import Program, Push, Window, after_letter
from rewardspec.synthesis.quantitative.compiler import Synthesis

_EFFORT = 2_000_000  # what may be spent on a further program; it takes a second or two
_STEPS = 2  # letters within which an upper bound has to be reached
_MOST_PARTS = 2_000  # of expressions that are looked at


class VetoProgram(NamedTuple):
    """A program whose output is positive while a formula can still be; as robustness, at least 0.

    It is exact if its output is positive no longer than that.
    """

    program: Program
    exact: bool


def veto_program(formula: Formula, value: Program, max_registers: int) -> VetoProgram:
    """Return a program that tells whether a formula can still become positive; as robustness, at least 0.

    `value` is the program of its value. The budget is that of a further program.

    Raises:
        SynthesisError: There is none within the budget, not even one that tells late.
    """
    bound: VetoProgram | None = None
    with contextlib.suppress(SynthesisError):  # it takes too long to find
        bound = _upper_bound(value)
        if bound.exact:
            return bound
    synthesis = Synthesis(max_registers, _EFFORT)
    for approximate in (False, True):
        found = possible(formula, approximate=approximate)
        with contextlib.suppress(SynthesisError):
            return VetoProgram(synthesis.program(found.formula), found.exact)
    return bound or _upper_bound(value)


def _upper_bound(program: Program) -> VetoProgram:
    """The program with an upper bound of the values ahead as its output.

    What a window holds is not known without looking into it, and counts as the largest value.
    """
    unknown = Substitution({held(k): ONE for k in range(len(program.windows))})
    found = largest(program)
    later = [unknown(value) for value in found.values]
    outputs = []
    for control, step in enumerate(program.steps):
        (upper,) = after_letter(program, control, [later[program.successor(control)]])
        outputs.append((maximum(step.outputs[0], upper),))
    return VetoProgram(program.with_outputs(outputs), found.exact or _is_reached(program, later))


def _is_reached(program: Program, later: Sequence[Expression]) -> bool:
    """Return whether the next letters make the value positive wherever an upper bound of later values is.

    It is enough to look at letters that make every literal positive. Expressions are compared as polynomials over the
    registers and over what windows give, whatever else the windows hold. `later` has the upper bound for each control
    state, in terms of registers and windows.
    """
    parts = list(all_parts([*program.expressions(), *later]))
    if len(parts) > _MOST_PARTS or any(part.op in ("affine", "discount") for part in parts):
        return False
    every_literal = Substitution({part: ONE for part in parts if part.op in ("label", "complement")})
    cells = [register(k) for k in range(len(program.registers))] + [window(k) for k in range(len(program.windows))]
    numbers = {cell: 1 << k for k, cell in enumerate(cells)}
    for control, bound in enumerate(later):
        reached: Polynomial = frozenset()
        state = Substitution({})
        at = control
        for _ in range(_STEPS):
            step = program.steps[at].map(every_literal)
            after = {register(k): ZERO if update is None else update for k, update in enumerate(step.updates)}
            windows = zip(program.windows, step.pushes, strict=True)
            given = {k: _at_least(each, push, k) for k, (each, push) in enumerate(windows)}
            at_once = Substitution({pushed(k): value for k, value in given.items()})
            reached = either(reached, _positive(state(at_once(step.outputs[0])), numbers))
            after |= {window(k): value for k, value in given.items()}
            state = Substitution({cell: state(at_once(value)) for cell, value in after.items()})
            at = program.successor(at)
        if either(reached, _positive(every_literal(bound), numbers)) != reached:
            return False
    return True


def _at_least(each: Window, push: Push, number: int) -> Expression:
    """A lower bound of what a window gives after a push."""
    if each.op == "max" or each.length == 1:
        return push.value
    return minimum(window(number), push.value) if each.op == "min" else ZERO


def _positive(expression: Expression, numbers: dict[Expression, int]) -> Polynomial:
    """Condition on registers and windows for an expression to be positive."""

    def build(part: Expression, args: tuple[Polynomial, ...]) -> Polynomial:
        match part.op:
            case "constant":
                return frozenset({0}) if part.args[0] > 0.0 else frozenset()
            case "min" | "max":
                joined = args[0]
                for other in args[1:]:
                    joined = both(joined, other) if part.op == "min" else either(joined, other)
                return joined
        return frozenset({numbers[part]})

    return expression.fold(build)
