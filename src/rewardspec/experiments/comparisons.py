"""Comparisons: is the quantitative reward as good as the Boolean one, and does `best` beat the paper's three?"""

from __future__ import annotations

import dataclasses
import math
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.experiments.cells import PAPER_REWARDS
from rewardspec.experiments.published import PAPER
from rewardspec.experiments.rewards import REWARDS
from rewardspec.experiments.statistics import Estimate, bootstrapped_iqm, performance_profile
from rewardspec.experiments.summaries import Summaries, Summary

Standing: TypeAlias = Literal["ahead", "level", "behind"]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How much more of an environment's task one reward completes than another.

    Attributes:
        task: The environment's name.
        reward: The one reward.
        other: The other.
        difference: The difference of the means over runs, with the 95 % interval of the difference.
    """

    task: str
    reward: str
    other: str
    difference: Estimate

    @property
    def standing(self) -> Standing:
        """`"level"` where the interval does not tell which is better."""
        if self.difference.low > 0.0:
            return "ahead"
        return "behind" if self.difference.high < 0.0 else "level"


def quantitative_and_boolean(results: Summaries) -> list[Comparison]:
    """The quantitative reward beside the Boolean one, in every environment that has results of both."""
    rows = [results.of(task) for task in PAPER]
    return [_compare(row["quantitative"], row["boolean"]) for row in rows if {"quantitative", "boolean"} <= set(row)]


def best_and_others(results: Summaries) -> list[Comparison]:
    """`best` beside the best of the paper's three, in every environment that has results of all."""
    return [
        _compare(row["best"], max((row[name] for name in PAPER_REWARDS), key=lambda cell: cell.completion.value))
        for row in complete(results)
    ]


def over_environments(results: Summaries) -> dict[str, Estimate]:
    """For each reward the interquartile mean over the runs of all environments, of the last tenth of training.

    Only environments that have results of every reward count, and each counts the same.
    """
    rows = complete(results)
    return {reward: bootstrapped_iqm([row[reward].final_scores for row in rows]) for reward in REWARDS if rows}


def profiles(results: Summaries, points: int = 101) -> dict[str, NDArray[np.float64]]:
    """For each reward the share of the runs that complete more of the task than 0, …, 1 in the last tenth of training.

    The same environments count, and each counts the same.
    """
    thresholds = np.linspace(0.0, 1.0, points)
    rows = complete(results)
    return {
        reward: np.mean([performance_profile(row[reward].final_scores, thresholds) for row in rows], axis=0)
        for reward in REWARDS
        if rows
    }


def complete(results: Summaries) -> list[dict[str, Summary]]:
    """The rows that have results of every reward."""
    return [row for row in map(results.of, PAPER) if set(row) == set(REWARDS)]


def _compare(cell: Summary, other: Summary) -> Comparison:
    one, two = cell.completion_over_runs, other.completion_over_runs
    half = math.hypot(one.half_width, two.half_width)
    difference = one.value - two.value
    return Comparison(cell.task, cell.reward, other.reward, Estimate(difference, difference - half, difference + half))
