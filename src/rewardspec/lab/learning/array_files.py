"""Reproducible `.npz` files, read without trust; and checkpoints of compiled training in such files.

A few hundred kilobytes of compressed zeros can expand to gigabytes. Callers therefore check the declared shapes before
reading, and reading an array takes no more memory than it declares.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from rewardspec.atomic_files import write_whole
from rewardspec.types import Array, Json, JsonObject

_HEADER_BYTES = 2**22  # maximum size of a header, which holds settings and a spec as text
_PREFIX_BYTES = 2**14  # maximum size of the NumPy header of an array
_DATE = (1980, 1, 1, 0, 0, 0)  # the content does not depend on the time of writing
_LEVEL = 1  # the fastest level compresses logs to a tenth; others gain little


class DamagedFileError(ValueError):
    """A file that is not a complete archive of arrays; the message gives the reason without the file's name."""


class Declared(NamedTuple):
    """Declared shape and type of an array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def write_arrays(header: Json, arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Encode an archive: a header as JSON, and arrays. Equal arrays give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in {"header": np.array(json.dumps(header)), **arrays}.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), part.getvalue(), zipfile.ZIP_DEFLATED, _LEVEL)
    return buffer.getvalue()


class ArrayFile:
    """An archive open for reading, as a context manager. Nothing is unpickled.

    `declared` has the declared shapes and types by name, without the header. A file that is not a complete archive of
    arrays raises a DamagedFileError.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(open(path, "rb"))
            with _as_damage():
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

    def header(self) -> Json:
        """Read the header."""
        if self._header is None:
            raise DamagedFileError("it has no header")
        if math.prod(self._header.shape) * self._header.dtype.itemsize > _HEADER_BYTES:
            raise DamagedFileError(f"its header is longer than {_HEADER_BYTES:,} bytes")
        text = str(self._read("header"))
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DamagedFileError(f"its header cannot be read ({type(error).__name__})") from None

    def read(self) -> dict[str, Array]:
        """Read the arrays by name, without the header. Check `declared` first."""
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

    def _read(self, name: str) -> Array:
        with _as_damage():
            # Read the entry to its end first, because only then does zipfile verify its checksum.
            content = self._archive.read(self._entries[name])
            return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


@contextlib.contextmanager
def _as_damage() -> Iterator[None]:
    """Convert the many exceptions of the zip, zlib and array parsers to `DamagedFileError`."""
    try:
        yield
    except Exception as error:
        raise DamagedFileError(str(error) or type(error).__name__) from None


FORMAT = "rewardspec checkpoint 1"
_PACE = 5.0  # seconds between two checkpoints
Tree = TypeVar("Tree")


class Checkpoint:
    """The file of one training, written as a whole or not at all, every `pace` seconds at most.

    `identity` is what is trained, in plain values. A file of anything else is ignored and overwritten.
    """

    def __init__(self, path: str | os.PathLike[str], identity: JsonObject, pace: float = _PACE) -> None:
        self.path = Path(path)
        self.identity = identity
        self.pace = pace
        self._last = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether enough time has passed since the last write."""
        return time.monotonic() - self._last >= self.pace

    def save(self, tree: Any, columns: Mapping[str, NDArray[Any]], done: int, seconds: float) -> None:
        """Write the state after `done` updates."""
        header = {"format": FORMAT, "identity": self.identity, "done": done, "seconds": seconds}
        arrays = {f"leaf{k}": array for k, array in enumerate(leaves_of(tree))}
        arrays |= {f"column_{name}": column for name, column in columns.items()}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, write_arrays(header, arrays))
        self._last = time.monotonic()

    def load(self, tree: Any) -> tuple[list[NDArray[Any]], dict[str, NDArray[Any]], int, float] | None:
        """Return leaves of the state, columns of the log, updates done and seconds, or None where they are not there.

        So it is where there is no file, it is damaged, or it is of another training.
        `tree` is a state of the program; that of the file has leaves of the same shapes and types.
        """
        expected = [(array.shape, array.dtype) for array in leaves_of(tree)]
        try:
            with ArrayFile(self.path) as file:
                header = file.header()
                if header["format"] != FORMAT or header["identity"] != self.identity:
                    return None
                declared = [file.declared[f"leaf{k}"] for k in range(len(expected))]
                if [(one.shape, one.dtype) for one in declared] != expected:
                    return None
                arrays = file.read()
                done, seconds = int(header["done"]), float(header["seconds"])
        except (OSError, DamagedFileError, KeyError, TypeError, ValueError):
            return None
        columns = {name.removeprefix("column_"): array for name, array in arrays.items() if name.startswith("column_")}
        return [arrays[f"leaf{k}"] for k in range(len(expected))], columns, done, seconds

    def remove(self) -> None:
        """Remove the file, when the training is over."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)


def leaves_of(tree: Any) -> list[NDArray[Any]]:
    """Return the leaves of a pytree of JAX arrays as NumPy arrays; of random keys, their numbers."""
    import jax

    return [np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf) for leaf in jax.tree.leaves(tree)]


def restored_tree(tree: Tree, leaves: list[NDArray[Any]]) -> Tree:
    """Return a pytree of the same structure with other leaves, on the device where JAX computes."""
    import jax

    old, structure = jax.tree.flatten(tree)
    new = [
        jax.random.wrap_key_data(jax.device_put(array), impl=jax.random.key_impl(leaf))
        if _is_key(leaf)
        else jax.device_put(array)
        for leaf, array in zip(old, leaves, strict=True)
    ]
    found: Tree = jax.tree.unflatten(structure, new)
    return found


def _is_key(leaf: Any) -> bool:
    import jax

    return isinstance(leaf, jax.Array) and bool(jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key))
