"""Entries of a vector environment's infos, as Gymnasium arranges them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def note(infos: dict[str, Any], key: str, values: NDArray[Any], mask: NDArray[np.bool_]) -> None:
    """Add an entry and the mask `_key` that tells which environments it is about; zeros stand for the others.

    The values become the entry's own: they are written over where the mask is false. Like Gymnasium, adds nothing
    where it is about none.

    Example:
        >>> infos = {}
        >>> note(infos, "length", np.array([3, 4]), np.array([True, False]))
        >>> infos
        {'length': array([3, 0]), '_length': array([ True, False])}
    """
    count = np.count_nonzero(mask)
    if count == 0:
        return
    if count < mask.size:
        values[~mask] = 0
    infos[key], infos[f"_{key}"] = values, mask.copy()


def note_all(infos: dict[str, Any], **entries: NDArray[Any]) -> None:
    """Add entries that are about every environment; they share one mask.

    Example:
        >>> infos = {}
        >>> note_all(infos, length=np.array([3, 4]))
        >>> infos
        {'length': array([3, 4]), '_length': array([ True,  True])}
    """
    mask: NDArray[np.bool_] | None = None
    for key, values in entries.items():
        mask = np.ones(len(values), dtype=np.bool_) if mask is None else mask
        infos[key], infos[f"_{key}"] = values, mask
