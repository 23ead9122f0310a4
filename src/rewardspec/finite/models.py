"""Finite models: every transition of an environment that publishes its table `P`, as arrays."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import ModelError
from rewardspec.types import Environment

_RESETS = 32  # seeds with which an environment that does not tell its first state is asked for it
_ROUNDING = 1e-6  # largest difference between 1 and a sum of probabilities


@dataclasses.dataclass(frozen=True, eq=False)
class FiniteModel:
    """All transitions of a finite environment, one row each, ordered by state, action and place in the table.

    A state is also the environment's observation. K is the number of transitions, those of probability 0 left out. Two
    models are equal when they say the same.

    Attributes:
        states: How many states there are; they are numbered from 0, and some may not be in the table.
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FiniteModel):
            return NotImplemented
        return all(np.array_equal(one, two) for one, two in zip(vars(self).values(), vars(other).values(), strict=True))

    def __hash__(self) -> int:
        return hash((self.states, self.actions, len(self)))

    @property
    def starts(self) -> NDArray[np.int64]:
        """The states in which an episode can start."""
        return np.flatnonzero(self.initial)


def finite_model(env: Environment, unknown_start: Literal["reset", "anywhere"] = "reset") -> FiniteModel:
    """The model of an environment that publishes `P`, as Gymnasium's toy-text environments and the gridworlds do.

    `P[state][action]` lists `(probability, next state, reward, terminated)`.

    Args:
        env: The environment.
        unknown_start: What to do where it has no `initial_state_distrib`: `"reset"` it a few times, after which it has
            to start in the same state each time; or let it start `"anywhere"`, in each state of the table.

    Raises:
        ModelError: There is no such table, it speaks of other observations or actions, its probabilities do not add up
            to 1, or the first state cannot be told.

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
            f"{_name(env)} has no transition table `P`, so that it cannot be solved exactly. Cliff Walking, Frozen "
            "Lake, Taxi and the three safety gridworlds have one. Give it to an environment of your own as an "
            "attribute: `P[state][action]` lists `(probability, next state, reward, terminated)`."
        )
    space = env.observation_space
    if not isinstance(space, gym.spaces.Discrete) or space.start < 0 or not all(space.contains(s) for s in table):
        raise ModelError(
            f"The observations of {_name(env)}, {space}, are not the {len(table)} states of its table `P`."
        )
    _require_plain_layers(env)
    states = int(space.start + space.n)
    actions = 1 + max((max(moves, default=-1) for moves in table.values()), default=-1)
    rows = [
        (state, action, float(probability), int(successor), float(reward), bool(ended))
        for state in range(states)
        for action in sorted(table.get(state, ()))
        for probability, successor, reward, ended in _checked(env, state, action, table[state][action], states)
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    source = np.array(columns[0], dtype=np.int64)
    limit = None if env.spec is None else env.spec.max_episode_steps
    return FiniteModel(
        states=states,
        actions=actions,
        initial=_initial(env, states, sorted(table) if unknown_start == "anywhere" else None),
        source=source,
        action=np.array(columns[1], dtype=np.int64),
        probability=np.array(columns[2], dtype=np.float64),
        successor=np.array(columns[3], dtype=np.int64),
        reward=np.array(columns[4], dtype=np.float64),
        terminated=np.array(columns[5], dtype=np.bool_),
        first=np.searchsorted(source, np.arange(states + 1)),
        max_episode_steps=limit,
    )


def _checked(
    env: Environment, state: int, action: int, outcomes: Sequence[tuple[float, int, float, bool]], states: int
) -> list[tuple[float, int, float, bool]]:
    """The outcomes of an action that can happen; an action with no outcomes at all is not available."""
    where = f"In the table `P` of {_name(env)}, action {action} in state {state}"
    total = 0.0
    for probability, successor, reward, _ in outcomes:
        if not 0.0 <= probability < math.inf:
            raise ModelError(f"{where} has an outcome of probability {probability!r}. Probabilities are in [0, 1].")
        if not math.isfinite(reward):
            raise ModelError(f"{where} has an outcome that pays {reward!r}. Rewards should be finite.")
        if not 0 <= successor < states:
            raise ModelError(f"{where} leads to state {successor}, which {env.observation_space} does not contain.")
        total += probability
    if outcomes and abs(total - 1.0) > _ROUNDING:
        raise ModelError(f"{where} has outcomes whose probabilities add up to {total:g}. They should add up to 1.")
    return [outcome for outcome in outcomes if outcome[0] > 0.0]


def _require_plain_layers(env: Environment) -> None:
    layer = env
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, gym.ObservationWrapper | gym.ActionWrapper):
            raise ModelError(
                f"{type(layer).__name__} changes the observations or actions of {_name(env)}, so that the table `P` "
                "speaks of other ones than agents and atoms see."
            )
        layer = layer.env


def _initial(env: Environment, states: int, anywhere: list[int] | None) -> NDArray[np.float64]:
    chances = getattr(env.unwrapped, "initial_state_distrib", None)
    if chances is not None:
        found: NDArray[np.float64] = np.asarray(chances, dtype=np.float64)
        if found.shape != (states,) or not np.all(found >= 0.0) or not 0.0 < found.sum() < math.inf:
            raise ModelError(
                f"`initial_state_distrib` of {_name(env)} should be a probability for each of its {states} states. "
                f"Received {chances!r}."
            )
        return found / float(found.sum())
    initial = np.zeros(states)
    if anywhere is not None:
        initial[anywhere] = 1.0 / len(anywhere)
        return initial
    seen = {int(env.reset(seed=seed)[0]) for seed in range(_RESETS)}
    if len(seen) > 1:
        raise ModelError(
            f"{_name(env)} starts in different states, {len(seen)} in {_RESETS} resets, and does not say how often in "
            "each. Give it an attribute `initial_state_distrib`: the probability of each state."
        )
    initial[seen.pop()] = 1.0
    return initial


def _name(env: Environment) -> str:
    return type(env.unwrapped).__name__ if env.spec is None else env.spec.id
