"""The most that any learner could score in a finite environment, given how much it has to explore.

The evaluation counts every episode of training, the exploring ones included: Q-learning starts with random play, and
its last episodes still take one action in twenty at random. A learner that knew the environment from the first step on
would score what this module computes, exactly, by dynamic programming: in each episode the best policy for that
episode's share of random actions. No reward, however well chosen, can do better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rewardspec.envs.task import Task
from rewardspec.learning.finite_tables import FiniteTables, finite_tables
from rewardspec.learning.q_learning import QLearning

_EVERY = 10
"""Episodes between two for which the ceiling is computed; exploration changes little from one to the next."""


def ceiling(task: Task, config: QLearning) -> float:
    """The highest mean task completion over the episodes of a run.

    Example:
        >>> from rewardspec import envs
        >>> round(ceiling(envs.get("frozen_lake"), QLearning()), 3)
        0.646
    """
    episodes = np.arange(0, config.episodes, _EVERY)
    explored = np.maximum(config.epsilon * config.epsilon_decay**episodes, config.epsilon_min)
    return float(best_completion(finite_tables(task, None, None), explored, config.max_steps).mean())


def best_completion(tables: FiniteTables, explored: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """The highest expected task completion of one episode, for each share of random actions.

    Args:
        tables: The environment.
        explored: Probabilities of a random action, shape (E,).
        steps: After how many steps the episode is cut off.
    """
    probability = np.diff(np.minimum(tables.chances, 1.0), axis=-1, prepend=0.0)
    start_probability = np.diff(np.minimum(tables.start_chances, 1.0), prepend=0.0)
    over = tables.successor < 0
    share = explored[:, None]
    last = (probability * tables.completion).sum(axis=-1)  # of the action after which the episode is cut off
    value = share * last.mean(axis=-1) + (1.0 - share) * last.max(axis=-1)
    for _ in range(steps - 1):
        after = np.where(over, tables.completion, value[:, np.maximum(tables.successor, 0)])
        worth = (probability * after).sum(axis=-1)
        value = share * worth.mean(axis=-1) + (1.0 - share) * worth.max(axis=-1)
    found: NDArray[np.float64] = value[:, tables.starts] @ start_probability
    return found
