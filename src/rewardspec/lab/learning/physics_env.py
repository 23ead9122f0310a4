"""The classic control environments by array physics: one in JAX, which `jax.vmap` multiplies, or many in NumPy."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from rewardspec.lab.learning.array_physics import Physics, physics_of
from rewardspec.lab.learning.env_batches import BatchStep
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

        def draw(low: Any, high: Any, size: int | None) -> Array:
            return jax.random.uniform(key, np.shape(low) if size is None else (size,), np.float32, low, high)

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


Floats = NDArray[np.float32]


class PhysicsBatch:
    """Copies of an environment as one array."""

    def __init__(self, task: Task, seeds: Sequence[int], physics: Physics) -> None:
        env = task.make()
        self.observation_space: gym.Space[Any] = env.observation_space
        self.action_space: gym.Space[Any] = env.action_space
        env.close()
        self.task = task
        self.seeds = tuple(seeds)
        self.physics = physics
        self._steps = np.zeros(len(self.seeds), dtype=np.int64)

    def __len__(self) -> int:
        """The number of copies."""
        return len(self.seeds)

    def reset(self) -> tuple[Floats, None]:
        """The first observations."""
        self._rngs = [seeding.np_random(seed)[0] for seed in self.seeds]
        self._steps[:] = 0
        self._state = self._begin(self._rngs)
        return self._observe(), None

    def step(self, actions: Any) -> BatchStep:
        """One step of every copy."""
        self._state, paid, over = self.physics.move(self._state, actions)
        next_obs = self._observe()
        reward = np.broadcast_to(np.asarray(paid, dtype=np.float64), self._steps.shape)
        if self.task.base_bonus is not None:
            reward = reward + self.task.base_bonus(None, actions, next_obs)
        terminated = np.broadcast_to(np.asarray(over), self._steps.shape)
        self._steps += 1
        truncated = (self._steps >= (self.task.max_episode_steps or np.inf)) & ~terminated
        ended = np.flatnonzero(terminated | truncated)
        obs = next_obs
        if len(ended):
            # A copy: the caller may still hold the arrays of the last step.
            self._state = self._state.copy()
            self._state[:, ended] = self._begin([self._rngs[k] for k in ended])
            self._steps[ended] = 0
            obs = next_obs.copy()
            obs[ended] = self.physics.observe(self._state[:, ended])
        return BatchStep(next_obs, reward, terminated, truncated, obs)

    def _begin(self, rngs: Sequence[np.random.Generator]) -> NDArray[np.float64]:
        """Return first states, shape (numbers, n)."""
        return np.array([self.physics.begin(rng.uniform) for rng in rngs], dtype=np.float64).T

    def _observe(self) -> Floats:
        obs: Floats = self.physics.observe(self._state).astype(np.float32)
        return obs

    def close(self) -> None:
        """Nothing to release."""
