"""Finite models: every transition of an environment that publishes its table `P`, as arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error
from rewardspec.spec.spec import Spec

_RESETS = 32
"""Seeds with which an environment that does not tell its first state is asked for it."""


class ModelError(Error, ValueError):
    """An environment without a finite model, or a product larger than the budget allows."""


@dataclasses.dataclass(frozen=True)
class FiniteModel:
    """All transitions of a finite environment, one row each, ordered by state, action and place in the table.

    A state is also the environment's observation. K is the number of transitions, those of probability 0 left out.

    Attributes:
        states: How many states there are; they are numbered from 0.
        actions: How many actions there are.
        initial: Probability of starting in each state, shape (states,).
        source: The state a transition leaves, shape (K,).
        action: The action taken, shape (K,).
        probability: Its probability given state and action, shape (K,).
        successor: The state it leads to, shape (K,).
        reward: The environment's own reward, shape (K,).
        terminated: Whether it ends the episode, shape (K,).
        first: Where the transitions of each state begin, and K at the end, shape (states + 1,).
        max_episode_steps: After how many steps an episode is cut off, or None.
    """

    states: int
    actions: int
    initial: NDArray[np.float64]
    source: NDArray[np.int64]
    action: NDArray[np.int64]
    probability: NDArray[np.float64]
    successor: NDArray[np.int64]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    first: NDArray[np.int64]
    max_episode_steps: int | None

    def __len__(self) -> int:
        """The number of transitions."""
        return len(self.source)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The states in which an episode can start."""
        return np.flatnonzero(self.initial)

    def labels(self, spec: Spec) -> dict[str, NDArray[np.float64]]:
        """The label of every transition for each atom of the spec, shape (K,); the atoms are called once."""
        return spec.labels(self.source, self.action, self.successor, batch=len(self))

    def initial_labels(self, spec: Spec) -> dict[str, NDArray[np.float64]]:
        """The labels of every state of `starts`, as they are read at reset."""
        return spec.labels(self.starts, None, self.starts, batch=len(self.starts))


def finite_model(env: gym.Env[Any, Any]) -> FiniteModel:
    """The model of an environment that publishes `P`, as Gymnasium's toy-text environments and the gridworlds do.

    `P[state][action]` lists `(probability, next state, reward, terminated)`. Where the environment has no
    `initial_state_distrib`, it is reset a few times, and has to start in the same state each time.

    Raises:
        ModelError: There is no such table, observations are not its states, or the first state cannot be told.

    Example:
        >>> model = finite_model(gym.make("FrozenLake-v1", is_slippery=True))
        >>> model.states, model.actions, len(model)
        (16, 4, 152)
        >>> model.probability[:3].round(2), model.successor[:3]
        (array([0.33, 0.33, 0.33]), array([0, 0, 4]))
    """
    inner: Any = env.unwrapped
    table = getattr(inner, "P", None)
    if not isinstance(table, Mapping):
        raise ModelError(
            f"{_name(env)} has no transition table `P`, so that it cannot be solved exactly. Environments that have "
            "one: Cliff Walking, Frozen Lake, Taxi, and the three safety gridworlds."
        )
    states, space = len(table), env.observation_space
    if not isinstance(space, gym.spaces.Discrete) or space.start != 0 or int(space.n) != states:
        raise ModelError(f"The observations of {_name(env)}, {space}, are not the {states} states of its table `P`.")
    actions = 1 + max((max(moves, default=-1) for moves in table.values()), default=-1)
    rows = [
        (state, action, probability, int(successor), float(reward), bool(ended))
        for state in range(states)
        for action in sorted(table[state])
        for probability, successor, reward, ended in table[state][action]
        if probability > 0.0
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    source = np.array(columns[0], dtype=np.int64)
    limit = None if env.spec is None else env.spec.max_episode_steps
    return FiniteModel(
        states=states,
        actions=actions,
        initial=_initial(env, states),
        source=source,
        action=np.array(columns[1], dtype=np.int64),
        probability=np.array(columns[2], dtype=np.float64),
        successor=np.array(columns[3], dtype=np.int64),
        reward=np.array(columns[4], dtype=np.float64),
        terminated=np.array(columns[5], dtype=np.bool_),
        first=np.searchsorted(source, np.arange(states + 1)),
        max_episode_steps=limit,
    )


def _initial(env: gym.Env[Any, Any], states: int) -> NDArray[np.float64]:
    chances = getattr(env.unwrapped, "initial_state_distrib", None)
    if chances is not None:
        found: NDArray[np.float64] = np.asarray(chances, dtype=np.float64)
        return found / float(found.sum())
    seen = {int(env.reset(seed=seed)[0]) for seed in range(_RESETS)}
    if len(seen) > 1:
        raise ModelError(
            f"{_name(env)} starts in different states, {len(seen)} in {_RESETS} resets, and does not say how often in "
            "each. Give it an attribute `initial_state_distrib`: the probability of each state."
        )
    initial = np.zeros(states)
    initial[seen.pop()] = 1.0
    return initial


def _name(env: gym.Env[Any, Any]) -> str:
    return type(env.unwrapped).__name__ if env.spec is None else env.spec.id
