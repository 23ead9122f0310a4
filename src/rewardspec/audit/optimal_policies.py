"""Policies among equally good actions: the one kindest to the task, what it achieves, what others might; playing it."""

from __future__ import annotations

import dataclasses
import enum

import numpy as np
from numpy.typing import NDArray

from rewardspec.audit.intent import Aims
from rewardspec.audit.solving import Expectation, Floats
from rewardspec.finite.products import Product
from rewardspec.types import Environment, InfoDict

_SAME = 1e-9


class Quantity(enum.IntEnum):
    """A quantity that is summed over an episode."""

    GOAL = 0  # whether the goal is reached
    HAZARD = 1  # whether what must not happen does
    COMPLETION = 2  # task completion at the end
    WAIT = 3  # steps to the goal, or the time limit
    ARRIVAL = 4  # the step at which the goal is reached, 0 for never
    TOTAL = 5  # sum of the rewards
    DISCOUNTED = 6  # discounted sum of the rewards


KINDNESS = ((Quantity.GOAL, 1.0), (Quantity.HAZARD, -1.0), (Quantity.COMPLETION, 1.0), (Quantity.WAIT, -1.0))
"""Aims of a task, the most important first: reaching the goal, safely, completely, and soon."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Exact expectations of what a policy achieves in an episode with a time limit.

    `goal` and `hazard` are probabilities. `steps` are those to the goal, in episodes that reach it; NaN when none does.
    """

    completion: float
    hazard: float
    goal: float
    steps: float
    total: float
    discounted: float


@dataclasses.dataclass(frozen=True)
class OptimalPolicy:
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
    """Episodes of a product with a time limit, counted backwards from their end."""

    def __init__(self, product: Product, aims: Aims, steps: int, discount: float) -> None:
        self.product, self.steps, self.discount = product, steps, discount
        self.expectation = Expectation(product)
        self.goal, self.hazard = aims.goal[product.row], aims.hazard[product.row]
        self.completion = aims.completion[product.row]

    def best_case_policy(self, allowed: NDArray[np.bool_] | None = None) -> OptimalPolicy:
        """The policy that serves the task best, by `KINDNESS`, of those that take only `allowed` actions, None for all.

        Their shape is (steps, N, actions) or (1, N, actions).
        """
        product = self.product
        tracked = np.zeros((len(product), len(Quantity)))
        actions = np.zeros((self.steps, len(product)), dtype=np.int64)
        everyone = np.arange(len(product))
        for step in reversed(range(self.steps)):
            choices = np.stack([self._choices(q, tracked[:, q], step) for q in Quantity], axis=-1)
            pool = self._pool(allowed, step)
            for quantity, sign in KINDNESS:
                score = np.where(pool, sign * choices[..., quantity], -np.inf)
                pool = score >= score.max(axis=1, keepdims=True) - _SAME
            actions[step] = pool.argmax(axis=1)  # the lowest number of what is left
            tracked = choices[everyone, actions[step]]
        mean = {q: float(product.initial @ tracked[product.starts, q]) for q in Quantity}
        outcome = Outcome(
            completion=mean[Quantity.COMPLETION],
            hazard=mean[Quantity.HAZARD],
            goal=mean[Quantity.GOAL],
            steps=mean[Quantity.ARRIVAL] / mean[Quantity.GOAL] if mean[Quantity.GOAL] > 0.0 else float("nan"),
            total=mean[Quantity.TOTAL],
            discounted=mean[Quantity.DISCOUNTED],
        )
        return OptimalPolicy(actions, outcome, tracked[product.starts, Quantity.TOTAL])

    def spread(self, quantity: Quantity, allowed: NDArray[np.bool_]) -> tuple[float, float]:
        """The least and the most that policies of allowed actions can make of one quantity."""
        least, most = (self._extreme(quantity, allowed, sign) for sign in (-1.0, 1.0))
        return least, most

    def _extreme(self, quantity: Quantity, allowed: NDArray[np.bool_], sign: float) -> float:
        values = np.zeros(len(self.product))
        for step in reversed(range(self.steps)):
            score = np.where(self._pool(allowed, step), sign * self._choices(quantity, values, step), -np.inf)
            values = sign * score.max(axis=1)
        return float(self.product.initial @ values[self.product.starts])

    def _pool(self, allowed: NDArray[np.bool_] | None, step: int) -> NDArray[np.bool_]:
        if allowed is None:
            return self.expectation.available
        chosen: NDArray[np.bool_] = allowed[step if len(allowed) > 1 else 0]
        return chosen

    def _choices(self, quantity: Quantity, values: Floats, step: int) -> Floats:
        """The expected quantity of each action at each node, from what it is one step later."""
        final = step == self.steps - 1
        over = self.expectation.ended | final
        ahead = np.where(over, 0.0, values[self.expectation.successor])
        reward = self.product.truncated_reward if final else self.product.reward
        match quantity:
            case Quantity.GOAL:
                outcome = np.where(self.goal, 1.0, ahead)
            case Quantity.HAZARD:
                outcome = np.where(self.hazard, 1.0, ahead)
            case Quantity.COMPLETION:
                outcome = np.where(over, self.completion, ahead)
            case Quantity.WAIT:
                outcome = 1.0 + np.where(self.goal, 0.0, np.where(over, self.steps - 1.0 - step, ahead))
            case Quantity.ARRIVAL:
                outcome = np.where(self.goal, step + 1.0, ahead)
            case Quantity.TOTAL:
                outcome = reward + ahead
            case Quantity.DISCOUNTED:
                outcome = reward + self.discount * ahead
        return self.expectation.of(outcome)


@dataclasses.dataclass(frozen=True)
class PlayedEpisode:
    """An episode of a policy in the real environment; its states are the observations, the first included.

    `expected` is the exact expectation of the sum of rewards, from the start that came up. `completion` is the first
    of the measures that the environment told at the end, or None.
    """

    states: tuple[int, ...]
    actions: tuple[int, ...]
    rewards: tuple[float, ...]
    expected: float
    completion: float | None

    @property
    def total(self) -> float:
        """The sum of the rewards."""
        return sum(self.rewards)


def play(env: Environment, product: Product, policy: OptimalPolicy, seed: int | None = None) -> PlayedEpisode:
    """Play one episode in the real environment, with the spec of the product as its reward."""
    from rewardspec.wrappers import MonitorReward

    paid = MonitorReward(env, product.spec)
    obs, _ = paid.reset(seed=seed)
    start = int(np.flatnonzero(product.model.starts == obs)[0])
    node: int | None = int(product.starts[start])
    states: list[int] = [int(obs)]
    actions: list[int] = []
    rewards: list[float] = []
    info: InfoDict = {}
    done = False
    while not done and node is not None and len(actions) < len(policy.actions):
        action = int(policy.actions[len(actions)][node])
        obs, reward, terminated, truncated, info = paid.step(action)
        states.append(int(obs))
        actions.append(action)
        rewards.append(float(reward))
        done = terminated or truncated
        node = product.follow(node, action, int(obs))
    completion = next(iter(info.get("measures", {}).values()), None)
    return PlayedEpisode(tuple(states), tuple(actions), tuple(rewards), float(policy.start_totals[start]), completion)
