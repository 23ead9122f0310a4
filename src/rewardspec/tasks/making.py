"""Making the environment of a task, from a Gymnasium id, a reference or a function."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from rewardspec.errors import UnknownEnvironmentError
from rewardspec.tasks.measures import RecordMeasures

if TYPE_CHECKING:
    from rewardspec.tasks.task import Learner, Task

EnvLike: TypeAlias = str | Callable[..., gym.Env[Any, Any]]
"""A Gymnasium id, `module:id`, `module:Class`, or a function that makes the environment."""

_PACKAGES = {
    "ALE/": "ale_py",
    "BabyAI-": "minigrid",
    "Fetch": "gymnasium_robotics",
    "MiniGrid-": "minigrid",
    "Panda": "panda_gym",
    "Safety": "safety_gymnasium",
    "highway-": "highway_env",
}
"""Modules that register environments of these names when they are imported."""


def find_spec(env: EnvLike) -> EnvSpec:
    """Gymnasium's description of an environment.

    Raises:
        UnknownEnvironmentError: There is no such environment.

    Example:
        >>> find_spec("gymnasium.envs.toy_text.taxi:TaxiEnv").entry_point
        'gymnasium.envs.toy_text.taxi:TaxiEnv'
    """
    if not isinstance(env, str):
        return EnvSpec(name_of(env), env)
    module, _, name = env.rpartition(":")
    try:
        if module and callable(getattr(importlib.import_module(module), name, None)):
            return EnvSpec(name_of(env), env)
        return gym.spec(name)
    except (gym.error.Error, ImportError) as error:
        raise UnknownEnvironmentError(f"Gymnasium cannot make {env!r}: {error}{_module_hint(env)}") from None


def _module_hint(name: str) -> str:
    if ":" in name:
        return ""
    module = next((module for prefix, module in _PACKAGES.items() if name.startswith(prefix)), None)
    if module is not None:
        return f" Name the module that registers it too: {module}:{name}."
    return f" An environment of another package needs the module that registers it: MODULE:{name}."


def make(task: Task, **kwargs: Any) -> gym.Env[Any, Any]:
    """Make the environment of a task, with its time limit and its measures of success."""
    from rewardspec.tasks.registry import is_registered

    if task.id is not None and is_registered(task):
        return gym.make(task.id, **kwargs)
    spec = find_spec(task.env)
    limit = spec.max_episode_steps if task.given("max_episode_steps") is None else task.max_episode_steps
    spec = dataclasses.replace(spec, id=task.id or spec.id, max_episode_steps=limit)
    return RecordMeasures(gym.make(spec, **kwargs), task)


def time_limit(task: Task) -> int | None:
    """The time limit with which a task's environment is registered."""
    return find_spec(task.env).max_episode_steps


class Reading(NamedTuple):
    """What an environment itself tells of how to learn it: see `Task`."""

    learner: Learner
    continuous: bool


def read_env(task: Task) -> Reading:
    """Read learner and kind of actions off a task's environment."""
    env = task.make(disable_env_checker=True)
    finite = isinstance(getattr(env.unwrapped, "P", None), Mapping) and all(
        isinstance(space, gym.spaces.Discrete) for space in (env.observation_space, env.action_space)
    )
    continuous = isinstance(env.action_space, gym.spaces.Box)
    env.close()
    return Reading("q-learning" if finite else "ppo", continuous)


def words_of(env: EnvLike) -> str:
    """What people call an environment: its id, or the name of what makes it.

    Example:
        >>> words_of("minigrid:MiniGrid-DoorKey-8x8-v0"), words_of("my_project.envs:Maze")
        ('MiniGrid-DoorKey-8x8-v0', 'Maze')
    """
    return env.rpartition(":")[2] if isinstance(env, str) else str(getattr(env, "__name__", type(env).__name__))


def made_by(task: Task) -> str:
    """What makes a task's environment, as one writes it in Python.

    Example:
        >>> from rewardspec import tasks
        >>> made_by(tasks.get("taxi"))
        "gymnasium.make('rewardspec.tasks:rewardspec/Taxi-v0')"
        >>> made_by(tasks.Task.of("gymnasium.envs.toy_text.taxi:TaxiEnv"))
        'gymnasium.envs.toy_text.taxi:TaxiEnv'
    """
    if task.id is not None and task.id.startswith("rewardspec/"):
        return f"gymnasium.make('rewardspec.tasks:{task.id}')"  # what stands before the colon is imported
    env = task.id or task.env
    return f"gymnasium.make({env!r})" if isinstance(env, str) and words_of(env) in gym.registry else str(env)


def name_of(env: EnvLike) -> str:
    """A task's name from its environment.

    Example:
        >>> name_of("ALE/Pong-v5")
        'ALE_Pong-v5'
    """
    return re.sub(r"[^\w.+-]+", "_", words_of(env)).strip("_.+-") or "task"


def title_of(name: str) -> str:
    """A task's title from its name.

    Example:
        >>> title_of("frozen_lake"), title_of("MiniGrid-DoorKey-8x8-v0")
        ('Frozen Lake', 'MiniGrid-DoorKey-8x8-v0')
    """
    return name.replace("_", " ").title() if name.islower() and "-" not in name else name
