"""Worker processes of the local engine, and what workers of every engine share."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from rewardspec.errors import Error
from rewardspec.lab.experiments.engines import Work
from rewardspec.lab.learning.training_log import Progress

_PACE = 0.2
"""Seconds between two reports of progress."""
_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


def serve(connection: Connection[Any, Any], work: Work, threads: int, log: str) -> None:
    """Loop of a worker process: receive jobs through a pipe and send events back.

    Args:
        connection: Jobs come in; `("advanced", done, total)`, `("finished", content)` and `("failed", reason, details)`
            go out.
        work: Does a job.
        threads: How many threads the numerical libraries may use.
        log: The file that takes what is printed here, which would spoil the display of progress.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    _print_into(log)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit_threads(threads)
    with contextlib.suppress(EOFError, OSError):  # the parent has gone, and so does this process
        while True:
            job = connection.recv()
            try:
                content = work(job, throttled(lambda done, total: connection.send(("advanced", done, total)), _PACE))
            except Exception as error:
                connection.send(("failed", *describe_error(error)))
            else:
                connection.send(("finished", content))


def _print_into(log: str) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    with contextlib.suppress(OSError):
        os.unlink(log)  # the parent has it open; nothing is left when both are gone
    faulthandler.enable(2)


def _end_with_parent() -> None:
    """Exit when the parent process does, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# For every engine.


def limit_threads(threads: int) -> None:
    """Let this process compute on so many threads, and not on an accelerator; to be called before JAX is imported.

    Programs this small gain nothing from an accelerator, several processes would fight over its memory, and the same
    seed should give the same numbers on every machine. Whoever wants one nevertheless sets `JAX_PLATFORMS`.
    """
    use_cpu()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["NPROC"] = str(threads)  # the size of XLA's pools of threads
    if threads == 1 and _ONE_THREAD not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_ONE_THREAD}".strip()


def use_cpu() -> None:
    """Let JAX compute on the processor unless the environment says otherwise."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


def throttled(advance: Progress, seconds: float, clock: Callable[[], float] = time.monotonic) -> Progress:
    """A function that passes on the first and the last call, and of the others one every so many seconds.

    Example:
        >>> passed, now = [], iter([0.0, 0.1, 0.6, 0.7])
        >>> tell = throttled(lambda done, total: passed.append(done), 0.5, lambda: next(now))
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


def describe_error(error: Exception) -> tuple[str, str]:
    """Message of an exception, and its traceback unless it is an `Error`, whose message is enough."""
    if isinstance(error, Error):
        return str(error), ""
    return f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)).strip()
