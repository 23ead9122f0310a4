"""Rollouts of PPO: all runs act in their environments for a while, each by its own policy.

Observations and rewards may be normalized by running moments of each run; see `normalization`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.lab.learning.monitored_batch import MonitoredBatch
from rewardspec.lab.learning.networks import Parameters, forward
from rewardspec.lab.learning.normalization import Moments, RewardScale
from rewardspec.lab.learning.settings import PPO

Floats = NDArray[np.float32]


class Rollouts:
    """Collects rollouts in the environments of all runs.

    Args:
        envs: The environments.
        config: The settings.
        seeds: The seed of each run.

    Attributes:
        observations: The running moments of the observations, or None where they are not normalized.
        rewards: The scale of the rewards, likewise.
    """

    def __init__(self, envs: MonitoredBatch, config: PPO, seeds: Sequence[int]) -> None:
        self.envs = envs
        envs.keeps_last = config.bootstrap_truncated or config.normalize_observations
        self.config = config
        self.shape = (len(seeds), config.envs)
        normalizes = config.normalize_observations
        self.observations = Moments.initial((len(seeds), envs.observation_size)) if normalizes else None
        self.rewards = RewardScale.initial(*self.shape) if config.normalize_rewards else None
        self._rngs = [np.random.default_rng((seed, 1)) for seed in seeds]
        self._obs = self._prepared(envs.reset())

    def collect(self, parameters: Parameters) -> dict[str, Any]:
        """Collect one rollout for `rewardspec.lab.learning.ppo.compiled_update`."""
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
            if self.rewards is not None:
                self.rewards, reward = self.rewards.scaled(reward, terminated.reshape(self.shape), self.config.discount)
            rewards[t] = reward
            self._obs = self._prepared(seen)
        by_run = {"obs": obs, "actions": np.stack(actions), "rewards": rewards, "dones": dones, **cut}
        return {name: np.swapaxes(array, 0, 1) for name, array in by_run.items()} | {"next_obs": self._obs}

    def _prepared(self, seen: Floats, counted: NDArray[np.bool_] | None = None) -> Floats:
        """Normalize observations, shape (runs, environments, size); update the moments with those `counted`, or all."""
        obs = seen.reshape(*self.shape, -1)
        if self.observations is None:
            return obs
        self.observations = self.observations.updated(obs, counted)
        shown: Floats = self.observations.normalize(obs)
        return shown

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
