"""A batch of any of Gymnasium's environments, stepped one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from rewardspec.learning.batches.batch import Floats, Step
from rewardspec.tasks.task import Task


class LoopedBatch:
    """Copies of a task's environment, without the wrappers that a batch does not need.

    The time limit and the task completion are the batch's and the learner's affair, and checking every action costs
    more than a step of some environments.

    Args:
        task: The task.
        seeds: The seed of each copy's first reset.
    """

    def __init__(self, task: Task, seeds: Sequence[int]) -> None:
        self.envs: list[gym.Env[Any, Any]] = [task.make(disable_env_checker=True).unwrapped for _ in seeds]
        self.seeds = tuple(seeds)
        self.limit = task.max_episode_steps or np.inf
        self.action_space: gym.Space[Any] = self.envs[0].action_space
        shape = self.envs[0].observation_space.shape
        assert shape is not None
        self.observation_size = int(shape[0])
        self._steps = np.zeros(len(self.envs), dtype=np.int64)

    def __len__(self) -> int:
        """The number of copies."""
        return len(self.envs)

    def reset(self) -> Floats:
        """The first observations."""
        self._steps[:] = 0
        first = [env.reset(seed=seed)[0] for env, seed in zip(self.envs, self.seeds, strict=True)]
        return np.array(first, dtype=np.float32)

    def step(self, actions: Any) -> Step:
        """One step of every copy."""
        count = len(self.envs)
        next_obs = np.empty((count, self.observation_size), dtype=np.float32)
        reward = np.empty(count)
        terminated = np.empty(count, dtype=bool)
        choices = actions.tolist() if actions.ndim == 1 else actions
        for k, env in enumerate(self.envs):
            next_obs[k], reward[k], terminated[k], _, _ = env.step(choices[k])
        self._steps += 1
        truncated = (self._steps >= self.limit) & ~terminated
        ended = np.flatnonzero(terminated | truncated)
        obs = next_obs
        if len(ended):
            obs = next_obs.copy()
            for k in ended.tolist():
                obs[k] = self.envs[k].reset()[0]
            self._steps[ended] = 0
        return Step(next_obs, reward, terminated, truncated, obs)

    def close(self) -> None:
        """Close every copy."""
        for env in self.envs:
            env.close()
