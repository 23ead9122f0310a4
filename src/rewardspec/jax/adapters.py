"""Environments of other JAX libraries as `rewardspec.jax.Environment`.

Each library resets environments inside its own `step` or in a wrapper, and most lose the last observation of an episode
by that. The adapters use the step that does not reset, so pass environments without wrappers that reset, vmap or count
steps; `SpecReward` does all three. An environment with such a wrapper is refused, by an `Error`.

No library is imported here: an adapter needs only the environment.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rewardspec.errors import Error, SpecError, shown
from rewardspec.jax.environment import ActionSpace, Box, Discrete, FunctionalEnvironment, MultiDiscrete

NEVER = int(np.iinfo(np.int32).max)  # a time limit that no episode reaches

_ADAPTERS = {
    "brax": "from_brax(env)",
    "craftax": "from_craftax(env)",
    "gymnax": "from_gymnax(env, params)",
    "jaxmarl": "from_jaxmarl(env)",
    "jumanji": "from_jumanji(env)",
    "mujoco_playground": "from_playground(env)",
    "navix": "from_navix(env)",
    "pgx": "from_pgx(env)",
    "xminigrid": "from_xminigrid(env, params)",
}
"""By the package of an environment's class, what adapts it."""

_ONE_STEP_MORE = ("SimpleMPE", "SMAX", "EnemySMAX")  # of JaxMARL: they compare `max_steps` with the steps so far


def from_gymnax(env: Any, params: Any = None) -> FunctionalEnvironment:
    """Adapt a gymnax environment, of version 1 or older.

    Before version 1, gymnax had one flag for both kinds of end. There an episode counts as truncated where only the
    limit `params.max_steps_in_episode` has ended it.

    Args:
        env: What `gymnax.make` returns first, or an environment of your own with `reset_env` and `step_env`.
        params: The environment's parameters; None for its default.

    Raises:
        Error: The environment is wrapped.
    """
    return _gymnax_like(env, params, "max_steps_in_episode")


def from_craftax(env: Any, params: Any = None) -> FunctionalEnvironment:
    """Adapt a Craftax or Craftax-Classic environment, with automatic resets or without.

    An episode counts as truncated where only the limit `params.max_timesteps` has ended it. Making a world takes much
    longer than a step: pass a number as `auto_reset` of `SpecReward`.

    Args:
        env: What `craftax.craftax_env.make_craftax_env_from_name` returns.
        params: The environment's parameters; None for its default.

    Raises:
        Error: The environment is wrapped.
    """
    return _gymnax_like(env, params, "max_timesteps")


def _gymnax_like(env: Any, params: Any, limit: str) -> FunctionalEnvironment:
    _require_bare(env, any_wrapper=True)
    params = env.default_params if params is None else params
    unlimited = params.replace(**{limit: NEVER}) if hasattr(params, limit) else params

    def reset(key: Any) -> Any:
        obs, state = env.reset_env(key, params)
        return state, obs

    def step(key: Any, state: Any, action: Any) -> Any:
        obs, state, reward, ended, info = env.step_env(key, state, action, params)
        if hasattr(env, "is_truncated"):  # gymnax since version 1
            return state, obs, reward, ended, env.is_truncated(state, params), info
        terminated = env.is_terminal(state, unlimited)
        return state, obs, reward, terminated, ended & ~terminated, info

    return FunctionalEnvironment(reset, step, _space(env.action_space(params)), _steps(params, limit))


def from_brax(env: Any) -> FunctionalEnvironment:
    """Adapt a Brax environment, without `EpisodeWrapper`, `VmapWrapper` and `AutoResetWrapper`.

    Brax environments have no time limit of their own; pass `limit` to `SpecReward`. Atoms find the state's `metrics` in
    `info`, and the whole Brax state in `info["state"]`.

    Args:
        env: What `brax.envs.get_environment` returns; `brax.envs.create` needs `auto_reset=False` and
            `episode_length=None`.

    Raises:
        Error: The environment resets itself, vmaps, or counts steps.
    """
    _require_bare(env, "VmapWrapper", "EpisodeWrapper")

    def reset(key: Any) -> Any:
        state = env.reset(key)
        return state, state.obs

    def step(key: Any, state: Any, action: Any) -> Any:
        state = env.step(state, action)
        return state, state.obs, state.reward, state.done > 0.5, jnp.bool_(False), state.metrics

    return FunctionalEnvironment(reset, step, Box((env.action_size,)))


def from_playground(env: Any) -> FunctionalEnvironment:
    """Adapt an environment of MuJoCo Playground, unwrapped. See `from_brax`, whose conventions it follows.

    Args:
        env: What `mujoco_playground.registry.load` returns.

    Raises:
        Error: The environment resets itself, vmaps, or counts steps.
    """
    return from_brax(env)


def from_jumanji(env: Any) -> FunctionalEnvironment:
    """Adapt a Jumanji environment.

    The last step of an episode is a termination where the discount is 0, otherwise a truncation. Where there are
    several rewards, as in some multi-agent environments, their sum is the reward.

    Args:
        env: What `jumanji.make` returns.

    Raises:
        Error: The environment resets itself or vmaps.
    """
    _require_bare(env, "VmapWrapper")
    spec = env.action_spec
    counts = getattr(spec, "num_values", None)
    space: ActionSpace
    if counts is None:
        space = Box(tuple(spec.shape), *_bounds(spec.minimum, spec.maximum))
    else:
        space = MultiDiscrete(tuple(np.ravel(counts).tolist())) if np.ndim(counts) else Discrete(int(counts))

    def reset(key: Any) -> Any:
        state, first = env.reset(key)
        return state, first.observation

    def step(key: Any, state: Any, action: Any) -> Any:
        state, found = env.step(state, action)
        over = jnp.all(found.discount == 0.0)
        ends = found.last() & over, found.last() & ~over
        return state, found.observation, jnp.sum(found.reward), *ends, found.extras

    return FunctionalEnvironment(reset, step, space, _steps(env, "time_limit"))


def from_xminigrid(env: Any, params: Any = None) -> FunctionalEnvironment:
    """Adapt an XLand-MiniGrid environment.

    Args:
        env: What `xminigrid.make` returns first, without `GymAutoResetWrapper` and `DmEnvAutoResetWrapper`.
        params: What it returns second; None for the environment's default.

    Raises:
        Error: The environment resets itself.
    """
    _require_bare(env)
    params = env.default_params() if params is None else params

    def reset(key: Any) -> Any:
        first = env.reset(params, key)
        return first, first.observation

    def step(key: Any, state: Any, action: Any) -> Any:
        found = env.step(params, state, action)
        over = found.discount == 0.0
        return found, found.observation, found.reward, found.last() & over, found.last() & ~over, {}

    return FunctionalEnvironment(reset, step, Discrete(int(env.num_actions(params))), _steps(params, "max_steps"))


def from_navix(env: Any) -> FunctionalEnvironment:
    """Adapt a Navix environment.

    Args:
        env: What `navix.make` returns.
    """

    def reset(key: Any) -> Any:
        first = env.reset(key)
        return first, first.observation

    def step(key: Any, state: Any, action: Any) -> Any:
        found = env._step(state, action)  # `step` resets an episode that has ended
        return found, found.observation, found.reward, found.is_termination(), found.is_truncation(), found.info

    return FunctionalEnvironment(reset, step, Discrete(len(env.action_set)), _steps(env, "max_steps"))


def from_pgx(env: Any, player: int = 0) -> FunctionalEnvironment:
    """Adapt a Pgx game.

    The observation is that of the player who moves next, whom the action is for. The rewards of all players are in
    `info["rewards"]`.

    Args:
        env: What `pgx.make` returns.
        player: The player whose reward is the environment's own.
    """

    def reset(key: Any) -> Any:
        state = env.init(key)
        return state, state.observation

    def step(key: Any, state: Any, action: Any) -> Any:
        state = env.step(state, action, key)
        ends = state.terminated, state.truncated & ~state.terminated
        return state, state.observation, state.rewards[player], *ends, {"rewards": state.rewards}

    return FunctionalEnvironment(reset, step, Discrete(int(env.num_actions)))


def from_jaxmarl(env: Any) -> FunctionalEnvironment:
    """Adapt a JaxMARL environment as one environment for the whole team.

    Observations and actions are dicts by agent. The reward is the sum over the agents, whose own rewards are in
    `info["rewards"]`. An episode ends where `dones["__all__"]` says so. It counts as truncated if it has then reached
    the environment's time limit: `max_steps`, and one step more in MPE and SMAX, which look at the count before a step.

    Args:
        env: What `jaxmarl.make` returns.

    Raises:
        Error: The environment is wrapped.
    """
    # SMAX with enemies that act holds one without, and is no wrapper: it has a step of its own.
    _require_bare(env, "EpisodeWrapper", any_wrapper=not hasattr(type(env), "step_env"))
    limit = _steps(env, "max_steps")
    if limit is not None and any(kind.__name__ in _ONE_STEP_MORE for kind in type(env).__mro__):
        limit += 1

    def reset(key: Any) -> Any:
        obs, state = env.reset(key)
        return state, obs

    def step(key: Any, state: Any, action: Any) -> Any:
        obs, state, rewards, dones, info = env.step_env(key, state, action)
        ended, cut = dones["__all__"], jnp.bool_(False)
        counting: Any = state if hasattr(state, "step") else getattr(state, "state", None)
        if limit is not None and hasattr(counting, "step"):
            cut = jnp.all(counting.step >= limit)
        total = sum(jnp.asarray(rewards[agent]) for agent in env.agents)
        return state, obs, total, ended & ~cut, ended & cut, {**info, "rewards": rewards}

    spaces = {agent: _space(env.action_space(agent)) for agent in env.agents}
    return FunctionalEnvironment(reset, step, spaces, limit)


def _steps(of: Any, name: str) -> int | None:
    """Return a limit of steps, if it is there and known while nothing is traced."""
    steps = getattr(of, name, None)
    return int(steps) if isinstance(steps, int | np.integer) and 0 < steps < NEVER else None


def _space(space: Any) -> ActionSpace:
    """Return a space of gymnax or JaxMARL as one of ours."""
    if hasattr(space, "n"):
        return Discrete(int(space.n))
    if hasattr(space, "num_categories"):
        return MultiDiscrete(tuple(np.ravel(space.num_categories).tolist()))
    if hasattr(space, "low") and hasattr(space, "high"):
        return Box(tuple(space.shape), *_bounds(space.low, space.high))
    raise Error(
        f"Actions should be discrete or bounded arrays. Received the space {space!r}. Write the adapter yourself: see "
        "rewardspec.jax.Environment."
    )


def _bounds(low: Any, high: Any) -> tuple[Any, Any]:
    """Return bounds as floats where all are equal, otherwise as arrays."""
    bounds = [np.asarray(jax.device_get(bound), dtype=np.float64) for bound in (low, high)]
    low, high = (bound if np.ptp(bound) > 0 else float(bound.flat[0]) for bound in bounds)
    return low, high


def require_adapted(env: Any) -> None:
    """Refuse environments of other libraries, whose functions have the names of ours and other arguments.

    Raises:
        SpecError: Says how to adapt it.
    """
    for kind in type(env).__mro__:
        package = kind.__module__.partition(".")[0]
        received = f"Received {type(env).__name__}, an environment of {package}."
        if package in _ADAPTERS:
            adapted = f"rewardspec.jax.{_ADAPTERS[package]}"
            raise SpecError(f"`env` should be a rewardspec.jax.Environment. {received} Adapt it with {adapted}.")
        if package == "gymnasium":
            raise SpecError(
                f"SpecReward runs environments written in JAX. {received} Use rewardspec.wrappers.MonitorReward, or "
                "rewardspec.wrappers.vector.MonitorReward."
            )


def _require_bare(env: Any, *refused: str, any_wrapper: bool = False) -> None:
    """Refuse environments that reset themselves and other wrappers, which the step without resets would bypass."""
    if isinstance(env, tuple | str):
        raise Error(
            f"`env` should be an environment. Received {shown(env)}. Make it, and unpack what `make` returns: "
            "from_gymnax(*gymnax.make('CartPole-v1'))."
        )
    layer = env
    while layer is not None:
        name = type(layer).__name__
        inner = vars(layer).get("env", vars(layer).get("_env")) if hasattr(layer, "__dict__") else None
        if name.endswith("AutoResetWrapper") or name in refused or (any_wrapper and inner is not None):
            raise Error(
                f"`env` should be the environment without wrappers that reset, vmap or count steps. Received {name}. "
                "Pass the environment inside; SpecReward has `num_envs`, `limit`, `auto_reset` and `flatten`."
            )
        layer = inner
