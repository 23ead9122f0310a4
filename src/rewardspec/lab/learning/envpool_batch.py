"""Batches of EnvPool, whose C++ environments are two to three times as fast as a loop for Box2D."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence

import numpy as np

from rewardspec.errors import MissingExtraError
from rewardspec.lab.learning.env_batches import BatchStep
from rewardspec.lab.tasks.task import Task
from rewardspec.types import Action, AnySpace, Array, Info, Observation

_POOLED = {
    "BipedalWalker-v3": "BipedalWalker-v3",
    "LunarLander-v3": "LunarLander-v3",
    "rewardspec/BipedalWalker-v0": "BipedalWalker-v3",
    "rewardspec/LunarLander-v0": "LunarLander-v3",
}
"""EnvPool's names of environments; those with array physics are left out because it is faster."""


def is_pooled(task: Task) -> bool:
    """Return whether EnvPool has the task's environment."""
    return _name(task) is not None


def _name(task: Task) -> str | None:
    return _POOLED.get(task.id or (task.env if isinstance(task.env, str) else ""))


class PooledBatch:
    """Copies of a task's environment in EnvPool.

    The dynamics are those of Gymnasium. The random numbers differ, so a seed gives other episodes.
    """

    def __init__(self, task: Task, seeds: Sequence[int]) -> None:
        try:
            import envpool
        except ImportError:
            raise MissingExtraError("envpool", "envpool", "The source `envpool`") from None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the precision of its spaces' bounds
            self.envs = envpool.make(
                _name(task),
                env_type="gymnasium",
                num_envs=len(seeds),
                num_threads=_threads(len(seeds)),
                env_seed=[int(seed) % 2**31 for seed in seeds],  # EnvPool takes signed integers
                max_episode_steps=task.max_episode_steps,
            )
            self.action_space: AnySpace = self.envs.action_space
            self.observation_space: AnySpace = self.envs.observation_space
        self._count = len(seeds)
        self._dtype = np.dtype(self.action_space.dtype)

    def __len__(self) -> int:
        """The number of copies."""
        return self._count

    def reset(self) -> tuple[Observation, None]:
        """Return the initial observations."""
        obs, info = self.envs.reset()
        return self._in_order(obs, info), None

    def step(self, actions: Action) -> BatchStep:
        """Step every copy."""
        actions = np.ascontiguousarray(actions, dtype=self._dtype if self._dtype.kind == "f" else np.int32)
        obs, reward, terminated, truncated, info = self.envs.step(actions)
        next_obs, reward, terminated, truncated = (
            self._in_order(array, info) for array in (obs, reward, terminated, truncated)
        )
        ended = np.flatnonzero(terminated | truncated)
        after = next_obs
        if len(ended):
            # Reset now; EnvPool would do so in the next step.
            begun, info = self.envs.reset(ended.astype(np.int32))
            after = next_obs.copy()
            after[info["env_id"]] = begun
        return BatchStep(next_obs, reward.astype(np.float64), terminated, truncated & ~terminated, after)

    def close(self) -> None:
        """Release the threads."""
        self.envs.close()

    def _in_order(self, array: Array, info: Info) -> Array:
        """Copy the rows in the order of the copies."""
        ordered = np.empty_like(array)
        ordered[info["env_id"]] = array
        return ordered


def _threads(copies: int) -> int:
    """Return the number of cores of this process, which `NPROC` gives in a worker."""
    cores = os.environ.get("NPROC", "")
    return min(copies, int(cores) if cores.isdigit() and int(cores) else os.cpu_count() or 1)
