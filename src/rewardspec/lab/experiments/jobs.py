"""Jobs: a task, a reward, a block of seeds and a configuration."""

from __future__ import annotations

import dataclasses
import hashlib
import json

from rewardspec.lab.learning.settings import SB3, Config, QLearning
from rewardspec.lab.tasks.task import Task
from rewardspec.types import JsonObject

REVISION = 2
"""Version of learners, environments and atoms. Increase it when a change invalidates older results, so that `reproduce`
trains again; the older results are kept."""


@dataclasses.dataclass(frozen=True)
class Job:
    """Runs that one worker trains together. A cell of a study has one or more jobs, and each writes one result file.

    Attributes:
        first: The first seed.
        count: Number of consecutive seeds.
        setup: Description of the reward as JSON data: formulas, payment and observation of the monitor.
        cost: Expected seconds on one core.
    """

    task: str
    reward: str
    first: int
    count: int
    config: Config
    setup: JsonObject = dataclasses.field(default_factory=dict)
    cost: float = 1.0

    @property
    def seeds(self) -> range:
        """The seeds of the runs."""
        return range(self.first, self.first + self.count)

    @property
    def settings(self) -> JsonObject:
        """Settings as JSON data, with the learner's name and the `REVISION`."""
        settings = {"learner": type(self.config).__name__, "revision": REVISION, **dataclasses.asdict(self.config)}
        if not settings.get("scale_actions"):
            settings.pop("scale_actions", None)  # a later setting: without it, results keep their names
        return settings

    @property
    def key(self) -> str:
        """Name of its result file, which identifies the configuration on any machine."""
        return key_of(self.task, self.reward, self.first, self.count, self.settings, self.setup)

    @property
    def label(self) -> str:
        """Name of the job in messages."""
        seeds = f"seed {self.first}" if self.count == 1 else f"seeds {self.first}-{self.seeds[-1]}"
        return f"{self.task} {self.reward}, {seeds}"

    @property
    def unit(self) -> str:
        """Unit of its progress."""
        return self.config.unit


def key_of(task: str, reward: str, first: int, count: int, settings: JsonObject, setup: JsonObject) -> str:
    """Return the name of the result file of a job."""
    return f"{task}-{reward}-seeds{first}-{first + count - 1}-{digest(settings, setup)}"


def digest(settings: JsonObject, setup: JsonObject) -> str:
    """Hash a configuration to eight hexadecimal digits.

    Example:
        >>> digest({"learner": "QLearning", "episodes": 10}, {}) == digest({"episodes": 10, "learner": "QLearning"}, {})
        True
    """
    text = json.dumps([settings, setup], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def expected_seconds(task: Task, config: Config, seeds: int) -> float:
    """Estimate the seconds of a job on one core, before anything is measured.

    The estimate is the time to compile plus, for each step or episode, a constant and a cost per run.
    """
    if isinstance(config, QLearning):
        return 2.0 + config.episodes * (5e-4 + 1e-5 * seeds)
    if isinstance(config, SB3):
        return 5.0 + 5e-4 * config.total_steps * seeds
    alone, each = task.budget.step_seconds
    return 5.0 + config.total_steps * (alone + each * seeds)
