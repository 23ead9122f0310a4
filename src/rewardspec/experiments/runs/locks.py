"""A lock on a directory that one process holds, and that falls when the process does."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rewardspec.errors import Error

_fcntl: Any = None
with contextlib.suppress(ImportError):  # absent on Windows, where the number in the file has to do
    import fcntl

    _fcntl = fcntl


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock; the file says which process does.

    Raises:
        Error: Another process holds it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if not _take(descriptor):
            raise Error(
                f"Another process{_holder(descriptor)} is writing into {str(path.parent)!r}. "
                "Wait until it has finished, end it, or give another directory."
            )
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)  # which gives the lock back


def _take(descriptor: int) -> bool:
    """Take the system's lock on an open file. The system gives it back when the process ends, however it ends."""
    if _fcntl is None:
        return not _is_running(_pid(descriptor))
    try:
        _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return not _is_running(_pid(descriptor))
    return True


def _pid(descriptor: int) -> int:
    os.lseek(descriptor, 0, os.SEEK_SET)
    text = os.read(descriptor, 32)
    return int(text) if text.strip().isdigit() else 0


def _holder(descriptor: int) -> str:
    pid = _pid(descriptor)
    return f" (number {pid})" if pid else ""


def _is_running(pid: int) -> bool:
    if pid in (0, os.getpid()):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
