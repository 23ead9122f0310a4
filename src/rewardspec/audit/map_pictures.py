"""Optimal paths as a picture: one map for each reward, with the way its optimal policy takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rewardspec.audit.maps import Map
from rewardspec.errors import MissingExtraError

_INK, _PATH = "#333344", "#d65438"
_COLOURS = {
    "#": "#545860",
    "W": "#4287c8",
    "H": "#4287c8",
    "C": "#6b4a3a",
    "G": "#7aba68",
    ">": "#c4b4a0",
    "X": "#96663c",
    "O": "#8458a8",
}
_FLOOR = "#eceae2"
_SHOWN = "GHCXOSRYB>"


class Panel(NamedTuple):
    """One map of the picture.

    Attributes:
        title: What stands above it.
        caption: What stands below it.
        board: The map.
        states: The states that were visited.
    """

    title: str
    caption: str
    board: Map
    states: Sequence[int]


def plot_paths(title: str, panels: Sequence[Panel]) -> Any:
    """A matplotlib figure with the panels side by side; wide maps stand below each other.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "Plotting") from None
    rows, columns = len(panels[0].board.rows), len(panels[0].board.rows[0])
    across = min(len(panels), 1 if columns > 2 * rows else 3)
    down = -(-len(panels) // across)
    width, height = (7.0, 3.0) if across == 1 else (3.0, 3.0 * rows / columns + 0.8)
    figure = Figure(figsize=(width * across, height * down + 0.3), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False).ravel()
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    for axis, panel in zip(axes, panels, strict=False):
        _draw(axis, panel)
    figure.suptitle(title, color=_INK, x=0.01, ha="left")
    return figure


def _draw(axis: Any, panel: Panel) -> None:
    from matplotlib.patches import Rectangle

    rows = panel.board.rows
    for r, row in enumerate(rows):
        for c, tile in enumerate(row):
            # On the taxi's map, the one with thin walls, G is a stop like R, Y and B.
            colour = _FLOOR if panel.board.walls else _COLOURS.get(tile, _FLOOR)
            axis.add_patch(Rectangle((c - 0.5, r - 0.5), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8))
            if tile in _SHOWN:
                axis.text(c, r, tile, ha="center", va="center", color=_INK, fontsize=8)
    for r, c in panel.board.walls:
        axis.plot([c + 0.5, c + 0.5], [r - 0.5, r + 0.5], color=_INK, linewidth=3)
    # Each step lies a little lower than the one before, so that a way there and back can be told from one way.
    shift = [0.3 * k / max(len(panel.states) - 1, 1) - 0.15 for k in range(len(panel.states))]
    places = [panel.board.place(state) for state in panel.states]
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
    axis.set_title(panel.title, loc="left", color=_INK, fontsize=9)
    taxi = f"\n{panel.board.legend}" if panel.board.walls else ""
    axis.set_xlabel(panel.caption + taxi, color=_INK, fontsize=8)
