"""Logs of training: one row per episode. Export to TensorBoard."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardspec.errors import Error, MissingExtraError
from rewardspec.types import Array, Ints

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter

Progress: TypeAlias = Callable[[int, int], None]
"""Callback with the finished and the total amount of training: episodes of Q-learning, steps of other learners."""

COLUMNS: dict[str, type[np.generic]] = {
    "run": np.int32,
    "end_step": np.int64,
    "length": np.int32,
    "reward": np.float64,
    "base_reward": np.float64,
    "violated": np.bool_,
    "seconds": np.float64,
}
"""Columns of every log and their types; all other columns are measures of success."""


@dataclasses.dataclass(frozen=True)
class TrainingLog:
    """Table of finished episodes, ordered by run, then by episode. M is the number of rows.

    Attributes:
        runs: Number of runs; a run without finished episodes has no row.
        run: Number of the run, from 0, shape (M,).
        end_step: Steps of the run, in all its environments, at the end of the episode, shape (M,).
        length: Steps of the episode, shape (M,).
        reward: Return of the learner, before any normalization, shape (M,).
        base_reward: Sum of the environment's own rewards, shape (M,).
        violated: Whether a veto of the spec was violated by then, shape (M,).
        seconds: Wall-clock time since the start of training, shape (M,).
        measures: The task's measures of success by name, the first one first, each of shape (M,).

    Example:
        >>> rows = dict.fromkeys(COLUMNS, [0, 0]) | {"run": [0, 1], "task_completion": [0.5, 1.0]}
        >>> log = TrainingLog.from_columns(2, rows)
        >>> len(log), log.episodes_of(1), log.task_completion
        (2, slice(1, 2, None), array([0.5, 1. ]))
    """

    runs: int
    run: NDArray[np.int32]
    end_step: NDArray[np.int64]
    length: NDArray[np.int32]
    reward: NDArray[np.float64]
    base_reward: NDArray[np.float64]
    violated: NDArray[np.bool_]
    seconds: NDArray[np.float64]
    measures: Mapping[str, NDArray[np.float64]]

    @classmethod
    def from_columns(cls, runs: int, columns: Mapping[str, ArrayLike]) -> TrainingLog:
        """Make a log from its columns, given as array-likes.

        Raises:
            ValueError: A column is missing, or its length or values are invalid.
        """
        if missing := set(COLUMNS) - set(columns):
            raise ValueError(f"A log needs the columns {', '.join(sorted(missing))} as well.")
        if len(columns) == len(COLUMNS):
            raise ValueError("A log needs a measure of success as well.")
        arrays = {name: np.asarray(column).astype(COLUMNS.get(name, np.float64)) for name, column in columns.items()}
        if len({array.shape for array in arrays.values()}) > 1 or arrays["run"].ndim != 1:
            raise ValueError("The columns of a log should be one-dimensional and of the same length.")
        run = arrays["run"]
        if len(run) and (run[0] < 0 or run[-1] >= runs or (np.diff(run) < 0).any()):
            raise ValueError(f"Episodes should be ordered by run, from 0 to {runs - 1}.")
        measures = {name: array for name, array in arrays.items() if name not in COLUMNS}
        columns_of_all: dict[str, Array] = {name: arrays[name] for name in COLUMNS}
        return cls(runs, **columns_of_all, measures=measures)

    @classmethod
    def empty(cls, runs: int, measures: Iterable[str]) -> TrainingLog:
        """Make an empty log."""
        return cls.from_columns(runs, {name: [] for name in (*COLUMNS, *measures)})

    def __len__(self) -> int:
        """The number of episodes."""
        return len(self.run)

    @property
    def task_completion(self) -> NDArray[np.float64]:
        """The first of the measures."""
        return next(iter(self.measures.values()))

    def columns(self) -> dict[str, Array]:
        """Return the columns by name, each of shape (M,)."""
        return {name: getattr(self, name) for name in COLUMNS} | dict(self.measures)

    def episodes_of(self, run: int) -> slice:
        """Return the rows of one run."""
        low, high = np.searchsorted(self.run, [run, run + 1])
        return slice(int(low), int(high))

    @classmethod
    def concatenate(cls, logs: Iterable[TrainingLog]) -> TrainingLog:
        """Concatenate the runs of several logs and renumber them."""
        parts = list(logs)
        offsets = np.cumsum([0, *(log.runs for log in parts)])
        columns = {name: np.concatenate([log.columns()[name] for log in parts]) for name in parts[0].columns()}
        columns["run"] = np.concatenate([log.run + offset for log, offset in zip(parts, offsets, strict=False)])
        return cls.from_columns(int(offsets[-1]), columns)

    @classmethod
    def ordered(cls, runs: int, columns: Mapping[str, ArrayLike]) -> TrainingLog:
        """Make a log from episodes in the order in which they ended."""
        order = np.argsort(np.asarray(columns["run"]), kind="stable")
        return cls.from_columns(runs, {name: np.asarray(column)[order] for name, column in columns.items()})


# TensorBoard.

_POINTS = 500  # maximum number of points per run; episodes of longer runs are averaged in groups
_CURVES = ("reward", "base_reward", "violated", "length")
"""Columns that are written in addition to the measures of success."""


def check_tensorboard() -> None:
    """Raise an Error unless logs for TensorBoard can be written; call it before training."""
    _writer()


def write_tensorboard(directory: str | os.PathLike[str], name: str, log: TrainingLog, seeds: range) -> Path:
    """Write a log for TensorBoard into the folders `NAME/seed0` and so on; return the folder `NAME`."""
    writer = _writer()
    folder = Path(directory) / name
    began = time.time() - (float(log.seconds.max()) if len(log) else 0.0)
    columns = log.columns()
    try:
        for run, seed in enumerate(seeds):
            with writer(str(folder / f"seed{seed}")) as board:
                for rows in _groups(np.arange(len(log))[log.episodes_of(run)]):
                    step, moment = int(log.end_step[rows[-1]]), began + float(log.seconds[rows[-1]])
                    for curve in (*_CURVES, *log.measures):
                        board.add_scalar(f"episode/{curve}", float(columns[curve][rows].mean()), step, walltime=moment)
    except OSError as error:
        raise Error(f"Cannot write logs for TensorBoard into {str(directory)!r}: {error.strerror}.") from None
    return folder


def _groups(rows: Ints) -> list[Ints]:
    return np.array_split(rows, min(len(rows), _POINTS)) if len(rows) else []


def _writer() -> type[SummaryWriter]:
    try:
        import tensorboardX
    except ImportError:
        raise MissingExtraError("tensorboardX", "tensorboard", "Logging for TensorBoard") from None
    writer: type[SummaryWriter] = tensorboardX.SummaryWriter
    return writer
