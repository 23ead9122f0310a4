"""Writing files so that a reader finds the whole of one or nothing, whatever happens to the writer."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path

from rewardspec.errors import Error

_ENDING = ".part"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name, bring it to the disk, and give it its own name.

    Raises:
        OSError: It cannot be written; then nothing is left of it, and what was there before is still there.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}{_ENDING}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def _sync_directory(directory: Path) -> None:
    """Bring the new name to the disk as well, where directories can be opened for that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_leftovers(directory: Path) -> None:
    """Remove what writers that died in the middle have left."""
    for path in directory.glob(f".*{_ENDING}"):
        with contextlib.suppress(OSError):
            path.unlink()


def check_writable(directory: Path) -> None:
    """Make a directory, and write something into it to see that this can be done.

    Raises:
        Error: It cannot.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / ".probe"
        write_whole(probe, bytes(1 << 16))
        probe.unlink()
    except OSError as error:
        raise Error(
            f"Cannot write into {str(directory)!r}: {error.strerror}. Nothing was trained. "
            "Make room or set its permissions, or give another directory."
        ) from None
