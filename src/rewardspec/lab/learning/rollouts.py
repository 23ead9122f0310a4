"""Rollouts of PPO: all runs act in their environments for a while, each by its own policy.

Observations and rewards may be normalized by running moments of each run, as CleanRL's continuous PPO does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.lab.learning.monitored_batch import MonitoredBatch
from rewardspec.lab.learning.networks import Parameters, forward
from rewardspec.lab.learning.settings import PPO

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
EPSILON = 1e-8
LIMIT = 10.0
"""Normalized numbers are clipped to plus and minus this."""


class Rollouts:
    """Collects rollouts in the environments of all runs.

    Args:
        envs: The environments.
        config: The settings.
        seeds: The seed of each run.

    Attributes:
        observations: The running moments of the observations, or None where they are not normalized.
    """

    def __init__(self, envs: MonitoredBatch, config: PPO, seeds: Sequence[int]) -> None:
        self.envs = envs
        envs.keeps_last = config.bootstrap_truncated or config.normalize_observations
        self.config = config
        self.shape = (len(seeds), config.envs)
        normalizes = config.normalize_observations
        self.observations = NormalizedObservations(len(seeds), envs.observation_size) if normalizes else None
        self.rewards = NormalizedRewards(*self.shape, config.discount) if config.normalize_rewards else None
        self._rngs = [np.random.default_rng((seed, 1)) for seed in seeds]
        self._obs = self._prepared(envs.reset())

    def collect(self, parameters: Parameters) -> dict[str, Any]:
        """One rollout, as `rewardspec.lab.learning.ppo.compiled_update` takes it."""
        steps = self.config.rollout_steps
        obs = np.empty((steps, *self.shape, self.envs.observation_size), dtype=np.float32)
        rewards = np.empty((steps, *self.shape), dtype=np.float32)
        dones = np.empty((steps, *self.shape), dtype=np.float32)
        cut: dict[str, Floats] = {}
        if self.config.bootstrap_truncated:
            cut = {"truncated": np.zeros_like(dones), "last_obs": np.zeros_like(obs)}
        actions: list[NDArray[Any]] = []
        continuous = self.envs.actions.continuous
        noise = self._noise(parameters["actor"]["w2"].shape[-1], continuous=continuous)
        spread = np.exp(parameters["log_std"])[:, None] if continuous else None
        for t in range(steps):
            obs[t] = self._obs
            outputs = forward(parameters["actor"], self._obs, np)
            action = outputs + spread * noise[t] if continuous else np.argmax(outputs + noise[t], axis=-1)
            actions.append(action)
            played = self.envs.actions.played(action.reshape(-1, *action.shape[2:]))
            seen, paid, terminated, truncated = self.envs.step(played)
            dones[t] = (terminated | truncated).reshape(self.shape)
            if self.envs.last is not None:
                last = self._prepared(self.envs.last, dones[t] > 0.0)
                if cut:
                    cut["truncated"][t] = truncated.reshape(self.shape)
                    cut["last_obs"][t] = last
            reward = paid.reshape(self.shape)
            rewards[t] = reward if self.rewards is None else self.rewards(reward, terminated.reshape(self.shape))
            self._obs = self._prepared(seen)
        by_run = {"obs": obs, "actions": np.stack(actions), "rewards": rewards, "dones": dones, **cut}
        return {name: np.swapaxes(array, 0, 1) for name, array in by_run.items()} | {"next_obs": self._obs}

    def _prepared(self, seen: Floats, counted: NDArray[np.bool_] | None = None) -> Floats:
        """What the policies see, shape (runs, environments, size); running moments take in those counted, or all."""
        obs = seen.reshape(*self.shape, -1)
        return obs if self.observations is None else self.observations(obs, counted)

    def _noise(self, outputs: int, *, continuous: bool) -> Floats:
        """For every step what makes the policies random; drawn for each run by itself.

        The largest of log-probabilities plus Gumbel noise is a sample of a categorical distribution.
        """
        shape = (self.config.rollout_steps, self.config.envs, outputs)
        if continuous:
            drawn = [rng.standard_normal(shape, dtype=np.float32) for rng in self._rngs]
        else:
            tiny = np.finfo(np.float32).tiny  # an exponential can be drawn as 0
            drawn = [-np.log(rng.standard_exponential(shape, dtype=np.float32) + tiny) for rng in self._rngs]
        return np.stack(drawn, axis=1)


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
        self.count = np.full((shape[0], *(1,) * (len(shape) - 1)), 1e-4)

    def update(self, samples: Doubles, counted: NDArray[np.bool_] | None = None) -> None:
        """Update with samples of shape (runs, samples, *sample): with all, or those counted, shape (runs, samples)."""
        if counted is None:
            count: Any = samples.shape[1]
            mean = samples.mean(axis=1)
            variance = samples.var(axis=1) if count > 1 else 0.0
        else:
            weights = counted.reshape(*counted.shape, *(1,) * (samples.ndim - 2)).astype(np.float64)
            count = weights.sum(axis=1)
            some = np.maximum(count, 1.0)
            mean = (weights * samples).sum(axis=1) / some
            variance = (weights * (samples - mean[:, None]) ** 2).sum(axis=1) / some
        total = self.count + count
        delta = mean - self.mean
        self.mean = self.mean + delta * (count / total)
        between = delta * delta * (self.count * count / total)
        self.variance = (self.variance * self.count + variance * count + between) / total
        self.count = total


def normalized(obs: Any, mean: Doubles, variance: Doubles) -> NDArray[np.float32]:
    """Observations less their mean, over their standard deviation, clipped."""
    scaled = (obs - mean) / np.sqrt(variance + EPSILON)
    clipped: NDArray[np.float32] = np.clip(scaled, -LIMIT, LIMIT).astype(np.float32)
    return clipped


class NormalizedObservations:
    """Observations normalized by the running moments of their run."""

    def __init__(self, runs: int, size: int) -> None:
        self.moments = RunningMoments((runs, size))

    def __call__(self, obs: Any, counted: NDArray[np.bool_] | None = None) -> NDArray[np.float32]:
        """The normalized observations, shape (runs, environments, size), these taken into account already.

        Args:
            obs: The observations.
            counted: Which of them are taken into account, shape (runs, environments); all by default.
        """
        self.moments.update(obs, counted)
        return normalized(obs, self.moments.mean[:, None], self.moments.variance[:, None])


class NormalizedRewards:
    """Rewards over the standard deviation of the discounted return so far, clipped."""

    def __init__(self, runs: int, envs: int, discount: float) -> None:
        self.moments = RunningMoments((runs,))
        self.discount = discount
        self.returns = np.zeros((runs, envs))

    def __call__(self, rewards: Doubles, terminated: Any) -> Doubles:
        """The normalized rewards, shape (runs, environments).

        As in Gymnasium's wrapper, an episode that is cut off does not end the return: only `terminated` does.
        """
        self.returns = self.returns * self.discount * (1.0 - terminated) + rewards
        self.moments.update(self.returns)
        return np.clip(rewards / np.sqrt(self.moments.variance[:, None] + EPSILON), -LIMIT, LIMIT)
