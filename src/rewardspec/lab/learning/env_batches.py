"""Batches of environments: copies of one environment that are stepped together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit
from numpy.typing import NDArray

from rewardspec import types
from rewardspec.errors import Error, did_you_mean
from rewardspec.lab.learning.spaces import batched
from rewardspec.lab.tasks.measures import RecordMeasures
from rewardspec.lab.tasks.task import Task
from rewardspec.types import Action, AnySpace, Environment, InfoDict, Observation
from rewardspec.wrappers.monitor_reward import reward_as_number

Booleans = NDArray[np.bool_]
Info = types.Info | None
"""The infos of a batch, in the format of Gymnasium's vector environments; None if all are empty."""
Source = Literal["gymnasium", "envpool"]
"""Source of environments without array physics."""


class BatchStep(NamedTuple):
    """Result of stepping every environment; n is their number.

    Observations are batches of the environment's observation space: arrays of shape (n, size) for a vector. Rewards are
    the environment's own, and with the ends of episodes have the shape (n,).

    Attributes:
        next_obs: The observations after the actions, before autoreset.
        obs: The observations after autoreset: the initial ones of new episodes, otherwise `next_obs`.
        info: The infos of `next_obs`.
        first_info: The infos of the resets.
    """

    next_obs: Observation
    reward: NDArray[np.float64]
    terminated: Booleans
    truncated: Booleans
    obs: Observation
    info: Info = None
    first_info: Info = None


class EnvBatch(Protocol):
    """Copies of one environment, stepped together, with autoreset in the same step; spaces are those of one."""

    observation_space: AnySpace
    action_space: AnySpace

    def __len__(self) -> int:
        """The number of copies."""
        ...

    def reset(self) -> tuple[Observation, Info]:
        """Return the initial observations, from the seeds of the batch, and their infos."""
        ...

    def step(self, actions: Action) -> BatchStep:
        """Step every copy. Continuous actions should lie within the space's bounds."""
        ...

    def close(self) -> None:
        """Release resources."""
        ...


def make_batch(task: Task, seeds: Sequence[int], source: Source = "gymnasium") -> EnvBatch:
    """Make the fastest batch of a task: its own, else array physics, else from the source, which needs its package."""
    from rewardspec.lab.learning.array_physics import physics_of
    from rewardspec.lab.learning.envpool_batch import PooledBatch, is_pooled
    from rewardspec.lab.learning.physics_env import PhysicsBatch

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
    """Copies of a task's environment, stepped in a loop, without the wrappers that a batch does not need.

    The batch applies the time limit and the learner computes the measures. Checking every action would cost more than
    a step of some environments. Options are further arguments of `task.make`, such as `render_mode`.
    """

    def __init__(self, task: Task, seeds: Sequence[int], **options: Any) -> None:
        made = [task.make(disable_env_checker=True, **options) for _ in seeds]
        self.envs: list[Environment] = [_bare(env, task.max_episode_steps) for env in made]
        self.seeds = tuple(seeds)
        self.limit = task.max_episode_steps or np.inf
        self.action_space: AnySpace = self.envs[0].action_space
        self.observation_space: AnySpace = self.envs[0].observation_space
        self._steps = np.zeros(len(self.envs), dtype=np.int64)

    def __len__(self) -> int:
        """The number of copies."""
        return len(self.envs)

    def reset(self) -> tuple[Observation, Info]:
        """Return the initial observations and infos."""
        self._steps[:] = 0
        first = [env.reset(seed=seed) for env, seed in zip(self.envs, self.seeds, strict=True)]
        return batched(self.observation_space, [obs for obs, _ in first]), batched_infos([info for _, info in first])

    def step(self, actions: Action) -> BatchStep:
        """Step every copy."""
        count = len(self.envs)
        seen: list[Observation] = [None] * count
        infos: list[InfoDict] = [{}] * count
        reward = np.empty(count)
        terminated, truncated = np.empty(count, dtype=bool), np.empty(count, dtype=bool)
        choices = actions.tolist() if actions.ndim == 1 else actions
        for k, env in enumerate(self.envs):
            seen[k], paid, terminated[k], truncated[k], infos[k] = env.step(choices[k])
            reward[k] = paid if paid.__class__ is float else reward_as_number(env, paid)
        self._steps += 1
        truncated |= self._steps >= self.limit
        truncated &= ~terminated
        next_obs, info = batched(self.observation_space, seen), batched_infos(infos)
        ended = np.flatnonzero(terminated | truncated).tolist()
        if not ended:
            return BatchStep(next_obs, reward, terminated, truncated, next_obs, info)
        infos = [{}] * count
        for k in ended:
            seen[k], infos[k] = self.envs[k].reset()
        self._steps[ended] = 0
        return BatchStep(
            next_obs, reward, terminated, truncated, batched(self.observation_space, seen), info, batched_infos(infos)
        )

    def close(self) -> None:
        """Close every copy."""
        for env in self.envs:
            env.close()


def _bare(env: Environment, limit: int | None) -> Environment:
    """Remove the wrappers whose work the batch does itself, and keep the environment's own."""
    while isinstance(env, RecordMeasures | OrderEnforcing | PassiveEnvChecker) or (
        isinstance(env, TimeLimit) and env._max_episode_steps == limit
    ):
        env = env.env
    return env


def batched_infos(infos: Sequence[types.Info]) -> Info:
    """Batch infos in the format of vector environments: an array and a mask for each key.

    Gymnasium's own function for this is a private method of its vector environments.

    Example:
        >>> batched_infos([{"lives": 3}, {}])
        {'lives': array([3, 0]), '_lives': array([ True, False])}
    """
    if not any(infos):
        return None
    batched: InfoDict = {}
    for key in dict.fromkeys(key for info in infos for key in info):
        mask = np.array([key in info for info in infos])
        given = [info[key] for info in infos if key in info]
        if all(isinstance(value, Mapping) for value in given):
            batched[key] = batched_infos([info.get(key, {}) for info in infos]) or {}
        else:
            batched[key] = _column(len(infos), np.flatnonzero(mask), given)
        batched[f"_{key}"] = mask
    return batched


def _column(count: int, places: NDArray[np.intp], given: Sequence[Any]) -> NDArray[Any]:
    """Put values at their places in an array: of numbers, with zeros elsewhere, or of objects, with None elsewhere.

    Like Gymnasium, it keeps tuples and lists, which may have any length, as objects; `BatchInfo` reads them as numbers.
    """
    column: NDArray[Any] = np.full(count, None)
    if all(isinstance(value, (bool, int, float, np.generic, np.ndarray)) for value in given):
        arrays = [np.asarray(value) for value in given]
        if all(array.dtype.kind in "biuf" and array.shape == arrays[0].shape for array in arrays):
            column = np.zeros((count, *arrays[0].shape), np.result_type(*(array.dtype for array in arrays)))
    for place, value in zip(places.tolist(), given, strict=True):
        column[place] = value
    return column
