"""How observations in JAX take in the numbers of a spec's state.

One environment's observation is extended as `rewardspec.wrappers.observations` says: an array of shape (size,) of
floats, a dict, a tuple that is not a named one, or anything else.

With `flatten=True`, each array of an observation is raveled and all are concatenated, the numbers last, so that every
observation is one array of floats.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from rewardspec.errors import SpecError
from rewardspec.types import Array, Observation

MONITOR = "monitor"


def extended(obs: Observation, numbers: Array, axes: int) -> Observation:
    """Return observations, arrays of shape (*batch, …), with numbers of shape (*batch, count); a batch has 0 or 1 axes.

    Example:
        >>> extended(jnp.zeros((2, 1)), jnp.ones((2, 2)), 1).tolist()
        [[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]]
    """
    if isinstance(obs, jax.Array) and obs.ndim == axes + 1 and jnp.issubdtype(obs.dtype, jnp.floating):
        return jnp.concatenate([obs, numbers.astype(obs.dtype)], axis=-1)
    if isinstance(obs, dict):
        if MONITOR in obs:
            raise SpecError(
                f"The observation has a key {MONITOR!r} already. Rename it, or pass observe=None to add nothing."
            )
        return {**obs, MONITOR: numbers}
    if type(obs) is tuple:
        return (*obs, numbers)
    return {"observation": obs, MONITOR: numbers}


def flattened(obs: Observation, axes: int) -> Array:
    """Return observations as one array of floats, of shape (*batch, size); the batch has 0 or 1 axes.

    Example:
        >>> flattened({"position": jnp.zeros((2, 2)), "door": jnp.array([0, 1])}, 1).tolist()
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    dtype = jnp.result_type(float)
    leaves = [jnp.asarray(leaf, dtype) for leaf in jax.tree.leaves(obs)]
    return jnp.concatenate([leaf.reshape(*leaf.shape[:axes], -1) for leaf in leaves], axis=-1)
