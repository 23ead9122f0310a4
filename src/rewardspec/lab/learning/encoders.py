"""What the first layers of PPO's networks see of observations in JAX: the numbers as they are, or grids encoded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rewardspec.errors import Error
from rewardspec.lab.learning.networks import Encode
from rewardspec.types import Array, Observation


class Encoder(NamedTuple):
    """A function of observations.

    Attributes:
        size: Number of features of an observation.
        apply: Function `(head, obs) -> features`, from the parameters of a network, which it need not read, and
            observations, a pytree of arrays of shape (…, *shape), to floats of shape (…, size).
    """

    size: int
    apply: Encode


def flat_encoder(struct: Any) -> Encoder:
    """Return an encoder that ravels the arrays of an observation and concatenates them as floats.

    Args:
        struct: Shape and dtype of one observation, a pytree of `jax.ShapeDtypeStruct`.
    """
    return _encoder(struct, ())


def grid_encoder(struct: Any, counts: Sequence[int]) -> Encoder:
    """Return an encoder of grids of categories, such as those of MiniGrid, by one-hot vectors.

    Args:
        struct: As for `flat_encoder`. Integer arrays of shape (height, width, len(counts)) are grids; other arrays are
            raveled.
        counts: Number of categories of each channel, such as `(13, 12)` for kinds of tiles and colors.

    Raises:
        Error: No array of an observation is such a grid.
    """
    import jax

    if not any(_is_grid(leaf, counts) for leaf in jax.tree.leaves(struct)):
        raise Error(
            f"An observation should have an integer array of shape (height, width, {len(counts)}), one number for each "
            f"of `counts`. Received {struct}."
        )
    return _encoder(struct, counts)


def _is_grid(leaf: Any, counts: Sequence[int]) -> bool:
    return np.issubdtype(leaf.dtype, np.integer) and len(leaf.shape) == 3 and leaf.shape[-1] == len(counts) > 0


def _encoder(struct: Any, counts: Sequence[int]) -> Encoder:
    import jax
    import jax.numpy as jnp

    leaves = jax.tree.leaves(struct)

    def encoded(one: Any, leaf: Array) -> Array:
        if not _is_grid(one, counts):
            return leaf.reshape(*leaf.shape[: leaf.ndim - len(one.shape)], -1).astype(np.float32)
        batch = leaf.shape[:-3]
        hot = jnp.concatenate([jax.nn.one_hot(leaf[..., k], count) for k, count in enumerate(counts)], axis=-1)
        return hot.reshape(*batch, -1)

    def apply(head: dict[str, Any], obs: Observation) -> Array:
        parts = [encoded(one, leaf) for one, leaf in zip(leaves, jax.tree.leaves(obs), strict=True)]
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)

    def size(leaf: Any) -> int:
        return math.prod(leaf.shape[:-1]) * sum(counts) if _is_grid(leaf, counts) else math.prod(leaf.shape)

    return Encoder(sum(map(size, leaves)), apply)
