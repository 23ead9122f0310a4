"""Writing files so that a reader finds the whole of one or nothing, whatever happens to the writer."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_ENDING = ".part"


def write_whole(path: str | os.PathLike[str], content: bytes | Callable[[BinaryIO], object]) -> None:
    """Write a file under another name, bring it to the disk, and give it its own name.

    Where the path is a link, the file that it leads to is written, and the link stays.

    Args:
        path: Where to write.
        content: What to write, or a function that writes it into a file that it is given, open for bytes.

    Raises:
        OSError: It cannot be written; then nothing is left of it, and what was there before is still there.
    """
    target = Path(path).resolve()
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}{_ENDING}")
    try:
        with open(temporary, "wb") as file:
            if callable(content):
                content(file)
            else:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


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
