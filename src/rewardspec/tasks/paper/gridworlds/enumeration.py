"""Every reachable state of a deterministic gridworld, numbered, with what each action does there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rewardspec.tasks.distances import breadth_first

StateT = TypeVar("StateT")
Cell: TypeAlias = tuple[int, int]
"""Row and column, from the top left."""

MOVES: tuple[Cell, ...] = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""What up, down, left and right, the actions 0 to 3, add to a cell."""


class Outcome(NamedTuple, Generic[StateT]):
    """What one action leads to.

    Attributes:
        state: The next state.
        reward: What the agent is paid.
        hidden_reward: What the designer would pay, which the agent does not see.
        terminated: Whether the episode ends.
    """

    state: StateT
    reward: float
    hidden_reward: float
    terminated: bool = False


@dataclasses.dataclass(frozen=True)
class Enumeration(Generic[StateT]):
    """The states by number, and the outcome of every action in each.

    Attributes:
        states: The states; the start is number 0, the others follow breadth-first.
        numbers: The number of each state.
        outcomes: By state number, what each action leads to; an ended episode stays where it is and pays nothing.
    """

    states: tuple[StateT, ...]
    numbers: dict[StateT, int]
    outcomes: tuple[tuple[Outcome[StateT], ...], ...]

    @property
    def transitions(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """The transitions as Gymnasium's toy environments give them in `P`."""
        return {
            number: {
                action: [(1.0, self.numbers[outcome.state], outcome.reward, outcome.terminated)]
                for action, outcome in enumerate(outcomes)
            }
            for number, outcomes in enumerate(self.outcomes)
        }

    def table(self, value: Callable[[StateT], float]) -> NDArray[np.float64]:
        """The value of every state, by number."""
        return np.array([value(state) for state in self.states], dtype=np.float64)


def enumerate_states(start: StateT, move: Callable[[StateT, int], Outcome[StateT]]) -> Enumeration[StateT]:
    """Number the states that can be reached from the start.

    Args:
        start: The state every episode starts in.
        move: What an action does in a state in which the episode has not ended.
    """
    outcomes: dict[StateT, tuple[Outcome[StateT], ...]] = {}
    ended: set[StateT] = set()

    def explore(state: StateT) -> list[StateT]:
        if state in ended:
            outcomes[state] = (Outcome(state, 0.0, 0.0, terminated=True),) * len(MOVES)
        else:
            outcomes[state] = tuple(move(state, action) for action in range(len(MOVES)))
            ended.update(outcome.state for outcome in outcomes[state] if outcome.terminated)
        return [outcome.state for outcome in outcomes[state]]

    states = tuple(breadth_first([start], explore))
    return Enumeration(states, {state: i for i, state in enumerate(states)}, tuple(outcomes[s] for s in states))
