"""Worker processes of the local engine, and functions shared by the workers of all engines."""

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

from rewardspec.errors import Error
from rewardspec.lab.experiments.engines import Work
from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.learning.training_log import Progress

_PACE = 0.2  # seconds between progress reports
_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


def serve(
    connection: Connection[tuple[object, ...], Job], work: Work, threads: int, log: str, accelerated: bool = False
) -> None:
    """Run the loop of a worker process: receive jobs through a pipe and send events back.

    Events are `("advanced", done, total)`, `("finished", content)` and `("failed", reason, details)`. Output of this
    process, which would disturb the progress display, goes to the file `log`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    _print_into(log)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    limit_threads(threads, accelerated=accelerated)
    with contextlib.suppress(EOFError, OSError):  # the parent is gone
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
        os.unlink(log)  # the parent has it open; the file vanishes with both processes
    faulthandler.enable(2)


def _end_with_parent() -> None:
    """Exit when the parent process does, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


# Shared by all engines.


def limit_threads(threads: int, *, accelerated: bool = False) -> None:
    """Limit the threads of the numerical libraries and keep this process on the CPU, before JAX is imported.

    Programs of the host's learners gain nothing from an accelerator, several processes would compete for its memory,
    and the same seed should give the same numbers on every machine. Set `JAX_PLATFORMS` to override this. Jobs that are
    compiled for a device need it: `accelerated` leaves JAX all of them.
    """
    if accelerated:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # workers share its memory
    else:
        use_cpu()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    os.environ["NPROC"] = str(threads)  # size of XLA's thread pools
    if threads == 1 and _ONE_THREAD not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_ONE_THREAD}".strip()


def use_cpu() -> None:
    """Make JAX use the CPU unless `JAX_PLATFORMS` is set."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


def throttled(advance: Progress, seconds: float, clock: Callable[[], float] = time.monotonic) -> Progress:
    """Limit a progress callback to one call every `seconds`, plus the first and the last.

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
    """Return the message of an exception and its traceback; the traceback of an `Error` is left out."""
    if isinstance(error, Error):
        return str(error), ""
    return f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)).strip()
