"""Discounts without a bound, at the top of a formula: one register holds the weight of the current step.

`F[;γ] p` is the largest γᵗ·pₜ so far. What it needs of every step is known in that step, so that the weight γᵗ is all
there is to remember beside the value. Inside another operator each step would begin a weight of its own.
"""

from __future__ import annotations

from rewardspec.logic.formulas import Always, Eventually, Formula, Release, Timed, Until
from rewardspec.machines.expressions import ONE, ZERO, affine, discount, maximum, minimum, register
from rewardspec.machines.program import Program, Step
from rewardspec.synthesis.quantitative.assembly import guard_expression


def is_discounted(formula: Formula) -> bool:
    """Return whether a formula discounts without a bound, and reads single steps otherwise."""
    if not isinstance(formula, Timed) or formula.discount == 1.0 or formula.high is not None:
        return False
    return not any(arg.is_temporal for arg in formula.args)


def discounted(formula: Formula) -> Program:
    """The program of such a formula, in negation normal form."""
    assert isinstance(formula, Eventually | Always | Until | Release)
    strong = isinstance(formula, Eventually | Until)
    best, worst = (maximum, minimum) if strong else (minimum, maximum)
    weight, value, held = register(0), register(1), register(2)
    now = discount(guard_expression(formula.args[-1]), weight, raised=not strong)
    new_weight = affine(weight, formula.discount, 0.0)
    names, initial, updates = ["weight", "value"], [1.0, 0.0 if strong else 1.0], []
    if isinstance(formula, Until | Release):
        # What has held up to the step before, each step with its weight.
        names.append("held")
        initial.append(1.0 if strong else 0.0)
        updates.append(worst(held, discount(guard_expression(formula.left), weight, raised=not strong)))
        now = worst(held, now)
    counted = best(value, now)
    waiting = Step((new_weight, value, *updates), (ZERO if strong else ONE,))
    counting = Step((new_weight, counted, *updates), (counted,))
    steps = (*(waiting for _ in range(formula.low)), counting)
    return Program(formula.atoms, tuple(names), tuple(initial), steps, formula.low)
