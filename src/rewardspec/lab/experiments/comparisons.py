"""Comparisons of rewards: contrasts by task, totals over all tasks, and highlights."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np

from rewardspec.lab.experiments.statistics import FEWEST_RUNS, Estimate, bootstrapped_iqm, performance_profile
from rewardspec.lab.experiments.study import BASE, Contrast, Study
from rewardspec.lab.experiments.summaries import Summaries, Summary
from rewardspec.lab.learning.settings import PPO
from rewardspec.types import Floats

Standing: TypeAlias = Literal["ahead", "level", "behind", "too few runs"]
"""How two rewards compare, as in files; `SHOWN` has what is displayed instead."""
SHOWN = {"level": "cannot be told apart"}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Difference of the means over runs of two rewards in a task, with its 95 % interval.

    `measure` is the measure of success; None for the task's first.
    """

    task: str
    reward: str
    other: str
    difference: Estimate
    measure: str | None = None

    @property
    def standing(self) -> Standing:
        """Sign of the difference; `"level"` if its interval contains 0, `"too few runs"` if there is no interval."""
        if not self.difference.known:
            return "too few runs"
        if self.difference.low > 0.0:
            return "ahead"
        return "behind" if self.difference.high < 0.0 else "level"


def compare(results: Summaries, contrast: Contrast) -> list[Comparison]:
    """Compare a reward with the best of the others, in every task with results of all of them.

    Differences are those of the end of training, or, in a study with published numbers, of all of training.
    """
    found = []
    measure = contrast.measure
    for row in map(results.of, results.study.tasks):
        cells = [row.get(name) for name in (contrast.reward, *contrast.others)]
        if all(cell is not None and (measure is None or measure in cell.further_measures) for cell in cells):
            late = not results.study.references
            other = max((row[name] for name in contrast.others), key=lambda cell: _mean(cell, measure, late).value)
            found.append(_compare_cells(row[contrast.reward], other, measure, late=late))
    return found


def _mean(cell: Summary, measure: str | None, late: bool) -> Estimate:
    """Return the mean of a measure over all of training or its last tenth; of the first measure by default."""
    if measure is None:
        return cell.final if late else cell.completion_over_runs
    return (cell.final_measures if late else cell.further_measures)[measure]


def _compare_cells(cell: Summary, other: Summary, measure: str | None = None, *, late: bool = False) -> Comparison:
    one, two = _mean(cell, measure, late), _mean(other, measure, late)
    half = math.hypot(one.half_width, two.half_width)
    difference = one.value - two.value
    interval = Estimate(difference, difference - half, difference + half)
    return Comparison(cell.task, cell.reward, other.reward, interval, measure)


def over_environments(results: Summaries) -> dict[str, Estimate]:
    """Compute for each reward the interquartile mean over the runs of all tasks, in the last tenth of training.

    Tasks without results of every reward are left out. All tasks have equal weight.
    """
    rows = results.complete()
    return {
        reward: bootstrapped_iqm([row[reward].final_scores for row in rows]) for reward in results.study.rewards if rows
    }


def profiles(results: Summaries, points: int = 101) -> dict[str, Floats]:
    """Compute for each reward the share of runs above each threshold from 0 to 1, shape (points,).

    Scores are those of the last tenth of training, in the tasks of `over_environments`.
    """
    thresholds = np.linspace(0.0, 1.0, points)
    rows = results.complete()
    return {
        reward: np.mean([performance_profile(row[reward].final_scores, thresholds) for row in rows], axis=0)
        for reward in results.study.rewards
        if rows
    }


def highlights(results: Summaries) -> Iterator[str]:
    """Yield the main findings in sentences: how specs compare, and where the budget was small."""
    if len(results.study.tasks) == 1:
        for found in (found for contrast in results.study.contrasts for found in compare(results, contrast)):
            yield _sentence(results, found)
    else:
        yield from _leads(results)
    short = {cell.task: cell for cell in results.short_of_budget()}
    shares = [
        cell.config["total_steps"] / full.total_steps
        for task, cell in short.items()
        if isinstance(full := results.study.budget(results.study.tasks[task], False).config, PPO)
    ]
    if short:
        steps = "" if not shares else f", PPO with {100 * min(shares):.0f} to {100 * max(shares):.0f} % of the steps"
        yield (
            f"These are small budgets{steps}: where PPO has hardly begun to learn, no reward can lead yet. "
            "`rewardspec reproduce` without --quick gives every cell the paper's budget."
        )


def _sentence(results: Summaries, found: Comparison) -> str:
    one, two = _titles(results, found)
    if found.standing == "too few runs":
        return (
            f"The difference between {one} and {two} is {_amount(results, found)}. Too few runs to tell whether "
            f"that is more than chance: train each reward with at least {FEWEST_RUNS} seeds, better 10."
        )
    when = "" if results.study.references else " at the end of training"
    return f"{_WORDS[found.standing].format(one, two)}{when}: {_amount(results, found)}."


_WORDS: dict[Standing, str] = {
    "ahead": "{0} is ahead of {1}",
    "level": "{0} and {1} cannot be told apart by so many runs",
    "behind": "{0} is behind {1}",
    "too few runs": "Too few runs to tell whether {0} is ahead of {1}",
}


def _leads(results: Summaries) -> Iterator[str]:
    """Count the tasks in which the best spec is ahead of, level with or behind the environment's own reward."""
    best = [_best_spec(row) for row in map(results.of, results.study.tasks) if BASE in row and len(row) > 1]
    for standing, words in _WORDS.items():
        members = [found for found in best if found.standing == standing]
        if members:
            said = words.format("a spec", "the environment's own reward")
            named = "; ".join(
                f"{results.study.tasks[found.task].title} ({_titles(results, found)[0]}, {_amount(results, found)})"
                for found in members
            )
            yield f"{said[0].upper()}{said[1:]}, in {len(members)} of {len(best)} environments: {named}."


def _best_spec(row: dict[str, Summary]) -> Comparison:
    others = (cell for reward, cell in row.items() if reward != BASE)
    return _compare_cells(max(others, key=lambda cell: cell.completion_over_runs.value), row[BASE])


def _titles(results: Summaries, found: Comparison) -> tuple[str, str]:
    return results.study.rewards[found.reward], results.study.rewards[found.other]


def _amount(results: Summaries, found: Comparison) -> str:
    """Format a difference, with its interval in a study of one task."""
    share = is_share(results.study, found)
    value, interval = texts(found.difference, share)
    return value + " points" * share + interval * (len(results.study.tasks) == 1)


def is_share(study: Study, found: Comparison) -> bool:
    """Return whether a comparison is of shares."""
    task = study.tasks[found.task]
    return (task.measure if found.measure is None else task.measures[found.measure]).share


def texts(difference: Estimate, share: bool) -> tuple[str, str]:
    """Format a difference, and its interval after a space; of shares in percentage points, clipped to [-100, 100].

    Example:
        >>> texts(Estimate(0.278, -0.686, 1.241), share=True)
        ('+27.8', ' [−68.6, +100.0]')
        >>> texts(Estimate(-98.76, math.nan, math.nan), share=False)
        ('−98.76', '')
    """
    ends = (max(difference.low, -1.0), min(difference.high, 1.0)) if share else (difference.low, difference.high)
    value, low, high = (
        (f"{100 * number:+.1f}" if share else f"{number:+.4g}").replace("-", "−")
        for number in (difference.value, *ends)
    )
    return value, f" [{low}, {high}]" * difference.known
