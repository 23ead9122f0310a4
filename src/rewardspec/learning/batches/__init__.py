"""Many copies of one environment, stepped together: where PPO's experience comes from."""

from __future__ import annotations

from collections.abc import Sequence

from rewardspec.envs.task import Task
from rewardspec.learning.batches.batch import EnvBatch
from rewardspec.learning.batches.classic import CLASSIC, ClassicBatch
from rewardspec.learning.batches.looped import LoopedBatch

__all__ = ["ClassicBatch", "EnvBatch", "LoopedBatch", "make_batch"]


def make_batch(task: Task, seeds: Sequence[int]) -> EnvBatch:
    """The quickest batch there is for a task: array physics where it has been written, else Gymnasium's in a loop.

    Args:
        task: The task.
        seeds: The seed of each copy's first reset.
    """
    return ClassicBatch(task, seeds) if task.name in CLASSIC else LoopedBatch(task, seeds)
