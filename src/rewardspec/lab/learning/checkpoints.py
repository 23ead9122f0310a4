"""Checkpoints of compiled training: files from which it resumes, with the same result as if it had not been stopped."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rewardspec.atomic_files import write_whole
from rewardspec.lab.learning.array_files import ArrayFile, DamagedFileError, write_arrays
from rewardspec.types import JsonObject

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
