"""What training runs did, episode by episode: `TrainingLog`, and how it is written for TensorBoard."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error, MissingExtraError

Progress: TypeAlias = Callable[[int, int], None]
"""Called by a learner now and then with how much is done, and of how much: episodes of Q-learning, steps of PPO."""

COLUMNS: dict[str, type[np.generic]] = {
    "run": np.int32,
    "end_step": np.int64,
    "length": np.int32,
    "reward": np.float64,
    "base_reward": np.float64,
    "violated": np.bool_,
    "seconds": np.float64,
}
"""What every log has, and its types; all other columns are measures of success."""


@dataclasses.dataclass(frozen=True)
class TrainingLog:
    """One row for each finished episode of each run, ordered by run, then by episode. M is the number of rows.

    Attributes:
        runs: How many runs there were; one that finished no episode has no row.
        run: The run's number, from 0, shape (M,).
        end_step: Steps that the run had taken, in all its environments together, when the episode ended, shape (M,).
        length: Steps of the episode, shape (M,).
        reward: Sum of the rewards that the learner was paid, before any normalization, shape (M,).
        base_reward: Sum of the environment's own rewards, shape (M,).
        violated: Whether a veto of the spec was violated by then, shape (M,).
        seconds: Wall-clock time since training began, all runs of the log together, shape (M,).
        measures: The task's measures of success by name, the first one first, each of shape (M,).

    Example:
        >>> rows = dict.fromkeys(COLUMNS, [0, 0]) | {"run": [0, 1], "task_completion": [0.5, 1.0]}
        >>> log = TrainingLog.of(2, rows)
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
    def of(cls, runs: int, columns: Mapping[str, Any]) -> TrainingLog:
        """A log from its columns, given as anything that NumPy takes for an array.

        Raises:
            ValueError: A column is missing, has another length, or holds what no log can.
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
        return cls(runs, **{name: arrays[name] for name in COLUMNS}, measures=measures)

    @classmethod
    def empty(cls, runs: int, measures: Iterable[str]) -> TrainingLog:
        """The log of runs that have finished no episode."""
        return cls.of(runs, {name: [] for name in (*COLUMNS, *measures)})

    def __len__(self) -> int:
        """The number of episodes."""
        return len(self.run)

    @property
    def task_completion(self) -> NDArray[np.float64]:
        """The first of the measures."""
        return next(iter(self.measures.values()))

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name."""
        return {name: getattr(self, name) for name in COLUMNS} | dict(self.measures)

    def episodes_of(self, run: int) -> slice:
        """The rows of one run."""
        low, high = np.searchsorted(self.run, [run, run + 1])
        return slice(int(low), int(high))

    @classmethod
    def concatenate(cls, logs: Iterable[TrainingLog]) -> TrainingLog:
        """The runs of several logs one after the other, numbered anew."""
        parts = list(logs)
        offsets = np.cumsum([0, *(log.runs for log in parts)])
        columns = {name: np.concatenate([log.columns()[name] for log in parts]) for name in parts[0].columns()}
        columns["run"] = np.concatenate([log.run + offset for log, offset in zip(parts, offsets, strict=False)])
        return cls.of(int(offsets[-1]), columns)

    @classmethod
    def ordered(cls, runs: int, columns: Mapping[str, Any]) -> TrainingLog:
        """A log from episodes in the order in which they ended; each run's own keep that order."""
        order = np.argsort(np.asarray(columns["run"]), kind="stable")
        return cls.of(runs, {name: np.asarray(column)[order] for name, column in columns.items()})


# TensorBoard.

_POINTS = 500
"""A run with more episodes than this gets so many points; nobody sees more, and each takes its time to write."""
_CURVES = ("reward", "base_reward", "violated", "length")
"""What is written of every episode, besides its measures of success."""


def check_tensorboard() -> None:
    """Raise an Error unless logs for TensorBoard can be written; to be asked before training, not after it."""
    _writer()


def write_tensorboard(directory: str | os.PathLike[str], name: str, log: TrainingLog, seeds: range) -> Path:
    """Write a log where TensorBoard looks for it.

    Args:
        directory: TensorBoard's log directory.
        name: What was trained; its runs become `NAME/seed0` and so on.
        log: What the runs did.
        seeds: The seed of each run.

    Returns:
        The folder of the runs.
    """
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


def _groups(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return np.array_split(rows, min(len(rows), _POINTS)) if len(rows) else []


def _writer() -> Any:
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise MissingExtraError("tensorboardX", "tensorboard", "Logging for TensorBoard") from None
    return SummaryWriter
