"""Reading arrays from `.npz` files that anything may have happened to."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class DamagedFileError(ValueError):
    """A file that holds no arrays, or no longer all of them; the message says why, without the file's name."""


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name. Nothing is unpickled.

    Raises:
        OSError: The file cannot be read.
        DamagedFileError: It is no whole archive of arrays.
    """
    content = Path(path).read_bytes()
    try:
        return _arrays(content)
    # The parsers of zip files, compressed streams and array headers raise a dozen kinds of exception between them, and
    # a shape made of nonsense asks for more memory than there is.
    except Exception as error:
        raise DamagedFileError(str(error) or type(error).__name__) from None


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise ValueError("it is not a zip file")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        # Read to its end before it is looked into: only then is the sum checked that the zip file keeps of it.
        parts = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    return {
        name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(part), allow_pickle=False)
        for name, part in parts.items()
    }
