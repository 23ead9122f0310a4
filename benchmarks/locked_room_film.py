"""Draw a film strip of LockedRoom before and after training, with the formula's value and progress beside it.

    python benchmarks/locked_room_film.py locked_room.npz docs/images/locked_room.svg

The episodes are what `benchmarks/hard_exploration.py --stage main` saves beside its results. Needs matplotlib.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

FRAMES = 4
# Tiles and colors of XLand-MiniGrid, by number; walls, doors, keys and goals are all that LockedRoom has.
TILES = {"wall": 2, "goal": 6, "key": 7, "locked": 8, "closed": 9, "open": 10}
COLORS = ("#000000", "#e0433d", "#44a84a", "#4378d6", "#8a4fc4", "#e3c52f", "#8c8c8c", "#000000", "#ee9b2f", "#ffffff")
AHEAD = ((-1, 0), (0, 1), (1, 0), (0, -1))  # rows and columns of the directions up, right, down, left


def draw_frame(axis: Any, grid: Any, way: Any, direction: int, pocket: Any) -> None:
    """Draw the rooms, the way since the frame before, and the agent, with the key if it has it."""
    kinds, colors = grid[..., 0], grid[..., 1]
    axis.imshow(np.where(kinds == TILES["wall"], 0.45, 0.95), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    for name in ("goal", "key", "locked", "closed", "open"):
        for row, column in np.argwhere(kinds == TILES[name]):
            color = COLORS[min(int(colors[row, column]), len(COLORS) - 1)]
            fill = color if name in ("goal", "locked") else "none"
            if name == "key":
                _draw_key(axis, row, column, color, 7)
            else:
                corner = (column - 0.42, row - 0.42)
                axis.add_patch(_rectangle(corner, facecolor=fill, edgecolor=color))
            if name == "locked":
                axis.plot(column, row, "o", color="white", markersize=2)
    axis.plot(way[:, 1], way[:, 0], color="black", alpha=0.35, linewidth=1)
    row, column = way[-1]
    down, right = AHEAD[int(direction) % 4]
    axis.plot(column, row, marker=(3, 0, [0, -90, 180, 90][int(direction) % 4]), color="black", markersize=8)
    if pocket[0] == TILES["key"]:
        side = 1.3 if column < grid.shape[1] - 4 else -1.6
        _draw_key(axis, row + 1.3 * abs(right), column + side * abs(down), COLORS[int(pocket[1])], 7)
    height, width = kinds.shape
    axis.set(xticks=[], yticks=[], xlim=(-0.5, width - 0.5), ylim=(height - 0.5, -0.5))


def _rectangle(corner: tuple[float, float], **colors: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, 0.84, 0.84, linewidth=1.2, **colors)


def _draw_key(axis: Any, row: float, column: float, color: str, size: float) -> None:
    """Draw a ring with a bit."""
    axis.plot(column - 0.2, row, "o", color=color, markerfacecolor="none", markersize=size / 2, markeredgewidth=1.4)
    axis.plot([column, column + 0.55, column + 0.55], [row, row, row + 0.35], color=color, linewidth=1.4)


def frames_of(rewards: Any) -> dict[int, str]:
    """Return the steps to show with their titles: where progress was paid, or evenly spaced."""
    last, paid = len(rewards) - 1, np.flatnonzero(rewards > 0)
    if len(paid) == 0:
        return {step: f"step {step}" for step in np.linspace(0, last, FRAMES).round().astype(int).tolist()}
    key, door = (int(step) + 1 for step in paid[:2])  # states are those before the step that was paid
    return {
        0: "step 0",
        key: f"step {key}: has the key",
        door: f"step {door}: opened",
        last: f"step {last}: at the goal",
    }


def main() -> None:
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("episodes", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    data = np.load(arguments.episodes)
    plt.rcParams["svg.hashsalt"] = "locked room"
    figure, axes = plt.subplots(
        2, FRAMES + 1, figsize=(9.5, 4.0), constrained_layout=True, width_ratios=[1] * FRAMES + [1.1]
    )
    for row, when in zip(axes, ("before", "after"), strict=True):
        progress = data[f"{when}_value"]  # of a pair that is paid for progress
        since = 0
        for axis, (t, title) in zip(row, frames_of(data[f"{when}_reward"]).items(), strict=False):
            way = data[f"{when}_position"][since : t + 1]
            draw_frame(axis, data[f"{when}_grid"][t], way, data[f"{when}_direction"][t], data[f"{when}_pocket"][t])
            axis.set_title(title, fontsize="small")
            since = t
        row[0].set_ylabel(f"{when} training")
        row[-1].plot(progress, label="progress")
        # Labels are true or false here, so that the formula's value is 1 where progress is complete, and 0 elsewhere.
        row[-1].plot(progress >= 1.0, label="value", linestyle="--")
        row[-1].set(ylim=(-0.05, 1.05), xlabel="step")
    axes[0][-1].legend(fontsize="small", frameon=False)
    figure.savefig(arguments.picture, metadata={"Date": None} if arguments.picture.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
