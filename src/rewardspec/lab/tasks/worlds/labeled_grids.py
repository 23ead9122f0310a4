"""Labeled grids: Office World and the eleven maps of Craft World, read from data.

Maps, tasks and settings are those published with "Reward Machines: Exploiting Reward Function Structure in
Reinforcement Learning" (Toro Icarte, Klassen, Valenzano, McIlraith; JAIR 2022).
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from importlib import resources
from typing import Literal, TypeAlias

import numpy as np

from rewardspec.errors import Error
from rewardspec.lab.tasks.distances import breadth_first
from rewardspec.lab.tasks.gridworlds import Cell
from rewardspec.spec.reward_machine import RewardMachine, Unmatched
from rewardspec.types import Floats, Ints, JsonObject

Name: TypeAlias = Literal["office", "craft"]
MAPS = 11
"""Number of maps of Craft World."""
ACTIONS: tuple[Cell, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Change of row and column by up, right, down and left, the actions 0 to 3."""
_NAMES = ("up", "right", "down", "left")


@dataclasses.dataclass(frozen=True, eq=False)
class LabeledGrid:
    """A deterministic grid with letters on its cells; a blocked move has no effect.

    Attributes:
        name: Title of the grid.
        cells: Row and column of each cell, from the top left, row by row.
        successors: The cell after each action, shape (cells, 4).
        letters: For each letter its cells, as 0 and 1, shape (cells,).
        start: The initial cell.
        meaning: Meaning of the letters, where it is known.
        max_episode_steps: Time limit of an episode.
    """

    name: str
    cells: tuple[Cell, ...]
    successors: Ints
    letters: Mapping[str, Floats]
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
        """The letters of each cell."""
        return tuple(frozenset(a for a, on in self.letters.items() if on[k]) for k in range(len(self.cells)))

    @functools.cached_property
    def steps_to(self) -> dict[str, Floats]:
        """For each letter the steps from every cell to the nearest cell with it, shape (cells,)."""
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
    def straight_steps_to(self) -> dict[str, Floats]:
        """The Manhattan distances instead of steps, which ignore walls."""
        cells = np.array(self.cells)
        found = {}
        for letter, on in self.letters.items():
            apart = np.abs(cells[:, None] - cells[on == 1.0][None]).sum(axis=2)
            found[letter] = apart.min(axis=1).astype(np.float64)
        return found

    def nearness(self, discount: float, *, straight: bool = False) -> dict[str, Floats]:
        """Compute the nearness of each letter from each cell: `discount` to the power of the distance, shape (cells,).

        Args:
            discount: Factor per step.
            straight: Whether to ignore walls, which needs no map.

        Example:
            >>> float(office_world().nearness(0.9)["f"].max()), float(office_world().steps_to["f"].max())
            (1.0, 10.0)
        """
        every = self.straight_steps_to if straight else self.steps_to
        return {letter: discount**steps for letter, steps in every.items()}

    def walls(self, action: int) -> frozenset[Cell]:
        """Return the cells from which a move within the grid is blocked."""
        rows, columns = self.shape
        down, right = ACTIONS[action]
        return frozenset(
            (r, c)
            for k, (r, c) in enumerate(self.cells)
            if self.successors[k, action] == k and 0 <= r + down < rows and 0 <= c + right < columns
        )


@functools.cache
def published() -> JsonObject:
    """Load the maps, tasks and settings from the data file."""
    text = resources.files(__package__).joinpath("reward_machines.json").read_text(encoding="utf-8")
    data: JsonObject = json.loads(text)
    return data


@functools.cache
def office_world() -> LabeledGrid:
    """Load Office World.

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
    """Load one of the maps of Craft World, 1 to 11, without the wall around it.

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
    data: JsonObject,
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
    """Return the benchmark's tasks as formulas, as the machines are meant.

    Example:
        >>> formulas("office")[0], formulas("craft")[0]
        ('!n U (f & (!n U (g & !n)))', 'F(a & F b)')
    """
    return tuple(task["formula"] for task in published()[name]["tasks"])


@functools.cache
def machines(name: Name, unmatched: Unmatched = "ends") -> tuple[RewardMachine, ...]:
    """Return the benchmark's tasks as their published reward machines.

    Args:
        name: The world.
        unmatched: Reward of a plant: none (`"ends"`), as the tasks are meant; or, in the last stage of a task, that of
            finishing it (`"pays"`), as in the published program.
    """
    return tuple(
        RewardMachine.from_edges(task["edges"], task["terminal"], task["initial"], unmatched)
        for task in published()[name]["tasks"]
    )
