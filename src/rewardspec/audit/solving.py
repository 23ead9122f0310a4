"""Solving a product for its optimal actions: value iteration, and backward induction where the clock is seen."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error
from rewardspec.finite.products import Product
from rewardspec.types import Array

Floats = NDArray[np.float64]
TIE = 1e-9
"""Actions whose values differ by less, relative to the sizes of what was added up for them, are equally good."""
_SETTLED = 1e-13  # value iteration stops when no value changes by more than this, likewise


@dataclasses.dataclass(frozen=True)
class Solution:
    """The optimal value of each node at the start of an episode, shape (N,), and all actions that attain them.

    Which these are at each node has the shape (horizon, N, actions), or (1, N, actions) when endless.
    """

    values: Floats
    optimal: NDArray[np.bool_]


class Expectation:
    """Expectations over the outcomes of every action: from one number per transition to one per node and action."""

    def __init__(self, product: Product) -> None:
        model = product.model
        self.shape = (len(product), model.actions)
        self.pair = product.node * model.actions + model.action[product.row]
        self.probability = model.probability[product.row]
        self.ended = product.successor < 0
        self.successor = np.where(self.ended, 0, product.successor)
        self.available = np.bincount(self.pair, minlength=self.shape[0] * self.shape[1]).reshape(self.shape) > 0

    def of(self, outcome: Floats) -> Floats:
        """The expected outcome of each action at each node, shape (N, actions); 0 where an action is not available."""
        size = self.shape[0] * self.shape[1]
        summed: Array = np.bincount(self.pair, self.probability * outcome, minlength=size)
        expected: Floats = summed.reshape(self.shape)
        return expected

    def ahead(self, values: Floats) -> Floats:
        """The value of the node each transition leads to, 0 where the episode ends there."""
        return np.where(self.ended, 0.0, values[self.successor])


def solve(product: Product, discount: float, horizon: int | None = None) -> Solution:
    """Find the optimal values and every optimal action.

    Without a horizon, by value iteration: the problem of a learner that does not see the clock and to whom the time
    limit is no ending, so that its policy depends on the node alone. With one, by backward induction: the best that
    can be done in that many steps by who counts them.

    The discount is in [0, 1], and below 1 without a horizon.

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
    backup = _Backup(product, discount)
    if horizon is None:
        # After as many sweeps as this, what comes later is lost in rounding even at the end of the longest path.
        for _ in range(len(product) + math.ceil(40.0 / (1.0 - discount))):
            before = backup.values
            backup.step(product.reward)
            if np.all(np.abs(backup.values - before) <= _SETTLED * backup.sizes):
                break
        return Solution(backup.values, backup.ties()[None])
    optimal = np.zeros((horizon, *backup.expectation.shape), dtype=np.bool_)
    for step in reversed(range(horizon)):
        backup.step(product.truncated_reward if step == horizon - 1 else product.reward)
        optimal[step] = backup.ties()
    return Solution(backup.values, optimal)


class _Backup:
    """Bellman's backups, and how large the numbers are that were added up for each value.

    Rounding errs in proportion to those sizes. What is compared at a node has to be measured against its own: a large
    penalty elsewhere, which no good action meets, says nothing about differences here.

    Attributes:
        values: The value of each node, shape (N,).
        sizes: The same sum with every reward's absolute value, along the best action, shape (N,).
    """

    def __init__(self, product: Product, discount: float) -> None:
        self.expectation = Expectation(product)
        self.discount = discount
        self.nodes = np.arange(len(product))
        self.values, self.sizes = np.zeros(len(product)), np.zeros(len(product))

    def step(self, reward: Floats) -> None:
        """Look one step further ahead."""
        expectation, discount = self.expectation, self.discount
        choices = expectation.of(reward + discount * expectation.ahead(self.values))
        self.choices = np.where(expectation.available, choices, -np.inf)
        self.choice_sizes = expectation.of(np.abs(reward) + discount * expectation.ahead(self.sizes))
        best = self.choices.argmax(axis=1)
        self.values, self.sizes = self.choices[self.nodes, best], self.choice_sizes[self.nodes, best]

    def ties(self) -> NDArray[np.bool_]:
        """Return a mask of the actions that are as good as the best."""
        sizes = np.maximum(self.choice_sizes, self.sizes[:, None])
        close: NDArray[np.bool_] = self.choices >= self.values[:, None] - TIE * sizes
        return close & self.expectation.available
