"""Cells of the evaluation: everything that one environment's runs with one reward did."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from rewardspec.learning.training_log import TrainingLog
from rewardspec.tasks import registry
from rewardspec.tasks.task import Task

PAPER_REWARDS = ("base", "boolean", "quantitative")
"""The rewards that the paper compares."""
TITLES = {"base": "Base", "boolean": "Boolean", "quantitative": "Quant.", "best": "Best"}
"""The rewards' names for people."""

Unit: TypeAlias = Literal["episodes", "steps"]


def unit_of(task: Task) -> Unit:
    """What a task's training budget is counted in: episodes for Q-learning, environment steps for PPO.

    Example:
        >>> unit_of(registry.get("taxi")), unit_of(registry.get("pendulum"))
        ('episodes', 'steps')
    """
    return "episodes" if task.learner == "q-learning" else "steps"


@dataclasses.dataclass(frozen=True)
class Cell:
    """One cell of the table: an environment, a reward, and what was seen while learning from it.

    Attributes:
        task: The environment's name.
        reward: One of `rewardspec.experiments.rewards.REWARDS`.
        log: The episodes; blocks of seeds merged, runs numbered through.
        seconds: Wall-clock seconds of training, those of all blocks added up.
        config: The learner's settings.
        observe: What the learner saw of the monitor, as the wrapper's `observe` says it; None for nothing.
        payment: How the spec paid; None where the environment's own reward was learned from.
        commands: The commands that trained it.
        versions: The versions of what it was trained with.
        devices: The kinds of machine that trained it, in words.
    """

    task: str
    reward: str
    log: TrainingLog
    seconds: float
    config: Mapping[str, Any]
    observe: str | None
    payment: str | None
    commands: tuple[str, ...]
    versions: Mapping[str, str]
    devices: tuple[str, ...] = ()

    @property
    def unit(self) -> Unit:
        """What the training budget is counted in."""
        return unit_of(registry.get(self.task))
