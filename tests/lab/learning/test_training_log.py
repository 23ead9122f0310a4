import sys

import numpy as np
import pytest

from rewardspec.errors import MissingExtraError
from rewardspec.lab.learning.training_log import COLUMNS, TrainingLog, check_tensorboard, write_tensorboard
from tests.lab.experiments.fakes import job, log_of


def log(runs, run, **columns):
    rows = {name: np.zeros(len(run)) for name in (*COLUMNS, "task_completion")} | {"run": run} | columns
    return TrainingLog.from_columns(runs, rows)


def test_concatenating_numbers_the_runs_anew():
    both = TrainingLog.concatenate([log(2, [0, 1, 1], length=[1, 2, 3]), log(3, [0, 2], length=[4, 5])])
    assert both.runs == 5
    assert both.run.tolist() == [0, 1, 1, 2, 4]
    assert both.length.tolist() == [1, 2, 3, 4, 5]
    assert both.length[both.episodes_of(1)].tolist() == [2, 3]
    assert both.length[both.episodes_of(3)].tolist() == []


def test_episodes_are_put_in_the_order_of_runs_and_keep_their_own():
    rows = {name: np.zeros(4) for name in (*COLUMNS, "task_completion")}
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
        TrainingLog.from_columns(1, {name: [] for name in (*COLUMNS, "task_completion") if name != "length"})


# TensorBoard.


def test_each_run_has_a_folder_and_each_episode_a_point(tmp_path):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    log = log_of(job())
    folder = write_tensorboard(tmp_path, "taxi-base", log, range(2))
    assert folder == tmp_path / "taxi-base"
    assert sorted(path.name for path in folder.iterdir()) == ["seed0", "seed1"]
    (file,) = (folder / "seed1").iterdir()
    events = [Event.FromString(record) for record in records(file.read_bytes())]
    points = [
        (event.step, v.simple_value) for event in events for v in event.summary.value if v.tag == "episode/reward"
    ]
    rows = log.episodes_of(1)
    assert [step for step, _ in points] == log.end_step[rows].tolist()
    assert [value for _, value in points] == pytest.approx(log.reward[rows].tolist(), abs=1e-6)


def records(content: bytes):
    """The records of a TensorBoard file: a length, its checksum, the data, its checksum."""
    place = 0
    while place < len(content):
        length = int.from_bytes(content[place : place + 8], "little")
        yield content[place + 12 : place + 12 + length]
        place += 16 + length


def test_long_runs_are_told_in_means(tmp_path):
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    log = log_of(job(episodes=1200, count=1))
    folder = write_tensorboard(tmp_path, "taxi-base", log, range(1))
    (file,) = (folder / "seed0").iterdir()
    events = [Event.FromString(record) for record in records(file.read_bytes())]
    values = [v.simple_value for event in events for v in event.summary.value if v.tag == "episode/task_completion"]
    assert len(values) == 500
    assert sum(values) / 500 == pytest.approx(log.task_completion.mean(), abs=0.01)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[tensorboard\]'"):
        check_tensorboard()
