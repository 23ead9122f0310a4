"""Training logs for TensorBoard."""

import sys

import pytest

from rewardspec.errors import MissingExtraError
from rewardspec.experiments.outputs.tensorboard import check_tensorboard, write_tensorboard
from tests.experiments.fakes import job, log_of


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
    with pytest.raises(MissingExtraError, match=r"pip install 'rewardspec\[tensorboard\]'"):
        check_tensorboard()
