"""Ways to pay: what a step's reward is, given the level before and after it.

The *level* after a step is the weighted sum of the formulas' values, or the penalty once a safety objective has been
violated. A way to pay is one row of `PAYMENTS`. Its `pays` is an expression, which every printer of the library writes:
for one episode, for batches in NumPy, JAX and torch, in C and in JavaScript.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rewardspec.machines.expressions import Expression, where
from rewardspec.machines.heads import given

Payment: TypeAlias = Literal["value", "delta", "potential", "final"]

LEVEL, BEFORE = given("level"), given("before")
"""The level after the step, and the level before it."""
DISCOUNT = given("discount")
"""The learner's discount."""
BASE_REWARD, TERMINATED, TRUNCATED = given("base_reward"), given("terminated"), given("truncated")
"""The environment's own reward, whether the episode ended by itself, and whether it was cut off."""


@dataclass(frozen=True)
class PaymentRule:
    """One way to pay.

    Attributes:
        pays: The reward, in terms of `LEVEL`, `BEFORE`, `DISCOUNT`, `TERMINATED` and `TRUNCATED`.
        in_words: What it pays.
        once_violated: What it pays once a safety objective is violated; `{penalty:g}` stands for the penalty.
        adds_base: Whether the environment's own reward is paid too.
        starts_at_zero: Whether the level counts as 0 before the first step, whatever the state after reset is worth.
        if_constant: What it makes of a formula of constant value, for lint; None if it pays that in every step.
    """

    pays: Expression
    in_words: str
    once_violated: str
    adds_base: bool = False
    starts_at_zero: bool = False
    if_constant: str | None = None

    @functools.cached_property
    def reads_before(self) -> bool:
        """Return whether it depends on the level before the step, so that an agent has to see that."""
        return BEFORE in self.pays.parts()

    @property
    def pays_from_start(self) -> bool:
        """Return whether the first step is paid from the level of the state after reset."""
        return self.reads_before and not self.starts_at_zero

    @functools.cached_property
    def reads_truncation(self) -> bool:
        """Return whether the reward of a step depends on whether the episode is cut off there."""
        return TRUNCATED in self.pays.parts()

    @functools.cached_property
    def reads_ending(self) -> bool:
        """Return whether the reward of a step depends on whether the episode ends with it."""
        return self.reads_truncation or TERMINATED in self.pays.parts()

    @functools.cached_property
    def reads_discount(self) -> bool:
        """Return whether it depends on the learner's discount."""
        return DISCOUNT in self.pays.parts()


PAYMENTS: dict[str, PaymentRule] = {
    "value": PaymentRule(
        LEVEL, "the level, every step", "every step pays {penalty:g}, whatever the other pairs are worth"
    ),
    "delta": PaymentRule(
        LEVEL - BEFORE,
        "the level's change, so that an episode's rewards add up to its final level",
        "what was paid by delta is taken back, down to {penalty:g}, and nothing more is paid",
        starts_at_zero=True,
        if_constant="it is paid once, at the first step, and not in every step",
    ),
    "potential": PaymentRule(
        where(TERMINATED, 0.0, DISCOUNT * LEVEL) - BEFORE,
        "the environment's own reward and the level's discounted change, which keeps optimal policies optimal",
        "the level of all pairs together is {penalty:g} to the end of the episode",
        adds_base=True,
        if_constant="a potential that is the same everywhere changes nothing, and it is paid in no step",
    ),
    "final": PaymentRule(
        where(TERMINATED | TRUNCATED, LEVEL, 0.0),
        "the level, once, when the episode ends",
        "the episode pays {penalty:g} at its end, whatever the other pairs are worth",
        if_constant="it is paid once, at the end, and not in every step",
    ),
}
