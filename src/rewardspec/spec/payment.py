"""Ways to pay: what a step's reward is, given the level before and after it.

The *level* after a step is the weighted sum of the formulas' values, or the penalty once a safety objective has been
violated.  `value` pays the level; `delta` its change, so that an episode's rewards add up to the final level;
`potential` adds its discounted change to the environment's own reward, which keeps optimal policies optimal; `final`
pays the final level once.
"""

from __future__ import annotations

from typing import Any, Literal

Payment = Literal["value", "delta", "potential", "final"]
PAYMENTS: tuple[Payment, ...] = ("value", "delta", "potential", "final")


def pay(
    payment: Payment,
    before: Any,
    after: Any,
    *,
    discount: float,
    base_reward: Any,
    terminated: Any,
    truncated: Any,
    xp: Any,
) -> Any:
    """The rewards of a batch of steps; `rewardspec.spec.head_code` has the same for one.

    Args:
        payment: The way to pay.
        before: The level before the step; for `delta` 0 before the first.
        after: The level after it.
        discount: The learner's discount, for `potential`.
        base_reward: The environment's own reward.
        terminated: Whether the episode ended here for good; a potential is 0 there.
        truncated: Whether it was cut short here.
        xp: The array library.
    """
    match payment:
        case "value":
            return after
        case "delta":
            return after - before
        case "potential":
            return base_reward + xp.where(xp.asarray(terminated), xp.zeros_like(after), discount * after) - before
    ended = xp.logical_or(xp.asarray(terminated), xp.asarray(truncated))
    return xp.where(ended, after, xp.zeros_like(after))
