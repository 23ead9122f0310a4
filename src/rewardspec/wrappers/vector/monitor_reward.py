"""A spec as the reward of a vector environment."""

from __future__ import annotations

import os
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from rewardspec.episodes.copying import copied
from rewardspec.episodes.features import Features, Observe
from rewardspec.errors import Error, SpecError
from rewardspec.machines.label_checks import CheckedLabels
from rewardspec.spec import Spec
from rewardspec.spec.batch_states import Places, before_first, changed, merged
from rewardspec.wrappers.first_states import warn_of_violation
from rewardspec.wrappers.monitor_reward import readable
from rewardspec.wrappers.observations import Extension, extension
from rewardspec.wrappers.product_numbering import possible_pairs
from rewardspec.wrappers.vector.batched_spaces import put, take
from rewardspec.wrappers.vector.infos import everyone, note, note_state, note_step
from rewardspec.wrappers.vector.vector_models import models_of

NOWHERE: Places = np.zeros(0, dtype=np.intp)


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

    Warns:
        UserWarning: From `reset`, once: every environment's first state violates a safety objective, so that nothing
            else is paid for.

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
        if not isinstance(env, VectorEnv):
            raise SpecError(
                f"`env` should be a vector environment, as gymnasium.make_vec gives. Received a {type(env).__name__}. "
                "Wrap one environment with rewardspec.wrappers.MonitorReward."
            )
        # A spec never changes, so that recording it needs no copy.
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, spec=spec, observe=observe)
        VectorWrapper.__init__(self, env)
        mode = _autoreset_mode(env)
        self._next_step, self._same_step = mode is AutoresetMode.NEXT_STEP, mode is AutoresetMode.SAME_STEP
        self.reward_spec = spec = readable(spec)
        self.extension: Extension | None = None
        if observe is not None:
            self._features = Features(spec, observe)
            space = env.single_observation_space
            models = models_of(env) if isinstance(space, gym.spaces.Discrete) and observe != "control" else []
            pairs = possible_pairs(space, spec, self._features, models, one_by_one=False)
            self.extension = extension(space, self._features, pairs)
        if self.extension is not None:
            self.single_observation_space = self.extension.space
            self.observation_space = self.extension.batch(env.observation_space, env.num_envs)
        self._labels = spec.batch_labels(env.num_envs)
        self._initial = spec.program.initial
        self._state: Any = None  # None when there are no episodes, or their labels could not be read
        self._observations: Any = None  # the last ones, which the next step's labels are computed from
        self._warned = False
        self._resetting = NOWHERE  # what the next step will reset
        # The number of steps taken, and what it was when each episode began.
        self._clock, self._began_at = 0, np.zeros(env.num_envs, dtype=np.int64)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments, or those of `options["reset_mask"]`, and start the spec on their states' labels."""
        mask = None if options is None else options.get("reset_mask")
        # A copy, because Gymnasium's vector environments take the mask out of the dict that they are given.
        passed = None if options is None else dict(options)
        # Gymnasium's own vector environments take lists of seeds too, though the base class says otherwise.
        observations, infos = self.env.reset(seed=seed, options=passed)  # type: ignore[arg-type]
        began = everyone(self.num_envs) if mask is None else np.array(mask, dtype=np.bool_)
        old, self._state = self._state, None
        if old is None and not began.all():
            raise ResetNeeded("There are no episodes for the spec to follow. Reset all environments first.")
        state, labels = self._restart(old, observations, began.nonzero()[0])
        if not self._warned and began.all() and self.reward_spec.violated(state).all():
            self._warned = True
            first = {name: float(row[0]) for name, row in labels.items()}
            warn_of_violation(self.reward_spec, first, stacklevel=2)
        self._resetting = self._resetting[~began[self._resetting]]
        self._keep(state, observations)
        note_state(infos, state, began)
        return self._extended(observations, state), infos

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Step the environments, and pay what the spec says."""
        observations, base_rewards, terminations, truncations, infos = self.env.step(actions)
        spec, state, self._state = self.reward_spec, self._state, None  # until the labels are read
        if state is None:
            raise ResetNeeded("There are no episodes for the spec to follow. Call reset() before step().")
        self._clock += 1
        base_rewards = np.array(base_rewards, dtype=np.float64)
        if base_rewards.shape != self._began_at.shape:
            raise Error(
                f"The rewards of {type(self.env.unwrapped).__name__} should have shape {self._began_at.shape}, one "
                f"number for each environment. Received shape {base_rewards.shape}. Make them so below this wrapper, "
                "for example with gymnasium.wrappers.vector.TransformReward; the spec pays for the other objectives."
            )
        began, ended = self._resetting, np.logical_or(terminations, truncations).nonzero()[0]
        same_step = self._same_step and ended.size > 0
        last = self._with_finals(observations, infos, ended) if same_step else observations
        labels = self._read(actions, last, began)
        if began.size:
            state = before_first(state, self._initial, began)
        state, paid = spec.step_checked(state, labels, base_rewards, terminations, truncations)
        rewards = paid.copy()  # new, so that the learner may write into it
        if began.size:
            rewards[began] = 0.0
            if spec.payment == "delta":
                state = state._replace(level=changed(state.level, began, 0.0))  # nothing has been paid yet
        if same_step:
            self._note_finals(infos, state, base_rewards, ended)
            began = ended
            state, _ = self._restart(state, observations, ended)
        if self._next_step:
            self._resetting = ended
        self._keep(state, observations)
        note_step(infos, state, base_rewards, began)
        return self._extended(observations, state), rewards, terminations, truncations, infos

    def _read(self, actions: Any, observations: Any, began: Places) -> CheckedLabels:
        """The labels of a step: of a transition, and of a first state where an episode began."""
        labels = self._labels
        if isinstance(actions, list):
            actions = np.asarray(actions)
        if not began.size:
            labels.read(self._observations, actions, observations)
            return labels.checked(self._elapsed)
        self._began_at[began] = self._clock
        labels.read(None, None, observations, atoms=labels.of_states)
        if labels.of_transitions:
            # An action that was not taken, or a state that is not a first one, is nothing to show to an atom.
            space = self.env.single_observation_space
            first = take(space, observations, began)
            labels.read(first, None, first, began, step=0, atoms=labels.of_transitions)
            going = everyone(self.num_envs, but=began).nonzero()[0]
            if going.size:
                before, after = take(space, self._observations, going), take(space, observations, going)
                taken = take(self.env.single_action_space, actions, going)
                labels.read(before, taken, after, going, atoms=labels.of_transitions)
        return labels.checked(self._elapsed)

    def _elapsed(self) -> NDArray[np.int64]:
        """The number of steps of each episode."""
        return self._clock - self._began_at

    def _restart(self, state: Any, observations: Any, began: Places) -> tuple[Any, CheckedLabels]:
        """The state in which the spec has started anew on the first states of some environments, and their labels."""
        self._began_at[began] = self._clock
        first = take(self.env.single_observation_space, observations, began)
        labels = self.reward_spec.batch_labels(began.size).of(first, None, first, step=0, envs=began)
        fresh = self.reward_spec.start(labels, batch=began.size)
        return (fresh if began.size == self.num_envs else merged(state, began, fresh)), labels

    def _keep(self, state: Any, observations: Any) -> None:
        self._state = state
        if self._labels.of_transitions:
            # A copy, because vector environments may write the next observations over these (`copy=False`).
            self._observations = copied(observations)

    def _with_finals(self, observations: Any, infos: dict[str, Any], ended: Places) -> Any:
        """The observations that the transitions led to, before any reset."""
        finals = infos.get("final_obs")
        if finals is None:
            raise Error(
                "An episode ended, and `infos` has no 'final_obs' although the vector environment's autoreset mode is "
                "SAME_STEP: the final transition's reward cannot be known. Use another autoreset mode."
            )
        return put(self.env.single_observation_space, observations, ended, [finals[k] for k in ended])

    def _note_finals(self, infos: dict[str, Any], state: Any, base_rewards: NDArray[np.float64], ended: Places) -> None:
        """Extend the final observations, and put what is known of the final transitions beside them."""
        mask = np.zeros(self.num_envs, dtype=np.bool_)
        mask[ended] = True
        infos.setdefault("_final_info", mask.copy())
        final_info = infos.setdefault("final_info", {})
        note(final_info, "base_reward", base_rewards.copy(), mask)
        note_state(final_info, state, mask)
        if self.extension is not None:
            numbers = self._features.read_batch(state, self.num_envs)
            finals = np.full(self.num_envs, None, dtype=object)
            for k in ended:
                finals[k] = self.extension.extend(infos["final_obs"][k], numbers[k])
            infos["final_obs"] = finals

    def _extended(self, observations: Any, state: Any) -> Any:
        if self.extension is None:
            return observations
        return self.extension.extend_batch(observations, self._features.read_batch(state, self.num_envs))


def _autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    mode = env.metadata.get("autoreset_mode")
    if not isinstance(mode, AutoresetMode):
        received = "It is missing" if mode is None else f"Received {mode!r}"
        raise SpecError(
            "The vector environment's `metadata['autoreset_mode']` should be a gymnasium.vector.AutoresetMode, for a "
            f"reward depends on where episodes begin. {received}. Set it to what the environment does."
        )
    return mode
