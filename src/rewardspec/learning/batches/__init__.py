"""Many copies of one environment, stepped together: where PPO's experience comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from rewardspec.errors import Error, did_you_mean
from rewardspec.learning.batches.batch import EnvBatch
from rewardspec.learning.batches.classic import CLASSIC, ClassicBatch
from rewardspec.learning.batches.looped import LoopedBatch
from rewardspec.learning.batches.pooled import POOLED, PooledBatch
from rewardspec.tasks.task import Task

__all__ = ["POOLED", "ClassicBatch", "EnvBatch", "LoopedBatch", "PooledBatch", "Source", "make_batch"]

Source = Literal["gymnasium", "envpool"]
"""Where environments come from for which there is no array physics."""


def make_batch(task: Task, seeds: Sequence[int], source: Source = "gymnasium") -> EnvBatch:
    """The quickest batch there is for a task: array physics where it has been written, else one from the source.

    Args:
        task: The task.
        seeds: The seed of each copy's first reset.
        source: `"gymnasium"` for its environments in a loop; `"envpool"` for those that EnvPool has.

    Raises:
        Error: There is no such source.
        MissingExtraError: It is not installed.
    """
    if source not in get_args(Source):
        known = get_args(Source)
        raise Error(f"`source` should be one of {', '.join(known)}. Received {source!r}.{did_you_mean(source, known)}")
    if task.name in CLASSIC:
        return ClassicBatch(task, seeds)
    return PooledBatch(task, seeds) if source == "envpool" and task.name in POOLED else LoopedBatch(task, seeds)
