"""Plots of an explanation: atoms, values, reward, and where a veto fell."""

from __future__ import annotations

import itertools
import math
import textwrap
from typing import TYPE_CHECKING

from rewardspec.drawing.run_plot import matplotlib_classes
from rewardspec.types import Plot

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation

# On a transparent ground: colors that can be read on light pages and on dark ones.
_REWARD, _VETO, _STRIP, _INK = "#2a9d76", "#d0504c", "#8d99ae", "#7d8597"
_PAIRS = ("#8467d7", "#d0762b", "#3a8bc9", "#c2558f", "#7f9425", "#a07a55")
_SHORTEST = 0.045  # of the width for each letter of what is waited for, below which it is not written
_WIDE = 90  # characters of a title


def plot_explanation(explanation: Explanation) -> Plot:
    """A matplotlib figure: a strip for each atom, a panel for each formula's value, and the reward below them.

    A dot in an atom's strip marks a label that made some value what it is; a dotted line is the progress of a formula
    where that is more than its value; gray words in a panel say what a low value waits for; a red line marks the step
    where a veto fell.
    """
    figure_class, locator = matplotlib_classes()
    labels, rows, names = explanation.labels, explanation.rows, explanation.names
    heights = [0.45] * len(labels) + [0.95] * len(names) + [1.1]
    figure = figure_class(figsize=(8.0, 1.0 + 1.05 * sum(heights)), layout="constrained", facecolor="none")
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    steps = range(len(rows))
    for axis, (atom, column) in zip(axes, labels.items(), strict=False):
        axis.fill_between(steps, column, step="mid", color=_STRIP, alpha=0.55, linewidth=0)
        causes = {d.step for row in rows for d in row.deciders if d.atom == atom and d.step}
        decisive = sorted(step for step in causes if step is not None)
        axis.plot(decisive, [column[step] for step in decisive], ".", color=_INK, markersize=5)
        axis.set_ylim(min(0.0, *column), max(1.0, *column) * 1.08)
        axis.set_ylabel("\n".join(textwrap.wrap(atom, 24)), rotation=0, ha="right", va="center", color=_INK)
        axis.set_yticks([])
    for number, name in enumerate(names):
        axis, color = axes[len(labels) + number], _PAIRS[number % len(_PAIRS)]
        values = [row.values[number] if math.isfinite(row.values[number]) else math.nan for row in rows]
        axis.step(steps, values, where="mid", color=color, linewidth=1.8)
        said = f"{name}    weight {explanation.spec.weights[number]:g}"
        if explanation.spec.pairs[number].progress:
            said += ", paid for progress"
        elif (progress := explanation.progress(number)) != values:
            axis.step(steps, progress, where="mid", color=color, linewidth=1.1, linestyle=":")
            said += "    dotted: progress"
        _title(axis, said, color)
        if explanation.spec.semantics == "degree":
            axis.set_ylim(-0.06, 1.06)
            axis.set_yticks([0, 1])
        for waited, span in itertools.groupby(rows, key=lambda row: row.waiting[number]):
            found = list(span)
            text = f"waiting for {' & '.join(waited)}"
            if waited and len(found) >= len(text) * len(rows) * _SHORTEST / 4:
                middle = (found[0].step + found[-1].step) / 2
                over = axis.get_xaxis_transform()  # steps across, and the panel's height from 0 to 1
                axis.text(middle, 0.5, text, color=_INK, fontsize=8, ha="center", va="center", transform=over)
    rewards = [row.reward for row in rows[1:]]
    axes[-1].step(steps[1:], rewards, where="mid", color=_REWARD, linewidth=1.8)
    _title(axes[-1], f"reward    paid by {explanation.spec.payment}", _REWARD)
    axes[-1].set_xlabel("step", color=_INK)
    axes[-1].xaxis.set_major_locator(locator(integer=True))
    veto = next((row for row in rows if row.vetoed_by is not None), None)
    for axis in axes:
        if veto is not None:
            axis.axvline(veto.step, color=_VETO, linestyle="--", linewidth=1.2)
        axis.set_facecolor("none")
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color(_INK)
        axis.tick_params(colors=_INK, labelsize=8)
        axis.margins(x=0.02)
    if veto is not None:
        _title(axes[0], f"step {veto.step}: vetoed by {names[veto.vetoed_by or 0]}", _VETO)
    return figure


def _title(axis: Plot, text: str, color: str) -> None:
    axis.set_title("\n".join(textwrap.wrap(text, _WIDE)), loc="left", color=color, fontsize=9, pad=3)
