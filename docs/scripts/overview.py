"""Draw docs/images/overview.svg: one episode, from labels over the values of two formulas to the reward.

Run from anywhere: python docs/scripts/overview.py
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

import rewardspec as rs

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "overview.svg"
INK, QUIET, ATOM, REWARD = "#22223a", "#6a6a85", "#9aa5b8", "#d65438"
VALUES = ("#5b3fa8", "#1f7a8c")
SPEC = rs.Spec([("G(request -> F grant)", 1), ("!crash U landed", 2)])


def main() -> None:
    """Write the picture; the same one each time."""
    # Text stays text: small, and searchable.
    settings = {"svg.hashsalt": "rewardspec", "svg.fonttype": "none", "font.family": ["DejaVu Sans", "sans-serif"]}
    with matplotlib.rc_context(settings):
        figure().savefig(PICTURE, metadata={"Date": None}, facecolor="white")
    print(f"wrote {PICTURE.relative_to(ROOT)}")


def figure() -> Figure:
    """Three columns: what happens, how true each formula is, and what is paid."""
    with (ROOT / "examples" / "data" / "episode.csv").open(encoding="utf-8") as file:
        episode = [{atom: float(label) for atom, label in row.items()} for row in csv.DictReader(file)]
    drawing = Figure(figsize=(10.4, 3.3))
    columns = drawing.add_gridspec(
        1, 3, wspace=0.16, width_ratios=(1, 1.25, 1.05), left=0.065, right=0.99, top=0.84, bottom=0.15
    )
    steps = range(len(episode))

    strips = columns[0].subgridspec(len(SPEC.atoms), 1, hspace=0.35)
    for k, atom in enumerate(SPEC.atoms):
        axis = drawing.add_subplot(strips[k])
        axis.fill_between(steps, [row[atom] for row in episode], step="mid", color=ATOM, linewidth=0)
        axis.set_ylim(0, 1.05)
        axis.set_yticks([])
        axis.set_ylabel(atom, rotation=0, ha="right", va="center", color=INK, fontsize=9)
        _bare(axis, last=k == len(SPEC.atoms) - 1)
    _title(drawing, columns[0], "1  Label each step")

    rows = columns[1].subgridspec(len(SPEC.pairs), 1, hspace=0.55)
    for k, (pair, colour) in enumerate(zip(SPEC.pairs, VALUES, strict=True)):
        axis = drawing.add_subplot(rows[k])
        values, lowers, uppers = run(rs.synthesize(pair.formula), episode)
        axis.fill_between(steps, lowers, uppers, color=colour, alpha=0.13, linewidth=0)
        axis.plot(steps, values, color=colour, linewidth=1.8, marker="o", markersize=3)
        axis.set_ylim(-0.04, 1.06)
        axis.set_yticks([0, 1])
        axis.set_title(f"{pair.formula}", loc="left", fontsize=9, color=colour, pad=3, family="monospace")
        axis.set_title(f"weight {pair.weight:g}; shaded: still possible", loc="right", fontsize=7.5, color=QUIET, pad=3)
        _bare(axis, last=k == len(SPEC.pairs) - 1)
    _title(drawing, columns[1], "2  Value each formula so far")

    axis = drawing.add_subplot(columns[2])
    rewards = [row.reward for row in SPEC.explain({atom: [row[atom] for row in episode] for atom in SPEC.atoms})]
    axis.step(steps[1:], rewards[1:], where="mid", color=REWARD, linewidth=1.8)
    axis.set_ylim(-0.1, 3)
    axis.set_title("reward", loc="left", fontsize=9, color=REWARD, pad=3)
    _bare(axis, last=True)
    _title(drawing, columns[2], "3  Pay the weighted sum")
    return drawing


def run(monitor: rs.Monitor, episode: list[dict[str, float]]) -> tuple[list[float], list[float], list[float]]:
    """The value after each step, and its bounds."""
    state, rows = monitor.initial_state(), []
    for labels in episode:
        state, value = monitor.step(state, labels)
        rows.append((value, *monitor.bounds(state)))
    values, lowers, uppers = (list(column) for column in zip(*rows, strict=True))
    return values, lowers, uppers


def _bare(axis: Any, *, last: bool) -> None:
    axis.set_xlim(-0.5, 13.5)
    axis.set_xticks([0, 4, 8, 12])
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(QUIET)
    axis.tick_params(labelsize=7.5, colors=QUIET, labelbottom=last)
    if last:
        axis.set_xlabel("step", fontsize=8, color=QUIET, labelpad=1)


def _title(drawing: Figure, column: Any, text: str) -> None:
    place = column.get_position(drawing)
    drawing.text(place.x0, 0.955, text, fontsize=10.5, color=INK, fontweight="bold", va="center")


if __name__ == "__main__":
    main()
