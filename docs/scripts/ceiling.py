"""Upper bound on the score of any learner in a finite environment, given its exploration schedule.

The evaluation averages over all episodes of training, including those with exploration: Q-learning starts with random
actions, and in its last episodes still takes 5 % of them at random. This module computes, by dynamic programming, the
expected score of a learner that knows the environment from the first step and, in each episode, follows the optimal
policy for that episode's exploration rate. The bound is exact. No reward can do better.
"""

from __future__ import annotations

import numpy as np

from rewardspec.lab.learning.finite_tables import FiniteTables, finite_tables
from rewardspec.lab.learning.settings import QLearning
from rewardspec.lab.tasks.task import Task
from rewardspec.types import Floats

_CELLS = 2**18
"""Limit on outcomes times exploration rates per batch, which bounds memory."""


def ceiling(task: Task, config: QLearning) -> float:
    """Compute the highest expected task completion, averaged over the episodes of a run."""
    explored = np.maximum(config.epsilon * config.epsilon_decay ** np.arange(config.episodes), config.epsilon_min)
    shares, episodes = np.unique(explored, return_counts=True)  # episodes at the minimum rate are equal
    best = best_completion(finite_tables(task, None, None), shares, config.max_steps)
    return float(np.average(best, weights=episodes))


def best_completion(tables: FiniteTables, explored: Floats, steps: int) -> Floats:
    """Compute the highest expected task completion of one episode, for each exploration rate.

    Args:
        tables: The environment.
        explored: Probabilities of a random action, shape (E,).
        steps: Time limit of the episode.

    Returns:
        The expected completions, shape (E,).
    """
    size = max(1, _CELLS // tables.successor.size)
    found = np.empty(len(explored))
    for first in range(0, len(explored), size):
        part = slice(first, first + size)
        found[part] = _best_completion(tables, explored[part], steps)
    return found


def _best_completion(tables: FiniteTables, share: Floats, steps: int) -> Floats:
    """Compute a batch of exploration rates, which are the last axis so that lookups by successor copy whole rows."""
    probability = np.diff(np.minimum(tables.chances, 1.0), axis=-1, prepend=0.0)
    over = tables.successor < 0
    ends = tables.completion[over][:, None]
    successor = np.maximum(tables.successor, 0)
    last = (probability * tables.completion).sum(axis=-1)  # of the last action before truncation
    value = np.outer(last.mean(axis=1), share) + np.outer(last.max(axis=1), 1.0 - share)
    for _ in range(steps - 1):
        after = value[successor]
        after[over] = ends
        worth = np.einsum("nao,naoe->nae", probability, after)
        value = worth.mean(axis=1) * share + worth.max(axis=1) * (1.0 - share)
    found: Floats = tables.product.initial @ value[tables.starts]
    return found
