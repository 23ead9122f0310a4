"""PPO in the style of PureJaxRL on CartPole with the spec of `gymnax_cartpole.py`: training is one compiled function.

pip install '.[jax-envs]'
python examples/jax/purejaxrl_cartpole.py

The lines that differ from PureJaxRL are those with `rs.jax`, and the statistics that come from `info["episode"]`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnax_cartpole import ENV, SPEC

import rewardspec as rs

GAMMA, LAMBDA, CLIP, ENTROPY, EPOCHS, MINIBATCHES, ROLLOUT = 0.99, 0.95, 0.2, 0.01, 4, 4, 128

ENVS = rs.jax.SpecReward(ENV, SPEC, num_envs=None, observe="registers", limit=200)  # the trainer calls `vmap`


class ActorCritic(nn.Module):
    """Logits of the actions, and the value of the state."""

    actions: int

    @nn.compact
    def __call__(self, obs: Any) -> tuple[Any, Any]:
        """Two networks of two layers."""
        actor = nn.tanh(nn.Dense(64)(nn.tanh(nn.Dense(64)(obs))))
        critic = nn.tanh(nn.Dense(64)(nn.tanh(nn.Dense(64)(obs))))
        return nn.Dense(self.actions, kernel_init=nn.initializers.orthogonal(0.01))(actor), nn.Dense(1)(critic)[..., 0]


class Transition(NamedTuple):
    """What a step of all environments gave: arrays of shape (environments, …)."""

    obs: Any
    action: Any
    log_prob: Any
    value: Any
    reward: Any
    done: Any
    episode: Any


def log_prob_of(logits: Any, action: Any) -> Any:
    """The logarithm of the probability of each action."""
    return jnp.take_along_axis(jax.nn.log_softmax(logits), action[..., None], axis=-1)[..., 0]


def advantages(steps: Transition, last_value: Any) -> Any:
    """Generalized advantage estimates of a rollout."""

    def backwards(carry: Any, step: Transition) -> Any:
        advantage, next_value = carry
        delta = step.reward + GAMMA * next_value * (1 - step.done) - step.value
        advantage = delta + GAMMA * LAMBDA * (1 - step.done) * advantage
        return (advantage, step.value), advantage

    return jax.lax.scan(backwards, (jnp.zeros_like(last_value), last_value), steps, reverse=True)[1]


def make_train(num_envs: int, updates: int) -> Callable[[Any], Any]:
    """A function from a key to the last states of the environments, and statistics by update, step and environment."""
    env = rs.jax.as_gymnax(ENVS, one_flag=True)  # in place of gymnax.make
    params = env.default_params
    network = ActorCritic(env.action_space(params).n)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-3))
    reset, step = jax.vmap(env.reset, in_axes=(0, None)), jax.vmap(env.step, in_axes=(0, 0, 0, None))

    def loss(weights: Any, steps: Transition, advantage: Any, target: Any) -> Any:
        logits, value = network.apply(weights, steps.obs)
        ratio = jnp.exp(log_prob_of(logits, steps.action) - steps.log_prob)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage).mean()
        entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1).mean()
        return 0.5 * ((value - target) ** 2).mean() - gain - ENTROPY * entropy

    def train(key: Any) -> Any:
        to_network, to_reset, key = jax.random.split(key, 3)
        weights = network.init(to_network, jnp.zeros(env.observation_space(params).shape))
        obs, state = reset(jax.random.split(to_reset, num_envs), params)

        def env_step(carry: Any, key: Any) -> Any:
            weights, state, obs = carry
            to_act, to_step = jax.random.split(key)
            logits, value = network.apply(weights, obs)
            action = jax.random.categorical(to_act, logits)
            next_obs, state, reward, done, info = step(jax.random.split(to_step, num_envs), state, action, params)
            seen = Transition(obs, action, log_prob_of(logits, action), value, reward, done, info["episode"])
            return (weights, state, next_obs), seen

        def minibatch(carry: Any, batch: Any) -> Any:
            weights, moments = carry
            changes, moments = optimizer.update(jax.grad(loss)(weights, *batch), moments)
            return (optax.apply_updates(weights, changes), moments), None

        def update(carry: Any, key: Any) -> Any:
            weights, moments, state, obs = carry
            to_roll, *to_shuffle = jax.random.split(key, 1 + EPOCHS)
            carry, steps = jax.lax.scan(env_step, (weights, state, obs), jax.random.split(to_roll, ROLLOUT))
            _, state, obs = carry
            advantage = advantages(steps, network.apply(weights, obs)[1])
            batch = steps._replace(episode=None), advantage, advantage + steps.value
            for epoch in to_shuffle:
                order = jax.random.permutation(epoch, ROLLOUT * num_envs).reshape(MINIBATCHES, -1)
                parts = jax.tree.map(lambda x, order=order: x.reshape(-1, *x.shape[2:])[order], batch)
                (weights, moments), _ = jax.lax.scan(minibatch, (weights, moments), parts)
            return (weights, moments, state, obs), steps.episode

        carry = weights, optimizer.init(weights), state, obs
        carry, episode = jax.lax.scan(update, carry, jax.random.split(key, updates))
        return carry[2], episode

    return jax.jit(train)


def main() -> None:
    """Train, check the labels, and print how true each formula is at the end of an episode."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=32, help="default 32")
    parser.add_argument("--updates", type=int, default=50, help="default 50")
    arguments = parser.parse_args()
    state, episode = make_train(arguments.envs, arguments.updates)(jax.random.key(0))
    ENVS.check_labels(state)  # the state of `as_gymnax` is that of SpecReward
    print("update  episodes  return  length  without violation  value of each formula at the end")
    for update in sorted({0, arguments.updates // 2, arguments.updates - 1}):
        found = jax.tree.map(lambda x, update=update: np.asarray(x[update]), episode)
        done = found["done"]
        if done.any():
            ends = f"{done.sum():8}  {found['return'][done].mean():6.1f}  {found['length'][done].mean():6.1f}"
            kept = (~found["violated"][done]).mean()
            values = "  ".join(f"{name}: {values[done].mean():.2f}" for name, values in found["values"].items())
            print(f"{update + 1:6}  {ends}  {kept:17.0%}  {values}")


if __name__ == "__main__":
    main()
