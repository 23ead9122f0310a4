"""Labeled grids as Gymnasium environments, alone and with reward machines that pay and end episodes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.audit.grid_maps import Map
from rewardspec.lab.tasks.board_pictures import paint
from rewardspec.lab.tasks.worlds.labeled_grids import ACTIONS, LabeledGrid
from rewardspec.spec.atoms.label_functions import lookup
from rewardspec.spec.reward_machine import RewardMachine

Row = list[tuple[float, int, float, bool]]


class LabeledWorld(gym.Env[Any, Any]):
    """A labeled grid without a reward, which a spec pays in.

    An observation is the number of the cell; `info["letters"]` says what the cell carries. `atoms` has a function for
    each letter.

    Attributes:
        grid: The grid.
        place: The cell of each observation.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}  # noqa: RUF012 - gym.Env's type

    def __init__(self, grid: LabeledGrid, render_mode: str | None = None) -> None:
        self.grid, self.render_mode = grid, render_mode
        self.action_space = gym.spaces.Discrete(len(ACTIONS))
        self.observation_space = gym.spaces.Discrete(len(self.place))
        self._state: int | None = None

    @functools.cached_property
    def place(self) -> NDArray[np.int64]:
        """The cell of each observation."""
        return np.arange(len(self.grid.cells))

    @functools.cached_property
    def P(self) -> dict[int, dict[int, Row]]:  # noqa: N802 - Gymnasium's name
        """The transitions, as Gymnasium's toy environments give them."""
        table = self.grid.successors.tolist()
        return {cell: {a: [(1.0, after, 0.0, False)] for a, after in enumerate(row)} for cell, row in enumerate(table)}

    @property
    def atoms(self) -> dict[str, Callable[[Any, Any, Any], Any]]:
        """A function for each letter: whether the cell that was entered carries it."""
        return letter_atoms(self.grid)

    def episode_map(self, start: int) -> Map:
        """Map of an episode, the same wherever it starts."""
        grid, place = self.grid, self.place
        legend = ", ".join(f"{letter} {meaning}" for letter, meaning in grid.meaning.items())
        return Map(tuple(drawn(grid)), lambda state: grid.cells[place[state]], grid.walls(1), grid.walls(2), legend)

    def first(self) -> int:
        """The observation after a reset."""
        return self.grid.start

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        self._state = self.first()
        return self._state, self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Move up (0), right (1), down (2) or left (3)."""
        if not self.action_space.contains(action):
            raise gym.error.InvalidAction(f"`action` should be 0, 1, 2 or 3. Received {action!r}.")
        [(_, self._state, reward, terminated)] = self.P[self._current()][int(action)]
        return self._state, reward, terminated, False, self._info()

    def render(self) -> Any:
        """The grid as text (`ansi`) or as a picture (`rgb_array`), with the agent as A."""
        if self.render_mode is None:
            gym.logger.warn('No render mode was chosen. Make the environment with render_mode="ansi" or "rgb_array".')
            return None
        ground = drawn(self.grid)
        row, column = self.grid.cells[self.place[self._current()]]
        rows = [*ground[:row], ground[row][:column] + "A" + ground[row][column + 1 :], *ground[row + 1 :]]
        return paint(rows, [" " * len(line) for line in ground]) if self.render_mode == "rgb_array" else "\n".join(rows)

    def _info(self) -> dict[str, Any]:
        return {"letters": self.grid.events[self.place[self._current()]]}

    def _current(self) -> int:
        if self._state is None:
            raise gym.error.ResetNeeded("The environment has no state yet. Call `env.reset()` first.")
        return self._state


class MachineWorld(LabeledWorld):
    """A labeled grid with reward machines: each is a task, and tasks follow one another, a new one each episode.

    An observation is a number for the machine, its state and the cell. A machine reads the letters of the cell that was
    entered; what it pays is the environment's reward, and where it ends, the episode does.

    Args:
        grid: The grid.
        machines: The tasks.
        render_mode: As for every Gymnasium environment.

    Attributes:
        machines: The tasks.
        memory: For each observation the number of its machine and state, counted over all machines, shape (states,).
        task: For each observation the number of its machine, shape (states,).
        done: For each observation whether it is one where a machine has ended in a terminal state, shape (states,).
        initial_state_distrib: All tasks alike.
    """

    def __init__(self, grid: LabeledGrid, machines: Sequence[RewardMachine], render_mode: str | None = None) -> None:
        self.machines = tuple(machines)
        cells, tasks = len(grid.cells), len(self.machines)
        sizes = [len(machine.states) for machine in self.machines]
        # Where an episode goes on, by machine, state and cell; then where it ended, by machine: done, and lost.
        self.memory = np.repeat(np.arange(sum(sizes) + 2 * tasks), cells)
        self.task = np.repeat([*np.repeat(np.arange(tasks), sizes), *np.repeat(np.arange(tasks), 2)], cells)
        self.done = np.repeat([*(False for _ in range(sum(sizes))), *((True, False) * tasks)], cells)
        self._first = np.cumsum([0, *sizes])
        super().__init__(grid, render_mode)
        self._episodes = 0
        self.initial_state_distrib = np.zeros(len(self.memory))
        self.initial_state_distrib[[self.start_of(task) for task in range(tasks)]] = 1.0 / tasks

    @functools.cached_property
    def place(self) -> NDArray[np.int64]:
        """The cell of each observation."""
        return np.tile(np.arange(len(self.grid.cells)), len(self.memory) // len(self.grid.cells))

    def start_of(self, task: int) -> int:
        """The observation in which episodes of a task start."""
        return int(self._first[task]) * len(self.grid.cells) + self.grid.start

    def first(self) -> int:
        """The first observation of the next task."""
        task = self._episodes % len(self.machines)
        self._episodes += 1
        return self.start_of(task)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Begin an episode of the next task; with a seed, of the first, and with `options={"task": k}`, of that."""
        if seed is not None:
            self._episodes = 0
        if options is not None and "task" in options:
            self._episodes = int(options["task"])
        return super().reset(seed=seed, options=options)

    @functools.cached_property
    def P(self) -> dict[int, dict[int, Row]]:  # noqa: N802 - Gymnasium's name
        """The transitions; an observation where the episode has ended has none."""
        cells, running = len(self.grid.cells), int(self._first[-1])
        after, paid = self.by_entered_cell()
        table = self.grid.successors.tolist()
        found: dict[int, dict[int, Row]] = {}
        for memory in range(running):
            block, paid_here = (after[memory] * cells).tolist(), paid[memory].tolist()
            ends = (after[memory] >= running).tolist()
            for cell, moves in enumerate(table):
                found[memory * cells + cell] = {
                    action: [(1.0, block[to] + to, paid_here[to], ends[to])] for action, to in enumerate(moves)
                }
        return found

    def by_entered_cell(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The memory after each memory and entered cell, and what is paid, each of shape (memories, cells)."""
        running = int(self._first[-1])
        after, paid = [], []
        for number, machine in enumerate(self.machines):
            bits = [self.grid.letters.get(atom, np.zeros(len(self.grid.cells))) for atom in machine.atoms]
            letter = sum((bit.astype(np.int64) << k for k, bit in enumerate(bits)), np.zeros(1, dtype=np.int64))
            letter = np.broadcast_to(letter, len(self.grid.cells))
            states = machine.successors[:, letter]
            lost = running + 2 * number + 1
            memory = np.full(states.shape, lost)
            for k, state in enumerate(machine.states):
                memory[states == state] = self._first[number] + k
            memory[np.isin(states, list(machine.terminal))] = lost - 1
            after.append(memory)
            paid.append(machine.rewards[:, letter])
        return np.concatenate(after), np.concatenate(paid)

    @property
    def atoms(self) -> dict[str, Callable[[Any, Any, Any], Any]]:
        """A function for each letter, and `done`: whether the machine has ended in a terminal state."""
        done = self.done.astype(np.float64)

        def is_done(obs: Any, action: Any, next_obs: Any) -> Any:
            """Whether the task is done."""
            return lookup(done, next_obs)

        return {**letter_atoms(self.grid), "done": is_done}


def letter_atoms(grid: LabeledGrid) -> dict[str, Callable[[Any, Any, Any], Any]]:
    """For each letter of a grid whether the entered cell carries it; whatever memory an observation has beside."""
    return {letter: _carries(letter, on, grid) for letter, on in grid.letters.items()}


def _carries(letter: str, on: NDArray[np.float64], grid: LabeledGrid) -> Callable[[Any, Any, Any], Any]:
    def carries(obs: Any, action: Any, next_obs: Any) -> Any:
        return lookup(on, next_obs % len(on))

    carries.__doc__ = f"Whether the agent is at {grid.meaning.get(letter, letter)}."
    return carries


def drawn(grid: LabeledGrid) -> list[str]:
    """The grid as rows of characters: a letter where there is one, else a dot."""
    rows, columns = grid.shape
    tiles = [["." for _ in range(columns)] for _ in range(rows)]
    for (row, column), event in zip(grid.cells, grid.events, strict=True):
        if event:
            tiles[row][column] = min(event)
    return ["".join(row) for row in tiles]
