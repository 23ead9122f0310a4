"""Labeled grids as Gymnasium environments, without a reward or with reward machines."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from rewardspec.audit.grid_maps import Map
from rewardspec.lab.tasks.distances import Transitions
from rewardspec.lab.tasks.gridworlds import TableWorld, place
from rewardspec.lab.tasks.worlds.labeled_grids import LabeledGrid
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.atoms.label_functions import lookup
from rewardspec.spec.reward_machine import RewardMachine
from rewardspec.types import Action, Floats, InfoDict, Ints, JsonObject, Number, Observation, ResetOptions

Row = list[tuple[float, int, float, bool]]


class LabeledWorld(TableWorld):
    """A labeled grid without a reward, for use with a spec. Actions are up (0), right (1), down (2) and left (3).

    An observation is the number of a cell. `info["letters"]` has the letters of the cell, and `atoms` a function for
    each letter.

    Attributes:
        grid: The grid.
        place: The cell of each observation.
    """

    metadata: JsonObject = {"render_modes": ["ansi", "rgb_array"], "render_fps": 10}  # noqa: RUF012 - gym.Env's type

    def __init__(self, grid: LabeledGrid, render_mode: str | None = None) -> None:
        self.grid = grid
        super().__init__(len(self.place), render_mode)

    @functools.cached_property
    def place(self) -> Ints:
        """The cell of each observation."""
        return np.arange(len(self.grid.cells))

    @functools.cached_property
    def P(self) -> Transitions:  # noqa: N802 - Gymnasium's name
        """The transition table in the format of Gymnasium's `P`."""
        table = self.grid.successors.tolist()
        return {cell: {a: [(1.0, after, 0.0, False)] for a, after in enumerate(row)} for cell, row in enumerate(table)}

    @property
    def atoms(self) -> dict[str, AtomFunction]:
        """A function for each letter: 1 if the entered cell has it."""
        return letter_atoms(self.grid)

    def episode_map(self, start: int) -> Map:
        """Return the map of an episode, which does not depend on the start."""
        grid, place = self.grid, self.place
        legend = ", ".join(f"{letter} {meaning}" for letter, meaning in grid.meaning.items())
        return Map(tuple(drawn(grid)), lambda state: grid.cells[place[state]], grid.walls(1), grid.walls(2), legend)

    def first(self) -> int:
        """Return the initial observation of the next episode."""
        return self.grid.start

    def information(self, before: int | None = None, action: int | None = None) -> InfoDict:
        """Return the letters of the current cell."""
        return {"letters": self.grid.events[self.place[self.current()]]}

    def boards(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the grid with its letters and the agent as A, and an empty ground."""
        ground = drawn(self.grid)
        return place(ground, {self.grid.cells[self.place[self.current()]]: "A"}), [" " * len(row) for row in ground]


class MachineWorld(LabeledWorld):
    """A labeled grid with reward machines. Each machine is a task, and episodes cycle through the tasks.

    An observation encodes the machine, its state and the cell. A machine reads the letters of the entered cell. It
    gives the environment's reward, and its terminal states end the episode.

    Args:
        grid: The grid.
        machines: The tasks.
        render_mode: Gymnasium's render mode.

    Attributes:
        machines: The tasks.
        memory: Number of the machine's state, over all machines, for each observation, shape (states,).
        task: Number of the machine for each observation, shape (states,).
        done: Whether the machine is in a terminal state, for each observation, shape (states,).
        initial_state_distrib: Uniform over the tasks, shape (states,).
    """

    def __init__(self, grid: LabeledGrid, machines: Sequence[RewardMachine], render_mode: str | None = None) -> None:
        self.machines = tuple(machines)
        cells, tasks = len(grid.cells), len(self.machines)
        sizes = [len(machine.states) for machine in self.machines]
        # First the observations of running episodes, then for each machine those of ended ones: done and lost.
        self.memory = np.repeat(np.arange(sum(sizes) + 2 * tasks), cells)
        self.task = np.repeat([*np.repeat(np.arange(tasks), sizes), *np.repeat(np.arange(tasks), 2)], cells)
        self.done = np.repeat([*(False for _ in range(sum(sizes))), *((True, False) * tasks)], cells)
        self._first = np.cumsum([0, *sizes])
        super().__init__(grid, render_mode)
        self._episodes = 0
        self.initial_state_distrib = np.zeros(len(self.memory))
        self.initial_state_distrib[[self.start_of(task) for task in range(tasks)]] = 1.0 / tasks

    @functools.cached_property
    def place(self) -> Ints:
        """The cell of each observation."""
        return np.tile(np.arange(len(self.grid.cells)), len(self.memory) // len(self.grid.cells))

    def start_of(self, task: int) -> int:
        """Return the initial observation of a task."""
        return int(self._first[task]) * len(self.grid.cells) + self.grid.start

    def first(self) -> int:
        """Return the initial observation of the next task."""
        task = self._episodes % len(self.machines)
        self._episodes += 1
        return self.start_of(task)

    def reset(self, *, seed: int | None = None, options: ResetOptions | None = None) -> tuple[int, InfoDict]:
        """Begin an episode of the next task; of the first with a seed, and of task k with `options={"task": k}`."""
        if seed is not None:
            self._episodes = 0
        if options is not None and "task" in options:
            self._episodes = int(options["task"])
        return super().reset(seed=seed, options=options)

    @functools.cached_property
    def P(self) -> Transitions:  # noqa: N802 - Gymnasium's name
        """The transition table; observations of ended episodes have no transitions."""
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

    def by_entered_cell(self) -> tuple[Ints, Floats]:
        """Return the next memory and the reward by memory and entered cell, each of shape (memories, cells)."""
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
    def atoms(self) -> dict[str, AtomFunction]:
        """A function for each letter, and `done`: 1 if the machine is in a terminal state."""
        done = self.done.astype(np.float64)

        def is_done(obs: Observation, action: Action, next_obs: Observation) -> Number:
            """The task is done."""
            return lookup(done, next_obs)

        return {**letter_atoms(self.grid), "done": is_done}


def letter_atoms(grid: LabeledGrid) -> dict[str, AtomFunction]:
    """Make an atom for each letter of a grid, which reads the cell of an observation and ignores its memory."""
    return {letter: _carries(letter, on, grid) for letter, on in grid.letters.items()}


def _carries(letter: str, on: Floats, grid: LabeledGrid) -> AtomFunction:
    def carries(obs: Observation, action: Action, next_obs: Observation) -> Number:
        return lookup(on, next_obs % len(on))

    carries.__doc__ = f"The agent is at {grid.meaning.get(letter, letter)}."
    return carries


def drawn(grid: LabeledGrid) -> list[str]:
    """Draw the grid as rows of characters: a letter where there is one, else a dot."""
    rows, columns = grid.shape
    tiles = [["." for _ in range(columns)] for _ in range(rows)]
    for (row, column), event in zip(grid.cells, grid.events, strict=True):
        if event:
            tiles[row][column] = min(event)
    return ["".join(row) for row in tiles]
