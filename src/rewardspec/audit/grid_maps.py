"""Maps of finite environments, as characters, and the way an agent took on them, as text and as pictures."""

from __future__ import annotations

import dataclasses
import itertools
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv
from gymnasium.envs.toy_text.taxi import TaxiEnv

from rewardspec.drawing.run_plot import matplotlib_classes
from rewardspec.errors import Error
from rewardspec.types import Environment, Plot

if TYPE_CHECKING:
    from rewardspec.audit.auditing import AuditFinding
    from rewardspec.audit.optimal_policies import PlayedEpisode

Place: TypeAlias = tuple[int, int]
"""Row and column, from the top left."""

_ARROWS = {(-1, 0): "↑", (1, 0): "↓", (0, -1): "←", (0, 1): "→"}
_STAYED, _ENDED = "•", "◎"

_INK, _PATH, _FLOOR = "#333344", "#d65438", "#eceae2"
_COLORS = {
    "#": "#545860",
    "W": "#4287c8",
    "H": "#4287c8",
    "C": "#6b4a3a",
    "G": "#7aba68",
    ">": "#c4b4a0",
    "X": "#96663c",
    "O": "#8458a8",
}
_SHOWN = "GHCXOSRYB>"


@dataclasses.dataclass(frozen=True)
class Map:
    """A map of characters.

    Attributes:
        rows: What is seen at the start of an episode, one string per row.
        place: Where the agent is in a state.
        walls: Cells with a thin wall to their right.
        floors: Cells with a thin wall below them.
        legend: What characters stand for, where that is not plain.
    """

    rows: tuple[str, ...]
    place: Callable[[int], Place]
    walls: frozenset[Place] = frozenset()
    floors: frozenset[Place] = frozenset()
    legend: str = ""


def map_of(env: Environment, start: int) -> Map | None:
    """The map of an environment, as an episode sees it that starts in a state; None where there is none to draw.

    An environment may bring its own: a method `episode_map`, which takes the first state and returns a `Map`. Those of
    Gymnasium are known, and so is every `desc` that holds a character for each state, row by row, as Frozen Lake's.

    Example:
        >>> from rewardspec import tasks
        >>> board = map_of(tasks.get("frozen_lake").make(), 0)
        >>> board.rows, board.place(6)
        (('SFFF', 'FHFH', 'FFFH', 'HFFG'), (1, 2))
    """
    inner: Any = env.unwrapped
    own_map: Callable[[int], Map] | None = getattr(inner, "episode_map", None)
    if own_map is not None:
        return own_map(start)
    if isinstance(inner, TaxiEnv):
        return _taxi(inner, start)
    if isinstance(inner, CliffWalkingEnv):
        rows, columns = inner.shape
        plain, edge = "." * columns, "S" + "C" * (columns - 2) + "G"
        return Map((plain,) * (rows - 1) + (edge,), lambda state: divmod(state, columns), legend="C cliff, G goal")
    tiles = np.asarray(getattr(inner, "desc", ""))
    if tiles.ndim != 2 or tiles.size != getattr(inner.observation_space, "n", None):
        return None
    lines = tuple("".join(tile.decode() if isinstance(tile, bytes) else str(tile) for tile in row) for row in tiles)
    legend = "S start, F ice, H hole, G goal" if isinstance(inner, FrozenLakeEnv) else ""
    return Map(lines, lambda state: divmod(state, len(lines[0])), legend=legend)


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

    return Map(
        tuple(map("".join, cells)), place, frozenset(walls), legend=f"the passenger goes from {names[0]} to {names[1]}"
    )


def draw_path(board: Map, states: Sequence[int], mark: Callable[[str], str] = str) -> list[str]:
    """The map with the way the agent took: on each cell the direction in which it was last left, as `mark` shows it.

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
    lines = []
    for r, row in enumerate(board.rows):
        lines.append(
            "".join(
                (mark(marks[r, c]) if (r, c) in marks else tile)
                + ("" if not board.walls or c == len(row) - 1 else "|" if (r, c) in board.walls else " ")
                for c, tile in enumerate(row)
            )
        )
        if any(place[0] == r for place in board.floors):
            lines.append(" ".join("-" if (r, c) in board.floors else " " for c in range(len(row))))
    return lines


def plot_paths(
    title: str, env: Environment, findings: Sequence[AuditFinding], episodes: Sequence[PlayedEpisode]
) -> Plot:
    """A matplotlib figure of what was played for each finding, side by side; wide maps stand below each other."""
    figure_class, _ = matplotlib_classes()
    boards = [board for episode in episodes if (board := map_of(env, episode.states[0])) is not None]
    if not boards:
        raise Error(f"There is no map of {title} to draw a path on.")
    rows, columns = len(boards[0].rows), len(boards[0].rows[0])
    across = min(len(boards), 1 if columns > 2 * rows else 3)
    down = -(-len(boards) // across)
    width, height = (7.0, 3.0) if across == 1 else (3.0, 3.0 * rows / columns + 0.8)
    figure = figure_class(figsize=(width * across, height * down + 0.3), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for axis in axes[len(boards) :]:
        axis.set_visible(False)
    for axis, board, finding, episode in zip(axes, boards, findings, episodes, strict=False):
        _draw(axis, board, finding, episode)
    figure.suptitle(f"{title}: optimal paths, discount {findings[0].discount:g}", color=_INK, x=0.01, ha="left")
    return figure


def _draw(axis: Plot, board: Map, finding: AuditFinding, episode: PlayedEpisode) -> None:
    from matplotlib.patches import Rectangle

    rows = board.rows
    for r, row in enumerate(rows):
        for c, tile in enumerate(row):
            # On the taxi's map, the one with thin walls, G is a stop like R, Y and B.
            color = _FLOOR if board.walls else _COLORS.get(tile, _FLOOR)
            axis.add_patch(Rectangle((c - 0.5, r - 0.5), 1, 1, facecolor=color, edgecolor="white", linewidth=0.8))
            if tile in _SHOWN or tile.islower():
                axis.text(c, r, tile, ha="center", va="center", color=_INK, fontsize=8)
    for r, c in board.walls:
        axis.plot([c + 0.5, c + 0.5], [r - 0.5, r + 0.5], color=_INK, linewidth=3)
    for r, c in board.floors:
        axis.plot([c - 0.5, c + 0.5], [r + 0.5, r + 0.5], color=_INK, linewidth=3)
    # Each step lies a little lower than the one before, so that a way there and back can be told from one way.
    shift = [0.3 * k / max(len(episode.states) - 1, 1) - 0.15 for k in range(len(episode.states))]
    places = [board.place(state) for state in episode.states]
    xs = [place[1] + d for place, d in zip(places, shift, strict=True)]
    ys = [place[0] + d for place, d in zip(places, shift, strict=True)]
    axis.plot(xs, ys, color=_PATH, linewidth=1.8, alpha=0.85)
    axis.plot(xs[:1], ys[:1], "o", color=_PATH, markersize=5)
    axis.plot(xs[-1:], ys[-1:], "*", color=_PATH, markeredgecolor=_INK, markersize=12)
    axis.set_xlim(-0.5, len(rows[0]) - 0.5)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_aspect("equal")
    axis.set_xticks([])
    axis.set_yticks([])
    axis.spines[:].set_visible(False)
    axis.set_title(finding.reward, loc="left", color=_INK, fontsize=9)
    taxi = f"\n{textwrap.fill(board.legend, 44)}" if board.walls else ""
    caption = f"{finding.verdict}; {len(episode.actions)} steps, return {episode.total:,.1f}"
    axis.set_xlabel(caption + taxi, color=_INK, fontsize=8)
