"""Training logs for TensorBoard: a folder for each run, a point for each episode, or for the mean of a few in a row."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error, MissingExtraError
from rewardspec.learning.logs import TrainingLog

_POINTS = 500
"""A run with more episodes than this gets so many points; nobody sees more, and each takes its time to write."""
_CURVES = ("reward", "base_reward", "task_completion", "violated", "length")


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
                    for curve in _CURVES:
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
