"""Tasks by name, in collections, and their registration with Gymnasium."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping

import gymnasium as gym
from gymnasium.envs.registration import WrapperSpec

from rewardspec.errors import Error, UnknownEnvironmentError, did_you_mean
from rewardspec.tasks.making import find_spec
from rewardspec.tasks.task import SpecLike, Task

_COLLECTIONS: dict[str, dict[str, Task]] = {}


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
    own = f" {name} is an environment of Gymnasium's, and a spec makes it a task." if name in gym.registry else ""
    raise UnknownEnvironmentError(
        f"There is no environment {name!r}; known: {', '.join(known)}.{did_you_mean(str(name).lower(), known)}{own}"
    )


def register(task: Task, collection: str = "own") -> Task:
    """Let `get` find a task by its name, and Gymnasium by its id; registering an equal one again does nothing.

    Args:
        task: The task.
        collection: The collection it joins.

    Raises:
        Error: Another task has its name.
    """
    if task.name in names() and get(task.name) != task:
        raise Error(f"There is a task {task.name!r} already. Give this one another name.")
    _COLLECTIONS.setdefault(collection, {})[task.name] = task
    if task.id is not None and task.id not in gym.registry:
        measures = WrapperSpec("TaskCompletion", "rewardspec.tasks.completion:TaskCompletion", {"task": task.name})
        gym.register(
            task.id,
            entry_point=task.env,
            max_episode_steps=task.max_episode_steps,
            additional_wrappers=(measures,),
        )
    return task


def unregister(name: str) -> None:
    """Forget a task."""
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
