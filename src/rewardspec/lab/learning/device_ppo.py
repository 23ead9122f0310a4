"""Proximal policy optimization as one compiled program, for environments written in JAX.

Rollouts and updates of all runs are one function on the device: environments, spec, networks and optimizer never leave
it. The update is that of the learner on the host, `rewardspec.lab.learning.ppo_update`, and so are the networks' first
parameters, the normalization and what a policy sees; random numbers are JAX's. A run's random numbers follow from its
seed and the number of the update alone, so that a run can be resumed after any update.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rewardspec.errors import Error
from rewardspec.lab.learning.networks import HIDDEN, Encoder, Parameters, flat_encoder, forward, initial_parameters
from rewardspec.lab.learning.normalization import Moments, RewardScale
from rewardspec.lab.learning.ppo_update import import_jax, make_update
from rewardspec.lab.learning.settings import PPO
from rewardspec.lab.learning.spaces import scaled_actions
from rewardspec.types import Array, Observation

Record: TypeAlias = Callable[[dict[str, Any]], Any]
"""Function from the `info` of a step to what is kept of it: a pytree of arrays of shape (envs,)."""
Reduce: TypeAlias = Callable[[Any], Any]
"""Function from what was kept of a rollout, arrays of shape (steps, envs), to what is kept of an update."""


class Carry(NamedTuple):
    """All that an update starts from; a pytree whose arrays have the runs as their first axis.

    Attributes:
        memory: State of the optimizer.
        envs: State of the environments and of the spec.
        obs: The observations that the next actions are chosen on, normalized where the settings say so.
        observations: Moments of the observations, of shape (runs, 1, size), or None where they are not normalized.
        rewards: Scale of the rewards, likewise.
    """

    parameters: Parameters
    memory: Any
    envs: Any
    obs: Observation
    observations: Moments | None
    rewards: RewardScale | None


@dataclasses.dataclass(frozen=True, eq=False)
class DevicePPO:
    """The compiled program.

    Args:
        envs: Environments of one run, a `rewardspec.jax.SpecReward` of `config.envs` environments.
        config: The settings.
        record: What to keep of each step.
        reduce: What to keep of each update.
        chunk: Most updates of one call of `advance`; what is kept of so many is held on the device.
        encoder: What the networks' first layers see of observations; the observation as it is by default.
        hidden: Sizes of the hidden layers.
    """

    envs: Any
    config: PPO
    record: Record = lambda info: info["episode"]
    reduce: Reduce = lambda rows: rows
    chunk: int = 1
    encoder: Encoder | None = None
    hidden: Sequence[int] = HIDDEN

    @functools.cached_property
    def _encoder(self) -> Encoder:
        return self.encoder or flat_encoder(self.envs.observation_struct)

    @functools.cached_property
    def _outputs(self) -> tuple[int, bool]:
        """Number of outputs of the actor, and whether they are a continuous action."""
        from rewardspec.jax import Box, Discrete

        space = self.envs.action_space
        if isinstance(space, Discrete):
            return space.n, False
        if isinstance(space, Box):
            return int(np.prod(space.shape)), True
        raise Error(f"PPO takes actions of a Discrete or a Box space. Received {space}.")

    @functools.cached_property
    def _update(self) -> tuple[Any, Any]:
        return make_update(self.config, continuous=self._outputs[1], encode=self._encoder.apply)

    def keys(self, seeds: Sequence[int]) -> Array:
        """Return the random key of each run."""
        jax, _, _ = import_jax()
        return jax.vmap(jax.random.key)(np.asarray(seeds, dtype=np.uint32))

    def initial(self, seeds: Sequence[int]) -> Carry:
        """Return what the first update starts from: new networks, and episodes that begin."""
        carry: Carry = self._start(self.initial_parameters(seeds), self.keys(seeds))
        return carry

    def initial_parameters(self, seeds: Sequence[int]) -> Parameters:
        """Return the parameters of new networks, arrays whose first axis is the seeds."""
        outputs, continuous = self._outputs
        return initial_parameters(seeds, self._encoder.size, outputs, continuous=continuous, hidden=tuple(self.hidden))

    @functools.cached_property
    def _start(self) -> Any:
        jax, jnp, _ = import_jax()
        config = self.config

        def start(parameters: Parameters, key: Array) -> Carry:
            state, obs = self.envs.reset(jax.random.split(key)[0])
            observations, rewards = None, None
            if config.normalize_observations:
                observations = jax.tree.map(jnp.float32, Moments.initial((1, self._encoder.size)))
            if config.normalize_rewards:
                rewards = jax.tree.map(jnp.float32, RewardScale.initial(1, config.envs))
            observations, obs = _prepared(observations, obs)
            return Carry(parameters, self._update[0](parameters), state, obs, observations, rewards)

        return jax.jit(jax.vmap(start))

    @functools.cached_property
    def advance(self) -> Callable[[Carry, Array, Any, Any, Any], tuple[Carry, Any]]:
        """The compiled function `(carry, keys, first, count, updates) -> (carry, records)`.

        It does the updates number `first` to `first + count - 1` of `updates`, `count` being at most `chunk`. Records
        are what `reduce` kept, arrays of shape (chunk, runs, …), of which the first `count` are written and the others
        are 0. The memory of the carry is taken over.
        """
        jax, jnp, _ = import_jax()
        together = jax.vmap(self._advance_one, in_axes=(0, 0, None, None))

        def advance(carry: Carry, keys: Array, first: Any, count: Any, updates: Any) -> tuple[Carry, Any]:
            kept = jax.eval_shape(together, carry, keys, first, jnp.float32(0.0))[1]
            empty = jax.tree.map(lambda leaf: jnp.zeros((self.chunk, *leaf.shape), leaf.dtype), kept)

            def body(place: Any, given: tuple[Carry, Any]) -> tuple[Carry, Any]:
                carry, records = given
                number = first + place
                share = 1.0 - number / updates if self.config.anneal else 1.0
                carry, record = together(carry, keys, number, jnp.float32(self.config.learning_rate * share))
                return carry, jax.tree.map(lambda all_, one: all_.at[place].set(one), records, record)

            found: tuple[Carry, Any] = jax.lax.fori_loop(0, count, body, (carry, empty))
            return found

        compiled: Callable[[Carry, Array, Any, Any, Any], tuple[Carry, Any]] = jax.jit(advance, donate_argnums=0)
        return compiled

    def _advance_one(self, carry: Carry, key: Array, number: Any, learning_rate: Any) -> tuple[Carry, Any]:
        """Collect a rollout of one run, and update its networks."""
        jax, _, _ = import_jax()
        rollout_key, update_key = jax.random.split(jax.random.fold_in(jax.random.split(key)[1], number))
        carry, rollout, record = self.collect(carry, rollout_key)
        parameters, memory, _ = self._update[1](carry.parameters, carry.memory, learning_rate, update_key, rollout)
        return carry._replace(parameters=parameters, memory=memory), record

    def collect(self, carry: Carry, key: Array) -> tuple[Carry, dict[str, Any], Any]:
        """Return the carry after a rollout of one run, the rollout as the update takes it, and what is kept of it."""
        jax, jnp, _ = import_jax()
        config, (outputs, continuous) = self.config, self._outputs
        parameters = carry.parameters
        noise_key, env_key = jax.random.split(key)
        shape = (config.rollout_steps, config.envs, outputs)
        # The largest of log-probabilities plus Gumbel noise is a sample of a categorical distribution.
        noise = jax.random.normal(noise_key, shape) if continuous else jax.random.gumbel(noise_key, shape)

        def step(carry: Carry, given: tuple[Array, Array]) -> tuple[Carry, tuple[dict[str, Any], Any]]:
            noise, key = given
            features = self._encoder.apply(parameters["actor"], carry.obs)
            chosen = forward(parameters["actor"], features, jnp)
            if continuous:
                action = chosen + jnp.exp(parameters["log_std"]) * noise
            else:
                action = jnp.argmax(chosen + noise, axis=-1)
            state, seen, reward, terminated, truncated, info = self.envs.step(key, carry.envs, self._played(action))
            done = terminated | truncated
            row = {"obs": carry.obs, "actions": action, "dones": done.astype(jnp.float32)}
            observations, rewards = carry.observations, carry.rewards
            # The moments count the last observation of an episode, then the first of the next, as Gymnasium's do.
            if observations is not None or config.bootstrap_truncated:
                observations, last = _prepared(observations, info["final_obs"], done)
                if config.bootstrap_truncated:
                    row |= {"truncated": truncated.astype(jnp.float32), "last_obs": last}
            if rewards is not None:
                rewards, scaled = rewards.scaled(reward[None], terminated[None], config.discount)
                reward = scaled[0]
            observations, obs = _prepared(observations, seen)
            row["rewards"] = reward
            carry = Carry(parameters, carry.memory, state, obs, observations, rewards)
            return carry, (row, self.record(info))

        keys = jax.random.split(env_key, config.rollout_steps)
        memory = carry.memory
        carry, (rollout, kept) = jax.lax.scan(step, carry._replace(parameters=parameters, memory=None), (noise, keys))
        finite = jnp.isfinite(rollout["rewards"]).all()
        for leaf in jax.tree.leaves(rollout["obs"]):
            finite &= jnp.isfinite(leaf).all()
        record = {"kept": self.reduce(kept), "finite": finite}
        return carry._replace(memory=memory), {**rollout, "next_obs": carry.obs}, record

    def _played(self, action: Array) -> Array:
        """Return the actions that the environments are given: continuous ones within their bounds."""
        _, jnp, _ = import_jax()
        space = self.envs.action_space
        if not self._outputs[1]:
            return action
        action = action.reshape(-1, *space.shape)
        if self.config.scale_actions:
            action = scaled_actions(action, space.low, space.high)
        return jnp.clip(action, space.low, space.high)


def _prepared(moments: Moments | None, obs: Observation, counted: Array | None = None) -> tuple[Moments | None, Any]:
    """Return the moments with observations of one run, of shape (envs, size), and the observations normalized."""
    if moments is None:
        return None, obs
    moments = moments.updated(obs[None], None if counted is None else counted[None])
    return moments, moments.normalize(obs[None])[0]
