"""Conversion of spaces for PPO: observations to vectors, actions from numbers or vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array

from rewardspec.episodes.features import OBSERVE, Observe
from rewardspec.errors import Error
from rewardspec.types import Action, AnySpace, Array, Observation


def batched(space: AnySpace, elements: Sequence[Observation]) -> Observation:
    """Batch elements of a space, in the format of vector environments."""
    if isinstance(space, spaces.Box):
        return np.array(elements, dtype=space.dtype)  # several times faster
    empty: Array = create_empty_array(space, len(elements))
    return concatenate(space, elements, empty)


def numbers_of(space: AnySpace) -> AnySpace:
    """Remove the texts of a space, such as a mission, which a network does not read."""
    if not isinstance(space, spaces.Dict):
        return space
    # A list of pairs, because Gymnasium sorts the keys of a dict.
    return spaces.Dict([(key, numbers_of(part)) for key, part in space.spaces.items() if not _is_text(part)])


def _is_text(space: AnySpace) -> bool:
    return isinstance(space, spaces.Text) or (space.dtype is not None and space.dtype.kind == "U")


def observation_size(space: AnySpace) -> int:
    """Return the size of a flattened observation, or raise an Error if it has no fixed size."""
    whole = numbers_of(space)
    try:
        flat = None if _is_text(whole) or not whole.is_np_flattenable else gym.spaces.flatten_space(whole)
    except (NotImplementedError, ValueError):  # not a space of Gymnasium, or an empty one
        flat = None
    if not isinstance(flat, spaces.Box):
        raise Error(
            f"PPO needs observations that Gymnasium can flatten into a vector of fixed size. Received {space}. "
            "Wrap the environment so that it has such observations, or use another learner with "
            "rewardspec.wrappers.MonitorReward."
        )
    return int(flat.shape[0])


def flattener(space: AnySpace) -> Callable[[Observation], Array]:
    """Return a function that flattens a batch of n observations to shape (n, size), as `gymnasium.spaces.flatten`."""
    observation_size(space)
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return lambda batch: batch
    whole = numbers_of(space)
    return lambda batch: _flat(whole, batch).astype(np.float32)


def _flat(space: AnySpace, batch: Observation) -> Array:
    if isinstance(space, spaces.Discrete):
        return np.asarray(batch)[:, None] - space.start == np.arange(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        columns = (np.asarray(batch) - space.start).reshape(len(batch), -1)
        sizes = space.nvec.ravel()
        return np.concatenate([columns[:, k : k + 1] == np.arange(size) for k, size in enumerate(sizes)], axis=1)
    if isinstance(space, spaces.Dict):
        return np.concatenate([_flat(part, batch[key]) for key, part in space.spaces.items()], axis=1)
    if isinstance(space, spaces.Tuple):
        return np.concatenate([_flat(part, one) for part, one in zip(space.spaces, batch, strict=True)], axis=1)
    return np.asarray(batch).reshape(len(batch), -1)  # Box and MultiBinary


def scaled_actions(outputs: Array, low: Array, high: Array) -> Array:
    """Map outputs in [-1, 1] onto the bounds of actions; those without finite bounds stay as they are.

    Example:
        >>> scaled_actions(np.array([-1.0, 0.5]), np.zeros(2), np.array([512.0, np.inf])).tolist()
        [0.0, 0.5]
    """
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    bounded = np.isfinite(low) & np.isfinite(high)
    middle, half = np.where(bounded, low / 2 + high / 2, 0.0), np.where(bounded, high / 2 - low / 2, 1.0)
    return middle.astype(np.float32) + half.astype(np.float32) * outputs


class Actions:
    """Actions of an environment, as outputs of PPO.

    Args:
        space: The action space.
        scaled: Whether outputs in [-1, 1] are mapped onto the bounds of a Box.

    Attributes:
        continuous: Whether actions are continuous.
        outputs: Size of a continuous action, or number of discrete actions.
    """

    def __init__(self, space: AnySpace, *, scaled: bool = False) -> None:
        if not isinstance(space, spaces.Box | spaces.Discrete):
            raise Error(
                f"PPO takes actions of a Box or a Discrete space. Received {space}. Wrap the environment so that it "
                "has such actions, or use another learner with rewardspec.wrappers.MonitorReward."
            )
        self.space = space
        self.scaled = scaled
        self.continuous = isinstance(space, spaces.Box)
        self.outputs = int(np.prod(space.shape)) if isinstance(space, spaces.Box) else int(space.n)

    def played(self, chosen: Array) -> Action:
        """Convert outputs of shape (n, outputs), or indices of shape (n,), to actions of the environments."""
        space = self.space
        if isinstance(space, spaces.Discrete):
            return chosen + space.start if space.start else chosen
        low, high = space.low.ravel(), space.high.ravel()
        bounded = np.clip(scaled_actions(chosen, low, high) if self.scaled else chosen, low, high)
        return bounded if len(space.shape) == 1 else bounded.reshape(len(bounded), *space.shape)


STEPS = "registers-and-steps"
"""Value of `observe` for the registers and the number of steps of the episode, which is not scaled."""

NETWORK_OBSERVE = (None, *OBSERVE, STEPS)
"""Values of `observe` for PPO in NumPy. Programs that are compiled for a device have no count of steps."""


def counts_steps(observe: str | None) -> bool:
    """Return whether the number of steps is the last number of an observation."""
    return observe == STEPS


def features_of(observe: str) -> Observe:
    """Return the library's `observe`, without the count of steps."""
    return "registers" if counts_steps(observe) else cast("Observe", observe)
