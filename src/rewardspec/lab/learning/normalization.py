"""Observations and rewards of PPO normalized by running moments, as CleanRL's continuous PPO does.

All is pure and works on NumPy and JAX arrays: what is updated is returned. The first axis of every array is the runs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rewardspec.spec.atoms.label_functions import namespace
from rewardspec.types import Array

EPSILON = 1e-8
LIMIT = 10.0
"""Normalized numbers are clipped to plus and minus this."""


class Moments(NamedTuple):
    """Mean and variance of all samples so far.

    Attributes:
        mean: The mean, shape (runs, *sample).
        variance: The variance, likewise.
        count: Number of samples, shape (runs, 1, …), as many axes as `mean`.

    Example:
        >>> moments = Moments.initial((2,)).updated(np.array([[1.0, 3.0], [5.0, 5.0]]))
        >>> moments.mean.round(2), moments.variance.round(2)
        (array([2., 5.]), array([1., 0.]))
    """

    mean: Array
    variance: Array
    count: Array

    @classmethod
    def initial(cls, shape: tuple[int, ...]) -> Moments:
        """Return a mean of 0 and a variance of 1 that count as a ten-thousandth of a sample of shape `shape[1:]`."""
        return cls(np.zeros(shape), np.ones(shape), np.full((shape[0], *(1,) * (len(shape) - 1)), 1e-4))

    def updated(self, samples: Array, counted: Array | None = None) -> Moments:
        """Return the moments with further samples of shape (runs, n, *sample), or with those `counted`, (runs, n)."""
        if counted is None:
            count: Array = samples.shape[1]
            mean = samples.mean(axis=1)
            variance = samples.var(axis=1) if count > 1 else 0.0
        else:
            weights = counted.reshape(*counted.shape, *(1,) * (samples.ndim - 2)).astype(self.mean.dtype)
            count = weights.sum(axis=1)
            some = namespace(count).maximum(count, 1.0)
            mean = (weights * samples).sum(axis=1) / some
            variance = (weights * (samples - mean[:, None]) ** 2).sum(axis=1) / some
        total = self.count + count
        delta = mean - self.mean
        between = delta * delta * (self.count * count / total)
        return Moments(
            self.mean + delta * (count / total),
            (self.variance * self.count + variance * count + between) / total,
            total,
        )

    def normalize(self, obs: Array) -> Array:
        """Return normalized observations of shape (runs, n, *sample), in float32."""
        return normalized(obs, self.mean[:, None], self.variance[:, None])


def normalized(obs: Array, mean: Array, variance: Array) -> Array:
    """Return observations less their mean, over their standard deviation, clipped; in float32."""
    xp = namespace(obs)
    return xp.clip((obs - mean) / xp.sqrt(variance + EPSILON), -LIMIT, LIMIT).astype(np.float32)


class RewardScale(NamedTuple):
    """The standard deviation of the discounted returns so far, by which rewards are divided.

    Attributes:
        moments: Moments of the returns, shape (runs,).
        returns: Discounted return of each environment's rewards so far, shape (runs, envs).
    """

    moments: Moments
    returns: Array

    @classmethod
    def initial(cls, runs: int, envs: int) -> RewardScale:
        """Return the scale before any reward."""
        return cls(Moments.initial((runs,)), np.zeros((runs, envs)))

    def scaled(self, rewards: Array, terminated: Array, discount: float) -> tuple[RewardScale, Array]:
        """Return the scale with the rewards of a step, shape (runs, envs), and these scaled by it and clipped.

        As in Gymnasium's wrapper, a truncated episode does not end the return: only a terminated one does.
        """
        xp = namespace(rewards)
        returns = self.returns * discount * (1.0 - terminated) + rewards
        moments = self.moments.updated(returns)
        scaled = xp.clip(rewards / xp.sqrt(moments.variance[:, None] + EPSILON), -LIMIT, LIMIT)
        return RewardScale(moments, returns), scaled
