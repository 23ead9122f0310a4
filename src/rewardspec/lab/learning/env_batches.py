"""Batches of environments: copies of one environment, stepped together, where PPO's experience comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, get_args

import gymnasium as gym
import numpy as np
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit
from numpy.typing import NDArray

from rewardspec.errors import Error, did_you_mean
from rewardspec.lab.learning.spaces import batched
from rewardspec.lab.tasks.measures import RecordMeasures
from rewardspec.lab.tasks.task import Task

Booleans = NDArray[np.bool_]
Info = Mapping[str, Any] | None
"""The infos of a batch, as Gymnasium's vector environments give them; None where there is nothing in them."""
Source = Literal["gymnasium", "envpool"]
"""Where environments come from for which there is no array physics."""


class Step(NamedTuple):
    """Result of stepping every environment; n is their number.

    Observations are batches of the environment's observation space: arrays of shape (n, size) for a vector.

    Attributes:
        next_obs: The observations the actions led to, the last of an episode included.
        reward: The environment's own rewards, shape (n,).
        terminated: Where an episode ended for good, shape (n,).
        truncated: Where it was cut off by the time limit, shape (n,).
        obs: What the next actions are chosen on: `next_obs`, or the first observation of a new episode where one ended.
        info: The infos that came with `next_obs`.
        first_info: Those of the new episodes where one ended.
    """

    next_obs: Any
    reward: NDArray[np.float64]
    terminated: Booleans
    truncated: Booleans
    obs: Any
    info: Info = None
    first_info: Info = None


class EnvBatch(Protocol):
    """Copies of one environment, stepped together; an episode that ends is followed by the next one at once.

    Attributes:
        observation_space: The observations of one environment.
        action_space: The actions of one environment.
    """

    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]

    def __len__(self) -> int:
        """The number of copies."""
        ...

    def reset(self) -> tuple[Any, Info]:
        """The first observations, from the seeds the batch was made with, and their infos."""
        ...

    def step(self, actions: Any) -> Step:
        """One step of every copy. Continuous actions should lie within the space's bounds."""
        ...

    def close(self) -> None:
        """Release resources."""
        ...


def make_batch(task: Task, seeds: Sequence[int], source: Source = "gymnasium") -> EnvBatch:
    """The quickest batch there is for a task: the task's own, or array physics where there is some, or a loop.

    Args:
        task: The task.
        seeds: The seed of each copy's first reset.
        source: `"gymnasium"` for its environments in a loop; `"envpool"` for those that EnvPool has.

    Raises:
        Error: There is no such source.
        MissingExtraError: It is not installed.
    """
    from rewardspec.lab.learning.array_physics import PhysicsBatch, physics_of
    from rewardspec.lab.learning.envpool_batch import PooledBatch, is_pooled

    if source not in get_args(Source):
        known = get_args(Source)
        raise Error(f"`source` should be one of {', '.join(known)}. Received {source!r}.{did_you_mean(source, known)}")
    if task.batch is not None:
        batch: EnvBatch = task.batch(task, seeds)
        return batch
    physics = physics_of(task)
    if physics is not None:
        return PhysicsBatch(task, seeds, physics)
    return PooledBatch(task, seeds) if source == "envpool" and is_pooled(task) else LoopedBatch(task, seeds)


class LoopedBatch:
    """Copies of a task's environment, stepped one after the other, without the wrappers that a batch does not need.

    The time limit and the measures are the batch's and the learner's affair, and checking every action costs more than
    a step of some environments.

    Args:
        task: The task.
        seeds: The seed of each copy's first reset.
        **options: Further arguments of `task.make`, such as `render_mode`.
    """

    def __init__(self, task: Task, seeds: Sequence[int], **options: Any) -> None:
        made = [task.make(disable_env_checker=True, **options) for _ in seeds]
        self.envs: list[gym.Env[Any, Any]] = [_bare(env, task.max_episode_steps) for env in made]
        self.seeds = tuple(seeds)
        self.limit = task.max_episode_steps or np.inf
        self.action_space: gym.Space[Any] = self.envs[0].action_space
        self.observation_space: gym.Space[Any] = self.envs[0].observation_space
        self._steps = np.zeros(len(self.envs), dtype=np.int64)

    def __len__(self) -> int:
        """The number of copies."""
        return len(self.envs)

    def reset(self) -> tuple[Any, Info]:
        """The first observations, and their infos."""
        self._steps[:] = 0
        first = [env.reset(seed=seed) for env, seed in zip(self.envs, self.seeds, strict=True)]
        return batched(self.observation_space, [obs for obs, _ in first]), batched_infos([info for _, info in first])

    def step(self, actions: Any) -> Step:
        """One step of every copy."""
        count = len(self.envs)
        seen: list[Any] = [None] * count
        infos: list[dict[str, Any]] = [{}] * count
        reward = np.empty(count)
        terminated, truncated = np.empty(count, dtype=bool), np.empty(count, dtype=bool)
        choices = actions.tolist() if actions.ndim == 1 else actions
        for k, env in enumerate(self.envs):
            seen[k], reward[k], terminated[k], truncated[k], infos[k] = env.step(choices[k])
        self._steps += 1
        truncated |= self._steps >= self.limit
        truncated &= ~terminated
        next_obs, info = batched(self.observation_space, seen), batched_infos(infos)
        ended = np.flatnonzero(terminated | truncated).tolist()
        if not ended:
            return Step(next_obs, reward, terminated, truncated, next_obs, info)
        infos = [{}] * count
        for k in ended:
            seen[k], infos[k] = self.envs[k].reset()
        self._steps[ended] = 0
        return Step(
            next_obs, reward, terminated, truncated, batched(self.observation_space, seen), info, batched_infos(infos)
        )

    def close(self) -> None:
        """Close every copy."""
        for env in self.envs:
            env.close()


def _bare(env: gym.Env[Any, Any], limit: int | None) -> gym.Env[Any, Any]:
    """An environment without the wrappers whose work a batch does itself; those of its own stay."""
    while isinstance(env, RecordMeasures | OrderEnforcing | PassiveEnvChecker) or (
        isinstance(env, TimeLimit) and env._max_episode_steps == limit
    ):
        env = env.env
    return env


def batched_infos(infos: Sequence[Mapping[str, Any]]) -> Info:
    """The infos of single environments as a vector environment gives them: an array and a mask for each key.

    Gymnasium's own function for this is a private method of its vector environments.

    Example:
        >>> batched_infos([{"lives": 3}, {}])
        {'lives': array([3, 0]), '_lives': array([ True, False])}
    """
    if not any(infos):
        return None
    batched: dict[str, Any] = {}
    for key in dict.fromkeys(key for info in infos for key in info):
        mask = np.array([key in info for info in infos])
        given = [info[key] for info in infos if key in info]
        if all(isinstance(value, Mapping) for value in given):
            batched[key] = batched_infos([info.get(key, {}) for info in infos]) or {}
        else:
            first = np.asarray(given[0])
            plain = first.dtype.kind in "biuf" and all(np.shape(value) == first.shape for value in given)
            column = (
                np.zeros((len(infos), *first.shape), np.result_type(*given)) if plain else np.full(len(infos), None)
            )
            for place, value in zip(np.flatnonzero(mask), given, strict=True):
                column[place] = value
            batched[key] = column
        batched[f"_{key}"] = mask
    return batched
