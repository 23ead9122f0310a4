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


def frames_of(rewards: Any) -> dict[int, str]:
    """Return the steps to show with their titles: where progress was paid and half way between, or evenly spaced."""
    last, paid = len(rewards) - 1, np.flatnonzero(rewards > 0)
    if len(paid) == 0:
        return {step: f"step {step}" for step in np.linspace(0, last, FRAMES).round().astype(int).tolist()}
    key, door = (int(step) + 1 for step in paid[:2])  # states are those before the step that was paid
    found = {0: "", key // 2: "", key: ": has the key", (key + door) // 2: "", door: ": opened", last: ": at the goal"}
    return {step: f"step {step}{event}" for step, event in found.items()}


def main() -> None:
    import matplotlib.pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("episodes", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args()
    data = np.load(arguments.episodes)
    plt.rcParams["svg.hashsalt"] = "locked room"
    figure, axes = plt.subplots(
        2, FRAMES + 1, figsize=(1.7 * FRAMES + 2.4, 4.0), constrained_layout=True, width_ratios=[1] * FRAMES + [1.4]
    )
    for row, when in zip(axes, ("before", "after"), strict=True):
        progress = data[f"{when}_value"]  # of a pair that is paid for progress
        for axis, (t, title) in zip(row, frames_of(data[f"{when}_reward"]).items(), strict=False):
            draw_frame(axis, *(data[f"{when}_{name}"][t] for name in ("grid", "position", "direction", "pocket")))
            axis.set_title(title, fontsize="small")
        row[0].set_ylabel(f"{when} training")
        row[-1].plot(progress, label="progress")
        # Labels are true or false here, so that the formula's value is 1 where progress is complete, and 0 elsewhere.
        row[-1].plot(progress >= 1.0, label="value", linestyle="--")
        row[-1].set(ylim=(-0.05, 1.05), xlabel="step")
    axes[0][-1].legend(fontsize="small", frameon=False)
    figure.savefig(arguments.picture, metadata={"Date": None} if arguments.picture.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
