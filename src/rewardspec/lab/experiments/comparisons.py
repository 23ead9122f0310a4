"""Comparisons of rewards: the contrasts that a study is about, reward by reward over all tasks, and what to see."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.lab.experiments.statistics import Estimate, bootstrapped_iqm, performance_profile
from rewardspec.lab.experiments.study import BASE, Contrast
from rewardspec.lab.experiments.summaries import Summaries, Summary
from rewardspec.lab.learning.settings import PPO

Standing: TypeAlias = Literal["ahead", "level", "behind"]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How much more of a task one reward completes than another.

    Attributes:
        task: The task's name.
        reward: The one reward.
        other: The other.
        difference: The difference of the means over runs, with the 95 % interval of the difference.
        measure: The measure of success; None for the task's first.
    """

    task: str
    reward: str
    other: str
    difference: Estimate
    measure: str | None = None

    @property
    def standing(self) -> Standing:
        """`"level"` where the interval does not tell which is better."""
        if self.difference.low > 0.0:
            return "ahead"
        return "behind" if self.difference.high < 0.0 else "level"


def compare(results: Summaries, contrast: Contrast) -> list[Comparison]:
    """A reward beside the best of the others, in every task that has results of all of them by that measure."""
    found = []
    for row in map(results.of, results.study.tasks):
        cells = [row.get(name) for name in (contrast.reward, *contrast.others)]
        if all(cell is not None and _has(cell, contrast.measure) for cell in cells):
            other = max((row[name] for name in contrast.others), key=lambda cell: _mean(cell, contrast.measure).value)
            found.append(_beside(row[contrast.reward], other, contrast.measure))
    return found


def _has(cell: Summary, measure: str | None) -> bool:
    return measure is None or measure in cell.further_measures


def _mean(cell: Summary, measure: str | None) -> Estimate:
    """A measure over all of training, by its name; the first one by default."""
    return cell.completion_over_runs if measure is None else cell.further_measures[measure]


def _beside(cell: Summary, other: Summary, measure: str | None = None) -> Comparison:
    one, two = _mean(cell, measure), _mean(other, measure)
    half = math.hypot(one.half_width, two.half_width)
    difference = one.value - two.value
    interval = Estimate(difference, difference - half, difference + half)
    return Comparison(cell.task, cell.reward, other.reward, interval, measure)


def over_environments(results: Summaries) -> dict[str, Estimate]:
    """For each reward the interquartile mean over the runs of all tasks, of the last tenth of training.

    Only tasks that have results of every reward count, and each counts the same.
    """
    rows = results.complete()
    return {
        reward: bootstrapped_iqm([row[reward].final_scores for row in rows]) for reward in results.study.rewards if rows
    }


def profiles(results: Summaries, points: int = 101) -> dict[str, NDArray[np.float64]]:
    """For each reward the share of the runs that complete more of the task than 0, …, 1 in the last tenth of training.

    The same tasks count, and each counts the same.
    """
    thresholds = np.linspace(0.0, 1.0, points)
    rows = results.complete()
    return {
        reward: np.mean([performance_profile(row[reward].final_scores, thresholds) for row in rows], axis=0)
        for reward in results.study.rewards
        if rows
    }


def highlights(results: Summaries) -> Iterator[str]:
    """What to see in the results, in a few sentences: where specs lead, and where too little training hides it."""
    if len(results.study.tasks) == 1:
        for found in (found for contrast in results.study.contrasts for found in compare(results, contrast)):
            yield f"{_WORDS[found.standing].format(*_titles(results, found))}: {_amount(results, found)}."
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


_WORDS: dict[Standing, str] = {
    "ahead": "{0} is ahead of {1}",
    "level": "{0} is level with {1}, as far as so many runs can tell",
    "behind": "{0} is behind {1}",
}


def _leads(results: Summaries) -> Iterator[str]:
    """In how many tasks the best of the specs is ahead of the environment's own reward, and so on."""
    best = [_best_spec(row) for row in map(results.of, results.study.tasks) if BASE in row and len(row) > 1]
    for standing, words in _WORDS.items():
        members = [found for found in best if found.standing == standing]
        if members:
            said = words.format("A spec", "the environment's own reward")
            named = "; ".join(
                f"{results.study.tasks[found.task].title} ({_titles(results, found)[0]}, {_amount(results, found)})"
                for found in members
            )
            yield f"{said}, in {len(members)} of {len(best)} environments: {named}."


def _best_spec(row: dict[str, Summary]) -> Comparison:
    others = (cell for reward, cell in row.items() if reward != BASE)
    return _beside(max(others, key=lambda cell: cell.completion_over_runs.value), row[BASE])


def _titles(results: Summaries, found: Comparison) -> tuple[str, str]:
    return results.study.rewards[found.reward], results.study.rewards[found.other]


def _amount(results: Summaries, found: Comparison) -> str:
    """A difference with its interval; of shares, in percentage points."""
    task, one = results.study.tasks[found.task], found.difference
    share = (task.measure if found.measure is None else task.measures[found.measure]).share
    value, low, high = (
        (f"{100 * number:+.1f}" if share else f"{number:+.4g}").replace("-", "−")
        for number in (one.value, one.low, one.high)
    )
    known = not math.isnan(one.low) and len(results.study.tasks) == 1
    return value + " points" * share + f" [{low}, {high}]" * known
