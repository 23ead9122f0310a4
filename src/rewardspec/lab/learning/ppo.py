"""Proximal policy optimization on the host, for environments of any kind, all seeds of a cell at once.

The parameters of all runs are stacked, their environments stand side by side in one batch, and one compiled program,
`rewardspec.lab.learning.ppo_update`, updates all of them. Acting is done in NumPy: on a few dozen observations that is
three times quicker than a call of a compiled function. Values and probabilities of the actions taken are computed with
the update, for the whole rollout. For environments in JAX, `rewardspec.lab.learning.device_ppo` compiles acting too.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.lab.learning.env_batches import Source, make_batch
from rewardspec.lab.learning.finite_numbers import require_finite_policy
from rewardspec.lab.learning.monitored_batch import MonitoredBatch
from rewardspec.lab.learning.networks import Parameters, forward, initial_parameters
from rewardspec.lab.learning.normalization import Moments, RewardScale
from rewardspec.lab.learning.ppo_update import compiled_update, import_jax
from rewardspec.lab.learning.settings import PPO
from rewardspec.lab.learning.training_log import Progress, TrainingLog
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.spec import Spec


def learn_actors(
    task: Task,
    spec: Spec | None,
    observe: str | None,
    config: PPO,
    seeds: Sequence[int],
    progress: Progress | None = None,
    source: Source = "gymnasium",
) -> tuple[TrainingLog, dict[str, NDArray[Any]]]:
    """Train one policy for each seed; see `rewardspec.lab.learning.training.train` for the arguments.

    The log comes with the arrays of the learned actors, as `rewardspec.lab.learning.policies` keeps them.
    """
    with contextlib.closing(make_batch(task, _environment_seeds(seeds, config.envs), source)) as batch:
        envs = MonitoredBatch(task, batch, len(seeds), spec, observe, scale_actions=config.scale_actions)
        return _learn(envs, config, seeds, progress)


def _learn(
    envs: MonitoredBatch, config: PPO, seeds: Sequence[int], progress: Progress | None
) -> tuple[TrainingLog, dict[str, NDArray[Any]]]:
    jax, _, _ = import_jax()
    continuous = envs.actions.continuous
    parameters = initial_parameters(seeds, envs.observation_size, envs.actions.outputs, continuous=continuous)
    # What the program does not depend on is left out, so that runs of other lengths share it.
    shape = dataclasses.replace(config, total_steps=config.rollout_steps * config.envs, learning_rate=0.0, anneal=False)
    initial_memory, update = compiled_update(shape, continuous=continuous)
    memory = initial_memory(parameters)
    rollouts = Rollouts(envs, config, seeds)
    first_keys = jax.vmap(jax.random.key)(np.asarray(seeds, dtype=np.uint32))
    steps = config.rollout_steps * config.envs
    updates = config.total_steps // steps
    for number in range(updates):
        rollout = rollouts.collect(parameters)
        keys = jax.vmap(jax.random.fold_in, in_axes=(0, None))(first_keys, number)
        learning_rate = config.learning_rate * (1.0 - number / updates if config.anneal else 1.0)
        new, memory, _ = update(parameters, memory, np.float32(learning_rate), keys, rollout)
        # Copies, because the next update takes over the memory of what it is given.
        parameters = jax.tree.map(np.array, new)
        require_finite_policy(parameters["actor"], "PPO", f"after {(number + 1) * steps:,} steps")
        if progress is not None:
            progress((number + 1) * steps * len(seeds), updates * steps * len(seeds))
    arrays = dict(parameters["actor"])
    if continuous:
        arrays["log_std"] = parameters["log_std"]
    if rollouts.observations is not None:
        arrays |= {"mean": rollouts.observations.mean, "variance": rollouts.observations.variance}
    return envs.log(), arrays


def _environment_seeds(seeds: Sequence[int], envs: int) -> list[int]:
    """A seed for each environment of each run, which depends on that run alone.

    They are drawn from 2³², so that two of them can be the same: then two environments begin alike, and differ from the
    first action on that differs.
    """
    return [int(np.random.SeedSequence((seed, k)).generate_state(1)[0]) for seed in seeds for k in range(envs)]


Floats = NDArray[np.float32]


class Rollouts:
    """Collects rollouts in the environments of all runs.

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
