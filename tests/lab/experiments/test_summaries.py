"""Summaries of cells, and what they say about each other."""

import dataclasses
import json
import math

import numpy as np
import pytest

from rewardspec.errors import Error
from rewardspec.lab.experiments.summaries import summarize
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.lab.tasks import Measure
from tests.lab.experiments.synthetic import STUDY, cell_of, learning_cell, log_of, summaries_of, summary_of

STEADY = [5.0] * 200
RISING = list(np.arange(200.0) + 1)


def cell_with(completion, rewards=STEADY, task="frozen_lake", reward="base", runs=3):
    values = [np.full(len(rewards), completion)] * runs
    return summary_of(cell_of(log_of([rewards] * runs, completion=values), task, reward))


def test_a_summary_counts_what_there_was():
    log = log_of([[1.0] * 10, [2.0] * 30], completion=[np.full(10, 0.25), np.full(30, 0.75)], length=7)
    found = summary_of(cell_of(log))
    assert (found.runs, found.episodes, found.steps) == (2, 40, 280)
    assert found.completion.value == pytest.approx((10 * 0.25 + 30 * 0.75) / 40)
    assert found.completion_over_runs.value == pytest.approx(0.5)
    assert found.final.value == pytest.approx(0.5)
    assert found.final_reward == pytest.approx((1.0 + 3 * 2.0) / 4)
    assert found.final_over_runs["reward"] == found.final_over_runs["base_reward"] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("lengths", "by_steps", "by_episodes"),
    [
        ([1] * 19 + [181], 1.0, 1.0),  # of the steps, the last tenth is the last episode alone
        ([100] + [1] * 19, 2 / 12, 1.0),  # here it is the last twelve
    ],
)
def test_the_end_of_training_is_counted_in_the_learners_unit(lengths, by_steps, by_episodes):
    columns = log_of([[0.0] * 18 + [1.0] * 2]).columns() | {"length": lengths, "end_step": np.cumsum(lengths)}
    log = TrainingLog.from_columns(1, columns)
    assert summary_of(cell_of(log, "pendulum")).final.value == pytest.approx(by_steps)
    assert summary_of(cell_of(log, "frozen_lake")).final.value == pytest.approx(by_episodes)


def test_a_cell_without_episodes_says_so():
    with pytest.raises(Error, match="No run of taxi with the reward 'best' finished an episode"):
        summary_of(cell_of(log_of([[], []]), "taxi", "best"))


def test_a_summary_is_json_and_what_is_unknown_is_null():
    found = summary_of(cell_of(log_of([RISING])))
    data = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert data["completion_over_runs"]["low"] is None
    assert data["convergence_episode"] is None
    assert data["config"]["episodes"] == 2000
    assert "final_scores" not in data
    assert math.isnan(found.completion_over_runs.low)


def test_the_same_cell_has_the_same_summary():
    one, two = (summary_of(learning_cell("taxi", "boolean")).as_json() for _ in range(2))
    assert one == two


# The star and the best of the row.


def test_a_star_marks_convergence_below_another_reward():
    results = summaries_of([cell_with(0.5), cell_with(0.6, reward="boolean")])
    assert results.is_starred("frozen_lake", "base")
    assert not results.is_starred("frozen_lake", "boolean")


def test_without_convergence_there_is_no_star():
    results = summaries_of([cell_with(0.5, RISING), cell_with(0.6, reward="boolean")])
    assert not results.is_starred("frozen_lake", "base")


def test_the_papers_three_are_compared_among_each_other_and_best_with_them():
    results = summaries_of([cell_with(0.5), cell_with(0.9, reward="best")])
    assert not results.is_starred("frozen_lake", "base")
    assert not results.is_starred("frozen_lake", "best")
    results = summaries_of([cell_with(0.5), cell_with(0.4, reward="best")])
    assert results.is_starred("frozen_lake", "best")


def test_equal_completion_earns_no_star():
    results = summaries_of([cell_with(0.5), cell_with(0.5, reward="quantitative")])
    assert not results.is_starred("frozen_lake", "base")
    assert not results.is_starred("frozen_lake", "quantitative")


def test_what_is_missing_is_known():
    results = summaries_of([cell_with(0.5)])
    assert len(results.missing()) == len(STUDY.cells) - 1 == 47
    assert results.get("taxi", "base") is None
    assert list(results.of("frozen_lake")) == ["base"]


def test_two_results_of_one_cell_are_refused():
    with pytest.raises(Error, match="two results for frozen_lake with the reward 'base'"):
        summaries_of([cell_with(0.5), cell_with(0.6)])


def test_a_cell_of_another_table_is_refused():
    with pytest.raises(Error, match="no place for 'frozen_lake' with the reward 'mine'"):
        summaries_of([cell_with(0.5, reward="mine")])


def test_further_measures_are_summarized_over_the_last_tenth():
    columns = log_of([[0.5] * 20, [0.7] * 20]).columns() | {"success": [0.0] * 18 + [1.0] * 2 + [0.0] * 20}
    columns |= {"of a former study": [0.0] * 40}
    lake = STUDY.tasks["frozen_lake"]
    lake = lake.replace(measures={**lake.measures, "success": Measure(lambda obs: obs == 15)})
    study = dataclasses.replace(STUDY, tasks={"frozen_lake": lake})
    found = summarize(cell_of(TrainingLog.from_columns(2, columns)), study)
    assert {name: estimate.value for name, estimate in found.final_measures.items()} == {"success": 0.5}
    assert found.final.value == pytest.approx(0.6)
