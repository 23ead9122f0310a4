"""Jobs and their keys."""

import dataclasses
import pickle

from rewardspec.lab.experiments import jobs
from rewardspec.lab.learning.settings import PPO
from tests.lab.experiments.fakes import job


def test_the_key_tells_the_job_apart_from_every_other():
    all_jobs = [job(), job("sokoban"), job(reward="best"), job(first=2), job(count=3), job(episodes=6), job(rate=0.2)]
    assert len({one.key for one in all_jobs}) == len(all_jobs)


def test_the_key_is_the_same_on_every_machine_and_another_for_another_revision(monkeypatch):
    monkeypatch.setattr(jobs, "REVISION", 2)
    assert job().key == "taxi-base-seeds0-1-34c63387"
    monkeypatch.setattr(jobs, "REVISION", 3)
    assert job().key != "taxi-base-seeds0-1-34c63387"


def test_a_later_setting_that_is_off_does_not_change_the_key():
    plain, scaled = (dataclasses.replace(job(), config=PPO(scale_actions=on)) for on in (False, True))
    assert "scale_actions" not in plain.settings
    assert scaled.key != plain.key


def test_what_it_is_expected_to_cost_does_not_change_the_key():
    assert job(cost=1.0).key == job(cost=2.0).key


def test_jobs_travel_to_other_processes():
    assert pickle.loads(pickle.dumps(job())) == job()


def test_people_read_the_label():
    assert job().label == "taxi base, seeds 0-1"
    assert job(first=3, count=1).label == "taxi base, seed 3"
    assert job().unit == "episodes"
