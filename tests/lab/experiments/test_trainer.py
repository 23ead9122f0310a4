"""Doing a job for real."""

import numpy as np

from rewardspec.lab.experiments import provenance
from rewardspec.lab.experiments.jobs import Job
from rewardspec.lab.experiments.result_files import read
from rewardspec.lab.experiments.running import Trainer
from rewardspec.lab.learning.settings import QLearning

PAPER = {"study": "paper"}


def test_a_job_is_trained_and_its_result_tells_everything(tmp_path):
    job = Job("frozen_lake", "boolean", 3, 2, QLearning(episodes=30), {"observe": "registers", "payment": "value"})
    news = []
    path = tmp_path / f"{job.key}.npz"
    path.write_bytes(Trainer("rewardspec reproduce", PAPER)(job, lambda done, total: news.append((done, total))))
    result = read(path)
    assert news[-1] == (60, 60)
    assert (result.first, result.log.runs, len(result.log)) == (3, 2, 60)
    assert result.config["episodes"] == 30
    assert (result.commands, result.versions) == (("rewardspec reproduce",), provenance.versions())
    assert result.seconds > 0.0

    # A seed does the same whichever seeds it is trained beside.
    alone = Job("frozen_lake", "boolean", 4, 1, QLearning(episodes=30), job.setup)
    path = tmp_path / f"{alone.key}.npz"
    path.write_bytes(Trainer("", PAPER)(alone, lambda done, total: None))
    np.testing.assert_array_equal(read(path).log.reward, result.log.reward[result.log.episodes_of(1)])
