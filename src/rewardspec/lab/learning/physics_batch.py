"""Batches of the classic control environments in NumPy, many copies at the price of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from rewardspec.lab.learning.array_physics import Physics
from rewardspec.lab.learning.env_batches import BatchStep
from rewardspec.lab.tasks.task import Task

Floats = NDArray[np.float32]


class PhysicsBatch:
    """Copies of an environment as one array."""

    def __init__(self, task: Task, seeds: Sequence[int], physics: Physics) -> None:
        env = task.make()
        self.observation_space: gym.Space[Any] = env.observation_space
        self.action_space: gym.Space[Any] = env.action_space
        env.close()
        self.task = task
        self.seeds = tuple(seeds)
        self.physics = physics
        self._steps = np.zeros(len(self.seeds), dtype=np.int64)

    def __len__(self) -> int:
        """The number of copies."""
        return len(self.seeds)

    def reset(self) -> tuple[Floats, None]:
        """The first observations."""
        self._rngs = [seeding.np_random(seed)[0] for seed in self.seeds]
        self._steps[:] = 0
        self._state = self._begin(self._rngs)
        return self._observe(), None

    def step(self, actions: Any) -> BatchStep:
        """One step of every copy."""
        self._state, paid, over = self.physics.move(self._state, actions)
        next_obs = self._observe()
        reward = np.broadcast_to(np.asarray(paid, dtype=np.float64), self._steps.shape)
        if self.task.base_bonus is not None:
            reward = reward + self.task.base_bonus(None, actions, next_obs)
        terminated = np.broadcast_to(np.asarray(over), self._steps.shape)
        self._steps += 1
        truncated = (self._steps >= (self.task.max_episode_steps or np.inf)) & ~terminated
        ended = np.flatnonzero(terminated | truncated)
        obs = next_obs
        if len(ended):
            # A copy: the caller may still hold the arrays of the last step.
            self._state = self._state.copy()
            self._state[:, ended] = self._begin([self._rngs[k] for k in ended])
            self._steps[ended] = 0
            obs = next_obs.copy()
            obs[ended] = self.physics.observe(self._state[:, ended])
        return BatchStep(next_obs, reward, terminated, truncated, obs)

    def _begin(self, rngs: Sequence[np.random.Generator]) -> NDArray[np.float64]:
        """Return first states, shape (numbers, n)."""
        return np.array([self.physics.begin(rng.uniform) for rng in rngs], dtype=np.float64).T

    def _observe(self) -> Floats:
        obs: Floats = self.physics.observe(self._state).astype(np.float32)
        return obs

    def close(self) -> None:
        """Nothing to release."""
