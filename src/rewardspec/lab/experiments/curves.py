"""Learning curves of the first measure of success, for all tasks of a study in one figure."""

from __future__ import annotations

import dataclasses
import io
import math
import re
from collections.abc import Mapping

import numpy as np

from rewardspec.errors import MissingExtraError
from rewardspec.lab.experiments.statistics import FEWEST_RUNS, WINDOW, moving_average, t_quantile
from rewardspec.lab.experiments.study import BASE, Cell, Study
from rewardspec.lab.learning.settings import Unit, learner_words
from rewardspec.lab.tasks.task import Task
from rewardspec.types import Floats, Plot

POINTS = 120
"""Number of points of a curve."""
BASE_COLOR = "#5f6368"
PALETTE = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7b4fa3")
"""Colors of the specs: the color-blind palette of Okabe and Ito, and two more."""
INK, SOFT_INK, GRID = "#333344", "#6a6a85", "#e4e4ef"
"""Colors of the text and of the grid."""
_COLUMNS = 4
_FONT = "'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
_LONGEST_LABEL = 40  # characters of the label of an axis


def colors_of(study: Study) -> dict[str, str]:
    """Assign a color to each reward of a study."""
    specs = [reward for reward in study.rewards if reward != BASE]
    return {BASE: BASE_COLOR} | {reward: PALETTE[k % len(PALETTE)] for k, reward in enumerate(specs)}


@dataclasses.dataclass(frozen=True)
class Curve:
    """The learning curve of a cell: the mean over runs and its 95 % interval over runs, each of shape (P,).

    Each run's measure of success is smoothed over 21 episodes. `position` is the amount of training, in the unit of the
    budget. Of too few runs for an interval, its ends are the mean itself.
    """

    unit: Unit
    position: Floats
    mean: Floats
    low: Floats
    high: Floats


Curves = Mapping[tuple[str, str], Curve]
"""Curves by task and reward."""


def curve_of(cell: Cell, *, share: bool = True, points: int = POINTS, measure: str | None = None) -> Curve:
    """Compute the learning curve of a cell: of a measure, by default the first.

    Each run is smoothed over 21 of its episodes. Runs are then averaged by the number of episodes or, for PPO, of
    steps. The curve begins when every run has finished an episode; after its last episode, a run keeps its value. With
    `share`, the measure lies in [0, 1], and so does the interval.
    """
    log = cell.log
    column = log.task_completion if measure is None else log.measures[measure]
    counts = np.bincount(log.run, minlength=log.runs)
    starts = np.cumsum(counts) - counts
    position = log.end_step if cell.unit == "steps" else np.arange(len(log)) - starts[log.run] + 1
    grid = np.linspace(position[starts[counts > 0]].max(), position.max(), points)
    values = np.empty((np.count_nonzero(counts), points))
    for place, run in enumerate(np.flatnonzero(counts)):
        rows = slice(starts[run], starts[run] + counts[run])
        values[place] = np.interp(grid, position[rows], moving_average(column[rows], WINDOW))
    mean, runs = values.mean(axis=0), len(values)
    if runs < FEWEST_RUNS:
        return Curve(cell.unit, grid, mean, mean, mean)
    half = t_quantile(runs - 1) * values.std(axis=0, ddof=1) / np.sqrt(runs)
    low, high = mean - half, mean + half
    if share:
        low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
    return Curve(cell.unit, grid, mean, low, high)


def figure_of_all(study: Study, curves: Curves, measure: str | None = None) -> Plot:
    """Draw a figure with a panel for each task of a study, of one measure of success, by default the first."""
    across = min(_COLUMNS, len(study.tasks))
    rows = math.ceil(len(study.tasks) / across)
    width, height = max(6.5, 3.25 * across), 0.9 + 2.57 * rows  # inches, 0.9 of them for the legend
    edges = {"left": 0.7 / width, "right": 1 - 0.33 / width, "top": 1 - 0.9 / height, "bottom": 0.52 / height}
    figure = _figure((width, height), **edges, hspace=0.46, wspace=0.24)
    axes = figure.subplots(rows, across, squeeze=False)
    for axis, (name, task) in zip(axes.ravel(), study.tasks.items(), strict=False):
        _panel(
            axis,
            study,
            task,
            {reward: curves[name, reward] for reward in study.rewards if (name, reward) in curves},
            measure,
        )
        axis.set_title(task.title, loc="left", color=INK, fontweight="bold", fontsize=11.5, pad=9)
        axis.set_title(learner_words(task.learner), loc="right", color=SOFT_INK, fontsize=8.5, pad=9)
    for axis in axes.ravel()[len(study.tasks) :]:
        axis.set_axis_off()
    for axis, task in zip(axes[:, 0], list(study.tasks.values())[::across], strict=True):
        axis.set_ylabel(_label(study, task, measure), color=SOFT_INK)
    _legend(figure, study, published=measure is None)
    return figure


def figure_of_task(study: Study, name: str, curves: Mapping[str, Curve]) -> Plot:
    """Draw the figure of one task, for its section of the report."""
    figure = _small_figure()
    axis = figure.subplots()
    _panel(axis, study, study.tasks[name], curves)
    axis.set_ylabel(_label(study, study.tasks[name]), color=SOFT_INK, fontsize=9)
    _legend(figure, study, small=True)
    return figure


def figure_of_profiles(study: Study, profiles: Mapping[str, Floats]) -> Plot:
    """Draw performance profiles by reward, at equally spaced thresholds from 0 to 1."""
    figure = _small_figure()
    axis = figure.subplots()
    colors = colors_of(study)
    for reward, shares in profiles.items():
        axis.plot(np.linspace(0.0, 1.0, len(shares)), shares, color=colors[reward], linewidth=1.9)
    axis.set_xlim(0.0, 1.0)
    axis.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "25 %", "50 %", "75 %", "100 %"])
    axis.set_xlabel(f"{study.measured} in the last tenth of training", color=SOFT_INK, fontsize=9)
    axis.set_ylabel("runs above that", color=SOFT_INK, fontsize=9)
    _plain(axis)
    _legend(figure, study, published=False, small=True)
    return figure


def _label(study: Study, task: Task, measure: str | None = None) -> str:
    """Label the axis of a measure: a rule by its title, and success by its formula."""
    name = measure or next(iter(task.measures))
    text = study.rules.get(name, name.replace("_", " "))
    if study.success and measure is None:
        text = f"{text}: {study.success}"
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def to_png(figure: Plot) -> bytes:
    """Render a figure as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()


def to_svg(figure: Plot) -> str:
    """Render a figure as small, reproducible SVG, with text as text and one decimal per coordinate."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rewardspec"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", buffer.getvalue(), flags=re.DOTALL)
    text = re.sub(r"font: ([\w ]*?)([\d.]+px) [^;\"]*", rf"font: \1\2 {_FONT}", text)
    text = re.sub(r"font-family: [^;\"]*", f"font-family: {_FONT}", text)
    return re.sub(r"(?<=\bd=\")[^\"]*", lambda path: _rounded(path[0]), text)


def _rounded(path: str) -> str:
    """Round the numbers of an SVG path to one decimal.

    Example:
        >>> _rounded("M 1.2345 0.98 L -3.0 4")
        'M1.2 1L-3 4'
    """
    short = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), path)
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", short).strip()


def _panel(axis: Plot, study: Study, task: Task, curves: Mapping[str, Curve], measure: str | None = None) -> None:
    drawn: list[Curve] = []
    colors = colors_of(study)
    for reward, curve in curves.items():
        look: dict[str, object] = {"color": colors[reward], "linewidth": 1.7, "solid_joinstyle": "round"}
        if any(_coincide(curve, other) for other in drawn):
            look["dashes"] = (4.0, 4.0)  # show the curve beneath
        axis.fill_between(curve.position, curve.low, curve.high, color=colors[reward], alpha=0.2, linewidth=0)
        axis.plot(curve.position, curve.mean, **look)
        drawn.append(curve)
    if curves:
        # A mark at the right edge: the published mean over all of training.
        for reward, published in ({} if measure else study.references.get(task.name, {})).items():
            level = [published.completion / 100]
            where = {"transform": axis.get_yaxis_transform(), "clip_on": False, "zorder": 3}
            axis.plot([1.025], level, "<", markersize=5.5, color=colors[reward], markeredgewidth=0, **where)
    else:
        axis.text(0.5, 0.62, "no results yet", color=SOFT_INK, ha="center", va="center", transform=axis.transAxes)
        axis.set_xticks([])
    axis.set_xlim(0.0, _end(max((float(curve.position[-1]) for curve in curves.values()), default=1.0)))
    _plain(axis, share=(task.measure if measure is None else task.measures.get(measure, task.measure)).share)
    unit = next((curve.unit for curve in curves.values()), "episodes" if task.learner == "q-learning" else "steps")
    axis.set_xlabel(unit, color=SOFT_INK, fontsize=9)
    axis.xaxis.set_major_formatter(lambda number, _: _short(number))
    axis.locator_params(axis="x", nbins=5)


def _coincide(one: Curve, other: Curve) -> bool:
    """Return whether one curve would hide the other: most of it is within a line's width."""
    apart = np.abs(one.mean - np.interp(one.position, other.position, other.mean))
    heights = np.concatenate((one.mean, other.mean, (0.0, 1.0)))
    return float(np.quantile(apart, 0.9)) < 0.012 * float(np.ptp(heights))


def _plain(axis: Plot, share: bool = True) -> None:
    """Style a panel: no frame, and for shares an axis from 0 to 1."""
    if share:
        axis.set_ylim(-0.01, 1.01)  # do not cut off a line along the edge
        axis.set_yticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "", "50 %", "", "100 %"])
    axis.grid(axis="y", color=GRID, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.spines["bottom"].set_color(SOFT_INK)
    axis.tick_params(length=0, colors=SOFT_INK, labelsize=9)
    axis.tick_params(axis="x", length=3)


def _legend(figure: Plot, study: Study, *, published: bool = True, small: bool = False) -> None:
    from matplotlib.lines import Line2D

    colors = colors_of(study)
    names = {reward: reward if study.references else title for reward, title in study.rewards.items()}
    entries = [Line2D([], [], color=colors[reward], linewidth=2.6, label=name) for reward, name in names.items()]
    if study.references and published:
        mark = Line2D([], [], color=SOFT_INK, label="paper, mean of training", linestyle="", marker="<", markersize=6)
        mark.set_markeredgewidth(0)
        entries.append(mark)
    look = {"frameon": False, "labelcolor": INK, "handlelength": 1.4, "borderaxespad": 0.3}
    if small:
        look |= {"fontsize": 8.5, "columnspacing": 1.2, "handletextpad": 0.5}
    figure.legend(handles=entries, loc="upper left", ncols=len(entries), **look)


def _end(last: float) -> float:
    """Round the end of the axis up to two digits, as the last episode may end before the last step.

    Example:
        >>> _end(499_812.0), _end(2000.0), _end(1.0)
        (500000.0, 2000.0, 1.0)
    """
    unit = 10.0 ** max(math.floor(math.log10(last)) - 1, 0)
    return math.ceil(last / unit) * unit


def _short(number: float) -> str:
    """Format a number of steps.

    Example:
        >>> _short(500.0), _short(2000.0), _short(500_000.0), _short(1_500_000.0)
        ('500', '2,000', '500k', '1.5M')
    """
    if number >= 1e6:
        return f"{number / 1e6:g}M"
    return f"{number / 1e3:g}k" if number >= 1e4 else f"{number:,.0f}"


def _small_figure() -> Plot:
    return _figure((5.4, 3.0), left=0.13, right=0.95, top=0.88, bottom=0.16)


def _figure(size: tuple[float, float], **edges: float) -> Plot:
    """Make an empty figure with fixed margins; an automatic layout is slow."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "Drawing learning curves") from None
    figure = Figure(figsize=size)
    figure.subplots_adjust(**edges)
    return figure
