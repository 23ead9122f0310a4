"""A spec beside a vector environment whose arrays are torch's or JAX's.

Environments are chosen by masks in place of indices, so that no step waits for the device and nothing leaves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from rewardspec.episodes.batched_spaces import chosen
from rewardspec.episodes.engine import BatchEngine, Transition, first_leaf
from rewardspec.episodes.features import Features
from rewardspec.episodes.observation_copies import copied
from rewardspec.errors import Error, SpecError
from rewardspec.machines.array_code import State
from rewardspec.machines.namespaces import device_of, namespace_of
from rewardspec.types import Action, Array, ArrayNamespace, Info, InfoDict, Labels, Observation
from rewardspec.wrappers.observations import Extension, Numbered
from rewardspec.wrappers.vector.infos import note, note_state

FINAL_OBS = ("final_obs", "final_observation")  # Gymnasium's name, and its former one, which ManiSkill uses


class DeviceEpisodes:
    """The episodes of a vector environment on a device, and the spec's state in them.

    The array library and device of the first observations are used for everything. `mode` is how environments reset.

    Attributes:
        state: State of the spec; None when there are no episodes, or their labels could not be read.
        labels: Labels of the last step or reset, each of shape (num_envs,).
        began: Mask of the environments in which an episode began with the last step or reset.
    """

    def __init__(
        self,
        engine: BatchEngine,
        mode: AutoresetMode,
        features: Features | None,
        extension: Extension | None,
        observations: Observation,
    ) -> None:
        if isinstance(extension, Numbered):
            raise SpecError(
                "The numbers of pairs of state and configuration are looked up in Python. Received observations of "
                "torch or JAX. Pass observe=None, or give the environment an observation space that is not Discrete."
            )
        leaf = first_leaf(observations)
        xp = namespace_of(leaf)
        if xp is None:
            raise SpecError(f"Observations should be arrays of torch or JAX. Received a {type(leaf).__name__}.")
        self._xp: ArrayNamespace = xp
        device = device_of(leaf)
        self._device: dict[str, Any] = {} if device is None else {"device": device}
        self._engine, self._spec, self._mode = engine, engine.spec, mode
        self._features, self._extension = features, extension
        self._everyone = self._xp.ones(engine.num_envs, dtype=self._xp.bool, **self._device)
        self._observations: Observation = None
        self._resetting: Array | None = None  # what the next step will reset
        self.state: State | None = None
        self.labels: Labels = {}
        self.began: Array = self._everyone

    def reset(self, observations: Observation, infos: InfoDict, mask: Array | None) -> Observation:
        """Start the spec where environments were reset, extend `infos`, and return the extended observations."""
        before, self.state = self.state, None
        self.began = began = self._everyone if mask is None else self._mask(mask)
        if mask is None or (before is None and bool(began.all())):
            state, self.labels = self._engine.start(observations, _entries(infos))
        elif before is None:
            raise ResetNeeded("There are no episodes for the spec to follow. Reset all environments first.")
        else:
            state, self.labels = self._engine.restart(before, observations, began, _entries(infos))
        if self._resetting is not None:
            self._resetting = self._resetting & ~began
        self._keep(state, observations)
        note_state(infos, self._spec, state, began, self._spec.violated(state))
        return self._extended(observations, state)

    def step(
        self,
        actions: Action,
        observations: Observation,
        base_rewards: Array,
        terminations: Array,
        truncations: Array,
        infos: InfoDict,
    ) -> tuple[Observation, Array]:
        """Pay for a step, extend `infos`, and return the extended observations and the rewards."""
        before, self.state = self.state, None
        if before is None:
            raise ResetNeeded("There are no episodes for the spec to follow. Call reset() before step().")
        ends = self._mask(terminations), self._mask(truncations)
        ended = ends[0] | ends[1]
        finals = self._finals(infos, ended)
        last, last_infos = observations, _entries(infos)
        if finals is not None:
            last = chosen(ended, infos[finals], observations)
            last_infos = self._with_final_info(infos, ended)
        began = self._resetting
        transition = Transition(self._observations, actions, last, last_infos, base_rewards, *ends)
        state, step = self._engine.advance(before, transition, began)
        violated, newly, self.labels = step.violated, step.newly_violated, step.labels
        if finals is not None:
            final_info = infos.setdefault("final_info", {})
            infos.setdefault("_final_info", ended)
            note(final_info, "base_reward", base_rewards, ended)
            note_state(final_info, self._spec, state, ended, newly)
            infos[finals] = self._extended(last, state)
            state, _ = self._engine.restart(state, observations, ended, _entries(infos))
            began, violated = ended, self._spec.violated(state)
            newly = self._xp.where(ended, violated, newly)
        self.began = ~self._everyone if began is None else began
        if self._mode is AutoresetMode.NEXT_STEP:
            self._resetting = ended
        self._keep(state, observations)
        note_state(infos, self._spec, state, self._everyone, newly)
        note(infos, "base_reward", base_rewards, ~self.began)
        return self._extended(observations, state), step.reward

    def _finals(self, infos: Info, ended: Array) -> str | None:
        """Return the key of the final observations where environments reset within the step."""
        if self._mode is not AutoresetMode.SAME_STEP:
            return None
        found = next((key for key in FINAL_OBS if infos.get(key) is not None), None)
        if found is None and bool(ended.any()):  # waits for the device; environments that always give them do not
            raise Error(
                "An episode ended, and `infos` has no 'final_obs' although the vector environment's autoreset mode is "
                "SAME_STEP: the final transition's reward cannot be known. Use another autoreset mode, or a reward "
                "term of the simulator, as rewardspec.torch.SpecTerm."
            )
        return found

    def _with_final_info(self, infos: InfoDict, ended: Array) -> Info:
        """The entries of `infos` that came with the last observations, before any reset.

        An entry that `final_info` does not have is left out: in `infos` it may belong to the next episode.
        """
        if not self._engine.reads_info:
            return {}
        finals = infos.get("final_info")
        if finals is None:
            raise Error(
                "An atom reads `info`, and `infos` has final observations but no 'final_info': the final transition's "
                "labels cannot be known. Let the environment give it, or write the atom for observations."
            )
        now, final = _entries(infos), _entries(finals)
        return {key: chosen(ended, final[key], now.get(key, final[key])) for key in final}

    def _mask(self, values: Array) -> Array:
        return self._xp.asarray(values, dtype=self._xp.bool, **self._device)

    def _keep(self, state: State, observations: Observation) -> None:
        self.state = state
        if self._engine.reads_transitions:
            # torch environments may write the next observations over these; arrays of JAX never change.
            self._observations = copied(observations) if self._xp.__name__ == "torch" else observations

    def _extended(self, observations: Observation, state: State) -> Observation:
        if self._extension is None or self._features is None:
            return observations
        return self._extension.extend_batch(observations, self._features.read_batch(state))


def _entries(infos: Info) -> Info:
    """The entries of `infos` without masks and what belongs to final transitions; to read masks waits for the device.

    Example:
        >>> _entries({"lives": 1, "_lives": True, "_private": 2, "final_info": {}})
        {'lives': 1, '_private': 2}
    """
    finals = ("final_info", *FINAL_OBS)
    entries = {key: value for key, value in infos.items() if key not in finals and key.removeprefix("_") not in finals}
    return {
        key: _entries(value) if isinstance(value, Mapping) else value
        for key, value in entries.items()
        if not (key.startswith("_") and key[1:] in entries)
    }
