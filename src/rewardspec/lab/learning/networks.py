"""The networks of PPO: an actor and a critic apart, two layers of 64 tanh units each, stacked over runs.

In JAX, an encoder says what the first layers see of observations: the numbers as they are, or grids encoded.

Parameters are nested dicts of arrays, as JAX takes them: `{"actor": {"w0": …, "b0": …, "w1": …}, "critic": {…}}`, with
`"log_std"` beside them for continuous actions. Every array has the runs as its first axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rewardspec.errors import Error
from rewardspec.types import Array, Observation

HIDDEN = (64, 64)
Parameters = dict[str, Any]
Encode: TypeAlias = Callable[[dict[str, Any], Any], Any]
"""Function from a head's parameters and observations to what its first layer sees, shape (…, inputs)."""


def plain(head: dict[str, Any], observations: Any) -> Any:
    """Return observations as they are."""
    return observations


def initial_parameters(
    seeds: Sequence[int], inputs: int, outputs: int, *, continuous: bool, hidden: Sequence[int] = HIDDEN
) -> Parameters:
    """Orthogonal weights: gain √2 for the hidden layers, 0.01 for the policy's output, 1 for the value's.

    Continuous policies also have a standard deviation, which does not depend on the observation.
    """
    sizes, values = (inputs, *hidden, outputs), (inputs, *hidden, 1)
    runs = [
        {
            "actor": _layers(rng := np.random.default_rng((seed, 0)), sizes, 0.01),
            "critic": _layers(rng, values, 1.0),
        }
        for seed in seeds
    ]
    parameters: Parameters = {
        head: {name: np.stack([run[head][name] for run in runs]) for name in runs[0][head]}
        for head in ("actor", "critic")
    }
    if continuous:
        parameters["log_std"] = np.zeros((len(runs), outputs), dtype=np.float32)
    return parameters


def _layers(rng: np.random.Generator, sizes: Sequence[int], gain: float) -> dict[str, np.ndarray[Any, Any]]:
    layers = {}
    for k, (rows, columns) in enumerate(itertools.pairwise(sizes)):
        scale = gain if k == len(sizes) - 2 else np.sqrt(2.0)
        layers[f"w{k}"] = (scale * _orthogonal(rng, rows, columns)).astype(np.float32)
        layers[f"b{k}"] = np.zeros(columns, dtype=np.float32)
    return layers


def _orthogonal(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray[Any, Any]:
    """A random matrix with orthonormal rows or columns, whichever are fewer."""
    square = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(square)
    q *= np.sign(np.diag(r))  # without it, matrices with a positive diagonal of R would be drawn more often
    return q if rows >= columns else q.T


def forward(head: dict[str, Any], observations: Any, xp: Any) -> Any:
    """The output of one head: for one run in JAX (xp=jax.numpy), or for all runs stacked in NumPy.

    In the stacked form observations have the shape (runs, batch, inputs), and so have the outputs.
    """
    stacked = head["w0"].ndim == 3
    hidden = observations
    last = sum(name.startswith("w") for name in head) - 1
    for k in range(last + 1):
        bias = head[f"b{k}"]
        hidden = hidden @ head[f"w{k}"] + (bias[:, None] if stacked else bias)
        if k < last:
            hidden = xp.tanh(hidden)
    return hidden


class Encoder(NamedTuple):
    """A function of observations, and the number of features of one.

    `apply(head, obs) -> features` takes the parameters of a network, which it need not read, and observations, a pytree
    of arrays of shape (…, *shape), to floats of shape (…, size).
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
