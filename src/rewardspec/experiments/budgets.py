"""How much each environment is trained: the paper's budgets, and small ones that show everything in two minutes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rewardspec.errors import Error
from rewardspec.learning.settings import PPO, Config, QLearning
from rewardspec.tasks import registry
from rewardspec.tasks.task import Task


@dataclasses.dataclass(frozen=True)
class Budget:
    """What one cell is given.

    Attributes:
        seeds: How many runs, with the seeds from 0 on.
        block: How many of them are trained together, as one job.
        config: The learner's settings.
    """

    seeds: int
    block: int
    config: Config

    def __post_init__(self) -> None:
        for name in ("seeds", "block"):
            if getattr(self, name) < 1:
                raise Error(f"`{name}` should be at least 1. Received {getattr(self, name)}.")


_CONTINUOUS = {"pendulum": 1_000_000, "bipedal_walker": 500_000}
"""The environments with continuous actions, and the paper's number of steps."""


def budget_of(task: Task, *, quick: bool = False, seeds: int | None = None, block: int | None = None) -> Budget:
    """The budget of an environment's cells.

    Args:
        task: The environment.
        quick: Whether to take the small budget.
        seeds: Another number of runs.
        block: Another number of runs for each job.

    Example:
        >>> from rewardspec import tasks
        >>> budget = budget_of(tasks.get("taxi"))
        >>> budget.seeds, budget.config.episodes, budget.config.max_steps
        (500, 2000, 100)
        >>> budget_of(tasks.get("pendulum")).config.total_steps
        1000000
    """
    budget = _quick(task) if quick else _paper(task)
    changes: dict[str, Any] = {name: value for name, value in (("seeds", seeds), ("block", block)) if value is not None}
    return dataclasses.replace(budget, **changes)


def has_full_budget(task: str, config: Mapping[str, Any], runs: int) -> bool:
    """Whether a cell was trained with the paper's settings, on at least the paper's number of runs.

    Args:
        task: The environment's name.
        config: The learner's settings as results keep them.
        runs: How many runs there were.
    """
    paper = budget_of(registry.get(task))
    return runs >= paper.seeds and all(config.get(name) == value for name, value in vars(paper.config).items())


def _paper(task: Task) -> Budget:
    if task.learner == "q-learning":
        return Budget(500, 500, QLearning())
    if task.name in _CONTINUOUS:
        return Budget(10, 10, PPO.continuous(total_steps=_CONTINUOUS[task.name]))
    return Budget(10, 10, PPO.discrete())


def _quick(task: Task) -> Budget:
    if task.learner == "q-learning":
        return Budget(20, 20, QLearning())  # all the episodes: runs are what costs
    if task.name in _CONTINUOUS:
        return Budget(3, 3, PPO.continuous(total_steps=_QUICK_STEPS[task.name]))
    return Budget(3, 3, PPO.discrete(total_steps=_QUICK_STEPS[task.name]))


_QUICK_STEPS = {
    "acrobot": 64 * 512,
    "cart_pole": 64 * 512,
    "mountain_car": 64 * 512,
    "pendulum": 8 * 2048,
    "bipedal_walker": 4 * 2048,
    "lunar_lander": 32 * 512,
}


def expected_seconds(task: Task, config: Config, seeds: int) -> float:
    """Roughly how long a job takes on one core: what to go by before anything is measured.

    It is the time to compile, and for each step or episode some that does not depend on how many runs are trained
    together, and some for each of them.
    """
    if isinstance(config, QLearning):
        return 2.0 + config.episodes * (5e-4 + 1e-5 * seeds)
    alone, each = _STEP_SECONDS.get(task.name, (1e-4, 5e-6))
    return 5.0 + config.total_steps * (alone + each * seeds)


_STEP_SECONDS = {
    "acrobot": (8e-5, 2.5e-6),
    "cart_pole": (8e-5, 2.5e-6),
    "mountain_car": (6e-5, 2e-6),
    "pendulum": (1.4e-4, 1.4e-5),
    "bipedal_walker": (5e-4, 1.7e-4),
    "lunar_lander": (2e-4, 3e-5),
}
