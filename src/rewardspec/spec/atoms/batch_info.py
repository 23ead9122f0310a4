"""The `info` of a batch, as atoms read it: an array for each key, and never a number that no environment gave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import LabelError
from rewardspec.machines.namespaces import namespace_of
from rewardspec.types import Array, Info, InfoDict, Number


class MissingEntryError(LabelError):
    """An entry of `info` that some environments have and others lack; `environment` is the first of the latter."""

    environment: int | None = None


class BatchInfo(Mapping[str, Any]):
    """A view of a vector environment's infos, or of recorded ones, that reads like the `info` of one environment.

    Gymnasium's vector environments give a dict with an array for each key and beside it, under `_key`, a mask of the
    environments that have the key; elsewhere the array holds zeros. Here a key that some of the environments lack is
    an error, so that no label is made of such a zero.

    Args:
        infos: For each key an array whose first axis is the batch, or a dict of the same kind; with masks or without.
        size: The size of that axis: the number of environments, or of recorded steps.
        rows: Which of them, as indices; None for all.

    Example:
        >>> infos = {"lives": np.array([3, 0, 1]), "_lives": np.array([True, False, True])}
        >>> BatchInfo(infos, 3, np.array([0, 2]))["lives"]
        array([3, 1])
        >>> BatchInfo(infos, 3).get("lives", 5)
        array([3, 5, 1])
        >>> BatchInfo(infos, 3)["lives"]
        Traceback (most recent call last):
          ...
        rewardspec.spec.atoms.batch_info.MissingEntryError: info has no 'lives' in environment 1, and has it in \
others. Let every environment give it in every step and at reset, or say what counts without it: info.get('lives', 0).
    """

    def __init__(self, infos: Info, size: int, rows: NDArray[np.intp] | None = None, *, _outer: str = "info") -> None:
        if not isinstance(infos, Mapping):
            raise LabelError(
                f"`info` of a batch should be a dict of arrays, as vector environments give it. Received a "
                f"{type(infos).__name__}."
            )
        self._infos = infos
        self._size = size
        self._rows = rows
        self._outer = _outer

    def __getitem__(self, key: str) -> Number:
        present = self._present(key)
        if not present.all():
            if not present.any():
                raise KeyError(key)
            raise self._missing(key, present)
        return self._values(key)

    def get(self, key: str, default: Number = None) -> Number:
        """The values of a key, and the default in those environments that lack it."""
        present = self._present(key)
        if not present.any():
            return default
        if present.all():
            return self._values(key)
        values = self._values(key)
        if default is None or not isinstance(values, np.ndarray):
            raise self._missing(key, present)
        return np.where(present.reshape(-1, *[1] * (values.ndim - 1)), values, default)

    def __contains__(self, key: object) -> bool:
        present = self._present(key)
        if present.any() and not present.all():
            raise self._missing(key, present)
        return bool(present.all())

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._infos if not self._is_mask(key))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def row(self, index: int) -> InfoDict:
        """The info of one element of the batch, as its environment alone would give it."""
        found: dict[str, Array] = {}
        for key in self:
            if self._present(key)[index]:
                values = self._values(key)
                found[key] = values.row(index) if isinstance(values, BatchInfo) else values[index]
        return found

    def part(self, index: int) -> BatchInfo:
        """The view of one element, as a batch of one."""
        return BatchInfo(self._infos, self._size, np.array([index if self._rows is None else self._rows[index]]))

    def _is_mask(self, key: object) -> bool:
        return isinstance(key, str) and key.startswith("_") and key[1:] in self._infos

    def _present(self, key: object) -> NDArray[np.bool_]:
        """Mask of the elements that have the key."""
        if key not in self._infos or self._is_mask(key):
            present = np.zeros(self._size, dtype=np.bool_)
        else:
            present = np.asarray(self._infos.get(f"_{key}", np.ones(self._size, dtype=np.bool_)), dtype=np.bool_)
        return present if self._rows is None else present[self._rows]

    def _values(self, key: str) -> Number:
        values = self._infos[key]
        name = f"{self._outer}[{key!r}]"
        if isinstance(values, Mapping):
            return BatchInfo(values, self._size, self._rows, _outer=name)
        if namespace_of(values) is None:
            values = np.asarray(values)
        if tuple(values.shape[:1]) != (self._size,):
            raise LabelError(
                f"{name} should have one entry for each of the {self._size} elements of the batch. "
                f"Received shape {tuple(values.shape)}."
            )
        values = values if self._rows is None else values[self._rows]
        return _as_numbers(values) if values.dtype == object else values

    def _missing(self, key: object, present: NDArray[np.bool_]) -> MissingEntryError:
        lacking = np.flatnonzero(~present)
        number = int(lacking[0] if self._rows is None else self._rows[lacking[0]])
        error = MissingEntryError(
            f"{self._outer} has no {key!r} in environment {number}, and has it in others. Let every environment give "
            f"it in every step and at reset, or say what counts without it: info.get({key!r}, 0)."
        )
        error.environment = number
        return error


def _as_numbers(values: np.ndarray) -> np.ndarray:
    """Tuples and lists of numbers, which Gymnasium keeps as objects, as an array with one more axis; else as it is."""
    try:
        numbers = np.array(values.tolist())
    except ValueError:  # of different lengths
        return values
    return numbers if numbers.dtype.kind in "fbiu" else values


def stack_infos(infos: Sequence[Info]) -> InfoDict:
    """The infos of single steps or environments, as vector environments give them: arrays with masks.

    Example:
        >>> stack_infos([{"lives": 3}, {"lives": 2, "won": 1}])
        {'lives': array([3, 2]), '_lives': array([ True,  True]), 'won': array([1, 1]), '_won': array([False,  True])}
    """
    columns: InfoDict = {}
    for key in dict.fromkeys(key for info in infos for key in info):
        present = np.array([key in info for info in infos])
        some = infos[int(np.argmax(present))][key]  # stands where there is none, behind the mask
        values = [info.get(key, some) for info in infos]
        if isinstance(some, Mapping):
            columns[key] = stack_infos([value if here else {} for value, here in zip(values, present, strict=True)])
        else:
            try:
                columns[key] = np.array(values)
            except ValueError:  # of different shapes
                columns[key] = np.fromiter(values, dtype=object, count=len(values))
        columns[f"_{key}"] = present
    return columns


def with_final_info(infos: Info, ended: NDArray[np.bool_]) -> InfoDict:
    """The infos of a step's transitions where an environment whose episode `ended` was reset within the step.

    In Gymnasium's autoreset mode `SAME_STEP`, such an environment's info is that of its reset, and that of the final
    transition is in `final_info`.

    Example:
        >>> final = {"x": np.array([0, 9]), "_x": np.array([False, True])}
        >>> infos = {"x": np.array([5, 1]), "_x": np.array([True, True]), "final_info": final}
        >>> with_final_info(infos, np.array([False, True]))
        {'x': array([5, 9]), '_x': array([ True,  True])}
    """
    kept = {key: value for key, value in infos.items() if key.lstrip("_") not in ("final_info", "final_obs")}
    return _joined(kept, infos.get("final_info", {}), ended)


def _joined(infos: Info, finals: Info, ended: NDArray[np.bool_]) -> InfoDict:
    joined: InfoDict = {}
    views = BatchInfo(infos, ended.size), BatchInfo(finals, ended.size)
    for key in dict.fromkeys([*views[0], *views[1]]):
        one, other = infos.get(key, {}), finals.get(key, {})
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            joined[key] = _joined(one, other, ended)
        elif isinstance(one, Mapping) or isinstance(other, Mapping):  # only one of the two has it
            joined[key] = other if isinstance(one, Mapping) else one
        else:
            joined[key] = np.where(ended.reshape(-1, *[1] * (np.ndim(one) - 1)), other, one)
        joined[f"_{key}"] = np.where(ended, views[1]._present(key), views[0]._present(key))
    return joined
