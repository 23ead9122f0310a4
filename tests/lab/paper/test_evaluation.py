"""How much each environment is trained."""

import dataclasses

import pytest

from rewardspec import tasks
from rewardspec.errors import Error
from rewardspec.lab.experiments.jobs import Job, expected_seconds
from rewardspec.lab.learning.settings import PPO, QLearning
from rewardspec.lab.paper.evaluation import has_full_budget, paper_budget, paper_study

# The paper's tables of trials: runs, steps of a rollout, environments, steps of a run.
PPO_TRIALS = {
    "acrobot": (10, 128, 4, 500_000),
    "cart_pole": (10, 128, 4, 500_000),
    "mountain_car": (10, 128, 4, 500_000),
    "pendulum": (10, 2048, 1, 1_000_000),
    "bipedal_walker": (10, 2048, 1, 500_000),
    "lunar_lander": (10, 128, 4, 500_000),
}
TABULAR = ("conveyor_belt", "island_navigation", "sokoban", "cliff_walking", "frozen_lake", "taxi")


@pytest.mark.parametrize("name", PPO_TRIALS)
def test_ppo_has_the_papers_budget(name):
    budget = paper_budget(tasks.get(name))
    config = budget.config
    assert isinstance(config, PPO)
    assert (budget.seeds, config.rollout_steps, config.envs, config.total_steps) == PPO_TRIALS[name]


@pytest.mark.parametrize("name", TABULAR)
def test_q_learning_has_the_papers_budget(name):
    budget = paper_budget(tasks.get(name))
    assert budget.seeds == 500
    assert budget.config == QLearning(episodes=2_000, max_steps=100)


def test_every_environment_has_a_budget_and_a_smaller_one():
    assert {*PPO_TRIALS, *TABULAR} == set(tasks.names("paper"))
    for name in tasks.names("paper"):
        task = tasks.get(name)
        full, quick = paper_budget(task), paper_budget(task, True)
        seconds = [expected_seconds(task, budget.config, budget.seeds) for budget in (full, quick)]
        assert seconds[1] < seconds[0] / 2
        assert quick.seeds <= full.seeds


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_the_small_budgets_change_nothing_but_the_length_and_the_number_of_runs(name):
    full, quick = (paper_budget(tasks.get(name), quick).config for quick in (False, True))
    length = {"total_steps": full.total_steps} if isinstance(full, PPO) else {}
    assert dataclasses.replace(quick, **length) == full


def test_the_number_of_runs_can_be_chosen():
    jobs = paper_study().jobs(["taxi"], ["base"], seeds=7, block=3)
    assert [tuple(job.seeds) for job in jobs] == [(0, 1, 2), (3, 4, 5), (6,)]
    with pytest.raises(Error, match=r"`seeds` should be at least 1. Received 0"):
        paper_study().jobs(["taxi"], seeds=0)


def test_a_full_budget_is_the_papers_settings_on_the_papers_runs():
    for name in tasks.names("paper"):
        full, quick = paper_budget(tasks.get(name)), paper_budget(tasks.get(name), True)
        settings = Job(name, "base", 0, 1, full.config).settings
        assert has_full_budget(tasks.get(name), settings, full.seeds)
        assert not has_full_budget(tasks.get(name), settings, full.seeds - 1)
        assert not has_full_budget(tasks.get(name), settings | {"discount": 0.5}, full.seeds)
        assert not has_full_budget(tasks.get(name), Job(name, "base", 0, 1, quick.config).settings, quick.seeds)
