"""Spaces as PPO takes them: observations as vectors, actions as a number or a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from numpy.typing import NDArray

from rewardspec.errors import Error

Floats = NDArray[np.float32]


def batched(space: gym.Space[Any], elements: Sequence[Any]) -> Any:
    """Elements of a space as one batch, as vector environments give it."""
    if isinstance(space, spaces.Box):
        return np.array(elements, dtype=space.dtype)  # several times quicker
    empty: Any = create_empty_array(space, len(elements))
    return concatenate(space, elements, empty)


def numbers_of(space: gym.Space[Any]) -> gym.Space[Any]:
    """A space without its texts, such as a mission in words, which a network does not read."""
    if not isinstance(space, spaces.Dict):
        return space
    # As pairs, because Gymnasium sorts the keys of a dict.
    return spaces.Dict([(key, numbers_of(part)) for key, part in space.spaces.items() if not _is_text(part)])


def _is_text(space: gym.Space[Any]) -> bool:
    return isinstance(space, spaces.Text) or (space.dtype is not None and space.dtype.kind == "U")


def observation_size(space: gym.Space[Any]) -> int:
    """How many numbers an observation has when it is flat.

    Raises:
        Error: Observations of this space have no fixed number of them.
    """
    whole = numbers_of(space)
    try:
        flat = None if _is_text(whole) or not whole.is_np_flattenable else gym.spaces.flatten_space(whole)
    except (NotImplementedError, ValueError):  # a space that is not Gymnasium's; nothing to flatten
        flat = None
    if not isinstance(flat, spaces.Box):
        raise Error(
            f"PPO needs observations that Gymnasium can flatten into a vector of fixed size. Received {space}. "
            "Wrap the environment so that it has such observations, or use another learner with "
            "rewardspec.wrappers.MonitorReward."
        )
    return int(flat.shape[0])


def flattener(space: gym.Space[Any]) -> Callable[[Any], Any]:
    """A function that flattens a batch of observations, as `gymnasium.spaces.flatten` does one; shape (n, size)."""
    observation_size(space)
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return lambda batch: batch
    whole = numbers_of(space)
    return lambda batch: _flat(whole, batch).astype(np.float32)


def _flat(space: gym.Space[Any], batch: Any) -> NDArray[Any]:
    if isinstance(space, spaces.Discrete):
        hot: NDArray[Any] = np.asarray(batch)[:, None] - space.start == np.arange(space.n)
        return hot
    if isinstance(space, spaces.MultiDiscrete):
        columns = (np.asarray(batch) - space.start).reshape(len(batch), -1)
        sizes = space.nvec.ravel()
        return np.concatenate([columns[:, k : k + 1] == np.arange(size) for k, size in enumerate(sizes)], axis=1)
    if isinstance(space, spaces.Dict):
        return np.concatenate([_flat(part, batch[key]) for key, part in space.spaces.items()], axis=1)
    if isinstance(space, spaces.Tuple):
        return np.concatenate([_flat(part, one) for part, one in zip(space.spaces, batch, strict=True)], axis=1)
    return np.asarray(batch).reshape(len(batch), -1)  # Box and MultiBinary


class Actions:
    """The actions of an environment, as PPO chooses them.

    Args:
        space: The environment's action space.

    Attributes:
        continuous: Whether an action is a vector of numbers; else it is one of several.
        outputs: The size of the vector, or how many there are to choose from.

    Raises:
        Error: It is neither Box nor Discrete.
    """

    def __init__(self, space: gym.Space[Any]) -> None:
        if not isinstance(space, spaces.Box | spaces.Discrete):
            raise Error(
                f"PPO takes actions of a Box or a Discrete space. Received {space}. Wrap the environment so that it "
                "has such actions, or use another learner with rewardspec.wrappers.MonitorReward."
            )
        self.space = space
        self.continuous = isinstance(space, spaces.Box)
        self.outputs = int(np.prod(space.shape)) if isinstance(space, spaces.Box) else int(space.n)

    def played(self, chosen: Any) -> Any:
        """What the environments are given, for choices of shape (n, outputs), or from 0 on, of shape (n,)."""
        space = self.space
        if isinstance(space, spaces.Discrete):
            return chosen + space.start if space.start else chosen
        bounded = np.clip(chosen, space.low.ravel(), space.high.ravel())
        return bounded if len(space.shape) == 1 else bounded.reshape(len(bounded), *space.shape)
