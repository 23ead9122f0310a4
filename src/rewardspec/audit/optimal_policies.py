"""Policies among equally good actions: the one kindest to the intent, what it achieves, and what others might."""

from __future__ import annotations

import dataclasses
import enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.audit.intents import Intent
from rewardspec.audit.value_iteration import Expectation
from rewardspec.finite.products import Product

Floats: TypeAlias = NDArray[np.float64]
_SAME = 1e-9


class Measure(enum.IntEnum):
    """What is counted over an episode."""

    GOAL = 0  # whether the goal is reached
    HAZARD = 1  # whether what must not happen does
    COMPLETION = 2  # task completion at the end
    WAIT = 3  # steps to the goal, or the time limit
    ARRIVAL = 4  # the step at which the goal is reached, 0 for never
    TOTAL = 5  # sum of the rewards
    DISCOUNTED = 6  # discounted sum of the rewards


KINDNESS = ((Measure.GOAL, 1.0), (Measure.HAZARD, -1.0), (Measure.COMPLETION, 1.0), (Measure.WAIT, -1.0))
"""What serves a task: reaching the goal, then safely, then completely, then soon."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a policy achieves in an episode with a time limit; every number is exact, and an expectation.

    Attributes:
        completion: Task completion.
        hazard: Probability that what must not happen does.
        goal: Probability that the goal is reached.
        steps: Steps to the goal, in the episodes that reach it; NaN when none does.
        total: Sum of the rewards.
        discounted: Discounted sum of the rewards.
    """

    completion: float
    hazard: float
    goal: float
    steps: float
    total: float
    discounted: float


@dataclasses.dataclass(frozen=True)
class Policy:
    """A policy that knows the step, and what it achieves.

    Attributes:
        actions: The action at each step and node, shape (steps, N).
        outcome: What it achieves from the environment's distribution of starts.
        start_totals: The expected sum of rewards from each start, in the order of `product.starts`.
    """

    actions: NDArray[np.int64]
    outcome: Outcome
    start_totals: Floats


class Episodes:
    """Episodes of a product with a time limit, counted backwards from their end.

    Args:
        product: The product.
        intent: What the task is about.
        steps: The time limit.
        discount: The discount of `Measure.DISCOUNTED`.
    """

    def __init__(self, product: Product, intent: Intent, steps: int, discount: float) -> None:
        self.product, self.steps, self.discount = product, steps, discount
        self.expectation = Expectation(product)
        self.goal, self.hazard = intent.goal[product.row], intent.hazard[product.row]
        self.completion = intent.completion[product.row]

    def kindest(self, allowed: NDArray[np.bool_] | None = None) -> Policy:
        """The policy that serves the task best among those that take only allowed actions; see `KINDNESS`.

        Args:
            allowed: The actions to choose from, shape (steps, N, actions) or (1, N, actions); None allows all.
        """
        product = self.product
        tracked = np.zeros((len(product), len(Measure)))
        actions = np.zeros((self.steps, len(product)), dtype=np.int64)
        everyone = np.arange(len(product))
        for step in reversed(range(self.steps)):
            choices = np.stack([self._choices(m, tracked[:, m], step) for m in Measure], axis=-1)
            pool = self._pool(allowed, step)
            for measure, sign in KINDNESS:
                score = np.where(pool, sign * choices[..., measure], -np.inf)
                pool = score >= score.max(axis=1, keepdims=True) - _SAME
            actions[step] = pool.argmax(axis=1)  # the lowest number of what is left
            tracked = choices[everyone, actions[step]]
        mean = {m: float(product.initial @ tracked[product.starts, m]) for m in Measure}
        outcome = Outcome(
            completion=mean[Measure.COMPLETION],
            hazard=mean[Measure.HAZARD],
            goal=mean[Measure.GOAL],
            steps=mean[Measure.ARRIVAL] / mean[Measure.GOAL] if mean[Measure.GOAL] > 0.0 else float("nan"),
            total=mean[Measure.TOTAL],
            discounted=mean[Measure.DISCOUNTED],
        )
        return Policy(actions, outcome, tracked[product.starts, Measure.TOTAL])

    def spread(self, measure: Measure, allowed: NDArray[np.bool_]) -> tuple[float, float]:
        """The least and the most that policies of allowed actions can make of one measure."""
        least, most = (self._extreme(measure, allowed, sign) for sign in (-1.0, 1.0))
        return least, most

    def _extreme(self, measure: Measure, allowed: NDArray[np.bool_], sign: float) -> float:
        values = np.zeros(len(self.product))
        for step in reversed(range(self.steps)):
            score = np.where(self._pool(allowed, step), sign * self._choices(measure, values, step), -np.inf)
            values = sign * score.max(axis=1)
        return float(self.product.initial @ values[self.product.starts])

    def _pool(self, allowed: NDArray[np.bool_] | None, step: int) -> NDArray[np.bool_]:
        if allowed is None:
            return self.expectation.available
        chosen: NDArray[np.bool_] = allowed[step if len(allowed) > 1 else 0]
        return chosen

    def _choices(self, measure: Measure, values: Floats, step: int) -> Floats:
        """The expected measure of each action at each node, from what it is one step later."""
        final = step == self.steps - 1
        over = self.expectation.ended | final
        ahead = np.where(over, 0.0, values[self.expectation.successor])
        reward = self.product.truncated_reward if final else self.product.reward
        match measure:
            case Measure.GOAL:
                outcome = np.where(self.goal, 1.0, ahead)
            case Measure.HAZARD:
                outcome = np.where(self.hazard, 1.0, ahead)
            case Measure.COMPLETION:
                outcome = np.where(over, self.completion, ahead)
            case Measure.WAIT:
                outcome = 1.0 + np.where(self.goal, 0.0, np.where(over, self.steps - 1.0 - step, ahead))
            case Measure.ARRIVAL:
                outcome = np.where(self.goal, step + 1.0, ahead)
            case Measure.TOTAL:
                outcome = reward + ahead
            case Measure.DISCOUNTED:
                outcome = reward + self.discount * ahead
        return self.expectation.of(outcome)
