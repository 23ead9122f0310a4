"""Gymnasium environments by id, `module:id`, `module:Class`, or a function that makes one."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import TypeAlias

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from rewardspec.errors import UnknownEnvironmentError
from rewardspec.types import Environment

EnvLike: TypeAlias = str | Callable[..., Environment]
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
    """Find Gymnasium's description of an environment.

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


def words_of(env: EnvLike) -> str:
    """Display name of an environment: its id, or the name of what makes it.

    Example:
        >>> words_of("minigrid:MiniGrid-DoorKey-8x8-v0"), words_of("my_project.envs:Maze")
        ('MiniGrid-DoorKey-8x8-v0', 'Maze')
    """
    return env.rpartition(":")[2] if isinstance(env, str) else str(getattr(env, "__name__", type(env).__name__))


def name_of(env: EnvLike) -> str:
    """Display name of an environment as part of a file name.

    Example:
        >>> name_of("ALE/Pong-v5")
        'ALE_Pong-v5'
    """
    return re.sub(r"[^\w.+-]+", "_", words_of(env)).strip("_.+-") or "task"
