"""Deterministic gridworlds with enumerated states, as Gymnasium environments with pictures."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, SupportsFloat, TypeAlias, TypeVar

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.audit.grid_maps import Map
from rewardspec.lab.tasks.distances import Transitions, breadth_first
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.atoms.label_functions import lookup
from rewardspec.types import Action, Bools, Floats, InfoDict, JsonObject, Number, Observation, ResetOptions

Color: TypeAlias = tuple[int, int, int]
Image: TypeAlias = NDArray[np.uint8]
Shape: TypeAlias = Callable[[Floats, Floats], Bools]

TILE = 32
"""Side of a tile in pixels."""

GROUND: dict[str, Color] = {
    "#": (84, 88, 96),  # wall
    " ": (236, 234, 226),  # floor
    "W": (66, 135, 200),  # water
    "G": (122, 186, 104),  # goal
    ">": (196, 180, 160),  # belt
}

# Down and right run from -1 to 1 over the tile.
PIECES: dict[str, tuple[Color, Shape]] = {
    "A": ((214, 84, 56), lambda down, right: down**2 + right**2 < 0.5),  # agent: a disc
    "X": ((150, 102, 60), lambda down, right: np.maximum(abs(down), abs(right)) < 0.7),  # box: a square
    "O": ((132, 88, 168), lambda down, right: abs(down) + abs(right) < 0.8),  # vase: a diamond
    ":": (
        (132, 88, 168),
        lambda down, right: (abs(abs(down) - abs(right)) < 0.16) & (abs(down) < 0.7),
    ),  # broken: a cross
}
_MARKS: dict[str, tuple[Color, Shape]] = {
    ">": ((168, 150, 128), lambda down, right: abs(right + abs(down) - 0.4) < 0.16),  # direction of the belt
}


def paint(board: Sequence[str], ground: Sequence[str]) -> Image:
    """Draw a board, one string per row, over a ground without pieces, as an RGB image of shape (height, width, 3)."""
    down, right = np.meshgrid(*[np.linspace(-1.0, 1.0, TILE)] * 2, indexing="ij")
    image = np.zeros((len(board) * TILE, len(board[0]) * TILE, 3), dtype=np.uint8)
    for row, (seen_row, ground_row) in enumerate(zip(board, ground, strict=True)):
        for column, (seen, below) in enumerate(zip(seen_row, ground_row, strict=True)):
            tile = image[row * TILE : (row + 1) * TILE, column * TILE : (column + 1) * TILE]
            tile[:] = GROUND[below]
            tile[-1:, :] = tile[:, -1:] = [channel * 9 // 10 for channel in GROUND[below]]
            for drawing in (_MARKS.get(below), PIECES.get(seen)):
                if drawing is not None:
                    color, shape = drawing
                    tile[shape(down, right)] = color
    return image


StateT = TypeVar("StateT")
Cell: TypeAlias = tuple[int, int]
"""Row and column, from the top left."""

MOVES: tuple[Cell, ...] = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Change of the cell by up, down, left and right, the actions 0 to 3."""


class Outcome(NamedTuple, Generic[StateT]):
    """The next state, the rewards of the agent and of the designer's criterion, and whether the episode ends."""

    state: StateT
    reward: float
    hidden_reward: float
    terminated: bool = False


@dataclasses.dataclass(frozen=True)
class Enumeration(Generic[StateT]):
    """All states of a gridworld, numbered, with the outcome of every action.

    Attributes:
        states: The states in breadth-first order; state 0 is the initial one.
        numbers: The number of each state.
        outcomes: The outcome of each action by state number; states that end the episode are absorbing and pay 0.
    """

    states: tuple[StateT, ...]
    numbers: dict[StateT, int]
    outcomes: tuple[tuple[Outcome[StateT], ...], ...]

    @property
    def transitions(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:
        """The transition table in the format of Gymnasium's `P`."""
        return {
            number: {
                action: [(1.0, self.numbers[outcome.state], outcome.reward, outcome.terminated)]
                for action, outcome in enumerate(outcomes)
            }
            for number, outcomes in enumerate(self.outcomes)
        }

    def table(self, value: Callable[[StateT], Any]) -> Floats:
        """Evaluate a function on every state, shape (states,), or (states, k) if it returns k numbers."""
        return np.array([value(state) for state in self.states], dtype=np.float64)


def enumerate_states(start: StateT, move: Callable[[StateT, int], Outcome[StateT]]) -> Enumeration[StateT]:
    """Number the states that are reachable from the initial one, given what actions do before an episode ends."""
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


class TableWorld(gym.Env[Observation, Action]):
    """A deterministic environment with a transition table and four actions. An observation is the number of a state."""

    metadata: JsonObject = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012 - gym.Env's type

    def __init__(self, states: int, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Discrete(states)
        self.action_space = gym.spaces.Discrete(len(MOVES))
        self._number: int | None = None

    @functools.cached_property
    def P(self) -> Transitions:  # noqa: N802 - Gymnasium's name
        """The transition table, in the format of Gymnasium's toy environments."""
        raise NotImplementedError

    def first(self) -> int:
        """Return the initial observation of the next episode."""
        return 0

    def information(self, before: int | None = None, action: int | None = None) -> InfoDict:
        """Return the `info` of a reset, or of an action in the state `before`."""
        return {}

    def boards(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the current board and the board without pieces, one string per row."""
        raise NotImplementedError

    def reset(self, *, seed: int | None = None, options: ResetOptions | None = None) -> tuple[int, InfoDict]:
        """Begin an episode."""
        super().reset(seed=seed)
        self._number = self.first()
        return self._number, self.information()

    def step(self, action: int) -> tuple[int, SupportsFloat, bool, bool, InfoDict]:
        """Follow the transition table."""
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"`action` should be 0, 1, 2 or 3. Received {action!r}.")
        before = self.current()
        [(_, self._number, reward, terminated)] = self.P[before][int(action)]
        return self._number, reward, terminated, False, self.information(before, int(action))

    def render(self) -> str | Image | None:
        """Draw the board as text (`ansi`) or as a picture (`rgb_array`)."""
        if self.render_mode is None:
            gym.logger.warn('No render mode was chosen. Make the environment with render_mode="ansi" or "rgb_array".')
            return None
        board, ground = self.boards()
        return paint(board, ground) if self.render_mode == "rgb_array" else "\n".join(board) + "\n"

    def current(self) -> int:
        """Return the current observation."""
        if self._number is None:
            raise gym.error.ResetNeeded("The environment has no state yet. Call `env.reset()` first.")
        return self._number


class GridWorld(TableWorld, abc.ABC, Generic[StateT]):
    """A gridworld with a hidden reward. Actions are up (0), down (1), left (2) and right (3).

    `state` decodes an observation, and `ground` is the map without its movable pieces, one string per row.
    `info["hidden_reward"]` is the original authors' performance measure. It is for evaluation, not for learning.
    """

    ground: ClassVar[tuple[str, ...]]

    def __init__(self, render_mode: str | None = None) -> None:
        self.model = self.enumeration()
        super().__init__(len(self.model.states), render_mode)

    @functools.cached_property
    def P(self) -> Transitions:  # noqa: N802 - Gymnasium's name
        """The transition table."""
        return self.model.transitions

    @staticmethod
    @abc.abstractmethod
    def start() -> StateT:
        """Return the initial state."""

    @staticmethod
    @abc.abstractmethod
    def move(state: StateT, action: int) -> Outcome[StateT]:
        """Return the outcome of an action in a state that does not end the episode."""

    @staticmethod
    @abc.abstractmethod
    def draw(state: StateT) -> list[str]:
        """Draw a state, one string per row."""

    @classmethod
    @functools.cache
    def enumeration(cls) -> Enumeration[StateT]:
        """Enumerate all states of this world, once."""
        return enumerate_states(cls.start(), cls.move)

    @classmethod
    def atom(cls, value: Callable[[StateT], float]) -> AtomFunction:
        """Make an atom from a function of a state, as a decorator. It looks values up in a table of all states."""
        table = functools.cache(lambda: cls.enumeration().table(value))

        def atom(obs: Observation, action: Action, next_obs: Observation) -> Number:
            return lookup(table(), next_obs)

        # Files name atoms by module and name. `functools.wraps` would also give it the other function's parameters.
        atom.__module__, atom.__qualname__, atom.__doc__ = value.__module__, value.__qualname__, value.__doc__
        return atom

    @property
    def state(self) -> StateT:
        """The current state."""
        return self.model.states[self.current()]

    def episode_map(self, start: int) -> Map:
        """Return the map of an episode that starts in a state; states have the agent's cell as `agent`."""
        states: tuple[Any, ...] = self.model.states
        return Map(tuple(self.draw(states[start])), lambda state: states[state].agent)

    def information(self, before: int | None = None, action: int | None = None) -> InfoDict:
        """Return the hidden reward of the last action."""
        if before is None or action is None:
            return {"hidden_reward": 0.0}
        return {"hidden_reward": self.model.outcomes[before][action].hidden_reward}

    def boards(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the current board and the map without its pieces."""
        return self.draw(self.state), self.ground


def place(ground: Sequence[str], pieces: Mapping[tuple[int, int], str]) -> list[str]:
    """Put pieces on a map.

    Example:
        >>> place(["##", "# "], {(1, 1): "A"})
        ['##', '#A']
    """
    return [
        "".join(pieces.get((row, column), below) for column, below in enumerate(line))
        for row, line in enumerate(ground)
    ]


def manhattan(cell: Cell, other: Cell) -> int:
    """Return the Manhattan distance between two cells."""
    return abs(cell[0] - other[0]) + abs(cell[1] - other[1])


def cells(ground: Sequence[str], character: str) -> list[tuple[int, int]]:
    """Find a character on a map, row by row.

    Example:
        >>> cells(["#G", "G "], "G")
        [(0, 1), (1, 0)]
    """
    return [(row, column) for row, line in enumerate(ground) for column, seen in enumerate(line) if seen == character]
