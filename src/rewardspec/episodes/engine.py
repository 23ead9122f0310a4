"""The episode engine: from transitions of environments to labels, states of a spec, and rewards.

`Episode` follows one environment, `Episodes` a batch of them in NumPy. Both are pure: `start` reads the labels of the
state after reset and gives a state of the spec, `advance` takes that and a transition and gives the next one and the
reward. Wrappers, training batches, recorded data and products of finite environments are thin skins over these two;
in JAX, `Spec.labels`, `Spec.start`, `Spec.step` and `Spec.reset` do the same inside compiled code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray

from rewardspec.episodes.batched_spaces import take
from rewardspec.machines.array_code import State
from rewardspec.machines.label_checks import CheckedLabels
from rewardspec.machines.machine import Places
from rewardspec.spec.atoms.batch_info import BatchInfo
from rewardspec.spec.atoms.functions import takes_info
from rewardspec.spec.spec import Spec

NOWHERE: Places = np.zeros(0, dtype=np.intp)


class Episode:
    """A spec beside one environment.

    Args:
        spec: The spec, with functions for its atoms.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.transition = spec.transition

    def __reduce__(self) -> tuple[Any, ...]:
        return Episode, (self.spec,)  # the compiled function follows from the spec

    def start(self, obs: Any, info: Any = None) -> tuple[Any, dict[str, float]]:
        """The spec's state after reset, and the labels that were read.

        Raises:
            LabelError: An atom gave no label in range.
        """
        labels = self.spec.labels(obs, None, obs, step=0, info=info)
        return self.spec.start(labels), labels

    def advance(
        self,
        state: Any,
        obs: Any,
        action: Any,
        next_obs: Any,
        info: Any = None,
        base_reward: float = 0.0,
        terminated: bool = False,
        truncated: bool = False,
        step: int | None = None,
    ) -> tuple[Any, float]:
        """The spec's state after a transition, and the reward; `step` is for error messages.

        `transition` does the same without a net: whoever calls it turns to this where it raises.
        """
        try:
            return self.transition(state, obs, action, next_obs, info, base_reward, terminated, truncated)
        except Exception:
            # Reading the labels on their own is slower; it clips what rounding did, and says which atom is wrong.
            labels = self.spec.labels(obs, action, next_obs, step=step, info=info)
            return self.spec.step(state, labels, base_reward, terminated, truncated)


class Episodes:
    """A spec beside a batch of environments, in NumPy.

    Args:
        spec: The spec, with functions for its atoms that work on batches.
        count: The number of environments.
        observations: The space of one observation; None where observations are arrays.
        actions: The space of one action, likewise.

    Attributes:
        remembers: Whether the labels depend on the observation before the step, which then has to be kept.
        reads_info: Whether they depend on `info`.
    """

    def __init__(
        self, spec: Spec, count: int, observations: Space[Any] | None = None, actions: Space[Any] | None = None
    ) -> None:
        self.spec = spec
        self.count = count
        self._spaces = observations, actions
        self._labels = spec.batch_labels(count)
        self.remembers = bool(self._labels.of_transitions)
        self.reads_info = any(map(takes_info, (spec.atom_functions or {}).values()))
        # The number of steps taken, and what it was when each episode began.
        self._clock, self._began_at = 0, np.zeros(count, dtype=np.int64)
        self.labels: CheckedLabels | None = None  # those of the last step, until the next

    def _elapsed(self) -> NDArray[np.int64]:
        """The number of steps of each episode."""
        return self._clock - self._began_at

    def start(self, obs: Any, info: Any = None) -> State:
        """The spec's state after all environments were reset."""
        return self.restart(None, obs, np.arange(self.count), info)[0]

    def restart(self, state: State | None, obs: Any, where: Places, info: Any = None) -> tuple[State, CheckedLabels]:
        """The spec's state after some environments were reset, and the labels that were read.

        Args:
            state: The state before; None where all were reset.
            obs: The observations of all environments.
            where: Which were reset.
            info: The infos of all environments.
        """
        self._began_at[where] = self._clock
        everyone = where.size == self.count
        first = obs if everyone else take(self._spaces[0], obs, where)
        reader = self._labels if everyone else self.spec.batch_labels(where.size)
        if not everyone:
            info = BatchInfo(info, self.count, where) if self.reads_info and info is not None else None
        labels = reader.of(first, None, first, step=0, envs=where, info=info)
        started = self.spec.start(labels, batch=where.size)
        if everyone:
            return started, labels
        assert state is not None
        return self.spec.machine.restart_at(state, started, where), labels

    def advance(
        self,
        state: State,
        obs: Any,
        action: Any,
        next_obs: Any,
        base_reward: NDArray[np.float64],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        info: Any = None,
        began: Places = NOWHERE,
    ) -> tuple[State, NDArray[np.float64]]:
        """The spec's state after a step of every environment, and the rewards, in an array of their own.

        Args:
            state: The state before.
            obs: The observations before; needed where `remembers`.
            action: The actions.
            next_obs: The observations after; where an episode began, the first ones.
            base_reward: The environments' own rewards.
            terminated: Where an episode ended for good.
            truncated: Where it was cut short.
            info: The infos.
            began: Where an episode began with this step instead, which pays 0.
        """
        self._clock += 1
        self.labels = labels = self._read(obs, action, next_obs, info, began)
        spec = self.spec
        if began.size:
            state = spec.machine.begin_at(state, began)
        state, paid = spec.step_checked(state, labels, base_reward, terminated, truncated)
        rewards = paid.copy()
        if began.size:
            rewards[began] = 0.0
            state = spec.unpaid(state, began)
        return state, rewards

    def _read(self, obs: Any, action: Any, next_obs: Any, info: Any, began: Places) -> CheckedLabels:
        """The labels of a step: of a transition, and of a first state where an episode began."""
        labels = self._labels
        if not began.size:
            labels.read(obs, action, next_obs, step=self._elapsed, info=info)
            return labels.checked(self._elapsed)
        self._began_at[began] = self._clock
        labels.read(None, None, next_obs, step=self._elapsed, atoms=labels.of_states, info=info)
        if labels.of_transitions:
            # An action that was not taken, or a state that is not a first one, is nothing to show to an atom.
            observations, actions = self._spaces
            first = take(observations, next_obs, began)
            labels.read(first, None, first, began, step=0, atoms=labels.of_transitions, info=info)
            mask = np.ones(self.count, dtype=np.bool_)
            mask[began] = False
            going = mask.nonzero()[0]
            if going.size:
                before, after = take(observations, obs, going), take(observations, next_obs, going)
                taken = take(actions, action, going)
                labels.read(before, taken, after, going, self._elapsed, labels.of_transitions, info)
        return labels.checked(self._elapsed)
