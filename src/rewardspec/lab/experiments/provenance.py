"""Where a result comes from: the versions, the command and the kind of machine, told in words that name nobody."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
from collections.abc import Sequence
from pathlib import PurePath

_PACKAGES = ("rewardspec", "numpy", "jax", "optax", "gymnasium")
_PRIVATE = ("--address",)
"""Options whose value tells where somebody's machines are."""


def versions() -> dict[str, str]:
    """The versions of what a result depends on; packages that are not installed are left out.

    Example:
        >>> list(versions())[:3]
        ['python', 'rewardspec', 'numpy']
    """
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """The machine in general words: system, kind of processor and how many cores may be used.

    Example:
        >>> machine()  # doctest: +SKIP
        'Linux, x86_64, 2 cores'
    """
    cores = usable_cores()
    return f"{platform.system()}, {platform.machine()}, {cores} core{'s' if cores != 1 else ''}"


def usable_cores() -> int:
    """How many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # Linux alone tells
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def command_line(arguments: Sequence[str]) -> str:
    """The command as somebody else would type it: directories by their last name, addresses left out.

    Args:
        arguments: What followed `rewardspec`.

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
