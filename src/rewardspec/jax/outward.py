"""`SpecReward` as an environment of gymnax or Brax, for the trainers that are written for these."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp

from rewardspec.errors import Error, MissingExtraError, SpecError
from rewardspec.jax.adapters import NEVER
from rewardspec.jax.environment import Box, Discrete
from rewardspec.jax.spec_reward import SpecReward
from rewardspec.types import Action, Array

_KEPT = ("base_reward", "episode", "cost", "violated", "formula_values")  # of `info`; without a spec the first two
_LOGGED = ("base_reward", "cost", "length", "reward", "sum_reward")  # by the trainers of Brax, beside the formulas


def as_gymnax(envs: SpecReward, *, one_flag: bool = False) -> Any:
    """Return a gymnax environment that is paid by the spec, for trainers in the style of PureJaxRL.

    It is one environment that resets itself, as gymnax environments do, and the trainer vmaps it: `num_envs` of `envs`
    is not used, and `auto_reset` must not be a number.

    `default_params.max_steps_in_episode` tells the length of episodes: `episode_limit` of `envs`, or the largest int32
    if that is unknown. Other parameters change nothing, because `envs` decides; to end episodes earlier, give it
    another `limit`.

    Args:
        envs: The environments with their spec, whose observations are single arrays; pass `flatten=True` otherwise.
        one_flag: Whether `step` returns five values with one flag `done`, as gymnax did before version 1. PureJaxRL and
            its own wrappers, in its file `wrappers.py`, expect that. The wrappers of gymnax 1.x expect six values, with
            `terminated` and `truncated` apart and `final_observation` in `info`.

    Raises:
        SpecError: Observations are not single arrays, or actions are neither `Discrete` nor `Box`.
    """
    try:
        from gymnax.environments import environment, spaces
    except ImportError:
        raise MissingExtraError("gymnax", "jax-envs", "rewardspec.jax.as_gymnax") from None
    one, space = dataclasses.replace(envs, num_envs=None), envs.action_space
    kept = _KEPT[:2] if envs.spec is None else _KEPT  # an entry of the environment may have one of the other names
    struct = one.observation_struct
    observations = spaces.Box(-jnp.inf, jnp.inf, one.observation_shape, struct.dtype)
    if not isinstance(space, Discrete | Box):
        raise SpecError(f"Actions of gymnax trainers should be Discrete or Box. Received {space}.")
    if isinstance(space, Discrete):
        count, actions = space.n, spaces.Discrete(space.n)
    else:
        count, actions = math.prod(space.shape[:1]), spaces.Box(space.low, space.high, space.shape)

    class SpecRewardGymnax(environment.Environment):
        """The environment that `as_gymnax` returns."""

        num_actions = count

        @property
        def default_params(self) -> Any:
            return environment.EnvParams(max_steps_in_episode=one.episode_limit or NEVER)

        def reset(self, key: Array, params: Any = None) -> Any:
            state, obs = one.reset(key)
            return obs, state

        def step(self, key: Array, state: Any, action: Action, params: Any = None) -> Any:
            state, obs, reward, terminated, truncated, info = one.step(key, state, action)
            found = {name: info[name] for name in kept}
            if one_flag:
                return obs, state, reward, terminated | truncated, found
            found |= {"terminated": terminated, "truncated": truncated, "final_observation": info["final_obs"]}
            return obs, state, reward, terminated, truncated, found

        def action_space(self, params: Any = None) -> Any:
            return actions

        def observation_space(self, params: Any = None) -> Any:
            return observations

    return SpecRewardGymnax()


def as_brax(envs: SpecReward) -> Any:
    """Return a Brax environment that is paid by the spec, for the trainers of Brax and MuJoCo Playground.

    It is a batch of environments with a time limit and resets, so pass `wrap_env=False` to the trainer:

        brax.training.agents.ppo.train.train(rs.jax.as_brax(envs), wrap_env=False, num_envs=2048, …)

    The trainer decides the number of environments. Actions between -1 and 1 are scaled to the bounds of the action
    space.

    In the trainer's logs, `eval/episode_` and the name of a formula is the value of the formula at the end of the
    episode: `metrics` has how much it changed in the step, and the trainer adds that up. A robustness that is infinite,
    because nothing has been measured yet, counts as 0 there. The environment's own reward and the cost are sums.

    Args:
        envs: The environments with their spec, whose observations are single arrays. Its `limit` should be the
            trainer's `episode_length`: evaluation stops after that many steps, and what is paid at the end of an
            episode is not paid if the episode goes on.

    Raises:
        SpecError: Actions are not a `Box` of shape (size,) with finite bounds, observations are not single arrays,
            nothing limits episodes, or a formula has a name that means something else in the trainer's logs.
    """
    try:
        from brax.envs.base import Env, State
    except ImportError:
        raise MissingExtraError("brax", "jax-envs", "rewardspec.jax.as_brax") from None
    space, shape = envs.action_space, envs.observation_shape
    if not isinstance(space, Box) or len(space.shape) != 1:
        raise SpecError(f"Actions of Brax trainers should be a Box of shape (size,). Received {space}.")
    if envs.episode_limit is None:
        raise SpecError(
            "Episodes should have a limit, because the trainer does not truncate them. Received limit=None. Pass "
            "SpecReward the trainer's `episode_length`: limit=1000."
        )
    for name in () if envs.spec is None else envs.spec.names:
        if name in _LOGGED or name.endswith("per_step"):
            raise SpecError(
                f"A formula should have a name of its own in the trainer's logs, where {', '.join(_LOGGED)} are other "
                f"numbers, and names that end in per_step means over steps. Received {name!r}. Change the pair's name."
            )
    (size,), low, high = space.shape, jnp.asarray(space.low), jnp.asarray(space.high)
    if not bool((jnp.isfinite(low) & jnp.isfinite(high)).all()):
        raise SpecError(f"The trainer's actions are scaled to bounds, which should be finite. Received {space}.")
    unit = bool((low == -1.0).all() and (high == 1.0).all())

    class SpecRewardBrax(Env):
        """The environment that `as_brax` returns."""

        def reset(self, rng: Array) -> Any:
            typed = jnp.issubdtype(rng.dtype, jax.dtypes.prng_key)
            if rng.ndim != (1 if typed else 2):
                raise Error(
                    f"`reset` should get a batch of keys. Received shape {rng.shape}. This environment is a batch that "
                    "resets itself: pass wrap_env=False to the trainer."
                )
            key, first = jax.random.split(rng[0])
            state, obs = dataclasses.replace(envs, num_envs=len(rng)).reset(first)
            zero = jnp.zeros_like(state.base_return)
            names = () if envs.spec is None else ("cost", *envs.spec.names)
            metrics = dict.fromkeys(("base_reward", *names), zero)
            sums = {**metrics, "sum_reward": zero, "length": zero}
            info = {"key": key, "steps": zero, "truncation": zero, "episode_done": zero, "episode_metrics": sums}
            return State(state, obs, zero, zero, metrics, info)

        def step(self, state: Any, action: Action) -> Any:
            key, used = jax.random.split(state.info["key"])
            batch = dataclasses.replace(envs, num_envs=len(state.done))
            action = action if unit else low + (action + 1) / 2 * (high - low)
            new, obs, reward, terminated, truncated, info = batch.step(used, state.pipeline_state, action)
            begins, before = state.info["episode_done"] > 0, state.info["episode_metrics"]
            sums = {name: jnp.where(begins, 0.0, total) for name, total in before.items()}
            metrics = {"base_reward": info["base_reward"]}
            if envs.spec is not None:
                # The trainer adds metrics up: changes of a value add up to the value at the end of the episode.
                # It multiplies those after the end by 0, and would make NaN of what is infinite.
                values = {name: jnp.where(jnp.isinf(v), 0.0, v) for name, v in info["formula_values"].items()}
                changes = {name: value - sums[name] for name, value in values.items()}
                metrics |= {"cost": info["cost"], **changes}
            done, like = terminated | truncated, state.done.dtype
            added = {**metrics, "sum_reward": reward, "length": jnp.ones_like(reward)}
            found = {
                "key": key,
                "steps": info["episode"]["length"].astype(like),
                "truncation": truncated.astype(like),
                "episode_done": done.astype(like),
                "episode_metrics": {name: sums[name] + value for name, value in added.items()},
            }
            metrics = {**state.metrics, **metrics}  # evaluation adds one of its own
            return state.replace(
                pipeline_state=new,
                obs=obs,
                reward=reward,
                done=done.astype(like),
                metrics=metrics,
                info={**state.info, **found},
            )

        @property
        def observation_size(self) -> int:
            return shape[0]

        @property
        def action_size(self) -> int:
            return size

        @property
        def backend(self) -> str:
            return "rewardspec"

    return SpecRewardBrax()
