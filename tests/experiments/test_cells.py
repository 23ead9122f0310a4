"""Cells: what a training budget is counted in."""

import pytest

from rewardspec.experiments.cells import PAPER_REWARDS, TITLES, unit_of
from rewardspec.experiments.rewards import REWARDS
from rewardspec.tasks import registry
from tests.experiments.synthetic import cell_of, log_of


def test_rewards_are_the_papers_and_ours():
    assert (*PAPER_REWARDS, "best") == REWARDS
    assert set(TITLES) == set(REWARDS)


@pytest.mark.parametrize("name", registry.names())
def test_q_learning_counts_episodes_and_ppo_steps(name):
    task = registry.get(name)
    assert unit_of(task) == ("episodes" if task.learner == "q-learning" else "steps")
    assert cell_of(log_of([[1.0]]), name).unit == unit_of(task)
