"""Jobs: one environment, one reward, one block of seeds, one configuration; and how one is done."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

REVISION = 2
"""Counted up whenever a change of a learner, an environment or an atom puts older results out of date: `reproduce` then
trains anew, and the older results stay what they were."""


@dataclasses.dataclass(frozen=True)
class Job:
    """What one worker does at one go; its result is one file.

    Attributes:
        task: The environment's name.
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
        """Its seeds."""
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
        """The job for people."""
        seeds = f"seed {self.first}" if self.count == 1 else f"seeds {self.first}-{self.seeds[-1]}"
        return f"{self.task} {self.reward}, {seeds}"

    @property
    def unit(self) -> str:
        """What its progress counts."""
        return "episodes" if hasattr(self.config, "episodes") else "steps"


def digest(settings: Mapping[str, Any], setup: Mapping[str, Any]) -> str:
    """Eight hexadecimal digits that change whenever the configuration does.

    Example:
        >>> digest({"learner": "QLearning", "episodes": 10}, {}) == digest({"episodes": 10, "learner": "QLearning"}, {})
        True
    """
    text = json.dumps([settings, setup], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
