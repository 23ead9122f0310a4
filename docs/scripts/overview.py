"""Draw docs/images/overview.svg: an episode of the README's first example, from labels over values to the reward.

Run from anywhere: python docs/scripts/overview.py
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import rewardspec as rs
from rewardspec.drawing import theme
from rewardspec.episodes.explanation import Explanation

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "overview.svg"
STEPS, TURN = 200, 60
LABEL, REWARD = "#9aa5b8", "#d65438"
VALUES = ("#5b3fa8", "#1f7a8c")
DARK = {
    theme.INK: "#e6e6f2",
    theme.SOFT_INK: "#a6a6c0",
    theme.PAPER: "#191a23",
    LABEL: "#7c869b",
    REWARD: "#ff8f73",
    VALUES[0]: "#bdb4ff",
    VALUES[1]: "#6fc9da",
}
"""What each color becomes on a dark page."""


def main() -> None:
    """Write the picture; the same one each time."""
    # Text stays text: small, and searchable.
    settings = {"svg.hashsalt": "rewardspec", "svg.fonttype": "none", "font.family": ["DejaVu Sans", "sans-serif"]}
    buffer = io.StringIO()
    with matplotlib.rc_context(settings):
        figure().savefig(buffer, format="svg", metadata={"Date": None}, facecolor=theme.PAPER)
    PICTURE.write_text(following_the_page(buffer.getvalue()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")


def following_the_page(svg: str) -> str:
    """Return a picture whose colors change on dark pages."""
    rules = "".join(
        f'[style*="{part}: {color}"] {{ {part}: {dark} !important }}\n'
        for color, dark in DARK.items()
        for part in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark) {{\n{rules}}}</style>\n"
    return re.sub(r"(<svg [^>]*>\n)", lambda found: found[1] + style, svg, count=1)


def episode() -> tuple[rs.Spec, Explanation]:
    """Play the README's environment with a policy that drives to the right, and back after `TURN` steps."""
    code = (ROOT / "README.md").read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    env = rs.wrappers.MonitorReward(names["env"].unwrapped, names["spec"], record=True)
    observation, _ = env.reset(seed=0)
    for step in range(STEPS):
        x, speed, angle, turning = observation
        away = np.clip(x - (step < TURN), -0.8, 0.8)
        observation, *_ = env.step(int(0.12 * away + 0.13 * speed + angle + 0.35 * turning > 0))
    return names["spec"], env.explain()


def figure() -> Figure:
    """Three columns: what happens, how true each formula is, and what is paid."""
    spec, explanation = episode()
    labels, steps = explanation.labels, range(STEPS + 1)
    drawing = Figure(figsize=(10.4, 3.3))
    columns = drawing.add_gridspec(
        1, 3, wspace=0.16, width_ratios=(1, 1.25, 1.05), left=0.065, right=0.99, top=0.84, bottom=0.15
    )

    strips = columns[0].subgridspec(len(spec.atoms), 1, hspace=0.35)
    for k, atom in enumerate(spec.atoms):
        axis = drawing.add_subplot(strips[k])
        axis.fill_between(steps, labels[atom], step="mid", color=LABEL, linewidth=0)
        axis.set_ylim(0, 1.05)
        axis.set_yticks([])
        axis.set_ylabel(atom, rotation=0, ha="right", va="center", color=theme.INK, fontsize=9)
        _bare(axis, last=k == len(spec.atoms) - 1)
    _title(drawing, columns[0], "1  Label each step")

    rows = columns[1].subgridspec(len(spec.pairs), 1, hspace=0.55)
    for k, (pair, color) in enumerate(zip(spec.pairs, VALUES, strict=True)):
        axis = drawing.add_subplot(rows[k])
        values, lowers, uppers = run(rs.synthesize(pair.formula), labels)
        axis.fill_between(steps, lowers, uppers, color=color, alpha=0.13, linewidth=0)
        axis.plot(steps, values, color=color, linewidth=1.8)
        axis.set_ylim(-0.04, 1.06)
        axis.set_yticks([0, 1])
        axis.set_title(f"{pair.formula}", loc="left", fontsize=9, color=color, pad=3, family="monospace")
        axis.set_title(f"weight {pair.weight:g}", loc="right", fontsize=7.5, color=theme.SOFT_INK, pad=3)
        _bare(axis, last=k == len(spec.pairs) - 1)
    _title(drawing, columns[1], "2  Value each formula so far")

    axis = drawing.add_subplot(columns[2])
    axis.step(steps[1:], [row.reward for row in explanation][1:], where="mid", color=REWARD, linewidth=1.8)
    axis.set_ylim(-0.1, 6)
    axis.set_title("reward", loc="left", fontsize=9, color=REWARD, pad=3)
    _bare(axis, last=True)
    _title(drawing, columns[2], "3  Pay the weighted sum")
    return drawing


def run(monitor: rs.Monitor, labels: dict[str, list[float]]) -> tuple[list[float], list[float], list[float]]:
    """Return the value after each step, and its bounds."""
    state, rows = monitor.initial_state(), []
    for letter in zip(*labels.values(), strict=True):
        state, value = monitor.step(state, dict(zip(labels, letter, strict=True)))
        rows.append((value, *monitor.bounds(state)))
    values, lowers, uppers = (list(column) for column in zip(*rows, strict=True))
    return values, lowers, uppers


def _bare(axis: Any, *, last: bool) -> None:
    axis.set_facecolor("none")
    axis.set_xlim(-0.5, STEPS + 0.5)
    axis.set_xticks(range(0, STEPS + 1, 50))
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(theme.SOFT_INK)
    axis.tick_params(labelsize=7.5, colors=theme.SOFT_INK, labelbottom=last)
    if last:
        axis.set_xlabel("step", fontsize=8, color=theme.SOFT_INK, labelpad=1)


def _title(drawing: Figure, column: Any, text: str) -> None:
    place = column.get_position(drawing)
    drawing.text(place.x0, 0.955, text, fontsize=10.5, color=theme.INK, fontweight="bold", va="center")


if __name__ == "__main__":
    main()
