"""Collecting experience: all runs act in their environments for a while, each by its own policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.learning.networks import Parameters, forward
from rewardspec.learning.normalization import NormalisedObservations, NormalisedRewards
from rewardspec.learning.paid_batch import PaidBatch

if TYPE_CHECKING:
    from rewardspec.learning.ppo import PPO

Floats = NDArray[np.float32]


class Rollouts:
    """The environments of all runs, and where they stand.

    Args:
        envs: The environments.
        config: The settings.
        seeds: The seed of each run.

    Attributes:
        observations: The running moments of the observations, or None where they are not normalised.
    """

    def __init__(self, envs: PaidBatch, config: PPO, seeds: Sequence[int]) -> None:
        self.envs = envs
        self.config = config
        self.shape = (len(seeds), config.envs)
        self.observations = NormalisedObservations(len(seeds), envs.observation_size) if config.normalise else None
        self.rewards = NormalisedRewards(*self.shape, config.discount) if config.normalise else None
        self._rngs = [np.random.default_rng((seed, 1)) for seed in seeds]
        self._obs = self._prepared(envs.reset())

    def collect(self, parameters: Parameters) -> dict[str, Any]:
        """One rollout, as `rewardspec.learning.ppo_update` takes it."""
        steps = self.config.rollout_steps
        space = self.envs.batch.action_space
        obs = np.empty((steps, *self.shape, self.envs.observation_size), dtype=np.float32)
        rewards = np.empty((steps, *self.shape), dtype=np.float32)
        dones = np.empty((steps, *self.shape), dtype=np.float32)
        actions: list[NDArray[Any]] = []
        continuous = isinstance(space, gym.spaces.Box)
        noise = self._noise(parameters["actor"]["w2"].shape[-1], continuous=continuous)
        spread = np.exp(parameters["log_std"])[:, None] if continuous else None
        for t in range(steps):
            obs[t] = self._obs
            outputs = forward(parameters["actor"], self._obs, np)
            if isinstance(space, gym.spaces.Box):
                action = outputs + spread * noise[t]
                played = np.clip(action, space.low, space.high).reshape(-1, action.shape[-1])
            else:
                action = np.argmax(outputs + noise[t], axis=-1)
                played = action.reshape(-1)
            actions.append(action)
            seen, paid, terminated, truncated = self.envs.step(played)
            dones[t] = (terminated | truncated).reshape(self.shape)
            reward = paid.reshape(self.shape)
            rewards[t] = reward if self.rewards is None else self.rewards(reward, terminated.reshape(self.shape))
            self._obs = self._prepared(seen)
        by_run = {"obs": obs, "actions": np.stack(actions), "rewards": rewards, "dones": dones}
        return {name: np.swapaxes(array, 0, 1) for name, array in by_run.items()} | {"next_obs": self._obs}

    def _prepared(self, seen: Floats) -> Floats:
        """What the policies see, shape (runs, environments, size)."""
        obs = seen.reshape(*self.shape, -1)
        return obs if self.observations is None else self.observations(obs)

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
