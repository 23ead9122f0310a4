"""Proximal policy optimisation, all seeds of a cell at once.

The parameters of all runs are stacked, their environments stand side by side in one batch, and one compiled program
updates all of them. Acting is done in NumPy: on a few dozen observations that is three times quicker than a call of a
compiled function. Values and probabilities of the actions taken are computed with the update, for the whole rollout.

Where the paper is silent this follows CleanRL's `ppo.py` and `ppo_continuous_action.py`: separate networks, orthogonal
initialisation, Adam with ε = 1e-5, learning rate annealed to 0, gradient clipping, advantages normalised in each
minibatch, clipped value loss; for continuous actions also normalised observations and rewards and a standard deviation
that does not depend on the observation. As there, an episode that is cut off counts as one that ended.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error, MissingExtraError
from rewardspec.learning.batches import Source, make_batch
from rewardspec.learning.experience import Rollouts
from rewardspec.learning.logs import TrainingLog
from rewardspec.learning.networks import initial_parameters
from rewardspec.learning.paid_batch import PaidBatch
from rewardspec.learning.ppo_update import compiled_update
from rewardspec.learning.progress import Progress
from rewardspec.learning.settings import check_counts, check_not_negative, check_positive, check_shares
from rewardspec.spec.spec import Spec
from rewardspec.tasks.task import Task


@dataclasses.dataclass(frozen=True, kw_only=True)
class PPO:
    """Settings of PPO; `PPO.discrete()` and `PPO.continuous()` are those of the paper's evaluation.

    Attributes:
        total_steps: Steps of each run, in all its environments together.
        rollout_steps: Steps of each environment between two updates.
        envs: Environments of each run.
        learning_rate: At the start.
        anneal: Whether the learning rate falls to 0 over the run.
        discount: Worth of the next step's value.
        gae_lambda: Weight of longer looks ahead in the advantage.
        minibatches: Minibatches of each epoch.
        epochs: Passes over a rollout.
        normalise_advantages: Whether to, in each minibatch.
        clip: How far the probability ratio, and the value, may move in one update.
        clip_value_loss: Whether the value is clipped as well.
        entropy_coefficient: Weight of the policy's entropy.
        value_coefficient: Weight of the value loss.
        max_grad_norm: Where the gradient's norm is clipped.
        normalise: Whether observations and rewards are scaled by their running moments.
    """

    total_steps: int = 500_000
    rollout_steps: int = 128
    envs: int = 4
    learning_rate: float = 2.5e-4
    anneal: bool = True
    discount: float = 0.99
    gae_lambda: float = 0.95
    minibatches: int = 4
    epochs: int = 4
    normalise_advantages: bool = True
    clip: float = 0.2
    clip_value_loss: bool = True
    entropy_coefficient: float = 0.01
    value_coefficient: float = 0.5
    max_grad_norm: float = 0.5
    normalise: bool = False

    def __post_init__(self) -> None:
        check_counts(self, "total_steps", "rollout_steps", "envs", "minibatches", "epochs")
        check_shares(self, "discount", "gae_lambda")
        check_not_negative(self, "learning_rate", "entropy_coefficient", "value_coefficient")
        check_positive(self, "clip", "max_grad_norm")
        size = self.rollout_steps * self.envs
        if size % self.minibatches or size // self.minibatches < 2:
            raise Error(
                f"A rollout of {size} steps cannot be divided into {self.minibatches} equal minibatches of at least 2."
            )
        if self.total_steps < size:
            raise Error(f"`total_steps` should be at least one rollout, {size}. Received {self.total_steps!r}.")

    @classmethod
    def discrete(cls, **changes: Any) -> PPO:
        """The paper's settings for discrete actions, with some changed."""
        return cls(**changes)

    @classmethod
    def continuous(cls, **changes: Any) -> PPO:
        """The paper's settings for continuous actions, with some changed."""
        settings: dict[str, Any] = {
            "total_steps": 1_000_000,
            "rollout_steps": 2048,
            "envs": 1,
            "learning_rate": 3e-4,
            "minibatches": 32,
            "epochs": 10,
            "entropy_coefficient": 0.0,
            "normalise": True,
        }
        return cls(**(settings | changes))


def learn_actors(
    task: Task,
    spec: Spec | None,
    observe: str | None,
    config: PPO,
    seeds: Sequence[int],
    progress: Progress | None = None,
    source: Source = "gymnasium",
) -> tuple[TrainingLog, dict[str, NDArray[Any]]]:
    """Train one policy for each seed.

    Args:
        task: The task.
        spec: The spec that pays, or None for the environment's own reward.
        observe: What of the monitor the policy sees.
        config: The settings.
        seeds: The seed of each run.
        progress: Called after every update with the steps taken and to take, all runs together.
        source: Where environments come from; see `rewardspec.learning.batches`.

    Returns:
        The log, and the arrays of the learnt actors as `rewardspec.learning.policies` keeps them.
    """
    with contextlib.closing(make_batch(task, _environment_seeds(seeds, config.envs), source)) as batch:
        return _learn(PaidBatch(task, batch, len(seeds), spec, observe), config, seeds, progress)


def _learn(
    envs: PaidBatch, config: PPO, seeds: Sequence[int], progress: Progress | None
) -> tuple[TrainingLog, dict[str, NDArray[Any]]]:
    try:
        import jax
    except ImportError:
        raise MissingExtraError("jax", "learn", "Training") from None
    space: Any = envs.batch.action_space
    continuous = isinstance(space, gym.spaces.Box)
    outputs = int(space.shape[0] if continuous else space.n)
    parameters = initial_parameters(seeds, envs.observation_size, outputs, continuous=continuous)
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
        if progress is not None:
            progress((number + 1) * steps * len(seeds), updates * steps * len(seeds))
    arrays = dict(parameters["actor"])
    if continuous:
        arrays["log_std"] = parameters["log_std"]
    if rollouts.observations is not None:
        arrays |= {"mean": rollouts.observations.moments.mean, "variance": rollouts.observations.moments.variance}
    return envs.log(), arrays


def _environment_seeds(seeds: Sequence[int], envs: int) -> list[int]:
    """A seed for each environment of each run, which depends on that run alone.

    They are drawn from 2³², so that two of them can be the same: then two environments begin alike, and differ from the
    first action on that differs.
    """
    return [int(np.random.SeedSequence((seed, k)).generate_state(1)[0]) for seed in seeds for k in range(envs)]
