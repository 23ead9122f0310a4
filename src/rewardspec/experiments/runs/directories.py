"""Looking whether a directory takes files, before anything is trained whose results belong there."""

from __future__ import annotations

from pathlib import Path

from rewardspec.atomic_files import write_whole
from rewardspec.errors import Error


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
