"""A spec as the reward of a vector environment."""

from __future__ import annotations

import os
from copy import deepcopy
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from rewardspec.errors import Error, SpecError
from rewardspec.spec import Spec
from rewardspec.spec.compilation import NO_PENALTY
from rewardspec.wrappers.features import Features, Observe
from rewardspec.wrappers.monitor_reward import readable
from rewardspec.wrappers.observations import Extension, extension
from rewardspec.wrappers.products import possible_pairs
from rewardspec.wrappers.vector.batches import put, take
from rewardspec.wrappers.vector.infos import note, note_all
from rewardspec.wrappers.vector.models import models_of

Mask = NDArray[np.bool_]


class MonitorReward(VectorWrapper[Any, Any, Any, Any, NDArray[Any]], RecordConstructorArgs):
    """Makes a spec the reward of every environment of a vector environment.

    Gives, environment by environment, exactly what `rewardspec.wrappers.MonitorReward` around each would give, but
    calls each atom once for all of them. Every autoreset mode is followed:

    - `NEXT_STEP`: the step after an episode's end resets: it pays 0 and starts the spec on the new first state;
    - `SAME_STEP`: the step that ends an episode pays for the transition to the final observation in `infos`, and the
      spec starts on the observation returned;
    - `DISABLED`: `reset(options={"reset_mask": mask})` starts the spec anew where the mask says so.

    `infos` gains `base_reward`, `formula_values` and `violated` as arrays, each with its mask (`_base_reward` …) of
    the environments it is about. As Gymnasium has it, there is no `base_reward` of a reset, and under `SAME_STEP` those
    of a final transition are in `infos["final_info"]`.

    Args:
        env: The vector environment.
        spec: The spec, with functions for its atoms that work on batches; or the path of its TOML file.
        observe: What to add to the observations; see `rewardspec.wrappers.MonitorReward`.

    Attributes:
        reward_spec: The spec.
        extension: How observations are extended, or None.

    Raises:
        SpecError: The spec has no functions for its atoms, `observe` is none of the choices, or the vector environment
            does not say how it resets.
        LabelError: From `reset` and `step`: an atom gave no labels in [0, 1]. After it everything has to be reset.

    Example:
        >>> from rewardspec.spec import Spec
        >>> upright = lambda obs, action, next_obs: 1.0 - np.minimum(np.abs(next_obs[..., 2]) / 0.21, 1.0)
        >>> envs = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
        >>> envs = MonitorReward(envs, Spec([("G upright", 1)], atoms={"upright": upright}))
        >>> observations, infos = envs.reset(seed=0)
        >>> observations, rewards, terminations, truncations, infos = envs.step(np.array([1, 1]))
        >>> rewards.round(3), infos["base_reward"]
        (array([0.777, 0.831]), array([1., 1.]))
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], spec: Spec | str | os.PathLike[str], observe: Observe | None = None
    ) -> None:
        # A spec never changes, so that recording it needs no copy.
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, spec=spec, observe=observe)
        VectorWrapper.__init__(self, env)
        self._mode = _autoreset_mode(env)
        self.reward_spec = spec = readable(spec)
        self.extension: Extension | None = None
        if observe is not None:
            self._features = Features(spec, observe)
            space = env.single_observation_space
            models = models_of(env) if isinstance(space, gym.spaces.Discrete) and observe != "control" else []
            self.extension = extension(space, self._features, possible_pairs(space, spec, self._features, models))
        if self.extension is not None:
            self.single_observation_space = self.extension.space
            self.observation_space = self.extension.batch(env.observation_space, env.num_envs)
        self._state: Any = None  # None when there are no episodes, or their labels could not be read
        self._observations: Any = None  # the last ones, which the next step's labels are computed from
        self._resetting = self._everywhere(False)  # what the next step will reset
        self._elapsed = np.zeros(env.num_envs, dtype=np.int64)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments, or those of `options["reset_mask"]`, and start the spec on their states' labels."""
        mask = None if options is None else options.get("reset_mask")
        # A copy, because Gymnasium's vector environments take the mask out of the dict that they are given.
        passed = None if options is None else dict(options)
        # Gymnasium's own vector environments take lists of seeds too, though the base class says otherwise.
        observations, infos = self.env.reset(seed=seed, options=passed)  # type: ignore[arg-type]
        began = self._everywhere(True) if mask is None else np.array(mask, dtype=np.bool_)
        old, self._state = self._state, None
        if old is None and not began.all():
            raise ResetNeeded("There are no episodes for the spec to follow. Reset all environments first.")
        state = self._restart(old, observations, began)
        self._resetting = self._resetting & ~began
        self._keep(state, observations)
        self._note_state(infos, state, began)
        return self._extended(observations, state), infos

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Step the environments, and pay what the spec says."""
        observations, base_rewards, terminations, truncations, infos = self.env.step(actions)
        state, self._state = self._state, None  # until the labels are read
        if state is None:
            raise ResetNeeded("There are no episodes for the spec to follow. Call reset() before step().")
        base_rewards = np.array(base_rewards, dtype=np.float64)
        began, ended = self._resetting, np.logical_or(terminations, truncations)
        same_step = self._mode is AutoresetMode.SAME_STEP and bool(ended.any())
        last = self._with_finals(observations, infos, ended) if same_step else observations
        anew = bool(began.any())
        labels = self._read(actions, last, began, anew)
        if anew:
            state = self._before_first(state, began)
        state, paid = self.reward_spec.step(state, labels, base_rewards, terminations, truncations)
        if anew and self.reward_spec.payment == "delta":
            state = state._replace(level=np.where(began, 0.0, state.level))  # nothing has been paid yet
        rewards = np.where(began, 0.0, paid) if anew else np.array(paid)  # new, so that the learner may write into it
        if same_step:
            self._note_finals(infos, state, base_rewards, ended)
            began = ended
            state = self._restart(state, observations, ended)
        if self._mode is AutoresetMode.NEXT_STEP:
            self._resetting = ended
        self._keep(state, observations)
        if anew or same_step:
            note(infos, "base_reward", base_rewards, ~began)
            self._note_state(infos, state, self._everywhere(True))
        else:
            values, violated = self._values_of(state), self.reward_spec.violated(state)
            note_all(infos, base_reward=base_rewards, formula_values=values, violated=violated)
        return self._extended(observations, state), rewards, terminations, truncations, infos

    def _read(self, actions: Any, observations: Any, began: Mask, anew: bool) -> dict[str, Any]:
        """The labels of a step: of a transition, and of a first state where an episode began."""
        self._elapsed += 1
        if isinstance(actions, list):
            actions = np.asarray(actions)
        everyone, read = self.num_envs, self.reward_spec.labels
        if not anew:
            return read(self._observations, actions, observations, step=self._elapsed, batch=everyone)
        # An action that was not taken, or a state that is not a first one, is nothing to show to an atom.
        labels = self._read_first(observations, began)
        going = np.flatnonzero(~began)
        if going.size:
            space = self.env.single_observation_space
            before, after = take(space, self._observations, going), take(space, observations, going)
            taken = take(self.env.single_action_space, actions, going)
            step = self._elapsed[going]
            for atom, values in read(before, taken, after, step=step, batch=going.size, envs=going).items():
                labels[atom][going] = values
        return labels

    def _read_first(self, observations: Any, began: Mask) -> dict[str, Any]:
        """The labels of first states, in arrays for all environments."""
        where = np.flatnonzero(began)
        self._elapsed[where] = 0
        first = take(self.env.single_observation_space, observations, where)
        step = self._elapsed[where]
        labels = {}
        for atom, values in self.reward_spec.labels(
            first, None, first, step=step, batch=where.size, envs=where
        ).items():
            labels[atom] = np.zeros(self.num_envs, dtype=np.float64)
            labels[atom][where] = values
        return labels

    def _before_first(self, state: Any, mask: Mask) -> Any:
        """The state in which the masked elements have read nothing yet: quicker than a reset before every step."""
        first = self.reward_spec.machine.initial
        return state._replace(
            control=None if state.control is None else np.where(mask, np.int32(0), state.control),
            registers=tuple(np.where(mask, one, old) for one, old in zip(first, state.registers, strict=True)),
            penalty=np.where(mask, NO_PENALTY, state.penalty),
        )

    def _restart(self, state: Any, observations: Any, began: Mask) -> Any:
        labels = self._read_first(observations, began)
        if began.all():
            return self.reward_spec.init(labels, batch=self.num_envs)
        return self.reward_spec.reset(state, labels, began)

    def _keep(self, state: Any, observations: Any) -> None:
        # A copy, because vector environments may write the next observations over these (`copy=False`).
        copy = observations.copy() if isinstance(observations, np.ndarray) else deepcopy(observations)
        self._state, self._observations = state, copy

    def _with_finals(self, observations: Any, infos: dict[str, Any], ended: Mask) -> Any:
        """The observations that the transitions led to, before any reset."""
        finals = infos.get("final_obs")
        if finals is None:
            raise Error(
                "An episode ended, and `infos` has no 'final_obs' although the vector environment's autoreset mode is "
                "SAME_STEP: the final transition's reward cannot be known. Use another autoreset mode."
            )
        where = np.flatnonzero(ended)
        return put(self.env.single_observation_space, observations, where, [finals[k] for k in where])

    def _note_finals(self, infos: dict[str, Any], state: Any, base_rewards: NDArray[np.float64], ended: Mask) -> None:
        """Extend the final observations, and put what is known of the final transitions beside them."""
        final_info = infos.setdefault("final_info", {})
        infos.setdefault("_final_info", ended.copy())
        note(final_info, "base_reward", base_rewards.copy(), ended)
        self._note_state(final_info, state, ended)
        if self.extension is not None:
            numbers = self._features.read_batch(state, self.num_envs)
            finals = np.full(self.num_envs, None, dtype=object)
            for k in np.flatnonzero(ended):
                finals[k] = self.extension.extend(infos["final_obs"][k], numbers[k])
            infos["final_obs"] = finals

    def _values_of(self, state: Any) -> NDArray[np.float64]:
        values = np.empty((self.num_envs, len(self.reward_spec.pairs)), dtype=np.float64)
        for k, column in enumerate(self.reward_spec.values(state)):
            values[:, k] = column
        return values

    def _note_state(self, infos: dict[str, Any], state: Any, mask: Mask) -> None:
        note(infos, "formula_values", self._values_of(state), mask)
        note(infos, "violated", self.reward_spec.violated(state), mask)

    def _extended(self, observations: Any, state: Any) -> Any:
        if self.extension is None:
            return observations
        return self.extension.extend_batch(observations, self._features.read_batch(state, self.num_envs))

    def _everywhere(self, value: bool) -> Mask:
        return np.full(self.num_envs, value, dtype=np.bool_)


def _autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    mode = env.metadata.get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        received = "It is missing" if mode is None else f"Received {mode!r}"
        raise SpecError(
            "The vector environment's `metadata['autoreset_mode']` should be a gymnasium.vector.AutoresetMode, for a "
            f"reward depends on where episodes begin. {received}. Set it to what the environment does."
        )
    return mode
