"""Comparisons of rewards within and over environments."""

import dataclasses

import numpy as np
import pytest

from rewardspec.lab.experiments.comparisons import compare, highlights, over_environments, profiles
from rewardspec.lab.experiments.own_study import own_study
from rewardspec.lab.experiments.report import _compared
from rewardspec.lab.experiments.summaries import Summaries
from tests.lab.experiments.synthetic import REWARDS, STUDY, cell_of, log_of, summaries_of, summary_of

QUANTITATIVE, BEST, *_ = STUDY.contrasts


def cell_with(reward, *run_means, task="taxi"):
    completion = [np.full(20, mean) for mean in run_means]
    return summary_of(cell_of(log_of([[1.0] * 20] * len(run_means), completion=completion), task, reward))


@pytest.mark.parametrize(
    ("quantitative", "boolean", "standing"),
    [
        ((0.80, 0.82, 0.81), (0.50, 0.52, 0.51), "ahead"),
        ((0.50, 0.52, 0.51), (0.80, 0.82, 0.81), "behind"),
        ((0.50, 0.60, 0.70), (0.55, 0.65, 0.63), "level"),
        ((0.50,), (0.90,), "too few runs"),  # of single runs nothing is known
        ((0.50, 0.51), (0.90, 0.91), "too few runs"),  # and of two hardly more
        ((0.50, 0.51, 0.52), (0.90, 0.91), "too few runs"),
    ],
)
def test_standings_follow_the_interval_of_the_difference(quantitative, boolean, standing):
    results = summaries_of([cell_with("quantitative", *quantitative), cell_with("boolean", *boolean)])
    (found,) = compare(results, QUANTITATIVE)
    assert found.standing == standing
    assert found.difference.value == pytest.approx(np.mean(quantitative) - np.mean(boolean))


def test_best_is_compared_with_the_best_of_the_three():
    levels = {"base": 0.3, "boolean": 0.6, "quantitative": 0.5, "best": 0.7}
    results = summaries_of([cell_with(name, level, level, level + 0.01) for name, level in levels.items()])
    (found,) = compare(results, BEST)
    assert (found.reward, found.other, found.standing) == ("best", "boolean", "ahead")


def test_rows_with_gaps_are_not_compared():
    results = summaries_of([cell_with("best", 0.5), cell_with("base", 0.4)])
    assert compare(results, QUANTITATIVE) == []
    assert compare(results, BEST) == []
    assert over_environments(results) == {}
    assert profiles(results) == {}


def test_environments_weigh_the_same():
    full = [cell_with(reward, 0.2, task="taxi") for reward in REWARDS]
    full += [cell_with(reward, *[0.8] * 50, task="acrobot") for reward in REWARDS]
    totals, shares = over_environments(summaries_of(full)), profiles(summaries_of(full), points=11)
    assert list(totals) == list(shares) == list(REWARDS)
    assert totals["best"].value == pytest.approx(0.5)
    assert shares["best"].tolist() == [1.0, 1.0, *[0.5] * 6, 0.0, 0.0, 0.0]


def test_the_highlights_say_where_specs_lead_and_that_budgets_are_small():
    cells = [
        cell_with("base", 0.2, 0.205, 0.21),
        cell_with("quantitative", 0.3, 0.305, 0.31),
        cell_with("best", 0.8, 0.805, 0.81),
    ]
    cells += [cell_with(reward, 0.5, 0.6, 0.7, task="acrobot") for reward in ("base", "best")]
    cells += [
        cell_with("base", 0.9, 0.905, 0.91, task="sokoban"),
        cell_with("boolean", 0.1, 0.105, 0.11, task="sokoban"),
    ]
    ahead, level, behind, small = highlights(summaries_of(cells))
    assert (
        ahead == "A spec is ahead of the environment's own reward, in 1 of 3 environments: Taxi (Best, +60.0 points)."
    )
    assert "A spec and the environment's own reward cannot be told apart by so many runs" in level
    assert "in 1 of 3 environments: Acrobot (Best, +0.0 points)." in level
    assert behind == (
        "A spec is behind the environment's own reward, in 1 of 3 environments: Sokoban (Boolean, −80.0 points)."
    )
    assert "PPO with 0 to 0 % of the steps" in small


def test_too_few_runs_are_told_of_and_not_called_level():
    cells = [cell_with("base", 0.2, 0.21), cell_with("best", 0.8, 0.81)]
    found = [line for line in highlights(summaries_of(cells)) if "a spec" in line]
    assert found == [
        "Too few runs to tell whether a spec is ahead of the environment's own reward, in 1 of 1 environments: Taxi "
        "(Best, +60.0 points)."
    ]


def test_the_interval_of_a_difference_of_shares_stays_in_their_range():
    spec = 'atoms.goal = "next_obs == 15"\npairs = [["F goal", 1]]'
    study = own_study("FrozenLake-v1", {"reach": spec}, measure="F goal")
    cells = [
        dataclasses.replace(cell_with(reward, *means), task="FrozenLake-v1", reward=reward)
        for reward, means in (("base", (0.0, 0.0, 0.0)), ("reach", (0.0, 0.0, 0.9)))
    ]
    results = Summaries(study, cells)
    (found,) = compare(results, *study.contrasts)
    assert found.difference.high > 1.0
    said, *_ = highlights(results)
    assert said.endswith(": +30.0 points [−99.1, +100.0].")
    assert _compared(study, found, named=False)["text"] == "+30.0 [−99.1, +100.0]"


def test_without_the_environments_own_reward_there_is_nothing_to_lead():
    assert [line for line in highlights(summaries_of([cell_with("best", 0.5)])) if "A spec" in line] == []


def test_ones_own_study_is_compared_at_the_end_of_training():
    """The reward that learns slowly and ends ahead is behind over all of training."""
    late = [np.repeat([0.0, 0.9 + 0.01 * run], [90, 10]) for run in range(3)]
    early = [np.repeat([0.5 + 0.01 * run], 100) for run in range(3)]
    cells = [
        cell_of(log_of([[1.0] * 100] * 3, completion=values), "taxi", reward)
        for reward, values in (("boolean", early), ("quantitative", late))
    ]
    study = dataclasses.replace(STUDY, references={})
    (own,) = compare(Summaries(study, [summary_of(cell) for cell in cells]), QUANTITATIVE)
    (paper,) = compare(summaries_of(map(summary_of, cells)), QUANTITATIVE)
    assert (own.standing, paper.standing) == ("ahead", "behind")
