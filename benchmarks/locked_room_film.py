"""Draw a film strip of LockedRoom before and after training, with the formula's value and progress beside it.

    python benchmarks/locked_room_film.py locked_room.npz docs/images/locked_room.svg

The episodes are what `benchmarks/hard_exploration.py --stage main` saves beside its results. Needs matplotlib.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

FRAMES = 6
# Tiles and colors of XLand-MiniGrid, by number; walls, doors, keys and goals are all that LockedRoom has.
TILES = {"wall": 2, "goal": 6, "key": 7, "locked": 8, "closed": 9, "open": 10}
COLORS = ("#000000", "#ff0000", "#00ff00", "#0000ff", "#7027c3", "#ffff00", "#646464", "#000000", "#ffa500", "#ffffff")
AHEAD = ((-1, 0), (0, 1), (1, 0), (0, -1))  # rows and columns of the directions up, right, down, left


def draw_frame(axis: Any, grid: Any, position: Any, direction: int, pocket: Any) -> None:
    """Draw the room and the agent."""
    kinds, colors = grid[..., 0], grid[..., 1]
    axis.imshow(np.where(kinds == TILES["wall"], 0.45, 0.95), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    for name, marker in (("goal", "s"), ("key", "P"), ("locked", "X"), ("closed", "s"), ("open", "D")):
        for row, column in np.argwhere(kinds == TILES[name]):
            color = COLORS[min(int(colors[row, column]), len(COLORS) - 1)]
            filled = color if name in ("goal", "key", "locked") else "none"
            axis.plot(column, row, marker, color=color, markerfacecolor=filled, markersize=4)
    row, column = position
    down, right = AHEAD[int(direction) % 4]
    held = "#d62728" if pocket[0] == TILES["key"] else "#1f77b4"
    axis.arrow(column - 0.4 * right, row - 0.4 * down, 0.5 * right, 0.5 * down, width=0.35, color=held)
    axis.set(xticks=[], yticks=[])


def main() -> None:
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("episodes", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    data = np.load(arguments.episodes)
    figure, axes = plt.subplots(2, FRAMES + 1, figsize=(1.7 * (FRAMES + 1), 3.8), constrained_layout=True)
    for row, when in enumerate(("before", "after")):
        length = len(data[f"{when}_done"])
        progress = data[f"{when}_value"]  # of a pair that is paid for progress
        # The moments in which progress was paid, and others in between.
        paid = np.flatnonzero(data[f"{when}_reward"] > 0).tolist()
        evenly = np.linspace(0, length - 1, FRAMES).round().astype(int).tolist()
        shown = sorted(dict.fromkeys([0, *paid[: FRAMES - 2], length - 1]))
        shown = sorted(dict.fromkeys([*shown, *evenly]).keys() if len(shown) < FRAMES else shown)[:FRAMES]
        for axis, t in zip(axes[row], shown, strict=False):
            arrays = [data[f"{when}_{name}"][t] for name in ("grid", "position", "direction", "pocket")]
            draw_frame(axis, *arrays)
            axis.set_title(f"step {t}", fontsize="x-small")
        for axis in axes[row][len(shown) : FRAMES]:
            axis.set_axis_off()
        axes[row][0].set_ylabel(f"{when} training")
        axes[row][-1].plot(progress, label="progress")
        # Labels are true or false here, so that the formula's value is 1 where progress is complete, and 0 elsewhere.
        axes[row][-1].plot(progress >= 1.0, label="value", linestyle="--")
        axes[row][-1].set(ylim=(-0.05, 1.05), xlabel="step")
    axes[0][-1].legend(fontsize="x-small")
    figure.savefig(arguments.picture)


if __name__ == "__main__":
    main()
