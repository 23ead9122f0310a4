import numpy as np
import pytest

from rewardspec import envs
from rewardspec.experiments.measures.ceiling import best_completion, ceiling
from rewardspec.learning.finite_tables import finite_tables
from rewardspec.learning.q_learning import QLearning, learn_tables


def test_without_exploration_every_task_but_sokobans_box_can_be_done():
    for name in ("cliff_walking", "frozen_lake", "taxi", "island_navigation", "conveyor_belt"):
        tables = finite_tables(envs.get(name), None, None)
        assert best_completion(tables, np.array([0.0]), 100) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["frozen_lake", "cliff_walking", "island_navigation"])
def test_random_play_scores_what_the_ceiling_says_of_random_play(name):
    tables = finite_tables(envs.get(name), None, None)
    config = QLearning(episodes=200, epsilon_decay=1.0)
    log, _ = learn_tables(tables, config, range(100))
    deviation = log.task_completion.std() / np.sqrt(len(log))
    expected = best_completion(tables, np.array([1.0]), config.max_steps)[0]
    assert abs(log.task_completion.mean() - expected) < 5 * deviation


def test_no_learner_passes_the_ceiling():
    task, config = envs.get("frozen_lake"), QLearning()
    log, _ = learn_tables(finite_tables(task, task.spec("boolean"), "registers"), config, range(20))
    assert log.task_completion.mean() < ceiling(task, config)
