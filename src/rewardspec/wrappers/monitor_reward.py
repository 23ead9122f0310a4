"""A spec as the reward of one environment."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat

import gymnasium as gym
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs

from rewardspec.episodes.engine import Engine, Transition
from rewardspec.episodes.features import Features, Observe
from rewardspec.episodes.observation_copies import copied
from rewardspec.episodes.recorded_episode import RecordedEpisode
from rewardspec.errors import Error, SpecError
from rewardspec.machines.scalar_code import ScalarState
from rewardspec.spec import Spec
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.veto_and_reward import NO_PENALTY
from rewardspec.types import Action, Environment, InfoDict, Observation, ResetOptions, VectorEnvironment
from rewardspec.wrappers.first_states import warn_of_violation
from rewardspec.wrappers.observations import Extension

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation
    from rewardspec.spec.lint.findings import Findings


_UNPAID = 5  # episodes that were not seen to end, after which something is wrong


class MonitorReward(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Wrapper that replaces the reward of an environment by that of a spec.

    The labels of the state after `reset` are read and pay nothing; every step then pays what the spec says. A vector
    version exists: `rewardspec.wrappers.vector.MonitorReward`.

    Each step's `info` gains `base_reward` (float), the environment's own reward; `formula_values`, the value of each
    formula by its pair's name; `violated` (bool), whether a vetoing pair has been violated in this episode; and
    `cost`, 1.0 for the step of the first violation and else 0.0, as safe reinforcement learning counts it. The `info`
    of `reset` gains all but the first. With a formula about things there is also `worst_things`, which names for each
    pair about things the one with the smallest value.

    Counterfactual experience needs more. If the spec can end an episode, `base_terminated` and `base_truncated` are
    what the environment itself returned. With `observe="registers"` and atoms that read `info`, the first step of an
    episode has `reset_labels`, the labels of the state after `reset`.

    Args:
        env: The environment.
        spec: The spec, with functions for its atoms; or the path of its TOML file, which lets the environment's own
            spec be written as JSON.
        observe: What to add to the observation: nothing (None or `"nothing"`), the control state (`"control"`), the
            formulas' values (`"values"`), or all that makes the product of environment and spec Markov
            (`"registers"`). See
            `rewardspec.episodes.features` for what each holds and `rewardspec.wrappers.observations` for how each
            kind of observation space takes it in.
        record: Whether to keep the labels of the episode, so that `explain()` can say why it paid what it paid. Takes
            a few microseconds a step.
        terminate_on_violation: Whether a violation of a vetoing pair ends the episode, with its penalty. An
            episode that is violated by its first state ends at its first step.
        terminate_on_completion: Whether the episode ends once all formulas with a positive weight have the value 1.

    Attributes:
        reward_spec: The spec; `spec` is Gymnasium's, from which `gymnasium.make` rebuilds the wrapped environment.
        extension: How observations are extended, or None.
        reset_labels: Labels of the state after the last reset.

    Raises:
        SpecError: The spec has no functions for its atoms, `observe` is none of the choices, or the environment resets
            itself within a step.
        LabelError: From `reset` and `step`: an atom gave no label in [0, 1]. After it the episode has to be reset.

    Warns:
        UserWarning: From `reset`, once: the first state violates a vetoing pair, so that nothing else is paid for;
            or several episodes in a row were never seen to end, where only the end pays.

    Example:
        >>> from rewardspec.spec import Spec
        >>> upright = lambda obs, action, next_obs: 1.0 - min(abs(float(next_obs[2])) / 0.21, 1.0)
        >>> env = MonitorReward(gym.make("CartPole-v1"), Spec([("G upright", 1)], atoms={"upright": upright}))
        >>> obs, info = env.reset(seed=0)
        >>> obs, reward, terminated, truncated, info = env.step(1)
        >>> round(reward, 3), info["base_reward"], list(info["formula_values"]), info["violated"]
        (0.777, 1.0, ['G upright'], False)
    """

    def __init__(
        self,
        env: Environment,
        spec: Spec | str | os.PathLike[str],
        observe: Observe | Literal["nothing"] | None = None,
        *,
        record: bool = False,
        terminate_on_violation: bool = False,
        terminate_on_completion: bool = False,
    ) -> None:
        _require_one_environment(env)
        # A spec never changes, so that recording it needs no copy.
        RecordConstructorArgs.__init__(
            self,
            _disable_deepcopy=True,
            spec=spec,
            observe=observe,
            record=record,
            terminate_on_violation=terminate_on_violation,
            terminate_on_completion=terminate_on_completion,
        )
        gym.Wrapper.__init__(self, env)
        self.reward_spec = spec = readable(spec)
        self.extension: Extension | None = None
        self._observe = observe = None if observe == "nothing" else observe
        if observe is not None:
            from rewardspec.wrappers.product_numbering import extension_of  # here, because it loads finite models

            self._features = Features(spec, observe)
            self.extension = extension_of(env, spec, self._features)
        if self.extension is not None:
            self.observation_space = self.extension.space
        self._engine = Engine(
            spec, terminate_on_violation=terminate_on_violation, terminate_on_completion=terminate_on_completion
        )
        self._record = record
        self._recorded: RecordedEpisode | None = None
        self._fast = not record and not self._engine.terminates
        self._transition, self._by_name = spec.transition, _by_name(spec.names)
        self._state: ScalarState | None = None  # None when there is no episode, or its labels could not be read
        # The last observation, where the next step's labels are computed from it: a copy, because an environment may
        # write the next one into the same arrays, and an agent into what it was handed.
        self._observation: Observation = None
        self._keeps = self._engine.reads_transitions
        self._tells_first = observe == "registers" and self._engine.reads_info
        self.reset_labels: dict[str, float] = {}
        self._elapsed, self._ended = 0, False
        self._tells_things = spec.has_quantifiers
        self._needs_more = (
            self._keeps or self._tells_things or self._tells_first or self.extension is not None
        )  # one test in every step, in place of four
        self._pays_at_the_end = any(PAYMENTS[way].reads_truncation for way in spec.payments)
        self._unpaid = 0
        self._warned = False

    def __getstate__(self) -> dict[str, object]:
        # Compiled functions cannot be pickled, and follow from the spec.
        return {name: value for name, value in self.__dict__.items() if name not in ("_transition", "_by_name")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._transition, self._by_name = self.reward_spec.transition, _by_name(self.reward_spec.names)

    def reset(self, *, seed: int | None = None, options: ResetOptions | None = None) -> tuple[Observation, InfoDict]:
        """Reset the environment, and start the spec with the labels of the first state."""
        if self._pays_at_the_end and self._elapsed and not self._ended:
            self._unpaid += 1
            if self._unpaid == _UNPAID:
                warnings.warn(
                    f"{_UNPAID} episodes in a row were reset before they ended as far as this wrapper can see, so that "
                    "their final payment was never made. A time limit has to be inside: "
                    "MonitorReward(TimeLimit(env, …), spec).",
                    UserWarning,
                    stacklevel=2,
                )
        self._state = None
        observation, info = self.env.reset(seed=seed, options=options)
        self._elapsed, self._ended = 0, False
        state, labels = self._engine.start(observation, info)
        self._state = state
        self.reset_labels = labels
        self._recorded = RecordedEpisode(labels) if self._record else None
        violated = self.reward_spec.violated(state)
        info["formula_values"] = self._by_name(state[-1])
        info["violated"], info["cost"] = violated, float(violated)
        if violated and not self._warned:
            self._warned = True
            warn_of_violation(self.reward_spec, labels, stacklevel=2)
        return self._keep_and_extend(observation, info, state), info

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, InfoDict]:
        """Step the environment, and return the reward of the spec."""
        observation, base_reward, terminated, truncated, info = self.env.step(action)
        before = self._state
        if before is None:
            raise ResetNeeded("There is no episode for the spec to follow. Call reset() before step().")
        self._state = None  # until the labels are read: an episode with a letter missing must not go on
        if base_reward.__class__ is not float:
            base_reward = reward_as_number(self.env, base_reward)
        self._elapsed += 1
        old = self._observation
        if self._fast:  # without a call between: each costs a share of the environment's own speed
            try:
                state, reward = self._transition(
                    before, old, action, observation, info, base_reward, terminated, truncated
                )
                violated = state[-3] != NO_PENALTY
                cost = 1.0 if violated and before[-3] == NO_PENALTY else 0.0
            except Exception:
                transition = Transition(old, action, observation, info, base_reward, terminated, truncated)
                state, reward, terminated, violated, cost = self._advance(before, transition, info)
        else:
            transition = Transition(old, action, observation, info, base_reward, terminated, truncated)
            state, reward, terminated, violated, cost = self._advance(before, transition, info)
        self._state = state
        if self._pays_at_the_end and (terminated or truncated):
            self._ended, self._unpaid = True, 0
        info["base_reward"] = base_reward
        info["formula_values"] = self._by_name(state[-1])
        info["violated"] = violated
        info["cost"] = cost
        if self._needs_more:
            observation = self._keep_and_extend(observation, info, state)
        return observation, reward, terminated, truncated, info

    def _keep_and_extend(self, observation: Observation, info: InfoDict, state: ScalarState) -> Observation:
        """Keep the observation where atoms read transitions, and return it with what the agent is shown of the spec."""
        if self._keeps:
            self._observation = copied(observation)
        if self._tells_things:
            info["worst_things"] = self.reward_spec.worst_things(state)
        if self._tells_first and self._elapsed == 1:
            info["reset_labels"] = self.reset_labels
        if self.extension is None:
            return observation
        return self.extension.extend(observation, self._features.read(state))

    def _advance(
        self, before: ScalarState, transition: Transition, info: InfoDict
    ) -> tuple[ScalarState, float, bool, bool, float]:
        """Return the state after a step, the reward, whether the episode terminated, the violation and its cost."""
        state, step = self._engine.advance(before, transition, step=self._elapsed)
        if self._engine.terminates:
            info["base_terminated"], info["base_truncated"] = transition.terminated, transition.truncated
        if self._recorded is not None:
            self._recorded.add(step.labels, transition.base_reward, step.terminated, transition.truncated)
        return state, step.reward, step.terminated, step.violated, float(step.newly_violated)

    @property
    def monitor_state(self) -> ScalarState:
        """State of the spec in the current episode.

        Raises:
            ResetNeeded: There is no episode.
        """
        if self._state is None:
            raise ResetNeeded("There is no episode for the spec to follow. Call reset() first.")
        return self._state

    def explain(self) -> Explanation:
        """Explain the reward of every step since the last reset; needs `record=True`.

        Around other wrappers: `env.get_wrapper_attr("explain")()`.

        Raises:
            SpecError: The wrapper does not record.
            ResetNeeded: There was no reset yet.

        Example:
            >>> from rewardspec.spec import Spec
            >>> spec = Spec([("F goal", 1)], atoms={"goal": lambda obs, action, next_obs: next_obs == 15})
            >>> lake = gym.make("FrozenLake-v1", is_slippery=False)
            >>> env = MonitorReward(lake, spec, observe="registers", record=True)
            >>> _ = env.reset(seed=0), env.step(2)
            >>> print(env.explain())
            step  reward  F goal
            0     –       0, waiting for goal *
            1     0       0, waiting for goal *
        """
        if not self._record:
            raise SpecError("The episode was not kept. Make the wrapper with record=True to have it explained.")
        if self._recorded is None:
            raise ResetNeeded("There is no episode to explain. Call reset() first.")
        return self._recorded.explain(self.reward_spec)

    def lint(self) -> Findings:
        """Lint the spec, given how long episodes can be and what the agent observes.

        Around other wrappers: `env.get_wrapper_attr("lint")()`.

        Example:
            >>> from rewardspec.spec import Spec
            >>> spec = Spec([("F[0,900] goal", 1)], atoms={"goal": lambda obs, action, next_obs: next_obs == 15})
            >>> [finding.rule for finding in MonitorReward(gym.make("FrozenLake-v1"), spec).lint()]
            ['bound-past-limit', 'unseen-window']
        """
        return self.reward_spec.lint(max_episode_steps=episode_limit(self.env), observe=self._observe or "nothing")


def episode_limit(env: Environment | VectorEnvironment) -> int | None:
    """Return the number of steps after which episodes are truncated; None if unknown."""
    try:
        limit = env.get_wrapper_attr("_max_episode_steps") if isinstance(env, gym.Env) else None
    except AttributeError:
        limit = None
    return getattr(env.spec, "max_episode_steps", None) if limit is None else limit


def _require_one_environment(env: Any) -> None:
    """Refuse what is no single environment whose resets the wrapper sees."""
    if isinstance(env, gym.vector.VectorEnv):
        raise SpecError(
            f"`env` should be one environment. Received a vector environment, {type(env).__name__}. Wrap that "
            "with rewardspec.wrappers.vector.MonitorReward."
        )
    layer = env
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, gym.wrappers.Autoreset):
            raise SpecError(
                "`env` should not reset itself within a step, for the spec would not start anew. Received an "
                "environment wrapped by Autoreset. Put that outside: Autoreset(MonitorReward(env, spec))."
            )
        layer = layer.env


def reward_as_number(env: Environment, reward: SupportsFloat) -> float:
    """Convert an environment's own reward to a float, or raise an Error where it is not one number."""
    try:
        return float(reward)
    except (TypeError, ValueError):
        raise Error(
            f"The reward of {type(env.unwrapped).__name__} should be one number. Received {reward!r}. Wrap the "
            "environment first so that it is one, for example in a function of yours that returns "
            "gymnasium.wrappers.TransformReward(env, lambda reward: float(reward[0])); the spec pays for the other "
            "objectives. Commands take this function as MODULE:FUNCTION."
        ) from None


def _by_name(names: Sequence[str]) -> Callable[[tuple[float, ...]], dict[str, float]]:
    """Make a function from values to a dict of them by name, more than twice as fast as `dict(zip(…))`."""
    entries = ", ".join(f"name{k}: values[{k}]" for k in range(len(names)))
    namespace: dict[str, Any] = {f"name{k}": name for k, name in enumerate(names)}
    exec(f"def by_name(values): return {{{entries}}}", namespace)
    return namespace["by_name"]  # type: ignore[no-any-return]


def readable(spec: Spec | str | os.PathLike[str]) -> Spec:
    """The spec, from its TOML file if it is one, as one that can read an environment."""
    if isinstance(spec, str) and not spec.endswith(".toml") and not os.path.exists(spec):
        raise SpecError(
            f"`spec` should be a rewardspec.Spec, or the path of a spec's TOML file. Received {spec!r}, where there is "
            f"no file. To pay for a formula, pass Spec([({spec!r}, 1)], atoms={{…}})."
        )
    if isinstance(spec, str | os.PathLike):
        spec = Spec.load(spec)
    if not isinstance(spec, Spec):
        raise SpecError(f"`spec` should be a rewardspec.Spec or a file. Received a {type(spec).__name__}.")
    if spec.atom_functions is not None:
        return spec
    if spec.atoms:
        raise SpecError(
            f"The spec has no functions for its atoms {', '.join(spec.atoms)}, so that it cannot read an "
            "environment. Pass `atoms` to Spec: functions of (obs, action, next_obs)."
        )
    return spec.replace(atoms={})  # there is nothing to read
