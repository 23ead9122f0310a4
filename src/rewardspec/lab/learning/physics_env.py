"""The classic control environments in JAX: the same physics, as one environment that `jax.vmap` multiplies."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from rewardspec.lab.learning.array_physics import Physics, physics_of
from rewardspec.lab.tasks.task import Task
from rewardspec.types import Action, Array

if TYPE_CHECKING:
    from rewardspec.jax import Box, Discrete


class PhysicsEnv:
    """One environment of the protocol of `rewardspec.jax`, in float32; it never resets itself.

    Example:
        >>> import jax
        >>> from rewardspec import tasks
        >>> env = physics_env(tasks.get("cart_pole"))
        >>> state, obs = env.reset(jax.random.key(0))
        >>> state, obs, reward, terminated, truncated, info = env.step(jax.random.key(1), state, 1)
        >>> obs.shape, bool(terminated), bool(truncated)
        ((4,), False, False)
    """

    def __init__(self, physics: Physics, task: Task) -> None:
        self.physics = physics
        self.task = task

    @functools.cached_property
    def action_space(self) -> Discrete | Box:
        """Space of the actions, that of Gymnasium's environment."""
        from rewardspec.jax import Box, Discrete

        with contextlib.closing(self.task.make()) as env:
            space = env.action_space
        if isinstance(space, gym.spaces.Discrete):
            return Discrete(int(space.n))
        assert isinstance(space, gym.spaces.Box)
        return Box(space.shape, float(space.low.min()), float(space.high.max()))

    def reset(self, key: Array) -> tuple[Array, Array]:
        """Return a first state, shape (numbers,), and its observation, shape (size,)."""
        import jax

        def draw(low: Any, high: Any) -> Array:
            return jax.random.uniform(key, np.shape(low), np.float32, low, high)

        state = self.physics.begin(draw)
        return state, self.physics.observe(state)

    def step(
        self, key: Array, state: Array, action: Action
    ) -> tuple[Array, Array, Array, Array, Array, dict[str, Any]]:
        """Return state, observation, reward, terminated, truncated and info after an action; `key` is not used."""
        import jax.numpy as jnp

        state, reward, terminated = self.physics.move(state, action)
        obs = self.physics.observe(state)
        if self.task.base_bonus is not None:
            reward = reward + self.task.base_bonus(None, action, obs)
        return state, obs, jnp.asarray(reward, jnp.float32), jnp.asarray(terminated), jnp.zeros((), jnp.bool_), {}


def physics_env(task: Task) -> PhysicsEnv | None:
    """Return a task's environment in JAX, or None if there is no array physics for it."""
    physics = None if task.batch is not None else physics_of(task)
    return None if physics is None else PhysicsEnv(physics, task)
