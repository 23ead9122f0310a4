"""Seeing before long work that everything it needs is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from rewardspec.errors import MissingExtraError
from rewardspec.learning.batches import POOLED, Source
from rewardspec.tasks.task import Task

_MODULES = {"box2d": "Box2D"}
"""The module that an environment's extra brings, which is also what its package is called."""


def check_extras(tasks: Iterable[Task], *, source: Source = "gymnasium", extra: str | None = None) -> None:
    """Check that training these environments is possible.

    Args:
        tasks: The environments.
        source: Where they come from, if there is no array physics for them.
        extra: What to install where something is missing; by default just the extras that bring it.

    Raises:
        MissingExtraError: Something is not installed. Names the first such package, and what brings all of them.
    """
    needed = [("jax", "learn", "Training"), ("optax", "learn", "Training")]
    tasks = list(tasks)
    if source == "envpool" and any(task.name in POOLED for task in tasks):
        needed.append(("envpool", "envpool", "The source `envpool`"))
    needed += [(_MODULES.get(task.extra, task.extra), task.extra, task.title) for task in tasks if task.extra]
    missing = [need for need in needed if not _is_there(need[0])]
    if missing:
        package, _, purpose = missing[0]
        raise MissingExtraError(package, extra or ",".join(dict.fromkeys(name for _, name, _ in missing)), purpose)


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
