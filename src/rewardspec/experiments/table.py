"""The table of the evaluation, laid out like the paper's, with the paper's numbers below ours.

A `Table` holds texts and marks; the formats write it down. The first table is the paper's: when rewards converged, and
how much of the task was completed, with the paper's interval over all episodes. The second adds what readers want
besides: how the runs ended, and how sure that is, with intervals over runs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

from rewardspec.experiments.published import PAPER, PaperCell, best_of
from rewardspec.experiments.rewards import REWARDS
from rewardspec.experiments.statistics import Estimate
from rewardspec.experiments.summaries import Summaries, Summary
from rewardspec.tasks import registry

Source: TypeAlias = Literal["ours", "paper"]
GAP = "–"
"""What stands where there is no result."""
NEVER = "None"
"""What stands where rewards did not converge."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """One number of a table.

    Attributes:
        text: The number as text; empty where there is nothing to say.
        star: Whether it has the star of a suboptimal policy.
        bold: Whether it belongs to the best reward of its row.
    """

    text: str = ""
    star: bool = False
    bold: bool = False


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a table.

    Attributes:
        task: The environment's name.
        source: Whose numbers these are.
        groups: The numbers by group and reward.
    """

    task: str
    source: Source
    groups: tuple[tuple[Entry, ...], ...]

    @property
    def title(self) -> str:
        """The environment's name for people."""
        return registry.get(self.task).title

    @property
    def family(self) -> str:
        """The environment's family."""
        return registry.get(self.task).family


@dataclasses.dataclass(frozen=True)
class Table:
    """A table before it is written down.

    Attributes:
        title: What it shows.
        groups: The titles of its groups of columns; each has a column for every reward.
        lines: Its lines, in the paper's order, the paper's own after ours.
        notes: How to read it.
    """

    title: str
    groups: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]

    def families(self) -> dict[str, list[Line]]:
        """The lines by family."""
        found: dict[str, list[Line]] = {}
        for line in self.lines:
            found.setdefault(line.family, []).append(line)
        return found


def main_table(results: Summaries) -> Table:
    """The paper's table: convergence in episodes and seconds, and task completion, ours and the paper's."""
    lines = []
    for task in _shown(results):
        lines.append(_ours(results, task, _MAIN))
        lines.append(_papers(task))
    notes = (
        "Lines marked “paper” are the paper's own numbers; “best” is a column of ours.",
        "Episode and seconds: mean over the runs that converged; None where fewer than half did. Runs are trained "
        "together, and seconds are a run's equal part of the wall-clock time.",
        "Task completion: mean over all episodes of all runs, in per cent, ± the 95 % interval over episodes, as in "
        "the paper. Bold: the best of the row. Star: converged, and another of the paper's rewards completes more.",
        *_remarks(results),
    )
    return Table("Convergence and task completion", tuple(group.title for group in _MAIN), tuple(lines), notes)


def second_table(results: Summaries) -> Table:
    """What the paper does not give: the end of training, the interquartile mean, and how many runs converged."""
    lines = [_ours(results, task, _SECOND) for task in _shown(results)]
    notes = (
        "Last tenth: task completion over the last tenth of training (episodes for Q-learning, steps for PPO), in per "
        "cent, ± the 95 % interval over runs. Converged: the share of the runs whose rewards did.",
        "IQM: interquartile mean of the runs' mean task completion over all of training, in per cent, with the 95 % "
        "interval of a bootstrap over runs.",
        "Bold: the best of the row.",
        *_remarks(results),
    )
    return Table("How training ends", tuple(group.title for group in _SECOND), tuple(lines), notes)


def _shown(results: Summaries) -> list[str]:
    """The environments that have results, in the paper's order; all of them where there are none at all."""
    return [task for task in PAPER if results.of(task)] or list(PAPER)


def _ours(results: Summaries, task: str, groups: tuple[_Group, ...]) -> Line:
    row = results.of(task)

    def entries(group: _Group) -> Iterator[Entry]:
        measure = group.measure
        best = max((measure(cell) for cell in row.values()), default=None) if measure is not None else None
        for reward in REWARDS:
            if reward in row:
                bold = measure is not None and measure(row[reward]) == best
                yield Entry(group.show(row[reward]), group.starred and results.is_starred(task, reward), bold)
            else:
                yield Entry(GAP)

    return Line(task, "ours", tuple(tuple(entries(group)) for group in groups))


def _papers(task: str) -> Line:
    row, best = PAPER[task], best_of(task)

    def entries(show: Callable[[PaperCell], tuple[str, bool]]) -> Iterator[Entry]:
        for reward in REWARDS:
            yield Entry(*show(row[reward]), reward == best) if reward in row else Entry()

    return Line(
        task,
        "paper",
        (
            tuple(entries(lambda cell: (episode_text(cell.episode), cell.episode_star))),
            tuple(entries(lambda cell: (seconds_text(cell.seconds), cell.seconds_star))),
            tuple(entries(lambda cell: (f"{cell.completion:.2f} ± {cell.half_width:.2f}", False))),
        ),
    )


def _remarks(results: Summaries) -> Iterator[str]:
    short = results.short_of_budget()
    if short and len(short) == len(results.all()):
        yield "Trained on small budgets: the numbers show that everything works, and compare with nothing."
    elif short:
        yield f"On smaller budgets than the paper's: {_named((cell.task, cell.reward) for cell in short)}."
    missing = results.missing()
    if missing:
        shown = GAP if len(_shown(results)) == len(PAPER) else f"{GAP}, or no line where an environment has none"
        yield f"No results yet ({shown}) for {len(missing)} of {len(PAPER) * len(REWARDS)} cells: {_named(missing)}."


def _named(cells: Iterable[tuple[str, str]]) -> str:
    """Cells in words, those of an environment together."""
    rows: dict[str, list[str]] = {}
    for task, reward in cells:
        rows.setdefault(task, []).append(reward)
    return "; ".join(
        registry.get(task).title + ("" if len(rewards) == len(REWARDS) else f" ({', '.join(rewards)})")
        for task, rewards in rows.items()
    )


# Numbers as text.


def episode_text(value: float | None) -> str:
    """A number of episodes.

    Example:
        >>> episode_text(2.304), episode_text(1301.4), episode_text(None)
        ('2.3', '1301', 'None')
    """
    return NEVER if value is None else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def seconds_text(value: float | None) -> str:
    """Seconds: two decimals, or two digits where that would be too little.

    Example:
        >>> seconds_text(133.951), seconds_text(0.04), seconds_text(0.00312), seconds_text(None)
        ('133.95', '0.04', '0.0031', 'None')
    """
    if value is None:
        return NEVER
    digits = 2 if value >= 0.095 or value <= 0.0 else 1 - math.floor(math.log10(value))
    text = f"{value:.{digits}f}"
    return text if value >= 0.095 else text.rstrip("0").rstrip(".") or "0"


def percent_text(estimate: Estimate) -> str:
    """A share as per cent with half its interval.

    Example:
        >>> percent_text(Estimate(0.5, 0.49, 0.51)), percent_text(Estimate(0.5, math.nan, math.nan))
        ('50.00 ± 1.00', '50.00')
    """
    half = estimate.half_width
    return f"{100 * estimate.value:.2f}" + ("" if math.isnan(half) else f" ± {100 * half:.2f}")


# Groups of columns.


@dataclasses.dataclass(frozen=True)
class _Group:
    """A group of columns: what it shows of a cell, and the measure whose best in the row is bold."""

    title: str
    show: Callable[[Summary], str]
    measure: Callable[[Summary], float] | None
    starred: bool = False


def _completion(cell: Summary) -> float:
    return cell.completion.value


def _iqm_text(cell: Summary) -> str:
    return f"{100 * cell.iqm.value:.2f} [{100 * cell.iqm.low:.1f}, {100 * cell.iqm.high:.1f}]"


_MAIN = (
    _Group("Mean episode", lambda cell: episode_text(cell.convergence_episode), _completion, starred=True),
    _Group("Mean seconds", lambda cell: seconds_text(cell.convergence_seconds), _completion, starred=True),
    _Group("Task completion (%)", lambda cell: percent_text(cell.completion), _completion),
)
_SECOND = (
    _Group("Last tenth (%)", lambda cell: percent_text(cell.final), lambda cell: cell.final.value),
    _Group("Converged (%)", lambda cell: f"{100 * cell.converged:.0f}", None),
    _Group("IQM (%)", _iqm_text, lambda cell: cell.iqm.value),
)
