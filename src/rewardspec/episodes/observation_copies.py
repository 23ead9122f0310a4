"""Copies of observations, to be read when the originals may have been written over."""

from __future__ import annotations

from collections import OrderedDict
from copy import deepcopy

import numpy as np

from rewardspec.types import Observation

_IMMUTABLE = frozenset([int, float, bool, str, bytes, type(None), np.bool_, np.int32, np.int64, np.float32, np.float64])


def copied(observation: Observation) -> Observation:
    """A copy that shares nothing which could be changed.

    What Gymnasium's spaces usually give is copied part by part, many times quicker than by `deepcopy`, which does the
    rest.

    Example:
        >>> position = np.zeros(2)
        >>> kept = copied({"position": position, "cell": 3})
        >>> position += 1.0
        >>> kept
        {'position': array([0., 0.]), 'cell': 3}
    """
    kind = observation.__class__
    if kind is np.ndarray:
        return observation.copy() if observation.dtype.kind != "O" else deepcopy(observation)
    if kind in _IMMUTABLE:
        return observation
    if kind is dict:
        return {key: copied(part) for key, part in observation.items()}
    if kind is tuple:
        return tuple([copied(part) for part in observation])
    if hasattr(observation, "clone"):  # a tensor of torch
        return observation.clone()
    if kind is list or kind is OrderedDict:  # `deepcopy` refuses tensors inside that have gradients
        parts = observation if kind is list else observation.items()
        return kind([copied(part) for part in parts])
    return deepcopy(observation)
