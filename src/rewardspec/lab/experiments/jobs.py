"""Jobs: one task, one reward, one block of seeds, one configuration."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rewardspec.lab.learning.settings import SB3, Config, QLearning
from rewardspec.lab.tasks.task import Task

REVISION = 2
"""Counted up whenever a change of a learner, an environment or an atom puts older results out of date: `reproduce` then
trains anew, and the older results stay what they were."""


@dataclasses.dataclass(frozen=True)
class Job:
    """The runs that one worker trains together; a cell of a study is one job or several, and a result is one file.

    Attributes:
        task: The task's name.
        reward: The reward's name.
        first: The first seed.
        count: How many seeds, one after the other.
        config: The learner's settings, a frozen dataclass.
        setup: What the reward is, in plain values: its formulas, payment and what the learner sees of the monitor.
        cost: The seconds that it is expected to take on one core.
    """

    task: str
    reward: str
    first: int
    count: int
    config: Any
    setup: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    cost: float = 1.0

    @property
    def seeds(self) -> range:
        """The seeds of the runs."""
        return range(self.first, self.first + self.count)

    @property
    def settings(self) -> dict[str, Any]:
        """The learner's settings as plain values, its name and the revision of what it learns from first."""
        return {"learner": type(self.config).__name__, "revision": REVISION, **dataclasses.asdict(self.config)}

    @property
    def key(self) -> str:
        """The name of its result: the same for the same job on any machine, another for another configuration."""
        return f"{self.task}-{self.reward}-seeds{self.first}-{self.seeds[-1]}-{digest(self.settings, self.setup)}"

    @property
    def label(self) -> str:
        """Name for messages."""
        seeds = f"seed {self.first}" if self.count == 1 else f"seeds {self.first}-{self.seeds[-1]}"
        return f"{self.task} {self.reward}, {seeds}"

    @property
    def unit(self) -> str:
        """Unit of its progress."""
        return "episodes" if hasattr(self.config, "episodes") else "steps"


def digest(settings: Mapping[str, Any], setup: Mapping[str, Any]) -> str:
    """Eight hexadecimal digits that change whenever the configuration does.

    Example:
        >>> digest({"learner": "QLearning", "episodes": 10}, {}) == digest({"episodes": 10, "learner": "QLearning"}, {})
        True
    """
    text = json.dumps([settings, setup], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def expected_seconds(task: Task, config: Config, seeds: int) -> float:
    """Roughly how long a job takes on one core: what to go by before anything is measured.

    It is the time to compile, and for each step or episode some that does not depend on how many runs are trained
    together, and some for each of them.
    """
    if isinstance(config, QLearning):
        return 2.0 + config.episodes * (5e-4 + 1e-5 * seeds)
    if isinstance(config, SB3):
        return 5.0 + 5e-4 * config.total_steps * seeds
    alone, each = task.budget.step_seconds
    return 5.0 + config.total_steps * (alone + each * seeds)
