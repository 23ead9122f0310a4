"""Progress of jobs, and its display: redrawn lines on a terminal, by rich, and plain lines elsewhere.

Rich could estimate the remaining time of a running job. Most jobs of a study are waiting, so their time is estimated
from the ratio of measured to expected time of similar jobs.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TextIO, TypeAlias

from rewardspec.lab.experiments.engines import Advanced, Event, Failed, Finished, Lost, Started
from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.learning.settings import Config, QLearning

if TYPE_CHECKING:
    from rich.console import RenderableType

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


_REDRAW = 0.1  # seconds between redraws on a terminal
_REMIND = 60.0  # seconds without output after which a plain display prints a status
_BAR = 20
_WIDE = 100  # minimum number of columns for progress bars


def display_for(stream: TextIO) -> Display:
    """Choose the display for a stream: rich on a terminal, if it is installed, else plain lines."""
    has_rich = importlib.util.find_spec("rich") is not None
    return Terminal(stream) if stream.isatty() and has_rich else Plain(stream)


class Plain:
    """Display that prints a line for each job that ends, and a status every minute."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._spoke = clock()

    def show(self, progress: JobProgress, event: Event) -> None:
        """Print a line if a job ended, or the status after a minute without output."""
        if isinstance(event, Finished | Failed | Lost):
            self.message(outcome(progress, event))
        elif self._clock() - self._spoke >= _REMIND:
            jobs = ("  ".join(filter(None, job_texts(entry))) for entry in progress.running.values())
            self.message("\n".join([*jobs, total_line(progress)]))

    def message(self, text: str) -> None:
        """Print a message."""
        print(text, file=self._stream, flush=True)
        self._spoke = self._clock()

    def close(self) -> None:
        """Do nothing."""


class Terminal:
    """Display that redraws a line for each running job and a total."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
        # No refresh thread: it would read the progress while it changes.
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._clock = clock
        self._when = -_REDRAW

    def show(self, progress: JobProgress, event: Event) -> None:
        """Redraw the lines, at most every 0.1 seconds."""
        if isinstance(event, Failed | Lost):
            self.message(outcome(progress, event))
        if self._clock() - self._when >= _REDRAW:
            self._when = self._clock()
            self._live.start()
            self._live.update(self._picture(progress), refresh=True)

    def message(self, text: str) -> None:
        """Print a message above the lines."""
        self._console.print(text)

    def close(self) -> None:
        """Remove the lines."""
        self._live.stop()

    def _picture(self, progress: JobProgress) -> RenderableType:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        lines = Table.grid(padding=(0, 1))
        for _ in range(5):
            lines.add_column(no_wrap=True)
        room = max(1, self._console.height - 3)
        entries = list(progress.running.values())
        for entry in entries[:room]:
            label, share, speed, left = job_texts(entry)
            bar = ProgressBar(1.0, entry.share, _BAR) if self._console.width >= _WIDE and entry.total else Text()
            lines.add_row(Text(label), bar, Text(share), Text(speed), Text(left))
        more = [f"… and {len(entries) - room} more"] * (len(entries) > room)
        return Group(lines, *(Text(line, no_wrap=True) for line in (*more, total_line(progress))))


Display: TypeAlias = Plain | Terminal
"""Shows the progress of jobs."""


def announcement(jobs: Sequence[Job]) -> str:
    """Describe in a line what is about to be trained, because the first job may end much later.

    Example:
        >>> announcement([Job("frozen_lake", reward, 0, 5, QLearning(episodes=2000)) for reward in ("base", "boolean")])
        'Training frozen_lake with base, boolean: 2 jobs, 10 runs of 2,000 episodes.'
    """
    tasks, rewards = (
        list(dict.fromkeys(names)) for names in zip(*((job.task, job.reward) for job in jobs), strict=True)
    )
    where = tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks"
    lengths = {budget(job.config) for job in jobs}
    runs = sum(job.count for job in jobs)
    each = f" of {lengths.pop()}" if len(lengths) == 1 else ""
    counts = f"{len(jobs)} job{'s' * (len(jobs) != 1)}, {runs} run{'s' * (runs != 1)}{each}"
    return f"Training {where} with {', '.join(rewards)}: {counts}."


def budget(config: Config) -> str:
    """Describe how long a run is.

    Example:
        >>> budget(QLearning(episodes=2000))
        '2,000 episodes'
    """
    return f"{config.episodes:,} episodes" if isinstance(config, QLearning) else f"{config.total_steps:,} steps"


def outcome(progress: JobProgress, event: Finished | Failed | Lost) -> str:
    """Describe the end of a job in a line, or in several for a failure."""
    if isinstance(event, Finished):
        left = progress.seconds_left()
        rest = (
            ""
            if not left or not (progress.running or progress.total > ended(progress))
            else f", about {duration(left)} left"
        )
        took = "" if progress.last_seconds is None else f" in {duration(progress.last_seconds)}"
        return f"[{ended(progress)}/{progress.total}] {event.job.label}: done{took}{rest}"
    if isinstance(event, Lost):
        return f"{event.job.label}: {event.reason}. It is restarted."
    details = f"\n{event.details}" if event.details else ""
    return f"{event.job.label} failed: {event.reason}{details}"


def ended(progress: JobProgress) -> int:
    """Return the number of jobs that have finished or failed."""
    return progress.skipped + progress.finished + progress.failed


def job_texts(entry: Running) -> tuple[str, str, str, str]:
    """Describe a running job: label, fraction done, speed and remaining time."""
    if not entry.total:
        return entry.job.label, "", "preparing", ""
    rate, left = entry.rate, entry.seconds_left(entry.seen)
    speed = "" if rate is None else f"{compact(rate):>5} {entry.job.unit}/s"
    return entry.job.label, f"{entry.share:>4.0%}", speed, "" if left is None else f"{duration(left)} left"


def total_line(progress: JobProgress) -> str:
    """Describe the progress of all jobs in a line."""
    failed = f", {progress.failed} failed" if progress.failed else ""
    left = progress.seconds_left()
    rest = "" if left is None else f", about {duration(left)} left"
    done = progress.skipped + progress.finished
    return f"{done} of {progress.total} jobs done{failed}; {duration(progress.elapsed)} so far{rest}"


def compact(number: float) -> str:
    """Format a number with at most four characters.

    Example:
        >>> [compact(number) for number in (3.14159, 64, 9_584, 71_800, 2_500_000, 2_747_966_226)]
        ['3.1', '64', '9.6k', '72k', '2.5M', '2.7G']
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= 0.9995 * size:
            return f"{number / size:.{1 if number < 10 * size else 0}f}{letter}"
    return f"{number:.1f}" if number < 10 else f"{number:.0f}"


def duration(seconds: float) -> str:
    """Format a duration.

    Example:
        >>> duration(7.4), duration(75), duration(3725)
        ('7 s', '1 min 15 s', '1 h 2 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
