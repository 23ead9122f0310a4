"""A batch from EnvPool, whose environments are written in C++: two to three times as quick as a loop for Box2D."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from rewardspec.errors import MissingExtraError
from rewardspec.lab.learning.env_batches import Step
from rewardspec.lab.tasks.task import Task

_POOLED = {
    "BipedalWalker-v3": "BipedalWalker-v3",
    "LunarLander-v3": "LunarLander-v3",
    "rewardspec/BipedalWalker-v0": "BipedalWalker-v3",
    "rewardspec/LunarLander-v0": "LunarLander-v3",
}
"""Environments that EnvPool has, and its names for them; array physics is quicker where it exists."""


def is_pooled(task: Task) -> bool:
    """Whether EnvPool has the task's environment."""
    return _name(task) is not None


def _name(task: Task) -> str | None:
    return _POOLED.get(task.id or (task.env if isinstance(task.env, str) else ""))


class PooledBatch:
    """Copies of a task's environment in EnvPool.

    The dynamics are Gymnasium's, but not the random numbers: a seed gives other episodes than there.

    Args:
        task: A task whose environment EnvPool has.
        seeds: The seed of each copy.

    Raises:
        MissingExtraError: EnvPool is not installed.
    """

    def __init__(self, task: Task, seeds: Sequence[int]) -> None:
        try:
            import envpool
        except ImportError:
            raise MissingExtraError("envpool", "envpool", "The source `envpool`") from None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of bounds of its own spaces, which it gives in another precision
            self.envs = envpool.make(
                _name(task),
                env_type="gymnasium",
                num_envs=len(seeds),
                num_threads=_threads(len(seeds)),
                env_seed=[int(seed) % 2**31 for seed in seeds],  # EnvPool takes signed integers
                max_episode_steps=task.max_episode_steps,
            )
            self.action_space: gym.Space[Any] = self.envs.action_space
            self.observation_space: gym.Space[Any] = self.envs.observation_space
        self._count = len(seeds)
        self._dtype = np.dtype(self.action_space.dtype)

    def __len__(self) -> int:
        """The number of copies."""
        return self._count

    def reset(self) -> tuple[Any, None]:
        """The first observations."""
        obs, info = self.envs.reset()
        return self._in_order(obs, info), None

    def step(self, actions: Any) -> Step:
        """One step of every copy."""
        actions = np.ascontiguousarray(actions, dtype=self._dtype if self._dtype.kind == "f" else np.int32)
        obs, reward, terminated, truncated, info = self.envs.step(actions)
        next_obs, reward, terminated, truncated = (
            self._in_order(array, info) for array in (obs, reward, terminated, truncated)
        )
        ended = np.flatnonzero(terminated | truncated)
        after = next_obs
        if len(ended):
            # At once, before EnvPool would do so in the next step.
            begun, info = self.envs.reset(ended.astype(np.int32))
            after = next_obs.copy()
            after[info["env_id"]] = begun
        return Step(next_obs, reward.astype(np.float64), terminated, truncated & ~terminated, after)

    def close(self) -> None:
        """Release the threads."""
        self.envs.close()

    def _in_order(self, array: Any, info: Any) -> Any:
        """The rows in the order of the copies, as an array of our own."""
        ordered = np.empty_like(array)
        ordered[info["env_id"]] = array
        return ordered


def _threads(copies: int) -> int:
    """As many threads as there are cores for this process: a worker among others is told so by `NPROC`."""
    cores = os.environ.get("NPROC", "")
    return min(copies, int(cores) if cores.isdigit() and int(cores) else os.cpu_count() or 1)
