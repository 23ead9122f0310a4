"""Ways to pay: what a step's reward is, given the level before and after it.

The *level* after a step is the weighted sum of the formulas' values, or the penalty once a safety objective has been
violated. A way to pay is one row of `PAYMENTS`; code for one episode and for batches is generated from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Payment: TypeAlias = Literal["value", "delta", "potential", "final"]


@dataclass(frozen=True)
class Rule:
    """One way to pay.

    Attributes:
        pays: The reward, in terms of `level`, `before` (the level before the step), `discount`, `terminated` and
            `truncated`; `where(condition, a, b)` chooses, for one episode and for batches.
        in_words: What it pays.
        reads_before: Whether it depends on the level before, so that an agent has to see that.
        adds_base: Whether the environment's own reward is paid too.
        starts_at_zero: Whether the level counts as 0 before the first step, whatever the state after reset is worth.
    """

    pays: str
    in_words: str
    reads_before: bool = False
    adds_base: bool = False
    starts_at_zero: bool = False


PAYMENTS: dict[str, Rule] = {
    "value": Rule("level", "the level, every step"),
    "delta": Rule(
        "level - before",
        "the level's change, so that an episode's rewards add up to its final level",
        reads_before=True,
        starts_at_zero=True,
    ),
    "potential": Rule(
        "where(terminated, 0.0, discount * level) - before",
        "the environment's own reward and the level's discounted change, which keeps optimal policies optimal",
        reads_before=True,
        adds_base=True,
    ),
    "final": Rule("where(terminated | truncated, level, 0.0)", "the level, once, when the episode ends"),
}
