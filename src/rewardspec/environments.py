"""Gymnasium environments by id, `module:id`, `module:Class`, or a function that makes one.

A name may end with arguments of `gymnasium.make`, as a JSON object after a question mark:
`FrozenLake-v1?{"is_slippery": false}`.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from rewardspec.errors import UnknownEnvironmentError
from rewardspec.types import Environment, Json, JsonObject

EnvLike: TypeAlias = str | Callable[..., Environment]
"""A Gymnasium id, `module:id`, `module:Class`, or a function that makes the environment."""

_LONGEST = 100  # characters of a file name
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
    """Find Gymnasium's description of an environment, with the arguments that its name ends with.

    Raises:
        UnknownEnvironmentError: There is no such environment.

    Example:
        >>> find_spec("gymnasium.envs.toy_text.taxi:TaxiEnv").entry_point
        'gymnasium.envs.toy_text.taxi:TaxiEnv'
        >>> find_spec('FrozenLake-v1?{"is_slippery": false, "max_episode_steps": 20}').kwargs
        {'map_name': '4x4', 'is_slippery': False}
    """
    if not isinstance(env, str):
        return EnvSpec(name_of(env), env)
    env, arguments = split_arguments(env)
    spec = _registered(env)
    if not arguments:
        return spec
    limit = arguments.pop("max_episode_steps", spec.max_episode_steps)
    return dataclasses.replace(spec, max_episode_steps=limit, kwargs={**spec.kwargs, **arguments})


def _registered(env: str) -> EnvSpec:
    module, _, name = env.rpartition(":")
    try:
        if module and callable(getattr(importlib.import_module(module), name, None)):
            return EnvSpec(name_of(env), env)
        return gym.spec(name)
    except (gym.error.Error, ImportError) as error:
        raise UnknownEnvironmentError(f"Gymnasium cannot make {env!r}: {error}{_module_hint(env)}") from None


def with_arguments(env: str, arguments: Mapping[str, Json]) -> str:
    """Add arguments of `gymnasium.make` to the name of an environment.

    Example:
        >>> with_arguments("FrozenLake-v1", {"is_slippery": False})
        'FrozenLake-v1?{"is_slippery": false}'
    """
    return f"{env}?{json.dumps(arguments, sort_keys=True, default=str)}" if arguments else env


def split_arguments(env: str) -> tuple[str, JsonObject]:
    """Split the name of an environment into the name itself and the arguments of `gymnasium.make`.

    Raises:
        UnknownEnvironmentError: What follows the question mark is no JSON object.
    """
    name, mark, text = env.partition("?")
    if not mark:
        return env, {}
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise UnknownEnvironmentError(
            f"What follows the question mark should be a JSON object of arguments for gymnasium.make, such as "
            f'{name}?{{"render_mode": null}}. Received {text!r}.'
        )
    return name, arguments


def imports_module(env: str) -> bool:
    """Return whether the name of an environment has a module in it, which is imported to make the environment."""
    return ":" in env.partition("?")[0]


def make_environment(spec: EnvSpec, **kwargs: Any) -> Environment:
    """Make an environment with `gymnasium.make`.

    Raises:
        UnknownEnvironmentError: It does not take one of the arguments.
    """
    try:
        return gym.make(spec, **kwargs)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise UnknownEnvironmentError(
            f"{spec.id} cannot be made with the arguments {spec.kwargs}: {str(error).partition(' was raised')[0]}. "
            "Look up its arguments in the documentation of the environment."
        ) from None


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
        >>> words_of('FrozenLake-v1?{"is_slippery": false}')
        'FrozenLake-v1 (is_slippery=false)'
    """
    if not isinstance(env, str):
        return str(getattr(env, "__name__", type(env).__name__))
    name, arguments = split_arguments(env)
    listed = ", ".join(f"{key}={json.dumps(value)}" for key, value in arguments.items())
    return name.rpartition(":")[2] + (f" ({listed})" if listed else "")


def name_of(env: EnvLike) -> str:
    """Display name of an environment as part of a file name.

    Example:
        >>> name_of("ALE/Pong-v5")
        'ALE_Pong-v5'
    """
    words = words_of(env)
    name = re.sub(r"[^\w.+-]+", "_", words).strip("_.+-") or "task"
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}-{zlib.crc32(words.encode()):08x}"
