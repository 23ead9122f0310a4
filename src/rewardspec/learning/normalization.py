"""Running mean and variance of several runs, each its own, as CleanRL's continuous PPO normalises with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EPSILON = 1e-8
LIMIT = 10.0
"""Normalised numbers are clipped to plus and minus this."""


class RunningMoments:
    """Mean and variance of all numbers seen so far.

    They start from a mean of 0 and a variance of 1 that count as a ten-thousandth of a sample.

    Args:
        shape: The runs first, then the shape of one sample.

    Example:
        >>> moments = RunningMoments((2,))
        >>> moments.update(np.array([[1.0, 3.0], [5.0, 5.0]]))
        >>> moments.mean.round(2), moments.variance.round(2)
        (array([2., 5.]), array([1., 0.]))
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean = np.zeros(shape)
        self.variance = np.ones(shape)
        self.count = 1e-4

    def update(self, samples: Floats) -> None:
        """Take in samples of shape (runs, samples, *sample)."""
        count = samples.shape[1]
        mean = samples.mean(axis=1)
        variance = samples.var(axis=1) if count > 1 else 0.0
        total = self.count + count
        delta = mean - self.mean
        self.mean = self.mean + delta * (count / total)
        between = delta * delta * (self.count * count / total)
        self.variance = (self.variance * self.count + variance * count + between) / total
        self.count = total


def normalised(obs: Any, mean: Floats, variance: Floats) -> NDArray[np.float32]:
    """Observations less their mean, over their standard deviation, clipped."""
    scaled = (obs - mean) / np.sqrt(variance + _EPSILON)
    clipped: NDArray[np.float32] = np.clip(scaled, -LIMIT, LIMIT).astype(np.float32)
    return clipped


class NormalisedObservations:
    """Observations normalised by the running moments of their run."""

    def __init__(self, runs: int, size: int) -> None:
        self.moments = RunningMoments((runs, size))

    def __call__(self, obs: Any) -> NDArray[np.float32]:
        """The normalised observations, shape (runs, environments, size), these taken into account already."""
        self.moments.update(obs)
        return normalised(obs, self.moments.mean[:, None], self.moments.variance[:, None])


class NormalisedRewards:
    """Rewards over the standard deviation of the discounted return so far, clipped."""

    def __init__(self, runs: int, envs: int, discount: float) -> None:
        self.moments = RunningMoments((runs,))
        self.discount = discount
        self.returns = np.zeros((runs, envs))

    def __call__(self, rewards: Floats, terminated: Any) -> Floats:
        """The normalised rewards, shape (runs, environments).

        As in Gymnasium's wrapper, an episode that is cut off does not end the return: only `terminated` does.
        """
        self.returns = self.returns * self.discount * (1.0 - terminated) + rewards
        self.moments.update(self.returns)
        return np.clip(rewards / np.sqrt(self.moments.variance[:, None] + _EPSILON), -LIMIT, LIMIT)
