"""Formulas whose robustness can be infinite, and would be paid.

A value is infinite where it depends on no label yet, as that of `F[2,5] a` before step 2. Which steps these are does
not depend on the labels: taking all of them as 0 maps every finite value to 0, and leaves the infinite ones alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from rewardspec.machines.heads import VALUE_HEAD
from rewardspec.machines.machine import Machine
from rewardspec.machines.program import Program
from rewardspec.spec.pairs import Pair
from rewardspec.spec.payments import PAYMENTS

REMEDY = (
    "Give the spec a bound, as in Spec(…, bound=10), to pay that in its place; or write a formula that always has "
    "something to measure."
)


class InfiniteStep(NamedTuple):
    """A step at which the robustness of a formula is infinite, whatever the labels are."""

    step: int
    value: float


def infinite_step(pair: Pair, program: Program, payment: str, bound: float | None) -> InfiniteStep | None:
    """The first step at which a pair, paid in this way, would pay an infinite value of its formula's program.

    A spec with a finite bound pays none. With an infinite one, values may be infinite, but two have no difference.
    """
    if pair.weight == 0.0 or (bound is not None and not (bound == math.inf and PAYMENTS[payment].reads_before)):
        return None
    machine = Machine(replace(program, semantics="robustness"), VALUE_HEAD)
    labels = dict.fromkeys(program.atoms, 0.0)
    # After so many steps every register and window has come to rest, or repeats what it did.
    steps = len(program.steps) + len(program.registers) + sum(window.length for window in program.windows) + 2
    state = machine.initial_state()
    for step in range(steps):
        state, value = machine.step(state, labels)
        # The state after reset pays nothing, but a potential pays the difference between it and what comes next.
        if math.isinf(value) and (step > 0 or PAYMENTS[payment].pays_from_start):
            return InfiniteStep(step, value)
    return None


def infinite_value_message(pair: Pair, found: InfiniteStep, called: str | None = None) -> str:
    """Error message for a pair that would pay an infinite value."""
    name = called or f"`{pair.formula}`"
    return f"{name} has a robustness of {found.value:g} at step {found.step}, whatever the labels are."
