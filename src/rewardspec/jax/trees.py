"""Pytrees of environments' states: equal types in every step, and a choice between two for each environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from rewardspec.errors import Error
from rewardspec.types import Array


def strong(leaf: Any) -> Array:
    """Return a leaf as an array whose type is not weak.

    Environments may hold Python numbers, which become arrays of weak type and make `jit` compile a second time.

    Example:
        >>> jnp.asarray(1).weak_type, strong(1).weak_type
        (True, False)
    """
    leaf = jnp.asarray(leaf)
    return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else jnp.asarray(leaf, leaf.dtype)


def apart(tree: Any) -> Any:
    """Return a pytree of arrays that XLA computes apart from what reads it.

    JAX before 0.5.3 has no barrier for that, or one that cannot be vmapped or differentiated: there nothing is kept
    apart, which is slower and gives the same.
    """
    if jax.__version_info__ < (0, 5, 3):
        return tree
    barrier: Callable[..., Any] = jax.lax.optimization_barrier
    return barrier(tree)


def chosen(where: Array, first: Any, last: Any) -> Any:
    """Choose between two pytrees of arrays of shape (*batch, …), environment by environment: `first` where the mask is.

    Example:
        >>> chosen(jnp.array([True, False]), {"x": jnp.zeros((2, 1))}, {"x": jnp.ones((2, 1))})["x"].tolist()
        [[0.0], [1.0]]
    """
    after_reset: Any = jax.tree.structure(first)
    after_step: Any = jax.tree.structure(last)
    if after_reset != after_step:
        raise Error(
            "`step` should return a state and an observation of the structure that `reset` returned. Received "
            f"{after_step} after a step and {after_reset} after a reset."
        )

    def choose(path: Any, new: Any, old: Any) -> Array:
        new, old = jnp.asarray(new), jnp.asarray(old)
        if new.shape != old.shape or _kind(new) != _kind(old):
            raise Error(
                "`step` should return arrays of the shapes and types that `reset` returned. Received "
                f"{old.dtype}{list(old.shape)} after a step and {new.dtype}{list(new.shape)} after a reset, in "
                f"{jax.tree_util.keystr(path)} of the state and the observation."
            )
        if new.shape[: where.ndim] != where.shape:
            return old  # MuJoCo Warp keeps what all environments share in arrays without a batch axis
        found = jnp.where(where.reshape(where.shape + (1,) * (new.ndim - where.ndim)), new, old)
        return found if found.dtype == new.dtype else found.astype(new.dtype)

    return jax.tree_util.tree_map_with_path(choose, first, last)


def _kind(array: Array) -> object:
    """What kind of numbers an array holds; any conversion within a kind keeps the state's types equal."""
    kinds = (jnp.floating, jnp.integer, jnp.bool_)
    return next((kind for kind in kinds if jnp.issubdtype(array.dtype, kind)), array.dtype)
