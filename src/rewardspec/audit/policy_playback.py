"""Playing a policy of the product in the real environment, with the spec as its reward."""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium as gym
import numpy as np

from rewardspec.audit.optimal_policies import Policy
from rewardspec.finite.products import Product


@dataclasses.dataclass(frozen=True)
class Episode:
    """What was seen.

    Attributes:
        states: The observations, the first included.
        actions: The actions.
        rewards: What each step paid.
        expected: The exact expectation of their sum, from the start that came up.
        completion: The task completion the environment told at the end, or None.
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


def roll_out(env: gym.Env[Any, Any], product: Product, policy: Policy, seed: int | None = None) -> Episode:
    """Play one episode.

    Args:
        env: The environment, with the product's spec as its reward: `MonitorReward(env, product.spec)`.
        product: The product.
        policy: What to do at its nodes.
        seed: Seed of the reset.
    """
    obs, _ = env.reset(seed=seed)
    start = int(np.flatnonzero(product.model.starts == obs)[0])
    node: int | None = int(product.starts[start])
    states: list[int] = [int(obs)]
    actions: list[int] = []
    rewards: list[float] = []
    info: dict[str, Any] = {}
    done = False
    while not done and node is not None and len(actions) < len(policy.actions):
        action = int(policy.actions[len(actions)][node])
        obs, reward, terminated, truncated, info = env.step(action)
        states.append(int(obs))
        actions.append(action)
        rewards.append(float(reward))
        done = terminated or truncated
        node = product.follow(node, action, int(obs))
    completion = info.get("task_completion")
    return Episode(tuple(states), tuple(actions), tuple(rewards), float(policy.start_totals[start]), completion)
