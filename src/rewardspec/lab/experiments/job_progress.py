"""Progress of the jobs: what runs, at what rate, and how long everything will still take.

Rich could estimate the remaining time of a job from the job itself. Most jobs of a study are waiting, so that the
estimate has to come from what jobs like them took, in comparison with what was expected of them.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence

from rewardspec.lab.experiments.engines import Advanced, Event, Failed, Finished, Lost, Started
from rewardspec.lab.experiments.jobs import Job

_ENOUGH = 0.02
"""Share of a job that has to be done before its speed is extrapolated."""


@dataclasses.dataclass
class Running:
    """Progress of one job.

    Attributes:
        job: The job.
        began: When it began.
        first: When it first told how far it was, and how far that was: what comes before is preparation.
        done: How far it is, in its own unit.
        total: What there is to do; 0 while that is unknown.
        seen: When it told so.
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
    """Progress of all jobs, updated with the events of an engine.

    Args:
        jobs: The jobs that are to be done.
        workers: How many are done at the same time.
        skipped: How many were done before.
        clock: The time in seconds.
    """

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
        """Remove a finished job and return how long it took; None if its start was never reported."""
        self._waiting.pop(job.key, None)
        entry = self.running.pop(job.key, None)
        return None if entry is None else self._clock() - entry.began

    def seconds_left(self) -> float | None:
        """Estimated remaining seconds of all jobs; None before anything was measured.

        Jobs that wait are expected to take what their budgets say, times what the jobs most like them have taken in
        comparison with theirs.
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
    """Seconds for each second expected, seen in jobs of the same environment, else of the same learner, else in all."""
    for alike in (lambda other: other.task == job.task, lambda other: other.unit == job.unit, lambda other: True):
        seconds = sum(taken for other, taken in measured if alike(other))
        expected = sum(other.cost for other, _ in measured if alike(other))
        if expected > 0.0:
            return seconds / expected
    return 1.0
