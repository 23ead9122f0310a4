"""One update of PPO for all runs: advantages, then epochs of minibatches of clipped steps, as one compiled program."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from rewardspec.errors import MissingExtraError
from rewardspec.learning.networks import forward

if TYPE_CHECKING:
    from rewardspec.learning.ppo import PPO


@functools.lru_cache(maxsize=32)
def compiled_update(config: PPO, *, continuous: bool) -> tuple[Any, Any]:
    """The functions `initial_memory(parameters)` of the optimiser and `update`, both over stacked runs.

    `update(parameters, memory, learning_rate, keys, rollout) -> (parameters, memory, figures)`, where a rollout is a
    dict of `obs` (runs, T, E, inputs), `actions` (runs, T, E[, size]), `rewards` and `dones` (runs, T, E), `next_obs`
    (runs, E, inputs). `dones[t]` says that the episode ended with step t. T is the length of the rollout, E the number
    of environments of a run. Figures are the losses and such, one number for each run.
    """
    try:
        import jax
        import jax.numpy as jnp
        import optax
    except ImportError as error:
        raise MissingExtraError(error.name or "jax", "learn", "Training") from None

    optimiser = optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.scale_by_adam(eps=1e-5))

    def log_probability_and_entropy(parameters: Any, obs: Any, actions: Any) -> tuple[Any, Any]:
        outputs = forward(parameters["actor"], obs, jnp)
        if continuous:
            log_std = parameters["log_std"]
            scaled = (actions - outputs) * jnp.exp(-log_std)
            each = -0.5 * scaled**2 - log_std - 0.5 * jnp.log(2.0 * jnp.pi)
            return each.sum(-1), (0.5 + 0.5 * jnp.log(2.0 * jnp.pi) + log_std).sum()
        logs = jax.nn.log_softmax(outputs)
        chosen = jnp.sum(jnp.where(actions[..., None] == jnp.arange(logs.shape[-1]), logs, 0.0), axis=-1)
        return chosen, -(jnp.exp(logs) * logs).sum(-1)

    def loss(parameters: Any, batch: Any) -> tuple[Any, Any]:
        log_probability, entropy = log_probability_and_entropy(parameters, batch["obs"], batch["actions"])
        value = forward(parameters["critic"], batch["obs"], jnp)[..., 0]
        log_ratio = log_probability - batch["log_probability"]
        ratio = jnp.exp(log_ratio)
        advantage = batch["advantage"]
        if config.normalise_advantages:
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

    def advantages(rewards: Any, dones: Any, values: Any, next_value: Any) -> Any:
        def back(later: Any, now: Any) -> tuple[Any, Any]:
            advantage, value_after = later
            reward, goes_on, value = now
            difference = reward + config.discount * value_after * goes_on - value
            advantage = difference + config.discount * config.gae_lambda * goes_on * advantage
            return (advantage, value), advantage

        start = (jnp.zeros_like(next_value), next_value)
        return jax.lax.scan(back, start, (rewards, 1.0 - dones, values), reverse=True)[1]

    def update_one(parameters: Any, memory: Any, learning_rate: Any, key: Any, rollout: Any) -> Any:
        values = forward(parameters["critic"], rollout["obs"], jnp)[..., 0]
        next_value = forward(parameters["critic"], rollout["next_obs"], jnp)[..., 0]
        advantage = advantages(rollout["rewards"], rollout["dones"], values, next_value)
        log_probability, _ = log_probability_and_entropy(parameters, rollout["obs"], rollout["actions"])
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
            (_, figures), gradient = jax.value_and_grad(loss, has_aux=True)(parameters, batch)
            steps, memory = optimiser.update(gradient, memory)
            parameters = jax.tree.map(lambda parameter, step: parameter - learning_rate * step, parameters, steps)
            return (parameters, memory), figures

        epochs = jax.random.split(key, config.epochs)
        order = jax.vmap(lambda key: jax.random.permutation(key, size))(epochs)
        rows = order.reshape(config.epochs * config.minibatches, size // config.minibatches)
        (parameters, memory), figures = jax.lax.scan(minibatch, (parameters, memory), rows)
        return parameters, memory, jax.tree.map(lambda figure: figure[-1], figures)

    update = jax.vmap(update_one, in_axes=(0, 0, None, 0, 0))
    return jax.jit(jax.vmap(optimiser.init)), jax.jit(update, donate_argnums=(0, 1))
