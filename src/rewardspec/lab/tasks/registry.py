"""Tasks by name, in collections, and their registration with Gymnasium."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping

import gymnasium as gym
from gymnasium.envs.registration import WrapperSpec

from rewardspec.environments import find_spec
from rewardspec.errors import Error, UnknownEnvironmentError, did_you_mean
from rewardspec.lab.tasks.task import SpecLike, Task

_COLLECTIONS: dict[str, dict[str, Task]] = {}
_MEASURES = "rewardspec.lab.tasks.measures:RecordMeasures"


def names(collection: str | None = None) -> tuple[str, ...]:
    """The names of all tasks, or of those of one collection, in the order in which they were registered.

    Raises:
        UnknownEnvironmentError: There is no such collection.
    """
    if collection is None:
        return tuple(name for tasks in _COLLECTIONS.values() for name in tasks)
    if collection not in _COLLECTIONS:
        raise UnknownEnvironmentError(
            f"There is no collection {collection!r}; known: {', '.join(_COLLECTIONS)}."
            f"{did_you_mean(collection, _COLLECTIONS)}"
        )
    return tuple(_COLLECTIONS[collection])


def get(name: str | Task, specs: SpecLike | Mapping[str, SpecLike] | None = None) -> Task:
    """The task of that name.

    Args:
        name: Its name or id, where case, spaces, hyphens and underscores do not matter; or `module:NAME`, where a
            module keeps a task of its own.
        specs: With specs, perhaps no more than `{}`, any other Gymnasium id becomes a task: see `Task.of`.

    Raises:
        UnknownEnvironmentError: There is none of that name.

    Example:
        >>> get("Frozen Lake").id
        'rewardspec/FrozenLake-v0'
        >>> get("frozen-lake") is get("rewardspec/FrozenLake-v0")
        True
        >>> get("MountainCarContinuous-v0", specs={}).learner
        'ppo'
    """
    if isinstance(name, Task):
        return name
    known = {task.name: task for tasks in _COLLECTIONS.values() for task in tasks.values()}
    for task in known.values():
        if _plain(name) in (_plain(task.name), _plain(task.id or task.name)):
            return task
    kept = _kept_in_a_module(name)
    if kept is not None:
        return kept
    if specs is not None:
        find_spec(name)
        return Task.of(name, specs)
    hint = did_you_mean(str(name).lower(), known)
    if name in gym.registry:
        raise UnknownEnvironmentError(f"{name} is Gymnasium's own environment. A spec would make it a task.{hint}")
    raise UnknownEnvironmentError(f"There is no environment {name!r}; known: {', '.join(known)}.{hint}")


def register(task: Task, collection: str = "own") -> Task:
    """Let `get` find a task by its name, and Gymnasium by its id; one of that name in the collection is replaced.

    Args:
        task: The task.
        collection: The collection it joins.

    Raises:
        Error: A task of another collection has its name.
    """
    home = next((home for home, tasks in _COLLECTIONS.items() if task.name in tasks), collection)
    if home != collection:
        raise Error(f"There is a task {task.name!r} in the collection {home!r} already. Choose another name.")
    unregister(task.name)
    _COLLECTIONS.setdefault(collection, {})[task.name] = task
    if task.id is not None:
        gym.register(
            task.id,
            entry_point=task.env,
            max_episode_steps=task.max_episode_steps,
            additional_wrappers=(WrapperSpec("RecordMeasures", _MEASURES, {"task": task.name}),),
        )
    return task


def is_registered(task: Task) -> bool:
    """Whether `get` finds this very task by its name."""
    return any(tasks.get(task.name) is task for tasks in _COLLECTIONS.values())


def unregister(name: str) -> None:
    """Forget a task, if there is one of that name."""
    for tasks in _COLLECTIONS.values():
        task = tasks.pop(name, None)
        if task is not None and task.id is not None:
            gym.registry.pop(task.id, None)


def _kept_in_a_module(name: str) -> Task | None:
    module, _, attribute = name.rpartition(":")
    if not module:
        return None
    try:
        kept = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return None
    return kept if isinstance(kept, Task) else None


def _plain(name: str) -> str:
    own = re.fullmatch(r"rewardspec/(.*)-v\d+", name)
    return re.sub(r"[\s_-]", "", own[1] if own else name).lower()
