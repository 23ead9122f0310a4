"""Which job is next: long ones first, and those of one environment on one worker where that saves time.

Long jobs first keeps all workers busy till the end, when short ones fill the gaps. A worker that stays with an
environment finds its programs compiled already where the arrays have the same shapes, which matters for short jobs.
"""

from __future__ import annotations

from collections.abc import Iterable

from rewardspec.experiments.runs.jobs import Job

_WARM = 10.0
"""Seconds that a job may be shorter than another and still be next, since the worker was at its environment last."""
_ALONE = 5.0
"""Likewise, since no other worker is at its environment."""


class Agenda:
    """The jobs that wait.

    Example:
        >>> jobs = [Job("a", "base", 0, 1, None, {}, 2.0), Job("b", "base", 0, 1, None, {}, 9.0)]
        >>> agenda = Agenda(jobs + [Job("a", "best", 0, 1, None, {}, 1.0)])
        >>> first, second = agenda.take(), agenda.take(busy=["b"])
        >>> first.task, second.task, agenda.take("a").reward
        ('b', 'a', 'best')
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._waiting = list(jobs)

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, job: Job) -> None:
        """Let a job wait again."""
        self._waiting.append(job)

    def take(self, last: str | None = None, busy: Iterable[str] = ()) -> Job:
        """The next job.

        Args:
            last: The environment of the worker's last job.
            busy: The environments that other workers are at.
        """
        others = set(busy)

        def rank(job: Job) -> float:
            return job.cost + _WARM * (job.task == last) + _ALONE * (job.task not in others)

        job = max(self._waiting, key=rank)  # the earliest of equals
        self._waiting.remove(job)
        return job
