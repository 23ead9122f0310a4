"""Seeing before long work that everything it needs is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable

from rewardspec.envs.task import Task
from rewardspec.errors import MissingExtraError

_MODULES = {"box2d": ("Box2D", "box2d-py")}
"""What an environment's extra brings: the module, and the package that has it."""


def check_extras(tasks: Iterable[Task]) -> None:
    """Check that training these environments is possible.

    Raises:
        MissingExtraError: Something is not installed.
    """
    for package in ("jax", "optax"):
        if not _is_there(package):
            raise MissingExtraError(package, "learn", "Training")
    for task in tasks:
        if task.extra is not None:
            module, package = _MODULES.get(task.extra, (task.extra, task.extra))
            if not _is_there(module):
                raise MissingExtraError(package, task.extra, task.title)


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None
