"""A spec as the reward of one environment."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs

from rewardspec.episodes.engine import Episode
from rewardspec.episodes.features import Features, Observe
from rewardspec.episodes.observation_copies import copied
from rewardspec.episodes.recorded_episode import RecordedEpisode
from rewardspec.errors import Error, SpecError
from rewardspec.spec import Spec
from rewardspec.spec.atoms.functions import reads_only_the_state, takes_info
from rewardspec.spec.veto_and_reward import NO_PENALTY
from rewardspec.wrappers.first_states import warn_of_violation
from rewardspec.wrappers.observations import Extension, extension
from rewardspec.wrappers.product_numbering import model_of, possible_pairs

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation
    from rewardspec.spec.lint.findings import Findings


_UNPAID = 5  # episodes that were not seen to end, after which something is wrong


class MonitorReward(gym.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Makes a spec the reward of an environment.

    The labels of the state after `reset` are read and pay nothing; every step then pays what the spec says. A vector
    version exists: `rewardspec.wrappers.vector.MonitorReward`.

    Each step's `info` gains `base_reward` (float), the environment's own reward; `formula_values`, the value of each
    formula by its pair's name; `violated` (bool), whether a safety objective has been violated in this episode; and
    `cost`, 1.0 for the step of the first violation and else 0.0, as safe reinforcement learning counts it. The `info`
    of `reset` gains all but the first.

    Counterfactual experience needs to know more. With `terminate_on_violation`, `base_terminated` and `base_truncated`
    are what the environment itself said. With `observe="registers"` and atoms that read `info`, the first step of an
    episode has `reset_labels`, the labels of the state after `reset`.

    Args:
        env: The environment.
        spec: The spec, with functions for its atoms; or the path of its TOML file, which lets the environment's own
            spec be written as JSON.
        observe: What to add to the observation: nothing (None), the control state (`"control"`), the formulas' values
            (`"values"`), or all that makes the product of environment and spec Markov (`"registers"`). See
            `rewardspec.episodes.features` for what each holds and `rewardspec.wrappers.observations` for how each
            kind of observation space takes it in.
        record: Whether to keep the labels of the episode, so that `explain()` can say why it paid what it paid. Takes
            a few microseconds a step.
        terminate_on_violation: Whether a violation of a safety objective ends the episode, with its penalty. An
            episode that is violated by its first state ends at its first step.

    Attributes:
        reward_spec: The spec; `spec` is Gymnasium's, from which `gymnasium.make` rebuilds the wrapped environment.
        extension: How observations are extended, or None.

    Raises:
        SpecError: The spec has no functions for its atoms, `observe` is none of the choices, or the environment resets
            itself within a step.
        LabelError: From `reset` and `step`: an atom gave no label in [0, 1]. After it the episode has to be reset.

    Warns:
        UserWarning: From `reset`, once: the first state violates a safety objective, so that nothing else is paid for;
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
        env: gym.Env[Any, Any],
        spec: Spec | str | os.PathLike[str],
        observe: Observe | None = None,
        *,
        record: bool = False,
        terminate_on_violation: bool = False,
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
        )
        gym.Wrapper.__init__(self, env)
        self.reward_spec = spec = readable(spec)
        self.extension: Extension | None = None
        self._observe = observe
        if observe is not None:
            self._features = Features(spec, observe)
            space = env.observation_space
            models = [model_of(env)] if isinstance(space, gym.spaces.Discrete) and observe != "control" else []
            pairs = possible_pairs(space, spec, self._features, models, one_by_one=True)
            self.extension = extension(space, self._features, pairs)
        if self.extension is not None:
            self.observation_space = self.extension.space
        self._names = spec.names
        self._record = record
        self._terminates = terminate_on_violation
        self._recorded: RecordedEpisode | None = None
        self._episode = Episode(spec)
        self._transition = self._episode.transition
        self._state: Any = None  # None when there is no episode, or its labels could not be read
        # The last observation, where the next step's labels are computed from it: a copy, because an environment may
        # write the next one into the same arrays, and an agent into what it was handed.
        self._observation: Any = None
        functions = spec.atom_functions or {}
        self._keeps = not all(reads_only_the_state(functions[name]) for name in spec.atoms)
        self._tells_first = observe == "registers" and any(map(takes_info, functions.values()))
        self._first: dict[str, float] | None = None  # the labels after reset, until the first step tells them
        self._elapsed = 0
        self._pays_at_the_end = "final" in spec.payments
        self._unpaid = 0
        self._warned = False

    def __getstate__(self) -> dict[str, Any]:
        # The compiled function cannot be pickled, and follows from the spec.
        return {name: value for name, value in self.__dict__.items() if name != "_transition"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._transition = self._episode.transition

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, and start the spec on the state's labels."""
        if self._pays_at_the_end and self._elapsed:
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
        self._elapsed = 0
        if self._keeps:
            self._observation = copied(observation)
        state, labels = self._episode.start(observation, info)
        self._state = state
        self._first = labels if self._tells_first else None
        self._recorded = RecordedEpisode(labels) if self._record else None
        violated = self.reward_spec.violated(state)
        info["formula_values"] = dict(zip(self._names, state[-1], strict=True))
        info["violated"], info["cost"] = violated, float(violated)
        if violated and not self._warned:
            self._warned = True
            warn_of_violation(self.reward_spec, labels, stacklevel=2)
        if self.extension is not None:
            observation = self.extension.extend(observation, self._features.read(state))
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Step the environment, and pay what the spec says."""
        observation, base_reward, terminated, truncated, info = self.env.step(action)
        ended = terminated
        before = self._state
        if before is None:
            raise ResetNeeded("There is no episode for the spec to follow. Call reset() before step().")
        self._state = None  # until the labels are read: an episode with a letter missing must not go on
        try:
            base_reward = float(base_reward)
        except (TypeError, ValueError):
            raise _not_one_number(self.env, base_reward) from None
        self._elapsed += 1
        old, labels = self._observation, None
        try:  # without a call between: each costs a share of the environment's own speed
            if self._recorded is not None:  # what is recorded is what was paid for, though atoms may differ by call
                labels = self.reward_spec.labels(old, action, observation, info, step=self._elapsed)
                state, reward = self.reward_spec.step(before, labels, base_reward, terminated, truncated)
            else:
                state, reward = self._transition(
                    before, old, action, observation, info, base_reward, terminated, truncated
                )
        except Exception:
            state, reward = self._episode.advance(
                before, old, action, observation, info, base_reward, terminated, truncated, self._elapsed
            )
        # From the state itself, likewise.
        violated = state[-3] != NO_PENALTY
        cost = 1.0 if violated and before[-3] == NO_PENALTY else 0.0
        if violated and self._terminates and not terminated:
            terminated = True  # which some ways to pay want to know
            if labels is None:
                labels = self.reward_spec.labels(old, action, observation, info, step=self._elapsed)
            state, reward = self.reward_spec.step(before, labels, base_reward, terminated, truncated)
        if labels is not None and self._recorded is not None:
            self._recorded.add(labels, base_reward, terminated, truncated)
        self._state = state
        if self._keeps:
            self._observation = copied(observation)
        if (terminated or truncated) and self._pays_at_the_end:
            self._elapsed = self._unpaid = 0  # the end has been seen
        info["base_reward"] = base_reward
        info["formula_values"] = dict(zip(self._names, state[-1]))  # noqa: B905  # a name for each value, as made
        info["violated"] = violated
        info["cost"] = cost
        if self._terminates:
            info["base_terminated"], info["base_truncated"] = ended, truncated
        if self._first is not None:
            info["reset_labels"], self._first = self._first, None
        if self.extension is not None:
            observation = self.extension.extend(observation, self._features.read(state))
        return observation, reward, terminated, truncated, info

    def explain(self) -> Explanation:
        """Why every step since the last reset paid what it paid; needs `record=True`.

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
        """What looks wrong with the spec, given how long episodes can be and what the agent is shown.

        Around other wrappers: `env.get_wrapper_attr("lint")()`.

        Example:
            >>> from rewardspec.spec import Spec
            >>> spec = Spec([("F[0,900] goal", 1)], atoms={"goal": lambda obs, action, next_obs: next_obs == 15})
            >>> [finding.rule for finding in MonitorReward(gym.make("FrozenLake-v1"), spec).lint()]
            ['bound-past-limit', 'unseen-window']
        """
        shown = "nothing" if self._observe is None else self._observe
        return self.reward_spec.lint(max_episode_steps=episode_limit(self.env), observe=shown)


def episode_limit(env: gym.Env[Any, Any] | gym.vector.VectorEnv[Any, Any, Any]) -> int | None:
    """After how many steps an environment's episodes are cut off; None where that is not known."""
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


def _not_one_number(env: gym.Env[Any, Any], reward: Any) -> Error:
    return Error(
        f"The reward of {type(env.unwrapped).__name__} should be one number. Received {reward!r}. Make it one below "
        "this wrapper, for example with gymnasium.wrappers.TransformReward(env, lambda reward: float(reward[0])); the "
        "spec pays for the other objectives."
    )


def readable(spec: Spec | str | os.PathLike[str]) -> Spec:
    """The spec, from its TOML file if it is one, as one that can read an environment.

    Raises:
        SpecError: It is no spec, or has no functions for its atoms.
    """
    if isinstance(spec, str) and not spec.endswith(".toml") and not Path(spec).exists():
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
