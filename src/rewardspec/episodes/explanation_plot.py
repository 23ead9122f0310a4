"""Plots of an explanation: atoms, values, reward, and where a veto fell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rewardspec.drawing.run_plot import matplotlib_classes

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation

_REWARD, _VETO, _STRIP, _INK = "#1f7a5c", "#c23b3b", "#9aa5b8", "#333344"
_PAIRS = ("#5b3fa8", "#d0762b", "#2b7bba", "#b0417f", "#6b7d1f", "#7a5c3e")


def plot_explanation(explanation: Explanation) -> Any:
    """A matplotlib figure: a strip for each atom, the formulas' values, and the reward below them.

    A dot in an atom's strip marks a label that decided some step's reward; a red line the step where a veto fell.
    """
    figure_class, locator = matplotlib_classes()
    labels, rows = explanation.labels, explanation.rows
    strips = len(labels)
    figure = figure_class(figsize=(8.0, 3.6 + 0.75 * strips), layout="constrained")
    heights = [0.75] * strips + [1.8, 1.4]
    axes = figure.subplots(strips + 2, 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    steps = range(len(rows))
    deciders = {row.decider for row in rows[1:]}
    for axis, (atom, column) in zip(axes, labels.items(), strict=False):
        axis.fill_between(steps, column, step="mid", color=_STRIP, alpha=0.55, linewidth=0)
        decisive = sorted({d.step for d in deciders if d is not None and d.atom == atom and d.step is not None})
        axis.plot(decisive, [column[step] for step in decisive], ".", color=_INK, markersize=6)
        axis.set_ylim(0, 1.05)
        axis.set_yticks([0, 1])
        _name(axis, atom)
    middle, bottom = axes[-2:]
    for number, name in enumerate(explanation.names):
        color = _PAIRS[number % len(_PAIRS)]
        values = [row.values[number] for row in rows]
        middle.step(steps, values, where="mid", color=color, linewidth=1.8, label=name)
    if strips:
        middle.plot([], [], ".", color=_INK, markersize=6, label="label that decided\na reward")
    middle.set_ylim(-0.03, 1.03)
    _name(middle, "value")
    rewards = [row.reward for row in rows[1:]]
    bottom.step(steps[1:], rewards, where="mid", color=_REWARD, linewidth=1.8, label="reward")
    _name(bottom, "reward")
    bottom.set_xlabel("step")
    bottom.xaxis.set_major_locator(locator(integer=True))
    veto = next((row for row in rows if row.vetoed_by is not None), None)
    for axis in axes:
        if veto is not None:
            label = f"veto: {explanation.names[veto.vetoed_by or 0]}" if axis is bottom else None
            axis.axvline(veto.step, color=_VETO, linestyle="--", linewidth=1.2, label=label)
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.02)
    for axis in (middle, bottom):
        if axis.get_legend_handles_labels()[0]:
            axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    figure.align_ylabels(axes)
    axes[0].set_title(f"{len(rows) - 1} steps, paid by {explanation.spec.payment}", loc="left", color=_INK)
    return figure


def _name(axis: Any, name: str) -> None:
    axis.set_ylabel(name, rotation=0, ha="right", va="center", color=_INK)
