"""Telling progress often enough for people, and not so often that it costs time."""

from __future__ import annotations

import time
from collections.abc import Callable

from rewardspec.learning.progress import Progress


def paced(advance: Progress, seconds: float, clock: Callable[[], float] = time.monotonic) -> Progress:
    """A function that passes on the first and the last call, and of the others one every so many seconds.

    Example:
        >>> passed, now = [], iter([0.0, 0.1, 0.6, 0.7])
        >>> tell = paced(lambda done, total: passed.append(done), 0.5, lambda: next(now))
        >>> for done in (1, 2, 3, 4):
        ...     tell(done, 4)
        >>> passed
        [1, 3, 4]
    """
    last: float | None = None

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = clock()
        if last is None or done >= total or now - last >= seconds:
            last = now
            advance(done, total)

    return tell
