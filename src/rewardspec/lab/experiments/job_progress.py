"""Progress of the jobs: what runs, at what rate, and the estimated remaining time.

Rich could estimate the remaining time of a running job. Most jobs of a study are waiting, so their time is estimated
from the ratio of measured to expected time of similar jobs.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence

from rewardspec.lab.experiments.engines import Advanced, Event, Failed, Finished, Lost, Started
from rewardspec.lab.experiments.jobs import Job

_ENOUGH = 0.02  # fraction of a job after which its speed is extrapolated


@dataclasses.dataclass
class Running:
    """Progress of one job.

    Attributes:
        first: Time and progress of the first report, after preparation.
        done: Progress in the job's unit.
        total: Total in the same unit; 0 while unknown.
        seen: Time of the last report.
    """

    job: Job
    began: float
    first: tuple[float, int] | None = None
    done: int = 0
    total: int = 0
    seen: float = 0.0

    @property
    def share(self) -> float:
        """Fraction done, from 0 to 1."""
        return self.done / self.total if self.total else 0.0

    @property
    def rate(self) -> float | None:
        """Units per second, once known."""
        if self.first is None or self.seen <= self.first[0]:
            return None
        return (self.done - self.first[1]) / (self.seen - self.first[0]) or None

    def seconds_left(self, now: float) -> float | None:
        """Estimated remaining seconds, once known."""
        rate = self.rate
        return None if rate is None else max(0.0, (self.total - self.done) / rate - (now - self.seen))


class JobProgress:
    """Progress of all jobs, updated with the events of an engine; `skipped` had results already."""

    def __init__(
        self, jobs: Sequence[Job], workers: int, skipped: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._waiting = {job.key: job for job in jobs}
        self._measured: list[tuple[Job, float]] = []
        self.began = clock()
        self.running: dict[str, Running] = {}
        self.skipped = skipped
        self.total = len(jobs) + skipped
        self.workers = workers
        self.finished = 0
        self.failed = 0
        self.last_seconds: float | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self.began

    def see(self, event: Event) -> None:
        """Update with an event."""
        now = self._clock()
        match event:
            case Started(job):
                self._waiting.pop(job.key, None)
                self.running[job.key] = Running(job, now)
            case Advanced(job, done, total):
                entry = self.running.setdefault(job.key, Running(job, now))
                entry.first = entry.first or (now, done)
                entry.done, entry.total, entry.seen = done, total, now
            case Finished(job):
                self.finished += 1
                self.last_seconds = self._end(job)
                if self.last_seconds is not None:
                    self._measured.append((job, self.last_seconds))
            case Failed(job):
                self.failed += 1
                self._end(job)
            case Lost(job):
                self._end(job)
                self._waiting[job.key] = job

    def _end(self, job: Job) -> float | None:
        """Remove a job and return its duration; None if its start was not reported."""
        self._waiting.pop(job.key, None)
        entry = self.running.pop(job.key, None)
        return None if entry is None else self._clock() - entry.began

    def seconds_left(self) -> float | None:
        """Estimate the remaining seconds of all jobs; None before anything was measured.

        A waiting job is expected to take its cost times the pace of similar jobs.
        """
        now = self._clock()
        measured = [*self._measured, *self._projections(now)]
        if not measured:
            return None
        left = [self._left(entry, measured, now) for entry in self.running.values()]
        waiting = sum(job.cost * _pace(job, measured) for job in self._waiting.values())
        return max(max(left, default=0.0), (sum(left) + waiting) / self.workers)

    def _projections(self, now: float) -> Iterable[tuple[Job, float]]:
        for entry in self.running.values():
            left = entry.seconds_left(now)
            if left is not None and entry.share >= _ENOUGH:
                yield entry.job, now - entry.began + left

    def _left(self, entry: Running, measured: Sequence[tuple[Job, float]], now: float) -> float:
        left = entry.seconds_left(now)
        if left is not None and entry.share >= _ENOUGH:
            return left
        return max(0.0, entry.job.cost * _pace(entry.job, measured) - (now - entry.began))


def _pace(job: Job, measured: Sequence[tuple[Job, float]]) -> float:
    """Return measured over expected time: of jobs of the same environment, else of the same learner, else of all."""
    for alike in (lambda other: other.task == job.task, lambda other: other.unit == job.unit, lambda other: True):
        seconds = sum(taken for other, taken in measured if alike(other))
        expected = sum(other.cost for other, _ in measured if alike(other))
        if expected > 0.0:
            return seconds / expected
    return 1.0
