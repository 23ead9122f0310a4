"""Small JAX environments for the tests."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rewardspec.jax import Discrete, FunctionalEnvironment
from tests.agreement.playback import info_of
from tests.spec_cases import Case


class Walker(NamedTuple):
    """Position on a line, a time that is a Python number after a reset, and a key, as environments have them."""

    x: Any
    time: Any
    key: Any


def walk(length: float = 1.0) -> FunctionalEnvironment:
    """A noisy walk from near 0 that terminates beyond `length` and is truncated after seven steps."""

    def reset(key: Any) -> Any:
        x = jax.random.uniform(key, minval=-0.5, maxval=0.5)
        return Walker(x, 0, key), jnp.stack([x, 0.0])

    def step(key: Any, state: Walker, action: Any) -> Any:
        x = state.x + 0.4 * (action - 0.5) + jax.random.uniform(key, minval=-0.4, maxval=0.4)
        state = Walker(x, state.time + 1, state.key)
        return state, jnp.stack([x, x - state.x]), -abs(x), abs(x) > length, state.time >= 7, {"twice": 2 * x}

    return FunctionalEnvironment(reset, step, Discrete(2))


class Played(NamedTuple):
    """Where a recorded episode is.

    Attributes:
        episode: Which one.
        at: How many steps it has taken.
        info: The labels that come from `info`.
    """

    episode: Any
    at: Any
    info: dict[str, Any]


def playback(case: Case) -> FunctionalEnvironment | None:
    """An environment that plays episodes of a case, in random order; None where none of them ends by itself."""
    a, c = (jnp.asarray(case.labels[atom], jnp.float32) for atom in ("a", "c"))
    tables = {name: jnp.asarray(labels, jnp.float32) for name, labels in info_of(case.labels).items()}
    base = jnp.asarray(case.base_rewards, jnp.float32)
    ends = jnp.asarray(case.terminated), jnp.asarray(case.truncated)
    episodes = np.flatnonzero((case.terminated | case.truncated).any(axis=0))
    if not episodes.size:
        return None

    def seen(episode: Any, at: Any) -> Any:
        info = {name: table[at, episode] for name, table in tables.items()}
        return Played(episode, at, info), jnp.stack([a[at, episode], c[at, episode]])

    def reset(key: Any) -> Any:
        return seen(jnp.asarray(episodes)[jax.random.bits(key) % len(episodes)], 0)

    def step(key: Any, state: Played, action: Any) -> Any:
        where = state.at, state.episode
        return *seen(state.episode, state.at + 1), base[where], ends[0][where], ends[1][where], {}

    return FunctionalEnvironment(reset, step, Discrete(2))


def played_action(case: Case, state: Played) -> Any:
    """The action of the next step, which is the label of `c`: shape (envs, 1)."""
    return jnp.asarray(case.labels["c"], jnp.float32)[state.at + 1, state.episode][..., None]
