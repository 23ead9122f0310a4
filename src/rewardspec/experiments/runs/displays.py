"""Showing progress: lines that are redrawn on a terminal, and now and then a plain line anywhere else."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from typing import Protocol, TextIO

from rewardspec.experiments.runs.board import Board, Running
from rewardspec.experiments.runs.engines import Event, Failed, Finished, Lost

_REDRAW = 0.1
"""Seconds between two pictures on a terminal."""
_REMIND = 60.0
"""Seconds of silence elsewhere, after which a line says that all is well."""
_BAR = 20
_WIDE = 100
"""Columns from which on there is room for bars."""


class Display(Protocol):
    """Shows how far a reproduction is."""

    def show(self, board: Board, event: Event) -> None:
        """Show what has changed."""
        ...

    def message(self, text: str) -> None:
        """Show a message that stays."""
        ...

    def close(self) -> None:
        """Leave the screen tidy."""
        ...


def display_for(stream: TextIO) -> Display:
    """The display that suits a stream."""
    return Terminal(stream) if stream.isatty() else Plain(stream)


class Plain:
    """A line for each job that ends, and one every minute in between.

    Args:
        stream: Where the lines go.
        clock: The time in seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._spoke = clock()

    def show(self, board: Board, event: Event) -> None:
        """Print a line where something ended, or when nothing was said for long."""
        if isinstance(event, Finished | Failed | Lost):
            self.message(outcome(board, event))
        elif self._clock() - self._spoke >= _REMIND:
            self.message("\n".join([*map(job_line, board.running.values()), total_line(board)]))

    def message(self, text: str) -> None:
        """Print a message."""
        print(text, file=self._stream, flush=True)
        self._spoke = self._clock()

    def close(self) -> None:
        """Nothing is left to do."""


class Terminal:
    """A line for each job that runs and one for the whole, redrawn in place.

    Args:
        stream: The terminal.
        clock: The time in seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._drawn = 0
        self._when = -_REDRAW

    def show(self, board: Board, event: Event) -> None:
        """Draw the lines anew, unless that was done just now."""
        if isinstance(event, Failed | Lost):
            self.message(outcome(board, event))
        if self._clock() - self._when >= _REDRAW:
            self._when = self._clock()
            self._draw(list(self._lines(board)))

    def message(self, text: str) -> None:
        """Print a message above the lines."""
        self._draw([])
        print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """Take the lines away."""
        self._draw([])

    def _lines(self, board: Board) -> Iterator[str]:
        columns, rows = shutil.get_terminal_size()
        room = max(1, rows - 3)
        entries = list(board.running.values())
        for entry in entries[:room]:
            yield job_line(entry, bar=columns >= _WIDE)[: columns - 1]
        if len(entries) > room:
            yield f"… and {len(entries) - room} more"
        yield total_line(board)[: columns - 1]

    def _draw(self, lines: list[str]) -> None:
        """Go back over the old lines, clear what is below, and write the new ones."""
        back = f"\033[{self._drawn}F\033[J" if self._drawn else ""
        if back or lines:
            self._stream.write(back + "".join(f"{line}\n" for line in lines))
            self._stream.flush()
        self._drawn = len(lines)


def outcome(board: Board, event: Finished | Failed | Lost) -> str:
    """What became of a job, on a line; more for one that failed."""
    if isinstance(event, Finished):
        left = board.seconds_left()
        rest = "" if not left or not (board.running or board.total > ended(board)) else f", about {duration(left)} left"
        took = "" if board.last_seconds is None else f" in {duration(board.last_seconds)}"
        return f"[{ended(board)}/{board.total}] {event.job.label}: done{took}{rest}"
    if isinstance(event, Lost):
        return f"{event.job.label}: {event.reason}. It is done again."
    details = f"\n{event.details}" if event.details else ""
    return f"{event.job.label} failed: {event.reason}{details}"


def ended(board: Board) -> int:
    """How many jobs are over, one way or the other."""
    return board.skipped + board.finished + board.failed


def job_line(entry: Running, bar: bool = False) -> str:
    """A running job on a line."""
    label = f"{entry.job.label:<40}"
    if not entry.total:
        return f"{label} preparing"
    filled = int(_BAR * entry.share)
    picture = f" {'█' * filled}{'░' * (_BAR - filled)}" if bar else ""
    rate, left = entry.rate, entry.seconds_left(entry.seen)
    speed = "" if rate is None else f"  {compact(rate):>5} {entry.job.unit}/s"
    rest = "" if left is None else f"  {duration(left)} left"
    return f"{label}{picture} {entry.share:>4.0%}{speed}{rest}"


def total_line(board: Board) -> str:
    """The whole on a line."""
    failed = f", {board.failed} failed" if board.failed else ""
    left = board.seconds_left()
    rest = "" if left is None else f", about {duration(left)} left"
    done = board.skipped + board.finished
    return f"{done} of {board.total} jobs done{failed}; {duration(board.elapsed)} so far{rest}"


def compact(number: float) -> str:
    """A number in a few letters.

    Example:
        >>> [compact(number) for number in (3.14159, 64, 9_584, 71_800, 2_500_000)]
        ['3.1', '64', '9.6k', '72k', '2.5M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= 0.9995 * size:
            return f"{number / size:.{1 if number < 10 * size else 0}f}{letter}"
    return f"{number:.1f}" if number < 10 else f"{number:.0f}"


def duration(seconds: float) -> str:
    """A span of time as a clock shows it.

    Example:
        >>> duration(7.4), duration(75), duration(3725)
        ('7 s', '1:15', '1:02:05')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}:{rest:02}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
