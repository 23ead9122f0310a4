"""A spec as the reward of a vector environment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from rewardspec.episodes.batched_spaces import put
from rewardspec.episodes.engine import NOWHERE, Episodes
from rewardspec.episodes.features import Features, Observe
from rewardspec.episodes.observation_copies import copied
from rewardspec.episodes.recorded_episode import RecordedEpisodes
from rewardspec.errors import Error, SpecError
from rewardspec.machines.machine import Places
from rewardspec.spec import Spec
from rewardspec.spec.atoms.batch_info import with_final_info
from rewardspec.wrappers.first_states import warn_of_violation
from rewardspec.wrappers.monitor_reward import episode_limit, readable
from rewardspec.wrappers.observations import Extension, extension
from rewardspec.wrappers.product_numbering import possible_pairs
from rewardspec.wrappers.vector.infos import everyone, note, note_state, note_step
from rewardspec.wrappers.vector.vector_models import models_of

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation
    from rewardspec.spec.lint.findings import Findings

    _Wrapper = VectorWrapper[Any, Any, Any, Any, NDArray[Any]]
else:
    _Wrapper = VectorWrapper  # not generic in every Gymnasium that this library takes, such as that of RLlib


class MonitorReward(_Wrapper, RecordConstructorArgs):
    """Makes a spec the reward of every environment of a vector environment.

    Gives, environment by environment, exactly what `rewardspec.wrappers.MonitorReward` around each would give, but
    calls each atom once for all of them. Every autoreset mode is followed:

    - `NEXT_STEP`: the step after an episode's end resets: it pays 0 and starts the spec on the new first state;
    - `SAME_STEP`: the step that ends an episode pays for the transition to the final observation in `infos`, and the
      spec starts on the observation returned;
    - `DISABLED`: `reset(options={"reset_mask": mask})` starts the spec anew where the mask says so.

    `infos` gains `base_reward`, `formula_values`, `violated` and `cost` as arrays, each with its mask (`_cost` …) of
    the environments it is about; `formula_values` is a dict of them by the pairs' names. As Gymnasium has it, there is
    no `base_reward` of a reset, and under `SAME_STEP` those of a final transition are in `infos["final_info"]`. Only an
    environment itself can end its episode: to end it at a violation, wrap each environment, not the vector of them.

    Args:
        env: The vector environment.
        spec: The spec, with functions for its atoms that work on batches; or the path of its TOML file.
        observe: What to add to the observations; see `rewardspec.wrappers.MonitorReward`.
        record: The numbers of environments whose labels are kept, so that `explain(number)` can say why they paid
            what they paid.

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
        self,
        env: VectorEnv[Any, Any, Any],
        spec: Spec | str | os.PathLike[str],
        observe: Observe | None = None,
        *,
        record: Sequence[int] = (),
    ) -> None:
        if not isinstance(env, VectorEnv):
            raise SpecError(
                f"`env` should be a vector environment, as gymnasium.make_vec gives. Received a {type(env).__name__}. "
                "Wrap one environment with rewardspec.wrappers.MonitorReward."
            )
        # A spec never changes, so that recording it needs no copy.
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, spec=spec, observe=observe, record=record)
        VectorWrapper.__init__(self, env)
        mode = _autoreset_mode(env)
        self._next_step, self._same_step = mode is AutoresetMode.NEXT_STEP, mode is AutoresetMode.SAME_STEP
        self.reward_spec = spec = readable(spec)
        self.extension: Extension | None = None
        self._observe = observe
        if observe is not None:
            self._features = Features(spec, observe)
            space = env.single_observation_space
            models = models_of(env) if isinstance(space, gym.spaces.Discrete) and observe != "control" else []
            pairs = possible_pairs(space, spec, self._features, models, one_by_one=False)
            self.extension = extension(space, self._features, pairs)
        if self.extension is not None:
            self.single_observation_space = self.extension.space
            self.observation_space = self.extension.batch(env.observation_space, env.num_envs)
        self._episodes = Episodes(spec, env.num_envs, env.single_observation_space, env.single_action_space)
        self._state: Any = None  # None when there are no episodes, or their labels could not be read
        self._observations: Any = None  # the last ones, which the next step's labels are computed from
        self._recorded = RecordedEpisodes(record, env.num_envs)
        self._warned = False
        self._resetting = NOWHERE  # what the next step will reset

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
        state, labels = self._episodes.restart(old, observations, began.nonzero()[0], infos)
        if self._recorded:
            self._recorded.begin(began.nonzero()[0], labels)
        if not self._warned and began.all() and self.reward_spec.violated(state).all():
            self._warned = True
            first = {name: float(row[0]) for name, row in labels.items()}
            warn_of_violation(self.reward_spec, first, stacklevel=2)
        self._resetting = self._resetting[~began[self._resetting]]
        self._keep(state, observations)
        note_state(infos, self.reward_spec, state, began, self.reward_spec.violated(state))
        return self._extended(observations, state), infos

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Step the environments, and pay what the spec says."""
        observations, base_rewards, terminations, truncations, infos = self.env.step(actions)
        spec, before, self._state = self.reward_spec, self._state, None  # until the labels are read
        if before is None:
            raise ResetNeeded("There are no episodes for the spec to follow. Call reset() before step().")
        base_rewards = np.array(base_rewards, dtype=np.float64)
        if base_rewards.shape != (self.num_envs,):
            raise Error(
                f"The rewards of {type(self.env.unwrapped).__name__} should have shape {(self.num_envs,)}, one "
                f"number for each environment. Received shape {base_rewards.shape}. Make them so below this wrapper, "
                "for example with gymnasium.wrappers.vector.TransformReward; the spec pays for the other objectives."
            )
        if isinstance(actions, list):
            actions = np.asarray(actions)
        began, ended = self._resetting, np.logical_or(terminations, truncations).nonzero()[0]
        same_step = self._same_step and ended.size > 0
        last, last_infos = self._with_finals(observations, infos, ended) if same_step else (observations, infos)
        given = (self._observations, actions, last, base_rewards, terminations, truncations, last_infos, began)
        state, rewards = self._episodes.advance(before, *given)
        if self._recorded:
            self._recorded.add(self._episodes.labels or {}, base_rewards, terminations, truncations, began)
        newly = spec.violated(state) & ~spec.violated(before)
        if began.size:
            newly[began] = spec.violated(state)[began]
        if same_step:
            self._note_finals(infos, state, base_rewards, ended, newly)
            began = ended
            state, labels = self._episodes.restart(state, observations, ended, infos)
            if self._recorded:
                self._recorded.begin(ended, labels)
            newly[ended] = spec.violated(state)[ended]
        if self._next_step:
            self._resetting = ended
        self._keep(state, observations)
        note_step(infos, spec, state, base_rewards, began, newly)
        return self._extended(observations, state), rewards, terminations, truncations, infos

    def explain(self, number: int) -> Explanation:
        """Why every step of an environment's episode paid what it paid; needs `record` to have its number.

        The episode is the one being played; where that has only begun, the one before it.

        Raises:
            SpecError: The wrapper does not record this environment.
            ResetNeeded: There was no reset yet.

        Example:
            >>> from rewardspec.spec import Spec
            >>> spec = Spec([("F goal", 1)], atoms={"goal": lambda obs, action, next_obs: next_obs == 15})
            >>> lakes = gym.make_vec("FrozenLake-v1", num_envs=4, vectorization_mode="sync", is_slippery=False)
            >>> envs = MonitorReward(lakes, spec, record=[0, 3])
            >>> _ = envs.reset(seed=0), envs.step(np.array([2, 2, 2, 1]))
            >>> print(envs.explain(3))
            step  reward  F goal
            0     –       0, waiting for goal *
            1     0       0, waiting for goal *
        """
        episode = self._recorded.newest(number)
        if episode is None:
            raise ResetNeeded("There is no episode to explain. Call reset() first.")
        return episode.explain(self.reward_spec)

    def lint(self) -> Findings:
        """What looks wrong with the spec, given how long episodes can be and what agents are shown."""
        shown = "nothing" if self._observe is None else self._observe
        return self.reward_spec.lint(max_episode_steps=episode_limit(self.env), observe=shown)

    def _keep(self, state: Any, observations: Any) -> None:
        self._state = state
        if self._episodes.remembers:
            # A copy, because vector environments may write the next observations over these (`copy=False`).
            self._observations = copied(observations)

    def _with_finals(self, observations: Any, infos: dict[str, Any], ended: Places) -> tuple[Any, Any]:
        """The observations and infos that the transitions led to, before any reset."""
        finals = infos.get("final_obs")
        if finals is None:
            raise Error(
                "An episode ended, and `infos` has no 'final_obs' although the vector environment's autoreset mode is "
                "SAME_STEP: the final transition's reward cannot be known. Use another autoreset mode."
            )
        last = put(self.env.single_observation_space, observations, ended, [finals[k] for k in ended])
        mask = np.zeros(self.num_envs, dtype=np.bool_)
        mask[ended] = True
        return last, with_final_info(infos, mask) if self._episodes.reads_info else infos

    def _note_finals(
        self,
        infos: dict[str, Any],
        state: Any,
        base_rewards: NDArray[np.float64],
        ended: Places,
        newly: NDArray[np.bool_],
    ) -> None:
        """Extend the final observations, and put what is known of the final transitions beside them."""
        mask = np.zeros(self.num_envs, dtype=np.bool_)
        mask[ended] = True
        infos.setdefault("_final_info", mask.copy())
        final_info = infos.setdefault("final_info", {})
        note(final_info, "base_reward", base_rewards.copy(), mask)
        note_state(final_info, self.reward_spec, state, mask, newly)
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
