"""Gymnasium's Box2D environments, imported on use because Box2D is an optional dependency."""

from __future__ import annotations

import importlib
import warnings
from typing import Any, cast

import gymnasium as gym

from rewardspec.errors import MissingExtraError
from rewardspec.types import Environment, JsonObject


class Box2DEntryPoint:
    """Entry point of one of Gymnasium's Box2D environments.

    It stands for the environment's class in `gymnasium.make`, because importing the class needs Box2D.

    Attributes:
        metadata: Metadata of the environment, which `gymnasium.make` reads before it calls the entry point.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name
        self.metadata: JsonObject = {"render_modes": ["human", "rgb_array"], "render_fps": 50}

    def __call__(self, **kwargs: Any) -> Environment:
        """Make the environment, which needs Box2D."""
        try:
            with warnings.catch_warnings():
                # Box2D's extension module warns on import, and crashes the interpreter where warnings are errors.
                warnings.filterwarnings("ignore", message="builtin type", category=DeprecationWarning)
                module = importlib.import_module(f"gymnasium.envs.box2d.{self.module}")
        except gym.error.DependencyNotInstalled as error:
            raise MissingExtraError("Box2D", "box2d", f"The environment {self.name}") from error
        return cast("Environment", getattr(module, self.name)(**kwargs))
