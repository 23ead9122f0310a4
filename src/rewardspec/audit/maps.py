"""The maps of the finite environments, as characters, and the way an agent took on them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import gymnasium as gym
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv

from rewardspec.tasks.paper.gridworlds.world import GridWorld

Place: TypeAlias = tuple[int, int]
"""Row and column, from the top left."""

_ARROWS = {(-1, 0): "↑", (1, 0): "↓", (0, -1): "←", (0, 1): "→"}
_STAYED, _ENDED = "•", "◎"


@dataclasses.dataclass(frozen=True)
class Map:
    """A map of characters.

    Attributes:
        rows: What is seen at the start of an episode, one string per row.
        place: Where the agent is in a state.
        walls: Cells with a thin wall to their right.
        legend: What characters stand for, where that is not plain.
    """

    rows: tuple[str, ...]
    place: Callable[[int], Place]
    walls: frozenset[Place] = frozenset()
    legend: str = ""


def map_of(env: gym.Env[Any, Any], start: int) -> Map | None:
    """The map of an environment, as an episode sees it that starts in a state; None where there is none to draw.

    Example:
        >>> from rewardspec import tasks
        >>> board = map_of(tasks.get("frozen_lake").make(), 0)
        >>> board.rows, board.place(6)
        (('SFFF', 'FHFH', 'FFFH', 'HFFG'), (1, 2))
    """
    inner: Any = env.unwrapped
    if isinstance(inner, GridWorld):
        states = inner.model.states
        return Map(tuple(inner.draw(states[start])), lambda state: states[state].agent)
    if isinstance(inner, FrozenLakeEnv):
        tiles: Any = inner.desc
        lake = tuple("".join(tile.decode() for tile in row) for row in tiles)
        return Map(lake, lambda state: divmod(state, len(lake[0])), legend="S start, F ice, H hole, G goal")
    if isinstance(inner, CliffWalkingEnv):
        rows, columns = inner.shape
        plain, edge = "." * columns, "S" + "C" * (columns - 2) + "G"
        return Map((plain,) * (rows - 1) + (edge,), lambda state: divmod(state, columns), legend="C cliff, G goal")
    return _taxi(inner, start) if isinstance(inner, TaxiEnv) else None


def _taxi(env: Any, start: int) -> Map:
    # Gymnasium draws cells with separators between them, which are walls where they are bars.
    drawn = [[tile.decode() for tile in row][1:-1] for row in env.desc[1:-1]]
    cells = [[tile if tile != " " else "." for tile in row[::2]] for row in drawn]
    walls = {(r, c) for r, row in enumerate(drawn) for c, tile in enumerate(row[1::2]) if tile == "|"}
    _, _, passenger, destination = env.decode(start)
    # A passenger who rides already comes from no stop.
    names = [
        "".join(cells[r][c] for r, c in env.locs[stop : stop + 1]) or "the taxi" for stop in (passenger, destination)
    ]

    def place(state: int) -> Place:
        row, column, _, _ = env.decode(state)
        return (int(row), int(column))

    return Map(tuple(map("".join, cells)), place, frozenset(walls), f"the passenger goes from {names[0]} to {names[1]}")


def draw_path(board: Map, states: Sequence[int], mark: Callable[[str], str] = str) -> list[str]:
    """The map with the way the agent took: on each cell the direction in which it was last left.

    Args:
        board: The map.
        states: The states that were visited.
        mark: What to make of a mark, such as colouring it.

    Example:
        >>> from rewardspec import tasks
        >>> board = map_of(tasks.get("frozen_lake").make(), 0)
        >>> draw_path(board, [0, 4, 8, 9, 10, 14, 15])
        ['↓FFF', '↓HFH', '→→↓H', 'HF→◎']
    """
    marks: dict[Place, str] = {}
    places = [board.place(state) for state in states]
    for here, there in itertools.pairwise(places):
        arrow = _ARROWS.get((there[0] - here[0], there[1] - here[1]))
        marks[here] = arrow or marks.get(here, _STAYED)  # a pause does not hide the way on
    if len(places) < 2 or places[-1] != places[-2]:
        marks[places[-1]] = _ENDED
    return [
        "".join(
            (mark(marks[r, c]) if (r, c) in marks else tile)
            + ("" if not board.walls or c == len(row) - 1 else "|" if (r, c) in board.walls else " ")
            for c, tile in enumerate(row)
        )
        for r, row in enumerate(board.rows)
    ]
