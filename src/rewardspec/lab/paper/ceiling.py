"""The most that any learner could score in a finite environment, given how much it has to explore.

The evaluation counts every episode of training, the exploring ones included: Q-learning starts with random play, and
its last episodes still take one action in twenty at random. A learner that knew the environment from the first step on
would score, on average, what this module computes by dynamic programming: in each episode the best policy for that
episode's share of random actions. It is exact, every episode counting with its own share. No reward, however well
chosen, can do better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rewardspec.lab.learning.finite_tables import FiniteTables, finite_tables
from rewardspec.lab.learning.settings import QLearning
from rewardspec.lab.tasks.task import Task

_CELLS = 2**18
"""Outcomes times shares of random actions to work on at once; no more, so that memory stays small."""


def ceiling(task: Task, config: QLearning) -> float:
    """The highest expected task completion, on average over the episodes of a run.

    Example:
        >>> from rewardspec import tasks
        >>> round(ceiling(tasks.get("frozen_lake"), QLearning()), 3)
        0.648
    """
    explored = np.maximum(config.epsilon * config.epsilon_decay ** np.arange(config.episodes), config.epsilon_min)
    shares, episodes = np.unique(explored, return_counts=True)  # at the minimum, episodes are alike
    best = best_completion(finite_tables(task, None, None), shares, config.max_steps)
    return float(np.average(best, weights=episodes))


def best_completion(tables: FiniteTables, explored: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """The highest expected task completion of one episode, for each share of random actions.

    Args:
        tables: The environment.
        explored: Probabilities of a random action, shape (E,).
        steps: After how many steps the episode is cut off.
    """
    size = max(1, _CELLS // tables.successor.size)
    found = np.empty(len(explored))
    for first in range(0, len(explored), size):
        part = slice(first, first + size)
        found[part] = _best_completion(tables, explored[part], steps)
    return found


def _best_completion(tables: FiniteTables, share: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """The same, all shares at once; they are the last axis, so that a node's successor brings a whole row of them."""
    probability = np.diff(np.minimum(tables.chances, 1.0), axis=-1, prepend=0.0)
    over = tables.successor < 0
    ends = tables.completion[over][:, None]
    successor = np.maximum(tables.successor, 0)
    last = (probability * tables.completion).sum(axis=-1)  # of the action after which the episode is cut off
    value = np.outer(last.mean(axis=1), share) + np.outer(last.max(axis=1), 1.0 - share)
    for _ in range(steps - 1):
        after = value[successor]
        after[over] = ends
        worth = np.einsum("nao,naoe->nae", probability, after)
        value = worth.mean(axis=1) * share + worth.max(axis=1) * (1.0 - share)
    found: NDArray[np.float64] = tables.product.initial @ value[tables.starts]
    return found
