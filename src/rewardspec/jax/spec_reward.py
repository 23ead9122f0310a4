"""A spec as the reward of a batch of JAX environments, with resets that lose nothing."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

import jax
import jax.numpy as jnp

from rewardspec.episodes.engine import BatchEngine
from rewardspec.episodes.features import Features, Observe
from rewardspec.errors import Error, SpecError, shown
from rewardspec.jax.adapters import require_adapted
from rewardspec.jax.environment import ActionSpace, Environment, EnvState, EnvStep, observation_struct
from rewardspec.jax.extended_observations import extended, flattened
from rewardspec.jax.trees import apart, chosen, strong
from rewardspec.machines.array_code import State as MonitorState
from rewardspec.machines.label_checks import TOLERANCE
from rewardspec.spec import Spec
from rewardspec.types import Action, Array, Info, Labels, Observation
from rewardspec.wrappers.monitor_reward import readable

if TYPE_CHECKING:
    from rewardspec.spec.lint.findings import Findings

AutoReset: TypeAlias = Literal["fresh", "first"] | int
EnvsStep: TypeAlias = tuple["State", Observation, Array, Array, Array, dict[str, Any]]


class State(NamedTuple):
    """The state of a batch of environments and of the spec beside them; a pytree.

    Attributes:
        env: States of the environments.
        obs: The environments' own observations, which the labels of the next step are read from.
        monitor: State of the spec; None without a spec.
        elapsed: Steps of the current episodes, int32 of shape (num_envs,).
        episode_return: Sum of the current episodes' rewards, shape (num_envs,).
        base_return: Sum of the environments' own rewards, likewise.
        first: With `auto_reset="first"`, the states and observations to return to; else None.
    """

    env: EnvState
    obs: Observation
    monitor: MonitorState | None
    elapsed: Array
    episode_return: Array
    base_return: Array
    first: tuple[EnvState, Observation] | None


@dataclasses.dataclass(frozen=True, eq=False)
class SpecReward:
    """A batch of JAX environments with the reward of a spec.

    `reset` and `step` are pure functions that can be compiled, vmapped over keys, and run in `lax.scan`. An environment
    whose episode ends in a step is reset within the step. The step pays for the transition to the last observation of
    the episode, and the spec starts anew on the first observation of the next one.

    An atom sees one environment: `next_obs` has no batch axis, so that `next_obs[0]` and `next_obs[..., 0]` are the
    same. The `info` of an atom has the environment's own entries, except at reset, and `info["state"]`, the
    environment's state after the step or reset.

    The `info` that `step` returns has the environment's own entries, `base_reward`, `final_obs` and `episode`, and with
    a spec `formula_values`, `violated`, `cost`, `labels` and `reset_labels`. The guide to JAX environments says what
    each holds. If an entry of the environment has one of these names, it is in `info["env_info"]`. So is, for atoms, an
    own entry `state`.

    Args:
        env: The environment, which does not reset itself; `rewardspec.jax.from_gymnax` and its like make one.
        spec: The spec, with functions for its atoms; None to pay the environment's own reward.
        num_envs: Number of environments. None for one environment without a batch axis, for code that calls `vmap`
            itself; windows are slower that way.
        observe: What to add to the observations: None, `"control"`, `"values"` or `"registers"`; see
            `rewardspec.episodes.features` for what each holds, and `rewardspec.jax.extended_observations` for where it
            goes.
        limit: Number of steps after which an episode is truncated; None to leave that to the environment.
        auto_reset: Where episodes begin. `"fresh"` resets every environment in every step and uses the result where an
            episode ended, so that each episode has a first state of its own. `"first"` returns to the first state of
            `reset`, as Brax does, which costs nothing. A number makes that many first states in a step and shares them
            among the environments whose episodes ended, as Craftax does.
        flatten: Whether observations become one array of floats, of shape (num_envs, size).
        terminate_on_violation: Whether a violation of a safety objective ends the episode.
        terminate_on_completion: Whether the episode ends once all formulas with a positive weight have the value 1.

    Raises:
        SpecError: The spec has no functions for its atoms, or an argument is not one of its choices.

    Example:
        >>> from rewardspec.jax import Discrete, FunctionalEnvironment
        >>> def reset(key):
        ...     return jnp.zeros(()), jnp.zeros(1)
        >>> def step(key, state, action):
        ...     state = state + action - 0.5
        ...     return state, state[None], -abs(state), abs(state) > 1, jnp.bool_(False), {}
        >>> spec = Spec([("F right", 1)], atoms={"right": lambda obs, action, next_obs: jnp.clip(next_obs[0], 0, 1)})
        >>> envs = SpecReward(FunctionalEnvironment(reset, step, Discrete(2)), spec, num_envs=2)
        >>> state, obs = envs.reset(jax.random.key(0))
        >>> step = jax.jit(envs.step)
        >>> state, obs, reward, terminated, truncated, info = step(jax.random.key(1), state, jnp.array([0, 1]))
        >>> reward.tolist(), info["base_reward"].tolist(), info["formula_values"]["F right"].tolist()
        ([0.0, 0.5], [-0.5, -0.5], [0.0, 0.5])
    """

    env: Environment
    spec: Spec | None
    num_envs: int | None
    observe: Observe | None = None
    limit: int | None = None
    auto_reset: AutoReset = "fresh"
    _: dataclasses.KW_ONLY
    flatten: bool = False
    terminate_on_violation: bool = False
    terminate_on_completion: bool = False

    def __post_init__(self) -> None:
        require_adapted(self.env)
        if not isinstance(self.env, Environment):
            raise SpecError(
                "`env` should have `reset`, `step` and `action_space`, as rewardspec.jax.Environment says. Received a "
                f"{type(self.env).__name__}. Adapt it with rewardspec.jax.from_gymnax or its like."
            )
        for name in ("num_envs", "limit"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise SpecError(f"`{name}` should be a positive integer or None. Received {value!r}.")
        number = isinstance(self.auto_reset, int) and not isinstance(self.auto_reset, bool) and self.auto_reset > 0
        if self.auto_reset not in ("fresh", "first") and not number:
            raise SpecError(
                f"`auto_reset` should be 'fresh', 'first' or a positive integer. Received {self.auto_reset!r}."
            )
        if number and self.num_envs is None:
            raise SpecError(
                f"One environment has nothing to share first states with. Received auto_reset={self.auto_reset} and "
                "num_envs=None. Pass num_envs, or auto_reset='fresh'."
            )
        if self.spec is not None:
            object.__setattr__(self, "spec", readable(self.spec))
        elif self.observe is not None or self.terminate_on_violation or self.terminate_on_completion:
            raise SpecError("Without a spec there is nothing to observe and nothing that ends an episode. Pass `spec`.")

    @functools.cached_property
    def _engine(self) -> BatchEngine | None:
        if self.spec is None:
            return None
        return BatchEngine(
            self.spec,
            self.num_envs or 1,
            terminate_on_violation=self.terminate_on_violation,
            terminate_on_completion=self.terminate_on_completion,
        )

    @functools.cached_property
    def _features(self) -> Features | None:
        return None if self._engine is None or self.observe is None else Features(self._engine.spec, self.observe)

    @property
    def action_space(self) -> ActionSpace:
        """Space of one environment's actions."""
        return self.env.action_space

    @functools.cached_property
    def observation_struct(self) -> Any:
        """Shape and dtype of one environment's observation, as extended: a pytree of `jax.ShapeDtypeStruct`."""
        return observation_struct(dataclasses.replace(self, num_envs=None, auto_reset="first"))

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of one environment's observation, as extended.

        Raises:
            SpecError: Observations are not single arrays.
        """
        struct = self.observation_struct
        if not isinstance(struct, jax.ShapeDtypeStruct):
            raise SpecError(
                f"An observation should be one array to have a shape. Received {struct}. Pass flatten=True."
            )
        return tuple(struct.shape)

    @property
    def episode_limit(self) -> int | None:
        """Number of steps after which episodes are truncated, by `limit` or by the environment; None if unknown."""
        known = [limit for limit in (self.limit, getattr(self.env, "limit", None)) if limit is not None]
        return min(known, default=None)

    def lint(self) -> Findings:
        """Check the spec for likely mistakes, knowing how long episodes are and what the agent sees.

        See `Spec.lint`.

        Raises:
            SpecError: There is no spec.

        Example:
            >>> from rewardspec.jax import Discrete, FunctionalEnvironment
            >>> env = FunctionalEnvironment(lambda key: (0, 0), lambda key, state, action: ..., Discrete(2))
            >>> spec = Spec([("F(a & F b)", 1)], atoms={"a": "next_obs[0] > 0", "b": "next_obs[0] < 0"})
            >>> [finding.rule for finding in SpecReward(env, spec, num_envs=2, limit=100).lint()]
            ['unseen-register']
        """
        if self.spec is None:
            raise SpecError("Without a spec there is nothing to check. Pass `spec`.")
        return self.spec.lint(max_episode_steps=self.episode_limit, observe=self.observe or "nothing")

    def reset(self, key: Array) -> tuple[State, Observation]:
        """Start an episode in every environment.

        Args:
            key: A JAX random key.

        Returns:
            The state, and the observations: a pytree of arrays of shape (num_envs, …).
        """
        _check_key(key)
        env, obs = self._reset_all(key, self.num_envs)
        zero = jnp.zeros(self._batch)
        monitor = None
        if self._engine is not None:
            monitor = self._start(self._read(obs, None, obs, {"state": env}))
        first = (env, obs) if self.auto_reset == "first" else None
        state = State(env, obs, monitor, zero.astype(jnp.int32), zero, zero, first)
        # No two leaves share memory, so that a compiled step can take over the memory of all.
        state = jax.tree.map(lambda leaf: strong(leaf).copy(), state)
        return state, self._shown(state.obs, state.monitor)

    def step(self, key: Array, state: State, action: Action) -> EnvsStep:
        """Step every environment, pay, and reset the environments whose episodes ended.

        Args:
            key: A JAX random key.
            state: What `reset` or the step before returned.
            action: Actions: a pytree of arrays of shape (num_envs, …).

        Returns:
            `(state, obs, reward, terminated, truncated, info)`; see the class for `info`. Observations are those of the
            next episode where one ended. `truncated` is False where `terminated` is True.
        """
        _check_key(key)
        self._check_state(state)
        self._check_action(action)
        step_key, reset_key = jax.random.split(key)
        env, last_obs, base_reward, terminated, truncated, env_info = self._each(self._step_one)(
            self._split(step_key, self.num_envs), state.env, action
        )
        base_reward = self._column("reward", base_reward).astype(state.base_return.dtype)
        terminated = self._column("terminated", terminated).astype(bool)
        truncated = self._column("truncated", truncated).astype(bool)
        elapsed = state.elapsed + 1
        if self.limit is not None:
            truncated = truncated | (elapsed >= self.limit)
        info: dict[str, Any] = {"base_reward": base_reward}
        reward, monitor = base_reward, None
        if self._engine is not None and state.monitor is not None:
            labels = self._read(state.obs, action, last_obs, _beside(env_info, {"state": env}))
            monitor, paid = self._engine.pay(state.monitor, labels, base_reward, terminated, truncated)
            reward, terminated = paid.reward, paid.terminated
            values = dict(zip(self._engine.spec.names, paid.values, strict=True))
            info |= {"labels": labels, "formula_values": values, "violated": paid.violated}
            info["cost"] = paid.newly_violated.astype(reward.dtype)
        truncated = truncated & ~terminated
        done = terminated | truncated
        episode_return, base_return = state.episode_return + reward, state.base_return + base_reward
        info["final_obs"] = self._shown(last_obs, monitor)
        info["episode"] = {"done": done, "return": episode_return, "base_return": base_return, "length": elapsed}
        if monitor is not None:
            info["episode"] |= {"violated": info["violated"], "values": info["formula_values"]}

        first_env, first_obs = state.first or self._next_states(reset_key, done)
        env, obs = chosen(done, (first_env, first_obs), (env, last_obs))
        if self._engine is not None:
            first_labels = self._read(first_obs, None, first_obs, {"state": first_env})
            _, restart = self._start_and_reset
            monitor = restart(monitor, first_labels, done)
            info["reset_labels"] = first_labels
        zero = jnp.zeros_like(reward)
        returns = jnp.where(done, zero, episode_return), jnp.where(done, zero, base_return)
        new = State(env, obs, monitor, jnp.where(done, 0, elapsed), *returns, state.first)
        new = jax.tree.map(strong, new)
        if self._features is not None:
            # Otherwise XLA computes the new state again in the kernel of the observations, from the state before. The
            # state before must then be copied, array by array, because the new one takes its memory in a loop.
            new, reward, terminated, truncated = apart((new, reward, terminated, truncated))
        return new, self._shown(new.obs, new.monitor), reward, terminated, truncated, _beside(env_info, info)

    def invalid_labels(self, state: State) -> dict[str, Array]:
        """Return for each atom where its label has been out of range or NaN since `reset`, of shape (num_envs,)."""
        return {} if self._engine is None else self._engine.spec.invalid_labels(state.monitor)

    def check_labels(self, state: State) -> None:
        """Raise an error if a label has been out of range or NaN since `reset`. Waits for the device.

        Raises:
            LabelError: Names the atom and an environment.
        """
        if self._engine is not None and state.monitor is not None:
            self._engine.check_labels(state.monitor)

    def _step_one(self, key: Array, state: EnvState, action: Action) -> EnvStep:
        found: Any = self.env.step(key, state, action)
        if not isinstance(found, tuple) or len(found) != 6:
            received = f"{len(found)} values" if isinstance(found, tuple) else shown(found)
            raise Error(
                "The environment's `step` should return (state, obs, reward, terminated, truncated, info). Received "
                f"{received}. If it has one flag for both ends, say which kind it is: terminated, or truncated."
            )
        if not isinstance(found[5], Mapping):
            raise Error(f"The `info` of the environment's `step` should be a dict. Received {shown(found[5])}.")
        return cast(EnvStep, found)

    def _check_state(self, state: State) -> None:
        if not isinstance(state, State):
            raise Error(
                "`state` should be what `reset` or the step before returned, and `step` takes (key, state, action). "
                f"Received {_described(state)}."
            )
        if jnp.shape(state.elapsed) != self._batch:
            raise Error(
                f"`state` should be of num_envs={self.num_envs}. Received one of shape {jnp.shape(state.elapsed)}. "
                "Under `vmap`, pass one seed's state."
            )
        if jax.tree.structure(state.monitor) != self._monitor_structure:
            raise Error("`state` should be of this SpecReward. Received one of another spec. Call `reset`.")
        if (state.first is not None) != (self.auto_reset == "first"):
            kept = "without" if state.first is None else "with"
            raise Error(
                "`state` should hold first states to return to where auto_reset='first', and only there. Received one "
                f"{kept} them, and auto_reset={self.auto_reset!r}. Call `reset`."
            )

    @functools.cached_property
    def _monitor_structure(self) -> Any:
        if self.spec is None:
            return jax.tree.structure(None)
        labels = dict.fromkeys(self.spec.program.atoms, jnp.zeros(self._batch))
        return jax.tree.structure(jax.eval_shape(self._start, labels))

    @property
    def _batch(self) -> tuple[int, ...]:
        return () if self.num_envs is None else (self.num_envs,)

    def _start(self, labels: Labels) -> MonitorState:
        assert self._engine is not None
        start, _ = self._start_and_reset
        return start(labels) if labels else self._engine.spec.start(labels, batch=self._batch)

    def _check_action(self, action: Action) -> None:
        shapes = [jnp.shape(leaf) for leaf in jax.tree.leaves(action)]
        wrong = [shape for shape in shapes if self.num_envs is not None and shape[:1] != (self.num_envs,)]
        if wrong:
            raise Error(
                f"`action` should have an action for each environment: arrays of shape ({self.num_envs}, …). Received "
                f"shape {wrong[0]}."
            )

    def _each(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function if self.num_envs is None else jax.vmap(function)

    @functools.cached_property
    def _start_and_reset(self) -> tuple[Callable[..., MonitorState], Callable[..., MonitorState]]:
        """Functions of the spec, kept from taking labels of one environment outside of `jit` for plain numbers."""
        assert self._engine is not None
        start, reset = self._engine.spec.start, self._engine.spec.reset
        return (jax.jit(start), jax.jit(reset)) if self.num_envs is None else (start, reset)

    def _split(self, key: Array, count: int | None) -> Array:
        return key if count is None else jax.random.split(key, count)

    def _next_states(self, key: Array, done: Array) -> tuple[EnvState, Observation]:
        """First states and observations, of which those are used where an episode is done."""
        if self.auto_reset == "fresh":
            return self._reset_all(key, self.num_envs)
        assert isinstance(self.auto_reset, int)
        which = (jnp.cumsum(done) - 1) % self.auto_reset  # the first episode that is done takes the first state, …
        env, obs = self._reset_all(key, self.auto_reset)
        return jax.tree.map(lambda leaf: leaf[which], env), jax.tree.map(lambda leaf: leaf[which], obs)

    def _reset_all(self, key: Array, count: int | None) -> tuple[EnvState, Observation]:
        found: tuple[EnvState, Observation] = self._each(self.env.reset)(self._split(key, count))
        return found

    def _read(self, obs: Observation, action: Action, next_obs: Observation, info: Info) -> Labels:
        """Read the labels of each environment, as floats of the batch's shape."""
        assert self._engine is not None
        spec, step = self._engine.spec, 0 if action is None else None
        labels = self._each(lambda *given: spec.labels(*given, step=step))(obs, action, next_obs, info)
        return {name: _rounded(jnp.asarray(label, jnp.result_type(float)), spec) for name, label in labels.items()}

    def _shown(self, obs: Observation, monitor: MonitorState | None) -> Observation:
        """Observations as the agent sees them."""
        axes = 0 if self.num_envs is None else 1
        if self._features is not None and self._features.names and monitor is not None:
            obs = extended(obs, self._features.read_batch(monitor), axes)
        return flattened(obs, axes) if self.flatten else obs

    def _column(self, name: str, values: Array) -> Array:
        values = jnp.asarray(values)
        if values.shape != self._batch:
            raise Error(
                f"The environments' {name} should have shape {self._batch}, one number for each environment. Received "
                f"shape {values.shape}."
            )
        return values


def _beside(own: Info, added: dict[str, Any]) -> dict[str, Any]:
    """Return entries beside the environment's own; own ones of the same names are in `env_info`."""
    hidden = {name: value for name, value in own.items() if name in added or name == "env_info"}
    return {**own, **added, **({"env_info": hidden} if hidden else {})}


def _check_key(key: Array) -> None:
    dtype = getattr(key, "dtype", None)
    axes = 0 if dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key) else 1
    if dtype is None or jnp.ndim(key) != axes:
        raise Error(
            f"`key` should be one random key, as jax.random.key(0) gives it. Received {_described(key)}. SpecReward "
            "splits it for its environments."
        )


def _described(value: object) -> str:
    """A value for a message: of an array its type and shape."""
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__}" if shape is None else f"{getattr(value, 'dtype', '')}{list(shape)}"


def _rounded(labels: Array, spec: Spec) -> Array:
    """Clip what rounding took out of [0, 1]; other labels out of range stay, and are noted as invalid."""
    if spec.semantics == "robustness":
        return labels
    inside = jnp.clip(labels, 0.0, 1.0)
    return jnp.where(jnp.abs(labels - inside) <= TOLERANCE, inside, labels)
