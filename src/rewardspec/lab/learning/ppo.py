"""Proximal policy optimization, all seeds of a cell at once.

The parameters of all runs are stacked, their environments stand side by side in one batch, and one compiled program
updates all of them: advantages, then epochs of minibatches of clipped steps. Acting is done in NumPy: on a few dozen
observations that is three times quicker than a call of a compiled function. Values and probabilities of the actions
taken are computed with the update, for the whole rollout.

Where the paper is silent this follows CleanRL's `ppo.py` and `ppo_continuous_action.py`: separate networks, orthogonal
initialization, Adam with ε = 1e-5, learning rate annealed to 0, gradient clipping, advantages normalized in each
minibatch, clipped value loss; for continuous actions also normalized observations and rewards and a standard deviation
that does not depend on the observation. Other than there, the value of the last state is bootstrapped where an episode
is truncated, unless the settings say that it counts as one that terminated.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import MissingExtraError
from rewardspec.lab.learning.env_batches import Source, make_batch
from rewardspec.lab.learning.finite_numbers import require_finite_policy
from rewardspec.lab.learning.monitored_batch import MonitoredBatch
from rewardspec.lab.learning.networks import forward, initial_parameters
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
    jax, _, _ = _import_jax()
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
        arrays |= {"mean": rollouts.observations.moments.mean, "variance": rollouts.observations.moments.variance}
    return envs.log(), arrays


@functools.lru_cache(maxsize=32)
def compiled_update(config: PPO, *, continuous: bool) -> tuple[Any, Any]:
    """The functions `initial_memory(parameters)` of the optimizer and `update`, both over stacked runs.

    `update(parameters, memory, learning_rate, keys, rollout) -> (parameters, memory, figures)`, where a rollout is a
    dict of `obs` (runs, T, E, inputs), `actions` (runs, T, E[, size]), `rewards` and `dones` (runs, T, E), `next_obs`
    (runs, E, inputs), and where truncated episodes are bootstrapped also `truncated` (runs, T, E) and `last_obs`
    (runs, T, E, inputs). `dones[t]` says that the episode ended with step t. T is the length of the rollout, E the
    number of environments of a run. Figures are the losses and such, one number for each run.
    """
    jax, jnp, optax = _import_jax()
    optimizer = optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.scale_by_adam(eps=1e-5))
    loss = functools.partial(surrogate_loss, config=config, continuous=continuous)
    gradient_of_loss = jax.value_and_grad(loss, has_aux=True)

    def update_one(parameters: Any, memory: Any, learning_rate: Any, key: Any, rollout: Any) -> Any:
        values = forward(parameters["critic"], rollout["obs"], jnp)[..., 0]
        next_value = forward(parameters["critic"], rollout["next_obs"], jnp)[..., 0]
        rewards = rollout["rewards"]
        if config.bootstrap_truncated:
            last_values = forward(parameters["critic"], rollout["last_obs"], jnp)[..., 0]
            rewards = rewards + config.discount * rollout["truncated"] * last_values
        advantage = _advantages(rewards, rollout["dones"], values, next_value, config)
        log_probability, _ = _log_probability_and_entropy(parameters, rollout["obs"], rollout["actions"], continuous)
        columns = {
            "obs": rollout["obs"],
            "actions": rollout["actions"],
            "value": values,
            "advantage": advantage,
            "target": advantage + values,
            "log_probability": log_probability,
        }
        size = config.rollout_steps * config.envs
        flat = jax.tree.map(lambda column: column.reshape(size, *column.shape[2:]), columns)

        def minibatch(carry: Any, rows: Any) -> tuple[Any, Any]:
            parameters, memory = carry
            batch = jax.tree.map(lambda column: column[rows], flat)
            (_, figures), gradient = gradient_of_loss(parameters, batch)
            steps, memory = optimizer.update(gradient, memory)
            parameters = jax.tree.map(lambda parameter, step: parameter - learning_rate * step, parameters, steps)
            return (parameters, memory), figures

        epochs = jax.random.split(key, config.epochs)
        order = jax.vmap(lambda key: jax.random.permutation(key, size))(epochs)
        rows = order.reshape(config.epochs * config.minibatches, size // config.minibatches)
        (parameters, memory), figures = jax.lax.scan(minibatch, (parameters, memory), rows)
        return parameters, memory, jax.tree.map(lambda figure: figure[-1], figures)

    update = jax.vmap(update_one, in_axes=(0, 0, None, 0, 0))
    return jax.jit(jax.vmap(optimizer.init)), jax.jit(update, donate_argnums=(0, 1))


def surrogate_loss(parameters: Any, batch: Any, config: PPO, *, continuous: bool) -> tuple[Any, Any]:
    """Clipped surrogate loss of a minibatch of one run, and diagnostics.

    Args:
        parameters: The parameters of one run.
        batch: Columns `obs`, `actions`, `log_probability`, `value`, `advantage` and `target`; the log-probabilities and
            values are those from before the update.
        config: The settings.
        continuous: Whether actions are continuous.
    """
    _, jnp, _ = _import_jax()
    log_probability, entropy = _log_probability_and_entropy(parameters, batch["obs"], batch["actions"], continuous)
    value = forward(parameters["critic"], batch["obs"], jnp)[..., 0]
    log_ratio = log_probability - batch["log_probability"]
    ratio = jnp.exp(log_ratio)
    advantage = batch["advantage"]
    if config.normalize_advantages:
        advantage = (advantage - advantage.mean()) / (advantage.std(ddof=1) + 1e-8)
    clipped_ratio = jnp.clip(ratio, 1.0 - config.clip, 1.0 + config.clip)
    policy_loss = jnp.maximum(-advantage * ratio, -advantage * clipped_ratio).mean()
    value_loss = (value - batch["target"]) ** 2
    if config.clip_value_loss:
        near = batch["value"] + jnp.clip(value - batch["value"], -config.clip, config.clip)
        value_loss = jnp.maximum(value_loss, (near - batch["target"]) ** 2)
    value_loss = 0.5 * value_loss.mean()
    entropy = entropy.mean()
    total = policy_loss - config.entropy_coefficient * entropy + config.value_coefficient * value_loss
    figures = {
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "entropy": entropy,
        "approximate_kl": ((ratio - 1.0) - log_ratio).mean(),
        "clipped_share": (jnp.abs(ratio - 1.0) > config.clip).mean(),
    }
    return total, figures


def _log_probability_and_entropy(parameters: Any, obs: Any, actions: Any, continuous: bool) -> tuple[Any, Any]:
    jax, jnp, _ = _import_jax()
    outputs = forward(parameters["actor"], obs, jnp)
    if continuous:
        log_std = parameters["log_std"]
        scaled = (actions - outputs) * jnp.exp(-log_std)
        each = -0.5 * scaled**2 - log_std - 0.5 * jnp.log(2.0 * jnp.pi)
        return each.sum(-1), (0.5 + 0.5 * jnp.log(2.0 * jnp.pi) + log_std).sum()
    logs = jax.nn.log_softmax(outputs)
    chosen = jnp.sum(jnp.where(actions[..., None] == jnp.arange(logs.shape[-1]), logs, 0.0), axis=-1)
    return chosen, -(jnp.exp(logs) * logs).sum(-1)


def _advantages(rewards: Any, dones: Any, values: Any, next_value: Any, config: PPO) -> Any:
    """Generalized advantage estimates of one run, shape (T, E)."""
    jax, jnp, _ = _import_jax()

    def back(later: Any, now: Any) -> tuple[Any, Any]:
        advantage, value_after = later
        reward, goes_on, value = now
        difference = reward + config.discount * value_after * goes_on - value
        advantage = difference + config.discount * config.gae_lambda * goes_on * advantage
        return (advantage, value), advantage

    start = (jnp.zeros_like(next_value), next_value)
    return jax.lax.scan(back, start, (rewards, 1.0 - dones, values), reverse=True)[1]


def _import_jax() -> tuple[Any, Any, Any]:
    try:
        import jax
        import jax.numpy
        import optax
    except ImportError as error:
        raise MissingExtraError(error.name or "jax", "learn", "Training") from None
    return jax, jax.numpy, optax


def _environment_seeds(seeds: Sequence[int], envs: int) -> list[int]:
    """A seed for each environment of each run, which depends on that run alone.

    They are drawn from 2³², so that two of them can be the same: then two environments begin alike, and differ from the
    first action on that differs.
    """
    return [int(np.random.SeedSequence((seed, k)).generate_state(1)[0]) for seed in seeds for k in range(envs)]
