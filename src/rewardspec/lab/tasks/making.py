"""Make the environment of a task, and infer the attributes of a task from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium as gym

from rewardspec.environments import find_spec, make_environment, words_of
from rewardspec.lab.tasks.measures import RecordMeasures
from rewardspec.types import Environment

if TYPE_CHECKING:
    from rewardspec.lab.tasks.task import Learner, Task


def make(task: Task, **kwargs: Any) -> Environment:
    """Make the environment of a task, with its time limit and its measures of success."""
    from rewardspec.lab.tasks.registry import is_registered

    if task.id is not None and is_registered(task):
        return gym.make(task.id, **kwargs)
    spec = find_spec(task.env)
    limit = spec.max_episode_steps if task.given("max_episode_steps") is None else task.max_episode_steps
    spec = dataclasses.replace(spec, id=task.id or spec.id, max_episode_steps=limit)
    return RecordMeasures(make_environment(spec, **kwargs), task)


def time_limit(task: Task) -> int | None:
    """Return the time limit with which a task's environment is registered."""
    return find_spec(task.env).max_episode_steps


class Reading(NamedTuple):
    """Attributes of a task that are inferred from its environment."""

    learner: Learner
    continuous: bool


def read_env(task: Task) -> Reading:
    """Infer the learner and the kind of actions from a task's environment."""
    env = task.make(disable_env_checker=True)
    finite = isinstance(getattr(env.unwrapped, "P", None), Mapping) and all(
        isinstance(space, gym.spaces.Discrete) for space in (env.observation_space, env.action_space)
    )
    continuous = isinstance(env.action_space, gym.spaces.Box)
    env.close()
    return Reading("q-learning" if finite else "ppo", continuous)


def made_by(task: Task) -> str:
    """Return the Python expression that makes a task's environment.

    Example:
        >>> from rewardspec import tasks
        >>> made_by(tasks.get("taxi"))
        "gymnasium.make('rewardspec.lab.tasks:rewardspec/Taxi-v0')"
        >>> made_by(tasks.Task.of("gymnasium.envs.toy_text.taxi:TaxiEnv"))
        'gymnasium.envs.toy_text.taxi:TaxiEnv'
    """
    if task.id is not None and task.id.startswith("rewardspec/"):
        return f"gymnasium.make('rewardspec.lab.tasks:{task.id}')"  # Gymnasium imports the module before the colon
    env = task.id or task.env
    return f"gymnasium.make({env!r})" if isinstance(env, str) and words_of(env) in gym.registry else str(env)


def title_of(name: str) -> str:
    """Make the title of a task from its name.

    Example:
        >>> title_of("frozen_lake"), title_of("MiniGrid-DoorKey-8x8-v0")
        ('Frozen Lake', 'MiniGrid-DoorKey-8x8-v0')
    """
    return name.replace("_", " ").title() if name.islower() and "-" not in name else name
