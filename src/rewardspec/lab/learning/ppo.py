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
from rewardspec.lab.learning.networks import initial_parameters
from rewardspec.lab.learning.ppo_update import compiled_update, import_jax
from rewardspec.lab.learning.rollouts import Rollouts
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
    """Train one policy for each seed.

    Args:
        task: The task.
        spec: The spec that pays, or None for the environment's own reward.
        observe: What of the monitor the policy sees.
        config: The settings.
        seeds: The seed of each run.
        progress: Called after every update with the steps taken and to take, all runs together.
        source: Where environments come from; see `make_batch`.

    Returns:
        The log, and the arrays of the learned actors as `rewardspec.lab.learning.policies` keeps them.

    Raises:
        Error: An observation, a reward or a learned number is not finite.
    """
    with contextlib.closing(make_batch(task, _environment_seeds(seeds, config.envs), source)) as batch:
        return _learn(MonitoredBatch(task, batch, len(seeds), spec, observe), config, seeds, progress)


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
