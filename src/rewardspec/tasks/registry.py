"""The twelve environments by name, and their registration with Gymnasium."""

from __future__ import annotations

import re

import gymnasium as gym
from gymnasium.envs.registration import WrapperSpec

from rewardspec.errors import UnknownEnvironmentError, did_you_mean
from rewardspec.tasks.paper import (
    acrobot,
    bipedal_walker,
    cart_pole,
    cliff_walking,
    conveyor_belt,
    frozen_lake,
    island_navigation,
    lunar_lander,
    mountain_car,
    pendulum,
    sokoban,
    taxi,
)
from rewardspec.tasks.task import Task

_MODULES = (
    *(acrobot, cart_pole, mountain_car, pendulum),
    *(cliff_walking, frozen_lake, taxi),
    *(bipedal_walker, lunar_lander),
    *(island_navigation, conveyor_belt, sokoban),
)
TASKS: dict[str, Task] = {module.TASK.name: module.TASK for module in _MODULES}


def names() -> tuple[str, ...]:
    """The names of the twelve environments, family by family."""
    return tuple(TASKS)


def get(name: str | Task) -> Task:
    """The environment of that name.

    Args:
        name: Its name, title or Gymnasium id; case, spaces, hyphens and underscores do not matter.

    Raises:
        UnknownEnvironmentError: There is none of that name.

    Example:
        >>> get("Frozen Lake").id
        'rewardspec/FrozenLake-v0'
        >>> get("frozen-lake") is get("rewardspec/FrozenLake-v0")
        True
    """
    if isinstance(name, Task):
        return name
    for task in TASKS.values():
        if _plain(name) in (_plain(task.name), _plain(task.id)):
            return task
    raise UnknownEnvironmentError(
        f"There is no environment {name!r}; known: {', '.join(TASKS)}.{did_you_mean(str(name).lower(), TASKS)}"
    )


def register() -> None:
    """Make the twelve known to `gymnasium.make` under `rewardspec/`, once."""
    for task in TASKS.values():
        if task.id not in gym.registry:
            completion = WrapperSpec(
                "TaskCompletion", "rewardspec.tasks.completion:TaskCompletion", {"task": task.name}
            )
            gym.register(
                task.id,
                entry_point=task.entry_point,
                max_episode_steps=task.max_episode_steps,
                additional_wrappers=(completion,),
            )


def _plain(name: str) -> str:
    return re.sub(r"^rewardspec/|-v\d+$|[\s_-]", "", str(name)).lower()
