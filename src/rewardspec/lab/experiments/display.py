"""Progress displays: redrawn lines on a terminal, by rich, and plain lines elsewhere."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO, TypeAlias

from rewardspec.lab.experiments.engines import Event, Failed, Finished, Lost
from rewardspec.lab.experiments.job_progress import JobProgress, Running

if TYPE_CHECKING:
    from rich.console import RenderableType

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
