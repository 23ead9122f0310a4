"""Provenance of results: versions, command line and kind of machine, without personal data."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from rewardspec.environments import find_spec

if TYPE_CHECKING:
    from rewardspec.lab.tasks.task import Task

_PACKAGES = ("rewardspec", "numpy", "jax", "optax", "gymnasium")
_SB3_PACKAGES = ("rewardspec", "numpy", "stable_baselines3", "sb3_contrib", "torch", "gymnasium")
_PRIVATE = ("--address",)  # options whose values are private


def versions(task: Task | None = None) -> dict[str, str]:
    """Return the versions of the packages that a result depends on, if installed: also learner's and environment's.

    Example:
        >>> list(versions())[:3]
        ['python', 'rewardspec', 'numpy']
    """
    found = {"python": platform.python_version()}
    packages: tuple[str, ...] = _SB3_PACKAGES if task is not None and task.learner.startswith("sb3:") else _PACKAGES
    entry = None if task is None else find_spec(task.env).entry_point
    if isinstance(entry, str):
        module = entry.partition(":")[0].partition(".")[0]
        packages += tuple(importlib.metadata.packages_distributions().get(module, ()))
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine(device: str = "host") -> str:
    """Describe the machine: system, kind of processor, number of usable cores, and the accelerator that was used.

    Example:
        >>> machine()  # doctest: +SKIP
        'Linux, x86_64, 2 cores'
    """
    cores = usable_cores()
    words = f"{platform.system()}, {platform.machine()}, {cores} core{'s' if cores != 1 else ''}"
    if device in ("host", "cpu"):
        return words
    import jax

    return f"{words}, {jax.devices(device)[0].device_kind}"


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # only on Linux
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def command_line(arguments: Sequence[str]) -> str:
    """Return the command line of `rewardspec` without private parts: absolute paths become names, addresses go.

    Example:
        >>> command_line(["reproduce", "-o", "/home/ada/results", "--address=10.0.0.7:6379"])
        'rewardspec reproduce -o results --address=ADDRESS'
    """
    words: list[str] = []
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if words and words[-1] in _PRIVATE:
            words.append("ADDRESS")
        elif equals and name.startswith("-"):
            words.append(f"{name}={'ADDRESS' if name in _PRIVATE else _relative(value)}")
        else:
            words.append(_relative(argument))
    return shlex.join(["rewardspec", *words])


def _relative(word: str) -> str:
    path = PurePath(word)
    return path.name or "DIR" if path.is_absolute() or word.startswith("~") else word
