"""The protocol of one environment written in JAX, and the spaces of its actions.

An environment is a pair of pure functions of one environment, without a batch axis, that can be compiled and vmapped:

    reset(key) -> (state, obs)
    step(key, state, action) -> (state, obs, reward, terminated, truncated, info)

It never resets itself: `step` returns the last observation of an episode as it is. `rewardspec.jax.SpecReward` runs a
batch of them and resets each one where its episode ends.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

import jax
import jax.numpy as jnp

from rewardspec.types import Action, Array, Floats, Info, Observation

EnvState: TypeAlias = Any
"""The state of an environment: any pytree of arrays. `step` returns the structure and types that `reset` returned."""

EnvStep: TypeAlias = tuple[EnvState, Observation, Array, Array, Array, Info]
"""`(state, obs, reward, terminated, truncated, info)`, without a batch axis; the flags are Booleans."""


@dataclasses.dataclass(frozen=True)
class Discrete:
    """Actions 0 to n - 1: an integer of shape ().

    Attributes:
        n: Number of actions.
    """

    n: int

    def sample(self, key: Array) -> Array:
        """Return a random action."""
        return jax.random.randint(key, (), 0, self.n)


@dataclasses.dataclass(frozen=True)
class MultiDiscrete:
    """Several discrete actions at once: integers of shape (len(counts),).

    Attributes:
        counts: Number of choices of each.
    """

    counts: tuple[int, ...]

    def sample(self, key: Array) -> Array:
        """Return a random action."""
        return jax.random.randint(key, (len(self.counts),), 0, jnp.asarray(self.counts))


@dataclasses.dataclass(frozen=True)
class Box:
    """Real actions between bounds.

    Attributes:
        shape: Shape of an action.
        low: Least value: one for all numbers of an action, or an array of its shape.
        high: Largest value, likewise.
    """

    shape: tuple[int, ...]
    low: float | Floats = -1.0
    high: float | Floats = 1.0

    def sample(self, key: Array) -> Array:
        """Return a random action; the bounds must be finite."""
        return jax.random.uniform(key, self.shape, minval=self.low, maxval=self.high)


ActionSpace: TypeAlias = Discrete | MultiDiscrete | Box | Mapping[str, "ActionSpace"]
"""Space of one environment's actions; a mapping from agents to spaces where several agents act."""


@runtime_checkable
class Environment(Protocol):
    """One environment written in JAX that never resets itself. All functions are pure."""

    @property
    def action_space(self) -> ActionSpace:
        """Space of the actions."""

    def reset(self, key: Array, /) -> tuple[EnvState, Observation]:
        """Return the first state of an episode, and its observation.

        Args:
            key: A JAX random key.
        """

    def step(self, key: Array, state: EnvState, action: Action, /) -> EnvStep:
        """Return what follows an action, without any reset.

        Args:
            key: A JAX random key.
            state: State before the action.
            action: The action.

        Returns:
            `(state, obs, reward, terminated, truncated, info)`.
        """


@dataclasses.dataclass(frozen=True)
class FunctionalEnvironment:
    """An `Environment` made of two functions. The adapters, such as `from_gymnax`, return it.

    Attributes:
        reset: Function `key -> (state, obs)`.
        step: Function `(key, state, action) -> (state, obs, reward, terminated, truncated, info)`.
        action_space: Space of the actions.
        limit: Number of steps after which `step` truncates an episode; None if there is no such limit, or it is
            unknown. It tells `as_gymnax`, `as_brax` and `lint` how long episodes are, and changes no episode.

    Example:
        >>> import jax.numpy as jnp
        >>> def reset(key):
        ...     return jnp.zeros(()), jnp.zeros(1)
        >>> def step(key, state, action):
        ...     state = state + action - 0.5
        ...     return state, state[None], -abs(state), abs(state) > 1, jnp.bool_(False), {}
        >>> walk = FunctionalEnvironment(reset, step, Discrete(2))
        >>> observation_struct(walk).shape
        (1,)
    """

    reset: Callable[[Array], tuple[EnvState, Observation]]
    step: Callable[[Array, EnvState, Action], EnvStep]
    action_space: ActionSpace
    limit: int | None = None


def sample_actions(space: ActionSpace, key: Array, count: int) -> Action:
    """Return random actions for a batch of environments.

    Args:
        space: Space of one environment's actions.
        key: A JAX random key.
        count: Number of environments.

    Example:
        >>> sample_actions({"left": Discrete(1), "right": Discrete(1)}, jax.random.key(0), 2)["right"].tolist()
        [0, 0]
    """
    if isinstance(space, Mapping):
        keys = jax.random.split(key, len(space))
        return {agent: sample_actions(one, k, count) for (agent, one), k in zip(space.items(), keys, strict=True)}
    return jax.vmap(space.sample)(jax.random.split(key, count))


def observation_struct(env: Environment) -> Any:
    """Return shape and dtype of an environment's observations, as a pytree of `jax.ShapeDtypeStruct`."""
    return jax.eval_shape(env.reset, jax.random.PRNGKey(0))[1]
