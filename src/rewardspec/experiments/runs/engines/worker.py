"""What runs in a worker process of the local engine."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any

from rewardspec.errors import Error
from rewardspec.experiments.runs.engines import Work
from rewardspec.experiments.runs.engines.pacing import paced
from rewardspec.experiments.runs.engines.resources import keep_to_cores

_PACE = 0.2
"""Seconds between two words on progress."""


def serve(connection: Connection[Any, Any], work: Work, threads: int, log: str) -> None:
    """Do the jobs that come through a connection, and send news of them back.

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
    keep_to_cores(threads)
    with contextlib.suppress(EOFError, OSError):  # the parent has gone, and so does this process
        while True:
            job = connection.recv()
            try:
                content = work(job, paced(lambda done, total: connection.send(("advanced", done, total)), _PACE))
            except Exception as error:
                connection.send(("failed", *told(error)))
            else:
                connection.send(("finished", content))


def told(error: Exception) -> tuple[str, str]:
    """An exception for people: a sentence, and the traceback where it is not one that was raised for them."""
    if isinstance(error, Error):
        return str(error), ""
    return f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)).strip()


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
    """End when the process that started this one does, even if that was killed and could not say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
