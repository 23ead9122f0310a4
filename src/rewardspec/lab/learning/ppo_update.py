"""The update of proximal policy optimization: advantages, then epochs of minibatches of clipped steps.

It is one pure function in JAX, which the learner on the host and the one on a device both compile.

Where the paper is silent this follows CleanRL's `ppo.py` and `ppo_continuous_action.py`: separate networks, orthogonal
initialization, Adam with ε = 1e-5, learning rate annealed to 0, gradient clipping, advantages normalized in each
minibatch, clipped value loss; for continuous actions also normalized observations and rewards and a standard deviation
that does not depend on the observation. Other than there, the value of the last state is bootstrapped where an episode
is truncated, unless the settings say that it counts as one that terminated.
"""

from __future__ import annotations

import functools
from typing import Any

from rewardspec.errors import MissingExtraError
from rewardspec.lab.learning.networks import Encode, forward, plain
from rewardspec.lab.learning.settings import PPO


@functools.lru_cache(maxsize=32)
def compiled_update(config: PPO, *, continuous: bool) -> tuple[Any, Any]:
    """Compile `make_update` over stacked runs: all arrays but the learning rate have the runs as their first axis."""
    jax, _, _ = import_jax()
    initial_memory, update_one = make_update(config, continuous=continuous)
    update = jax.vmap(update_one, in_axes=(0, 0, None, 0, 0))
    return jax.jit(jax.vmap(initial_memory)), jax.jit(update, donate_argnums=(0, 1))


def make_update(config: PPO, *, continuous: bool, encode: Encode = plain) -> tuple[Any, Any]:
    """Return the functions `initial_memory(parameters)` of the optimizer and `update`, both of one run.

    `update(parameters, memory, learning_rate, key, rollout) -> (parameters, memory, figures)`, where a rollout is a
    dict of `obs` (T, E, inputs), `actions` (T, E[, size]), `rewards` and `dones` (T, E), `next_obs` (E, inputs), and
    where truncated episodes are bootstrapped also `truncated` (T, E) and `last_obs` (T, E, inputs). `dones[t]` says
    that the episode ended with step t. T is the length of the rollout, E the number of environments of a run. Figures
    are the losses and other diagnostics of the last minibatch.

    `encode` is what the networks' layers see of observations, which may be pytrees of arrays then. The number of steps
    and the learning rate of `config` are not read.
    """
    jax, jnp, optax = import_jax()
    optimizer = optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.scale_by_adam(eps=1e-5))
    loss = functools.partial(surrogate_loss, config=config, continuous=continuous, encode=encode)
    gradient_of_loss = jax.value_and_grad(loss, has_aux=True)

    def value_of(parameters: Any, obs: Any) -> Any:
        return forward(parameters["critic"], encode(parameters["critic"], obs), jnp)[..., 0]

    def update(parameters: Any, memory: Any, learning_rate: Any, key: Any, rollout: Any) -> Any:
        values = value_of(parameters, rollout["obs"])
        next_value = value_of(parameters, rollout["next_obs"])
        rewards = rollout["rewards"]
        if config.bootstrap_truncated:
            last_values = value_of(parameters, rollout["last_obs"])
            rewards = rewards + config.discount * rollout["truncated"] * last_values
        advantage = advantages(rewards, rollout["dones"], values, next_value, config)
        obs = rollout["obs"]
        log_probability, _ = _log_probability_and_entropy(parameters, obs, rollout["actions"], continuous, encode)
        columns = {
            "obs": obs,
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

    return optimizer.init, update


def surrogate_loss(
    parameters: Any, batch: Any, config: PPO, *, continuous: bool, encode: Encode = plain
) -> tuple[Any, Any]:
    """Clipped surrogate loss of a minibatch of one run, and diagnostics.

    The batch has columns `obs`, `actions`, `log_probability`, `value`, `advantage` and `target`; log-probabilities and
    values are those from before the update.
    """
    _, jnp, _ = import_jax()
    obs = batch["obs"]
    log_probability, entropy = _log_probability_and_entropy(parameters, obs, batch["actions"], continuous, encode)
    value = forward(parameters["critic"], encode(parameters["critic"], obs), jnp)[..., 0]
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


def _log_probability_and_entropy(
    parameters: Any, obs: Any, actions: Any, continuous: bool, encode: Encode
) -> tuple[Any, Any]:
    jax, jnp, _ = import_jax()
    outputs = forward(parameters["actor"], encode(parameters["actor"], obs), jnp)
    if continuous:
        log_std = parameters["log_std"]
        scaled = (actions - outputs) * jnp.exp(-log_std)
        each = -0.5 * scaled**2 - log_std - 0.5 * jnp.log(2.0 * jnp.pi)
        return each.sum(-1), (0.5 + 0.5 * jnp.log(2.0 * jnp.pi) + log_std).sum()
    logs = jax.nn.log_softmax(outputs)
    chosen = jnp.sum(jnp.where(actions[..., None] == jnp.arange(logs.shape[-1]), logs, 0.0), axis=-1)
    return chosen, -(jnp.exp(logs) * logs).sum(-1)


def advantages(rewards: Any, dones: Any, values: Any, next_value: Any, config: PPO) -> Any:
    """Generalized advantage estimates of one run, shape (T, E), from `next_value` of shape (E,) and the rest (T, E).

    `dones` are 1.0 where an episode ended with the step; `values` are those before the steps.
    """
    jax, jnp, _ = import_jax()

    def back(later: Any, now: Any) -> tuple[Any, Any]:
        advantage, value_after = later
        reward, goes_on, value = now
        difference = reward + config.discount * value_after * goes_on - value
        advantage = difference + config.discount * config.gae_lambda * goes_on * advantage
        return (advantage, value), advantage

    start = (jnp.zeros_like(next_value), next_value)
    return jax.lax.scan(back, start, (rewards, 1.0 - dones, values), reverse=True)[1]


def import_jax() -> tuple[Any, Any, Any]:
    """Return the modules `jax`, `jax.numpy` and `optax`."""
    try:
        import jax
        import jax.numpy
        import optax
    except ImportError as error:
        raise MissingExtraError(error.name or "jax", "learn", "Training") from None
    return jax, jax.numpy, optax
