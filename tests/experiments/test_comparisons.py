"""Comparisons of rewards within and over environments."""

import numpy as np
import pytest

from rewardspec.experiments.comparisons import (
    best_and_others,
    over_environments,
    profiles,
    quantitative_and_boolean,
)
from rewardspec.experiments.rewards import REWARDS
from rewardspec.experiments.summaries import Summaries, summarise
from tests.experiments.synthetic import cell_of, log_of


def cell_with(reward, *run_means, task="taxi"):
    completion = [np.full(20, mean) for mean in run_means]
    return summarise(cell_of(log_of([[1.0] * 20] * len(run_means), completion=completion), task, reward))


@pytest.mark.parametrize(
    ("quantitative", "boolean", "standing"),
    [
        ((0.80, 0.82, 0.81), (0.50, 0.52, 0.51), "ahead"),
        ((0.50, 0.52, 0.51), (0.80, 0.82, 0.81), "behind"),
        ((0.50, 0.60, 0.70), (0.55, 0.65, 0.63), "level"),
        ((0.50,), (0.90,), "level"),  # of single runs nothing is known
    ],
)
def test_standings_follow_the_interval_of_the_difference(quantitative, boolean, standing):
    results = Summaries([cell_with("quantitative", *quantitative), cell_with("boolean", *boolean)])
    (found,) = quantitative_and_boolean(results)
    assert found.standing == standing
    assert found.difference.value == pytest.approx(np.mean(quantitative) - np.mean(boolean))


def test_best_is_compared_with_the_best_of_the_three():
    levels = {"base": 0.3, "boolean": 0.6, "quantitative": 0.5, "best": 0.7}
    results = Summaries([cell_with(name, level, level + 0.01) for name, level in levels.items()])
    (found,) = best_and_others(results)
    assert (found.reward, found.other, found.standing) == ("best", "boolean", "ahead")


def test_rows_with_gaps_are_not_compared():
    results = Summaries([cell_with("best", 0.5), cell_with("base", 0.4)])
    assert quantitative_and_boolean(results) == []
    assert best_and_others(results) == []
    assert over_environments(results) == {}
    assert profiles(results) == {}


def test_environments_weigh_the_same():
    full = [cell_with(reward, 0.2, task="taxi") for reward in REWARDS]
    full += [cell_with(reward, *[0.8] * 50, task="acrobot") for reward in REWARDS]
    totals, shares = over_environments(Summaries(full)), profiles(Summaries(full), points=11)
    assert list(totals) == list(shares) == list(REWARDS)
    assert totals["best"].value == pytest.approx(0.5)
    assert shares["best"].tolist() == [1.0, 1.0, *[0.5] * 6, 0.0, 0.0, 0.0]
