"""Where jobs run: `local` processes, or tasks of a `ray` cluster.

An engine takes jobs and says what happens to them, event by event, until each is finished or has failed. It knows
neither what a job does nor where results are kept, so that all engines give the same results.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.learning.training_log import Progress

Work: TypeAlias = Callable[[Job, Progress], bytes]
"""Function that does a job and returns the content of its result file; must be picklable."""


@dataclasses.dataclass(frozen=True)
class Started:
    """A worker started a job, perhaps not for the first time."""

    job: Job


@dataclasses.dataclass(frozen=True)
class Advanced:
    """Progress of a job."""

    job: Job
    done: int
    total: int


@dataclasses.dataclass(frozen=True)
class Finished:
    """A job finished with this result."""

    job: Job
    content: bytes


@dataclasses.dataclass(frozen=True)
class Lost:
    """The worker of a job died; the job is restarted."""

    job: Job
    reason: str


@dataclasses.dataclass(frozen=True)
class Failed:
    """A job failed.

    Attributes:
        job: The job.
        reason: Why, in a sentence.
        details: The traceback, or what the worker printed last; may be empty.
    """

    job: Job
    reason: str
    details: str = ""


@dataclasses.dataclass(frozen=True)
class Idle:
    """No news for a moment, so that displays can update their clocks."""


Event: TypeAlias = Started | Advanced | Finished | Lost | Failed | Idle


class Engine(Protocol):
    """Runs jobs."""

    @property
    def workers(self) -> int:
        """How many jobs run at the same time."""
        ...

    def run(self, jobs: Sequence[Job], work: Work) -> Iterator[Event]:
        """Run jobs and yield events; closing the iterator stops what is still running."""
        ...
