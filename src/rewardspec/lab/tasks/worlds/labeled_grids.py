"""Grids whose cells carry letters: Office World and the eleven maps of Craft World, read from data.

Maps, tasks and settings are those published with "Reward Machines: Exploiting Reward Function Structure in
Reinforcement Learning" (Toro Icarte, Klassen, Valenzano, McIlraith; JAIR 2022).
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error
from rewardspec.lab.tasks.distances import breadth_first
from rewardspec.lab.tasks.gridworlds import Cell
from rewardspec.spec.reward_machine import RewardMachine, Unmatched

Name: TypeAlias = Literal["office", "craft"]
MAPS = 11
"""How many maps Craft World has."""
ACTIONS: tuple[Cell, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""What up, right, down and left, the actions 0 to 3, add to row and column, from the top left."""
_NAMES = ("up", "right", "down", "left")


@dataclasses.dataclass(frozen=True, eq=False)
class LabeledGrid:
    """A deterministic grid with letters on its cells; a move that is blocked stays.

    Attributes:
        name: What it is called.
        cells: Row and column of each cell, from the top left, row by row.
        successors: The cell that each action leads to, shape (cells, 4).
        letters: For each letter the cells that carry it, as 0 and 1, shape (cells,).
        start: The cell where episodes start.
        meaning: What letters stand for, where that is known.
        max_episode_steps: After how many steps an episode is cut off.
    """

    name: str
    cells: tuple[Cell, ...]
    successors: NDArray[np.int64]
    letters: Mapping[str, NDArray[np.float64]]
    start: int
    meaning: Mapping[str, str]
    max_episode_steps: int

    @functools.cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = np.max(np.array(self.cells), axis=0) + 1
        return int(rows), int(columns)

    @functools.cached_property
    def events(self) -> tuple[frozenset[str], ...]:
        """What each cell carries."""
        return tuple(frozenset(a for a, on in self.letters.items() if on[k]) for k in range(len(self.cells)))

    @functools.cached_property
    def steps_to(self) -> dict[str, NDArray[np.float64]]:
        """For each letter the steps from every cell to the nearest one that carries it."""
        before: list[list[int]] = [[] for _ in self.cells]
        for cell, after in np.ndindex(*self.successors.shape):
            before[self.successors[cell, after]].append(cell)
        found = {}
        for letter, on in self.letters.items():
            steps = np.full(len(self.cells), np.inf)
            for cell, distance in breadth_first(np.flatnonzero(on).tolist(), lambda cell: before[cell]).items():
                steps[cell] = distance
            found[letter] = steps
        return found

    @functools.cached_property
    def straight_steps_to(self) -> dict[str, NDArray[np.float64]]:
        """The same as if there were no walls: rows and columns to the nearest."""
        cells = np.array(self.cells)
        found = {}
        for letter, on in self.letters.items():
            apart = np.abs(cells[:, None] - cells[on == 1.0][None]).sum(axis=2)
            found[letter] = apart.min(axis=1).astype(np.float64)
        return found

    def nearness(self, discount: float, *, straight: bool = False) -> dict[str, NDArray[np.float64]]:
        """For each letter how near it is to each cell: 1 where it is, and less by the discount with every step away.

        Args:
            discount: The factor of a step.
            straight: Whether to count steps as if there were no walls, which needs no map.

        Example:
            >>> float(office_world().nearness(0.9)["f"].max()), float(office_world().steps_to["f"].max())
            (1.0, 10.0)
        """
        every = self.straight_steps_to if straight else self.steps_to
        return {letter: discount**steps for letter, steps in every.items()}

    def walls(self, action: int) -> frozenset[Cell]:
        """The cells from which a move within the grid is blocked."""
        rows, columns = self.shape
        down, right = ACTIONS[action]
        return frozenset(
            (r, c)
            for k, (r, c) in enumerate(self.cells)
            if self.successors[k, action] == k and 0 <= r + down < rows and 0 <= c + right < columns
        )


@functools.cache
def published() -> dict[str, Any]:
    """The maps, tasks and settings, as they are in the data file."""
    text = resources.files(__package__).joinpath("reward_machines.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


@functools.cache
def office_world() -> LabeledGrid:
    """Office World.

    Example:
        >>> world = office_world()
        >>> world.shape, world.cells[world.start], world.meaning["n"]
        ((9, 12), (7, 2), 'plant')
    """
    data = published()["office"]
    height, width = data["height"], data["width"]

    def cell(x: int, y: int) -> int:  # the data's y points upwards
        return int((height - 1 - y) * width + x)

    blocked = {(cell(x, y), _NAMES.index(action)) for x, y, action in data["blocked_moves"]}
    cells = tuple(np.ndindex(height, width))
    objects = [(cell(x, y), letter) for x, y, letter in data["objects"]]
    return _grid("Office World", cells, blocked, objects, cell(*data["start"]), data)


@functools.cache
def craft_world(number: int = 1) -> LabeledGrid:
    """One of the maps of Craft World, 1 to 11; the wall around it is left out.

    Example:
        >>> craft_world(11).shape, len(craft_world(11).letters)
        ((39, 39), 8)
    """
    if not isinstance(number, int) or not 1 <= number <= MAPS:
        raise Error(f"The maps of Craft World are numbered from 1 to {MAPS}. Received {number!r}.")
    data = published()["craft"]
    board = data["maps"][number - 1]
    rows, columns = board["rows"] - 2, board["columns"] - 2

    def cell(row: int, column: int) -> int:
        return int((row - 1) * columns + column - 1)

    cells = tuple(np.ndindex(rows, columns))
    walls = {cell(*place) for place in board["inner_walls"]}
    moves = ((k, a, (r + ACTIONS[a][0], c + ACTIONS[a][1])) for k, (r, c) in enumerate(cells) for a in range(4))
    blocked = {(k, a) for k, a, (r, c) in moves if not (0 <= r < rows and 0 <= c < columns) or r * columns + c in walls}
    objects = [(cell(row, column), letter) for row, column, letter in board["objects"]]
    return _grid(f"Craft World, map {number}", cells, blocked, objects, cell(*board["start"]), data)


def _grid(
    name: str,
    cells: tuple[Cell, ...],
    blocked: set[tuple[int, int]],
    objects: list[tuple[int, str]],
    start: int,
    data: Mapping[str, Any],
) -> LabeledGrid:
    number = {cell: k for k, cell in enumerate(cells)}
    successors = np.repeat(np.arange(len(cells))[:, None], len(ACTIONS), axis=1)
    for k, (row, column) in enumerate(cells):
        for action, (down, right) in enumerate(ACTIONS):
            if (k, action) not in blocked:
                successors[k, action] = number[row + down, column + right]
    letters = {letter: np.zeros(len(cells)) for letter in sorted({letter for _, letter in objects})}
    for k, letter in objects:
        letters[letter][k] = 1.0
    return LabeledGrid(name, cells, successors, letters, start, data.get("meaning", {}), data["max_episode_steps"])


def formulas(name: Name) -> tuple[str, ...]:
    """The benchmark's tasks as formulas, which mean what the machines were written for.

    Example:
        >>> formulas("office")[0], formulas("craft")[0]
        ('!n U (f & (!n U (g & !n)))', 'F(a & F b)')
    """
    return tuple(task["formula"] for task in published()[name]["tasks"])


@functools.cache
def machines(name: Name, unmatched: Unmatched = "ends") -> tuple[RewardMachine, ...]:
    """The benchmark's tasks as their published reward machines.

    Args:
        name: The world.
        unmatched: What a plant pays: nothing (`"ends"`), as the tasks are meant; or, in the last stage of a task, what
            finishing it pays (`"pays"`), as the published program runs them.
    """
    return tuple(
        RewardMachine.of_edges(task["edges"], task["terminal"], task["initial"], unmatched)
        for task in published()[name]["tasks"]
    )
