"""Gymnasium's Box2D environments, made only when asked for: Box2D is an optional dependency."""

from __future__ import annotations

import importlib
import warnings
from typing import Any, cast

import gymnasium as gym

from rewardspec.errors import MissingExtraError


class Box2DEntryPoint:
    """Makes one of Gymnasium's Box2D environments, as its class would.

    Importing the class needs Box2D, so `gymnasium.make` is given this object instead.

    Attributes:
        metadata: The environment's, which `gymnasium.make` reads before it makes anything.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name
        self.metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 50}

    def __call__(self, **kwargs: Any) -> gym.Env[Any, Any]:
        """Make the environment.

        Raises:
            MissingExtraError: Box2D is not installed.
        """
        try:
            with warnings.catch_warnings():
                # Box2D's compiled part warns as it loads, and takes the interpreter down where warnings are errors.
                warnings.filterwarnings("ignore", message="builtin type", category=DeprecationWarning)
                module = importlib.import_module(f"gymnasium.envs.box2d.{self.module}")
        except gym.error.DependencyNotInstalled as error:
            raise MissingExtraError("Box2D", "box2d", f"The environment {self.name}") from error
        return cast("gym.Env[Any, Any]", getattr(module, self.name)(**kwargs))
