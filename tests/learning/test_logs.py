import numpy as np
import pytest

from rewardspec.learning.logs import TrainingLog


def log(runs, run, **columns):
    rows = {name: np.zeros(len(run)) for name in TrainingLog.columns_of_a_log()} | {"run": run} | columns
    return TrainingLog.of(runs, rows)


def test_concatenating_numbers_the_runs_anew():
    both = TrainingLog.concatenate([log(2, [0, 1, 1], length=[1, 2, 3]), log(3, [0, 2], length=[4, 5])])
    assert both.runs == 5
    assert both.run.tolist() == [0, 1, 1, 2, 4]
    assert both.length.tolist() == [1, 2, 3, 4, 5]
    assert both.length[both.episodes_of(1)].tolist() == [2, 3]
    assert both.length[both.episodes_of(3)].tolist() == []


def test_episodes_are_put_in_the_order_of_runs_and_keep_their_own():
    rows = {name: np.zeros(4) for name in TrainingLog.columns_of_a_log()}
    ordered = TrainingLog.ordered(2, rows | {"run": [1, 0, 1, 0], "end_step": [1, 2, 3, 4]})
    assert ordered.run.tolist() == [0, 0, 1, 1]
    assert ordered.end_step.tolist() == [2, 4, 1, 3]


@pytest.mark.parametrize(
    ("runs", "run", "columns"),
    [(2, [1, 0], {}), (1, [0, 1], {}), (2, [-1, 0], {}), (2, [0, 1], {"length": [1]}), (2, [[0, 1]], {})],
)
def test_what_no_log_can_be_is_refused(runs, run, columns):
    with pytest.raises(ValueError, match="should be"):
        log(runs, run, **columns)


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="length"):
        TrainingLog.of(1, {name: [] for name in TrainingLog.columns_of_a_log() if name != "length"})
