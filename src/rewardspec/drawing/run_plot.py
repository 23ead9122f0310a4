"""Plots of a monitor's run: atoms, value and bounds over time."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rewardspec.atomic_files import write_whole
from rewardspec.errors import Error, MissingExtraError
from rewardspec.types import Plot

_ENDINGS = (".png", ".svg", ".pdf", ".jpg", ".eps")
_VALUE, _BOUNDS, _INK, _LABEL = "#5b3fa8", "#c9bdf0", "#333344", "#9aa5b8"
_MOST_PLACES = 1000  # about one for each pixel of a strip


def plot_run(
    title: str,
    labels: Mapping[str, Sequence[float]],
    values: Sequence[float],
    lowers: Sequence[float] | None = None,
    uppers: Sequence[float] | None = None,
) -> Plot:
    """Plot a run as a matplotlib figure: one strip for each atom, and the value within its bounds below them."""
    figure_class, locator = matplotlib_classes()
    strips = len(labels)
    figure = figure_class(figsize=(7.5, 2.2 + 0.75 * strips), layout="constrained")
    axes = figure.subplots(strips + 1, 1, sharex=True, squeeze=False, height_ratios=[0.75] * strips + [2.0])[:, 0]
    steps = range(len(values))
    for axis, (atom, column) in zip(axes, labels.items(), strict=False):
        places, lows, highs = envelope(column)
        axis.fill_between(places, lows, step="mid", color=_LABEL, alpha=0.55, linewidth=0)
        if len(places) < len(column):
            axis.vlines(places, lows, highs, color=_LABEL, linewidth=0.8)  # what lasts for less than a pixel
        axis.set_ylabel(atom, rotation=0, ha="right", va="center", color=_INK)
        axis.set_yticks([])
        axis.set_ylim(min(0.0, *column), max(1.0, *column) * 1.05)
    bottom = axes[-1]
    numbers = [number for column in (values, lowers or (), uppers or ()) for number in column if math.isfinite(number)]
    lowest, highest = min(0.0, *numbers), max(1.0, *numbers)
    margin = 0.03 * (highest - lowest)
    if lowers is not None and uppers is not None:
        # What has no bound reaches to the edge of the picture.
        lower = [max(number, lowest - margin) for number in lowers]
        upper = [min(number, highest + margin) for number in uppers]
        bottom.fill_between(steps, lower, upper, color=_BOUNDS, alpha=0.6, linewidth=0, label="still possible")
    bottom.plot(steps, values, color=_VALUE, marker="o", markersize=3.5, linewidth=1.8, label="value")
    bottom.set_ylim(lowest - margin, highest + margin)
    bottom.set_xlabel("step")
    bottom.set_ylabel("value", rotation=0, ha="right", va="center", color=_INK)
    bottom.xaxis.set_major_locator(locator(integer=True))
    bottom.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.margins(x=0.02)
    axes[0].set_title(title, loc="left", color=_INK)
    return figure


def envelope(
    column: Sequence[float], most: int = _MOST_PLACES
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The smallest and largest values of consecutive stretches, so that one step stays visible in a long record.

    Args:
        column: The values, of shape (steps,).
        most: The most stretches.

    Returns:
        The first step of each stretch, and its smallest and largest values, all of shape (stretches,).

    Example:
        >>> envelope([0, 0, 1, 0, 0], most=3)
        (array([0, 2, 4]), array([0., 0., 0.]), array([0., 1., 0.]))
    """
    width = -(-len(column) // most)
    places, values = np.arange(0, len(column), max(width, 1)), np.asarray(column, dtype=np.float64)
    return places, np.minimum.reduceat(values, places), np.maximum.reduceat(values, places)


def check_picture_path(path: str | os.PathLike[str]) -> None:
    """Raise an Error unless a figure could be written there; to be asked before long work, not after it."""
    matplotlib_classes()
    target = Path(path)
    if target.suffix.lower() not in _ENDINGS:
        raise Error(f"Cannot tell the picture's format from {target.name!r}. Known endings: {', '.join(_ENDINGS)}.")
    if not target.parent.is_dir():
        raise Error(f"Cannot write {str(target)!r}: the directory {str(target.parent)!r} does not exist.")


def save(figure: Plot, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file, all of it or nothing; the format follows from the name."""
    check_picture_path(path)
    target = Path(path)
    suffix = target.suffix.lstrip(".").lower()
    try:
        write_whole(target, lambda file: figure.savefig(file, format=suffix, dpi=160))
    except OSError as error:
        raise Error(f"Cannot write {str(target)!r}: {error.strerror}.") from None


def matplotlib_classes() -> tuple[type[Plot], type[Plot]]:
    """Matplotlib's figure and locator of whole numbers, or a MissingExtraError that says how to get it."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "Plotting") from None
    return Figure, MaxNLocator
