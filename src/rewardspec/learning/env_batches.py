"""Batches of environments: copies of one environment, stepped together, where PPO's experience comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol, get_args

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error, did_you_mean
from rewardspec.tasks.task import Task

Floats = NDArray[np.float32]
Booleans = NDArray[np.bool_]
Source = Literal["gymnasium", "envpool"]
"""Where environments come from for which there is no array physics."""


class Step(NamedTuple):
    """What one step of every environment led to; n is the number of environments.

    Attributes:
        next_obs: The observations the actions led to, the last of an episode included, shape (n, size).
        reward: The environment's own rewards, shape (n,).
        terminated: Where an episode ended for good, shape (n,).
        truncated: Where it was cut off by the time limit, shape (n,).
        obs: What the next actions are chosen on: `next_obs`, or the first observation of a new episode where one ended.
    """

    next_obs: Floats
    reward: NDArray[np.float64]
    terminated: Booleans
    truncated: Booleans
    obs: Floats


class EnvBatch(Protocol):
    """Copies of one environment, stepped together; an episode that ends is followed by the next one at once.

    Attributes:
        observation_size: Numbers in an observation.
        action_space: The actions of one environment.
    """

    observation_size: int
    action_space: gym.Space[Any]

    def __len__(self) -> int:
        """The number of copies."""
        ...

    def reset(self) -> Floats:
        """The first observations, from the seeds the batch was made with."""
        ...

    def step(self, actions: Any) -> Step:
        """One step of every copy. Continuous actions should lie within the space's bounds."""
        ...

    def close(self) -> None:
        """Let go of what the copies hold."""
        ...


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
    from rewardspec.learning.array_physics import CLASSIC, ClassicBatch
    from rewardspec.learning.envpool_batch import POOLED, PooledBatch

    if task.name in CLASSIC:
        return ClassicBatch(task, seeds)
    return PooledBatch(task, seeds) if source == "envpool" and task.name in POOLED else LoopedBatch(task, seeds)


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
