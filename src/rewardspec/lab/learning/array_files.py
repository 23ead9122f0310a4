"""Archives of arrays, `.npz` files: written the same way every time, and read by readers that trust nothing.

A few hundred kilobytes of compressed zeros can become gigabytes. What an archive declares about its arrays is therefore
compared with what is expected of them before any is read, and one that is read takes no more memory than it declared.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

_HEADER_BYTES = 2**22
"""The longest header of any archive of ours, by far; it holds settings and a spec as text."""
_PREFIX_BYTES = 2**14
"""What comes before the numbers of an array: NumPy itself refuses longer ones."""
_DATE = (1980, 1, 1, 0, 0, 0)  # a file's content should not depend on when it was written
_LEVEL = 1  # logs shrink to a tenth at the fastest level, and little more at the others


class DamagedFileError(ValueError):
    """A file that holds no arrays, or no longer all of them; the message says why, without the file's name."""


class Declared(NamedTuple):
    """What an archive says about one of its arrays."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def write_arrays(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of an archive: a header as JSON, and arrays. The same arrays are the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in {"header": np.array(json.dumps(header)), **arrays}.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), part.getvalue(), zipfile.ZIP_DEFLATED, _LEVEL)
    return buffer.getvalue()


class ArrayFile:
    """An archive that is open for reading; a context manager, which closes it. Nothing is unpickled.

    Args:
        path: The file.

    Attributes:
        declared: What it says about its arrays, by name, the header left out.

    Raises:
        OSError: The file cannot be read.
        DamagedFileError: It is not a whole archive of arrays.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(open(path, "rb"))
            with _damage_told():
                if not zipfile.is_zipfile(file):
                    raise ValueError("it is not a zip file")
                self._archive = stack.enter_context(zipfile.ZipFile(file))
                self._entries = {entry.filename.removesuffix(".npy"): entry for entry in self._archive.infolist()}
                self.declared = {name: self._declaration(entry) for name, entry in self._entries.items()}
            self._header = self.declared.pop("header", None)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def header(self) -> Any:
        """The header, from JSON.

        Raises:
            DamagedFileError: There is none, or it cannot be read.
        """
        if self._header is None:
            raise DamagedFileError("it has no header")
        if math.prod(self._header.shape) * self._header.dtype.itemsize > _HEADER_BYTES:
            raise DamagedFileError(f"its header is longer than {_HEADER_BYTES:,} bytes")
        text = str(self._read("header"))
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DamagedFileError(f"its header cannot be read ({type(error).__name__})") from None

    def read(self) -> dict[str, NDArray[Any]]:
        """The arrays by name, the header left out; look at `declared` first.

        Raises:
            DamagedFileError: An array is damaged.
        """
        return {name: self._read(name) for name in self.declared}

    def _declaration(self, entry: zipfile.ZipInfo) -> Declared:
        with self._archive.open(entry) as file:
            prefix = io.BytesIO(file.read(_PREFIX_BYTES))
        readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = readers[np.lib.format.read_magic(prefix)](prefix)
        if dtype.hasobject:
            raise ValueError(f"{entry.filename!r} holds Python objects, which are not loaded")
        if prefix.tell() + math.prod(shape) * dtype.itemsize != entry.file_size:
            raise ValueError(f"{entry.filename!r} is not as long as it says")
        return Declared(shape, dtype)

    def _read(self, name: str) -> NDArray[Any]:
        with _damage_told():
            # To its end before it is looked into: only then is the sum checked that the archive keeps of it.
            content = self._archive.read(self._entries[name])
            array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        return array


@contextlib.contextmanager
def _damage_told() -> Iterator[None]:
    """The parsers of zip files, compressed streams and array headers raise a dozen kinds of exception between them."""
    try:
        yield
    except Exception as error:
        raise DamagedFileError(str(error) or type(error).__name__) from None
