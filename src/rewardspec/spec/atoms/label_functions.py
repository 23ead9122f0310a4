"""Small array functions for atoms: each takes a number, a NumPy array or a JAX array, of any shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rewardspec.machines.namespaces import namespace_of
from rewardspec.types import Array, ArrayNamespace, Number

NEARLY_TRUE = 0.99
"""A continuous quantity counts as fully true from here on: no float is ever compared for equality."""


def namespace(value: Number) -> ArrayNamespace:
    """The module whose functions work on the value: NumPy, unless it is an array of another library."""
    return namespace_of(value) or np


def unit(value: Number) -> Number:
    """The value clipped to [0, 1].

    Example:
        >>> unit(np.array([-0.5, 0.25, 7.0])).tolist()
        [0.0, 0.25, 1.0]
    """
    return namespace(value).clip(value, 0.0, 1.0)


def closeness(distance: Array, limit: float) -> Number:
    """One at distance 0, falling linearly to zero at `limit`, and zero beyond.

    Example:
        >>> closeness(np.array([0.0, 0.1, 0.4, 3.0]), 0.4).tolist()
        [1.0, 0.75, 0.0, 0.0]
    """
    return unit(1.0 - distance / limit)


def truth(condition: Array) -> Number:
    """One where the condition holds, zero elsewhere."""
    return 1.0 * condition


def nearly_true(value: Number) -> Number:
    """The Boolean reading of a quantity in [0, 1]: one from `NEARLY_TRUE` on, zero below."""
    return truth(value >= NEARLY_TRUE)


def lookup(table: NDArray[np.float64], states: Array) -> Array:
    """The table's entry for each discrete state.

    The table moves to the library of `states` first: a NumPy array cannot be indexed by a traced JAX value.
    """
    return namespace(states).asarray(table)[states]
