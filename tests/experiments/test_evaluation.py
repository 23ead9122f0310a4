"""The paper's evaluation as a list of jobs."""

import pytest

from rewardspec import tasks
from rewardspec.errors import Error
from rewardspec.experiments.evaluation import describe, jobs_of
from rewardspec.experiments.rewards import RewardSetup, reward_setup


def test_everything_is_twelve_environments_with_four_rewards():
    jobs = jobs_of()
    assert len({(job.task, job.reward) for job in jobs}) == 48
    assert len({job.key for job in jobs}) == len(jobs)


def test_environments_and_rewards_can_be_chosen_by_any_of_their_names():
    jobs = jobs_of(["Frozen Lake", "taxi", "frozen-lake"], ["base", "boolean"], quick=True)
    found = [(job.task, job.reward) for job in jobs]
    assert list(dict.fromkeys(found)) == [
        ("frozen_lake", "base"),
        ("frozen_lake", "boolean"),
        ("taxi", "base"),
        ("taxi", "boolean"),
    ]
    with pytest.raises(Error, match=r"no environment 'taxy'.*Did you mean 'taxi'"):
        jobs_of(["taxy"])
    with pytest.raises(Error, match=r"There is no reward 'bool'; known: base, boolean"):
        jobs_of(rewards=["bool"])


def test_seeds_are_divided_into_blocks():
    jobs = jobs_of(["taxi"], ["base"], seeds=7, block=3)
    assert [tuple(job.seeds) for job in jobs] == [(0, 1, 2), (3, 4, 5), (6,)]


def test_whatever_changes_the_reward_changes_the_jobs_name():
    task = tasks.get("frozen_lake")
    spec = task.spec("boolean")
    setups = [
        reward_setup(task, "base"),
        RewardSetup(spec, None, ""),
        RewardSetup(spec, "registers", ""),
        RewardSetup(spec.replace(payment="delta"), None, ""),
        RewardSetup(spec.replace(penalty=-3.0), None, ""),
        RewardSetup(spec.replace(payment="potential"), None, ""),
        RewardSetup(spec.replace(payment="potential", discount=0.5), None, ""),
        RewardSetup(spec.replace(pairs=spec.pairs[:1]), None, ""),
    ]
    described = [str(describe(setup)) for setup in setups]
    assert len(set(described)) == len(described)
    assert describe(RewardSetup(spec, None, "one note")) == describe(RewardSetup(spec, None, "another"))


def test_results_from_another_source_are_kept_apart():
    ours, pooled = jobs_of(quick=True), jobs_of(quick=True, source="envpool")
    other = {one.task for one, two in zip(ours, pooled, strict=True) if one.key != two.key}
    assert other == {"lunar_lander", "bipedal_walker"}
