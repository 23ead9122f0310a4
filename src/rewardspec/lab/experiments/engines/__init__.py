"""Engines that run jobs: `local` processes, or tasks of a `ray` cluster.

An engine takes jobs and yields events until each job has finished or failed. It does not know what a job computes or
where results are stored, so all engines give the same results.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.learning.training_log import Progress

Work: TypeAlias = Callable[[Job, Progress], bytes]
"""Function that runs a job and returns the content of its result file; must be picklable."""


@dataclasses.dataclass(frozen=True)
class Started:
    """A worker started a job, possibly again."""

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
    """A job failed for a reason, a sentence; `details` are the traceback or the worker's last output, or empty."""

    job: Job
    reason: str
    details: str = ""


@dataclasses.dataclass(frozen=True)
class Idle:
    """No event within the timeout; displays update their clocks."""


Event: TypeAlias = Started | Advanced | Finished | Lost | Failed | Idle


class Engine(Protocol):
    """Runs jobs."""

    @property
    def workers(self) -> int:
        """Number of jobs that run at the same time."""
        ...

    def run(self, jobs: Sequence[Job], work: Work) -> Iterator[Event]:
        """Run jobs and yield events; closing the iterator stops what is still running."""
        ...
