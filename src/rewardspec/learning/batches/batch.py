"""What a batch of environments is: `EnvBatch`."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Booleans = NDArray[np.bool_]


class Step(NamedTuple):
    """What one step of every environment led to; n is the number of environments.

    Attributes:
        next_obs: The observations the actions led to, the last of an episode included, shape (n, size).
        reward: The environment's own rewards, shape (n,).
        terminated: Where an episode ended for good, shape (n,).
        truncated: Where it was cut off by the time limit, shape (n,).
        obs: What the next actions are chosen on: `next_obs`, or the first observation of a new episode where one ended.
    """

    next_obs: Floats
    reward: NDArray[np.float64]
    terminated: Booleans
    truncated: Booleans
    obs: Floats


class EnvBatch(Protocol):
    """Copies of one environment, stepped together; an episode that ends is followed by the next one at once.

    Attributes:
        observation_size: Numbers in an observation.
        action_space: The actions of one environment.
    """

    observation_size: int
    action_space: gym.Space[Any]

    def __len__(self) -> int:
        """The number of copies."""
        ...

    def reset(self) -> Floats:
        """The first observations, from the seeds the batch was made with."""
        ...

    def step(self, actions: Any) -> Step:
        """One step of every copy. Continuous actions should lie within the space's bounds."""
        ...

    def close(self) -> None:
        """Let go of what the copies hold."""
        ...
