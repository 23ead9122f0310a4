"""The episode engine: transitions of environments in, states of a spec and rewards out.

`Engine` follows one environment, whose labels and rewards are numbers. `BatchEngine` has the same methods for a batch
of environments in NumPy, JAX or torch. Both are pure: `start` and `advance` return a new state and change nothing. The
wrappers, the training batch and counterfactual experience are built on them. What happens at the end of an episode is
decided here and nowhere else.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rewardspec.episodes.batched_spaces import take
from rewardspec.errors import LabelError, SpecError
from rewardspec.machines.array_code import State
from rewardspec.machines.label_checks import CheckedLabels
from rewardspec.machines.machine import Places
from rewardspec.machines.namespaces import device_of, namespace_of, to_numpy
from rewardspec.machines.scalar_code import ScalarState
from rewardspec.spec.atoms.batch_info import BatchInfo
from rewardspec.spec.atoms.batch_labeling import BatchPart
from rewardspec.spec.atoms.labeling import OUT_OF_RANGE, StepNumber
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.sorts import ONE_EPISODE
from rewardspec.spec.spec import Spec
from rewardspec.spec.veto_and_reward import NO_PENALTY, PENALTY
from rewardspec.types import Action, AnySpace, Array, ArrayNamespace, Info, Labels, Number, Observation

NOWHERE: Places = np.zeros(0, dtype=np.intp)


class Transition(NamedTuple):
    """One step of an environment, or of each environment of a batch.

    Attributes:
        obs: Observation before the action.
        action: The action.
        next_obs: Observation after the action. Where an episode begins with this step, its first observation.
        info: The `info` of the step, or the `infos` of a vector environment.
        base_reward: The environment's own reward: a number, or shape (num_envs,).
        terminated: Whether the episode ended by itself: a bool, or shape (num_envs,).
        truncated: Whether the episode was cut off, likewise.
    """

    obs: Observation
    action: Action
    next_obs: Observation
    info: Info | None = None
    base_reward: Number = 0.0
    terminated: Number = False
    truncated: Number = False


class Step(NamedTuple):
    """Result of a step, for one environment or for each environment of a batch.

    Attributes:
        reward: Reward of the spec: a float, or shape (num_envs,), in an array of its own.
        terminated: Whether the episode ended by itself or, with `terminate_on_violation` or `terminate_on_completion`,
            because of the spec.
        labels: Label of each atom, by name.
        values: Value of each formula, in the order of the pairs.
        violated: Whether a veto is in force.
        newly_violated: Whether this step caused the first violation of the episode.
    """

    reward: Number
    terminated: Number
    labels: Labels
    values: tuple[Number, ...]
    violated: Number
    newly_violated: Number


class _SpecEngine:
    """Common part of both engines: the spec, and the condition that ends an episode."""

    def __init__(
        self, spec: Spec, *, terminate_on_violation: bool = False, terminate_on_completion: bool = False
    ) -> None:
        self.spec = spec
        self._on_violation = terminate_on_violation
        wanted = [number for number, weight in enumerate(spec.weights) if weight > 0.0]
        self._completing = wanted if terminate_on_completion else []
        self.terminates = terminate_on_violation or bool(self._completing)

    @property
    def reads_transitions(self) -> bool:
        """True if labels depend on the observation before the step or on the action."""
        return self.spec.reads_transitions

    @property
    def reads_info(self) -> bool:
        """True if labels depend on `info`."""
        return self.spec.reads_info

    def decided(self, values: tuple[Number, ...], violated: Number) -> Number:
        """Return whether the spec ends an episode with these formula values and this violation."""
        decided = violated if self._on_violation else violated & False
        if self._completing:
            decided = decided | functools.reduce(operator.and_, (values[k] >= 1.0 for k in self._completing))
        return decided


class Engine(_SpecEngine):
    """A spec beside one environment.

    Args:
        spec: The spec, with functions for its atoms.
        terminate_on_violation: Whether a violation ends the episode.
        terminate_on_completion: Whether the episode ends once all formulas with a positive weight have the value 1.

    Attributes:
        terminates: Whether the spec can end an episode.

    Example:
        >>> spec = Spec([("F high", 1)], atoms={"high": lambda obs, action, next_obs: next_obs})
        >>> engine = Engine(spec)
        >>> state, labels = engine.start(0.25)
        >>> state, step = engine.advance(state, Transition(obs=0.25, action=None, next_obs=0.5))
        >>> step.reward, step.values, step.violated
        (0.5, (0.5,), False)
    """

    def start(self, obs: Observation, info: Info | None = None) -> tuple[ScalarState, dict[str, float]]:
        """Return the state after a reset, and the labels of the first observation."""
        labels = self.spec.labels(obs, None, obs, info, step=0)
        return self.spec.start(labels), labels

    def advance(self, state: ScalarState, transition: Transition, step: StepNumber = None) -> tuple[ScalarState, Step]:
        """Return the state after a step, and what the step pays; its number is for error messages.

        `Spec.transition` is a faster path without error reporting; fall back to this method when it raises.
        """
        obs, action, next_obs, info, base_reward, terminated, truncated = transition
        spec = self.spec
        labels = spec.labels(obs, action, next_obs, info, step=step)
        new, reward = spec.step(state, labels, base_reward, terminated, truncated)
        violated, values = spec.violated(new), spec.values(new)
        if self.terminates and not terminated and self.decided(values, violated):
            terminated = True
            _, reward = spec.step(state, labels, base_reward, terminated, truncated)
        newly_violated = violated and not spec.violated(state)
        return new, Step(reward, terminated, labels, values, violated, newly_violated)


class BatchEngine(_SpecEngine):
    """A spec beside a batch of environments, in the array library of their observations; see `Engine`.

    Args:
        spec: The spec, with functions for its atoms that work on batches.
        num_envs: Number of environments.
        observation_space: Space of one observation, if batches of it are not arrays.
        action_space: Space of one action, likewise.
        **terminating: What else `Engine` takes.

    Example:
        >>> spec = Spec([("F high", 1)], atoms={"high": lambda obs, action, next_obs: next_obs})
        >>> engine = BatchEngine(spec, num_envs=2)
        >>> state, labels = engine.start(np.array([0.25, 0.0]))
        >>> transition = Transition(obs=None, action=None, next_obs=np.array([0.0, 0.5]))
        >>> state, step = engine.advance(state, transition)
        >>> step.reward
        array([0.25, 0.5 ])
    """

    def __init__(
        self,
        spec: Spec,
        num_envs: int,
        *,
        observation_space: AnySpace | None = None,
        action_space: AnySpace | None = None,
        **terminating: bool,
    ) -> None:
        if spec.axes.named:
            raise SpecError(ONE_EPISODE)
        super().__init__(spec, **terminating)
        self.num_envs = num_envs
        self._spaces = observation_space, action_space
        # Ending an episode changes what these payments pay for the step.
        self._pays_endings = any(PAYMENTS[way].reads_ending for way in (spec.payment, *spec.payments))

    def start(self, obs: Observation, info: Info | None = None) -> tuple[State, Labels]:
        """Return the state after a reset of all environments, and the labels of the first observations."""
        labels = self._read_first(obs, info, self.num_envs)
        if in_numpy(obs):
            return self.spec.start(labels, batch=self.num_envs), labels
        if self.spec.atoms:
            return self.spec.start(labels), labels
        leaf = first_leaf(obs)
        return self.spec.start(labels, self.num_envs, xp=_namespace(leaf), device=device_of(leaf)), labels

    def restart(self, state: State, obs: Observation, where: Array, info: Info | None = None) -> tuple[State, Labels]:
        """Return the state after a reset of some environments, and the labels of their first observations.

        Observations and infos are those of all environments. In NumPy, `where` has indices, and labels are of shape
        (len(where),); in JAX and torch it is a mask, and labels are of shape (num_envs,).
        """
        spec = self.spec
        if not _in_numpy(state):
            labels = self._read_first(obs, info, self.num_envs)
            return spec.reset(state, labels, where), labels
        if where.size == self.num_envs:
            return self.start(obs, info)
        part = BatchInfo(info, self.num_envs, where) if self.reads_info and info is not None else None
        labels = self._read_first(take(self._spaces[0], obs, where), part, where.size, envs=where)
        return spec.machine.restart_at(state, spec.start(labels, batch=where.size), where), labels

    def advance(
        self, state: State, transition: Transition, begun: Array | None = None, step: StepNumber = None
    ) -> tuple[State, Step]:
        """Return the state after a step of all environments, and what the step pays.

        Where `begun` says, an episode begins with this step instead, as under Gymnasium's autoreset mode `NEXT_STEP`,
        and the step pays 0. It holds indices in NumPy, and is a mask of shape (num_envs,) in JAX and torch.
        """
        if _in_numpy(state):
            labels: Labels = self._read_numpy(transition, NOWHERE if begun is None else begun, step)
        else:
            labels = self._read_device(transition, begun, step)
        return self.pay(state, labels, *transition[4:], begun=begun)

    def pay(
        self,
        state: State,
        labels: Labels,
        base_reward: Number = 0.0,
        terminated: Number = False,
        truncated: Number = False,
        *,
        begun: Array | None = None,
    ) -> tuple[State, Step]:
        """Return the state after a step whose labels are known, and what the step pays; see `advance`."""
        spec, on_host = self.spec, _in_numpy(state)
        if begun is not None and on_host and not begun.size:
            begun = None
        if begun is not None:
            state = spec.machine.begin_at(state, begun) if on_host else spec.machine.begin(state, begun)
        take_step: Callable[..., tuple[State, Array]] = spec.step
        if labels.__class__ is CheckedLabels:
            take_step = spec.machine.step_checked
        new, reward = take_step(state, labels, base_reward, terminated, truncated)
        # Of NumPy's tests this is the quickest; only a penalty in force is finite.
        violated = np.isfinite(new.memory[PENALTY]) if on_host else new.memory[PENALTY] != NO_PENALTY
        values = spec.values(new)
        if self.terminates:
            ended = self.decided(values, violated) | terminated
            # Compiled code cannot branch; XLA removes the parts of the second step that repeat the first.
            if self._pays_endings and (not on_host or (ended != terminated).any()):
                _, reward = take_step(state, labels, base_reward, ended, truncated)
            terminated = ended
        if on_host:
            reward = reward.copy()  # it may be an array of the state
        if begun is not None:
            new = spec.reset_baseline(new, begun)
            if on_host:
                reward[begun] = 0.0
            else:
                reward = _namespace(reward).where(begun, _namespace(reward).zeros_like(reward), reward)
        penalty = state.memory[PENALTY]
        if not on_host:
            newly_violated = violated > (penalty != NO_PENALTY)
        elif new.memory[PENALTY] is penalty:  # as in most steps
            newly_violated = np.zeros(violated.shape, dtype=np.bool_)
        else:
            newly_violated = violated > np.isfinite(penalty)
        return new, Step(reward, terminated, labels, values, violated, newly_violated)

    def check_labels(self, state: State) -> None:
        """Raise an error if a label of JAX or torch has been out of range or NaN; waits for the device."""
        for atom, invalid in self.spec.invalid_labels(state).items():
            noted = to_numpy(invalid)
            where = np.argwhere(noted)
            if where.size:
                bounds = "in [0, 1]" if self.spec.semantics == "degree" else "finite"
                raise LabelError(
                    f"The label of {atom!r} should be {bounds} and was not, in {len(where)} of {noted.size} "
                    f"environments, such as {where[0].tolist()}. {OUT_OF_RANGE} Call the atom on recorded "
                    "observations to see its values."
                )

    def _read_first(
        self, obs: Observation, info: Info | None, batch: int, envs: Places | None = None
    ) -> dict[str, Array]:
        on_device = not in_numpy(obs)
        labels = self.spec.labels(obs, None, obs, info, step=0, batch=batch, envs=envs, on_device=on_device)
        return _moved(labels, obs) if on_device else labels

    def _read_numpy(self, transition: Transition, begun: Places, step: StepNumber) -> Labels:
        """Read labels of transitions and, where an episode begins, of first observations."""
        obs, action, next_obs, info = transition[:4]
        reader, num_envs = self.spec.batch_reader, self.num_envs
        if not begun.size:
            return reader.read(obs, action, next_obs, num_envs, info, step=step)
        if not self.reads_transitions:
            return reader.read(None, None, next_obs, num_envs, info, step=step)
        # An atom must see neither an action that was not taken nor the last observation of an ended episode.
        observations, actions = self._spaces
        first = take(observations, next_obs, begun)
        parts = [
            BatchPart(None, None, next_obs, info, None, reader.of_states),
            BatchPart(first, None, first, info, begun, reader.of_transitions),
        ]
        going = np.ones(num_envs, dtype=np.bool_)
        going[begun] = False
        rest = going.nonzero()[0]
        if rest.size:
            before, after = take(observations, obs, rest), take(observations, next_obs, rest)
            parts.append(BatchPart(before, take(actions, action, rest), after, info, rest, reader.of_transitions))
        return reader.read_parts(num_envs, parts, step=step)

    def _read_device(self, transition: Transition, begun: Array | None, step: StepNumber) -> Labels:
        obs, action, next_obs, info = transition[:4]
        labels = _moved(self.spec.labels(obs, action, next_obs, info, step=step, batch=self.num_envs), next_obs)
        if begun is None:
            return labels
        first = self._read_first(next_obs, info, self.num_envs)
        return {name: _namespace(begun).where(begun, first[name], labels[name]) for name in labels}


def _in_numpy(state: State) -> bool:
    return state.memory[PENALTY].__class__ is np.ndarray


def _namespace(array: Array) -> ArrayNamespace:
    return namespace_of(array) or np


def in_numpy(obs: Observation) -> bool:
    """Return whether observations are arrays of NumPy, or no arrays at all."""
    return namespace_of(first_leaf(obs)) in (None, np)


def first_leaf(obs: Observation) -> Array:
    """Return the first array of observations that may be dicts and tuples."""
    while isinstance(obs, dict | tuple | list) and obs:
        obs = next(iter(obs.values())) if isinstance(obs, dict) else obs[0]
    return obs


def _moved(labels: Labels, obs: Observation) -> dict[str, Array]:
    """Move labels that atoms computed in NumPy, for example from `info`, to where the observations are."""
    leaf = first_leaf(obs)
    xp = _namespace(leaf)
    if xp is np or not any(column.__class__ is np.ndarray for column in labels.values()):
        return dict(labels)
    device = device_of(leaf)
    options = {} if device is None else {"device": device}
    return {name: xp.asarray(column, **options) for name, column in labels.items()}
