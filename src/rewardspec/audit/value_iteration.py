"""Which actions are optimal at every node of a product: value iteration, and backward induction with a clock."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error
from rewardspec.finite.products import Product

TIE = 1e-9
"""Actions whose values differ by less, relative to the largest value, are equally good."""
_SETTLED = 1e-13
"""Value iteration stops when no value changes by more than this, relative to the largest."""


@dataclasses.dataclass(frozen=True)
class Solution:
    """The optimal values, and all actions that attain them.

    Attributes:
        discount: What a reward one step later is worth.
        horizon: The number of steps that were optimised, with the clock in sight; None for an endless episode.
        values: The optimal value of every node at the start of an episode, shape (N,).
        optimal: Which actions are optimal at each node, shape (horizon, N, actions), or (1, N, actions) when endless.
    """

    discount: float
    horizon: int | None
    values: NDArray[np.float64]
    optimal: NDArray[np.bool_]


class Expectation:
    """Sums over the outcomes of every action: from one number per transition to one per node and action."""

    def __init__(self, product: Product) -> None:
        model = product.model
        self.shape = (len(product), model.actions)
        self.pair = product.node * model.actions + model.action[product.row]
        self.probability = model.probability[product.row]
        self.ended = product.successor < 0
        self.successor = np.where(self.ended, 0, product.successor)
        self.available = np.bincount(self.pair, minlength=self.shape[0] * self.shape[1]).reshape(self.shape) > 0

    def of(self, outcome: NDArray[np.float64]) -> NDArray[np.float64]:
        """The expected outcome of each action at each node, shape (N, actions); 0 where an action is not available."""
        size = self.shape[0] * self.shape[1]
        summed: Any = np.bincount(self.pair, self.probability * outcome, minlength=size)
        expected: NDArray[np.float64] = summed.reshape(self.shape)
        return expected

    def ahead(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value of the node each transition leads to, 0 where the episode ends there."""
        return np.where(self.ended, 0.0, values[self.successor])


def solve(product: Product, discount: float, horizon: int | None = None) -> Solution:
    """Find the optimal values and every optimal action.

    Without a horizon, by value iteration: the problem of a learner that does not see the clock and to whom the time
    limit is no ending, so that its policy depends on the node alone. With one, by backward induction: the best that
    can be done in that many steps by who counts them.

    Args:
        product: The product.
        discount: In [0, 1]; below 1 without a horizon.
        horizon: The number of steps, or None.

    Example:
        >>> from rewardspec import tasks
        >>> from rewardspec.finite.models import finite_model
        >>> from rewardspec.finite.products import build_product
        >>> task = tasks.get("frozen_lake")
        >>> product = build_product(finite_model(task.make()), task.spec("boolean"))
        >>> float(solve(product, 1.0, horizon=100).values[product.starts[0]])  # five steps at -1, and the goal
        4.0
    """
    if not 0.0 <= discount <= 1.0 or (horizon is None and discount == 1.0):
        raise Error(f"`discount` should be in [0, 1], and below 1 without a horizon. Received {discount:g}.")
    expectation = Expectation(product)
    values = np.zeros(len(product))
    if horizon is None:
        paid = expectation.of(product.reward)
        change = np.inf
        while change > _SETTLED * max(1.0, np.abs(values).max()):
            choices = paid + discount * expectation.of(expectation.ahead(values))
            new = _best(choices, expectation)
            change = np.abs(new - values).max()
            values = new
        return Solution(discount, None, values, _ties(choices, expectation)[None])
    optimal = np.zeros((horizon, *expectation.shape), dtype=np.bool_)
    for step in reversed(range(horizon)):
        reward = product.truncated_reward if step == horizon - 1 else product.reward
        choices = expectation.of(reward + discount * expectation.ahead(values))
        optimal[step] = _ties(choices, expectation)
        values = _best(choices, expectation)
    return Solution(discount, horizon, values, optimal)


def _best(choices: NDArray[np.float64], expectation: Expectation) -> NDArray[np.float64]:
    best: NDArray[np.float64] = np.where(expectation.available, choices, -np.inf).max(axis=1)
    return best


def _ties(choices: NDArray[np.float64], expectation: Expectation) -> NDArray[np.bool_]:
    best = _best(choices, expectation)
    close: NDArray[np.bool_] = choices >= (best - TIE * max(1.0, np.abs(best).max()))[:, None]
    return close & expectation.available
