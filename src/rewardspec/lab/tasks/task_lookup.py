"""Tasks by name, in collections, and their registration with Gymnasium."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping

import gymnasium as gym
from gymnasium.envs.registration import WrapperSpec

from rewardspec.environments import find_spec, split_arguments
from rewardspec.errors import Error, UnknownEnvironmentError, did_you_mean
from rewardspec.lab.tasks.task import SpecLike, Task

_COLLECTIONS: dict[str, dict[str, Task]] = {}
_MEASURES = "rewardspec.lab.tasks.measures:RecordMeasures"


def names(collection: str | None = None) -> tuple[str, ...]:
    """Return the names of all tasks, or of one collection, in the order of registration."""
    if collection is None:
        return tuple(name for tasks in _COLLECTIONS.values() for name in tasks)
    if collection not in _COLLECTIONS:
        raise UnknownEnvironmentError(
            f"There is no collection {collection!r}; known: {', '.join(_COLLECTIONS)}."
            f"{did_you_mean(collection, _COLLECTIONS)}"
        )
    return tuple(_COLLECTIONS[collection])


def get(name: str | Task, specs: SpecLike | Mapping[str, SpecLike] | None = None) -> Task:
    """Find a task.

    Args:
        name: Its name or id, ignoring case, spaces, hyphens and underscores; or `module:NAME` for a `Task` in a module.
        specs: Specs for a task of any other Gymnasium id, see `Task.from_env`; pass `{}` for a task without specs.

    Raises:
        UnknownEnvironmentError: There is no task of that name.

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
    own, arguments = split_arguments(name)
    named = (task for task in known.values() if _plain(own) in (_plain(task.name), _plain(task.id or task.name)))
    found = next(named, None) or _import_task(own)
    if found is not None and arguments:
        raise UnknownEnvironmentError(
            f"{own!r} is a task, whose environment has its arguments already: {', '.join(arguments)} cannot be given. "
            "Name Gymnasium's environment itself."
        )
    if found is not None:
        return found
    if specs is not None:
        find_spec(name)
        return Task.from_env(name, specs)
    hint = did_you_mean(str(name).lower(), known)
    if name in gym.registry:
        raise UnknownEnvironmentError(f"{name} is Gymnasium's own environment. A spec would make it a task.{hint}")
    raise UnknownEnvironmentError(f"There is no environment {name!r}; known: {', '.join(known)}.{hint}")


def register(task: Task, collection: str = "own") -> Task:
    """Register a task for `get`, and its id with Gymnasium; replace one of the same name in the collection.

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
    """Return whether `get` finds this task object by its name."""
    return any(tasks.get(task.name) is task for tasks in _COLLECTIONS.values())


def unregister(name: str) -> None:
    """Remove a task if it is registered."""
    for tasks in _COLLECTIONS.values():
        task = tasks.pop(name, None)
        if task is not None and task.id is not None:
            gym.registry.pop(task.id, None)


def _import_task(name: str) -> Task | None:
    module, _, attribute = name.rpartition(":")
    if not module:
        return None
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return None
    return found if isinstance(found, Task) else None


def _plain(name: str) -> str:
    own = re.fullmatch(r"rewardspec/(.*)-v\d+", name)
    return re.sub(r"[\s_-]", "", own[1] if own else name).lower()
