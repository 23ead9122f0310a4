import dataclasses
import functools
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.lab.learning.finite_tables import finite_tables
from rewardspec.lab.learning.q_learning import QLearning, learn_tables

SCRIPT = importlib.util.spec_from_file_location("ceiling", Path(__file__).parents[3] / "docs/scripts/ceiling.py")
module = importlib.util.module_from_spec(SCRIPT)
SCRIPT.loader.exec_module(module)
best_completion, ceiling = module.best_completion, module.ceiling


def test_without_exploration_every_task_but_sokobans_box_can_be_done():
    for name in ("cliff_walking", "frozen_lake", "taxi", "island_navigation", "conveyor_belt"):
        tables = finite_tables(tasks.get(name), None, None)
        assert best_completion(tables, np.array([0.0]), 100) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["frozen_lake", "cliff_walking", "island_navigation"])
def test_random_play_scores_what_the_ceiling_says_of_random_play(name):
    tables = finite_tables(tasks.get(name), None, None)
    config = QLearning(episodes=200, epsilon_decay=1.0)
    log, _ = learn_tables(tables, config, range(100))
    deviation = log.task_completion.std() / np.sqrt(len(log))
    expected = best_completion(tables, np.array([1.0]), config.max_steps)[0]
    assert abs(log.task_completion.mean() - expected) < 5 * deviation


def plain_best(tables, explored: float, steps: int) -> float:
    """The definition, without arrays: the best policy for the steps that are left."""
    _, actions, outcomes = tables.successor.shape
    chances = np.diff(np.minimum(tables.chances, 1.0), axis=-1, prepend=0.0)

    @functools.cache
    def best(node: int, left: int) -> float:
        worths = []
        for action in range(actions):
            worth = 0.0
            for outcome in range(outcomes):
                place = node, action, outcome
                over = tables.successor[place] < 0 or left == 1
                after = tables.completion[place] if over else best(int(tables.successor[place]), left - 1)
                worth += float(chances[place]) * float(after)
            worths.append(worth)
        return explored * sum(worths) / actions + (1.0 - explored) * max(worths)

    return sum(p * best(int(node), steps) for node, p in zip(tables.starts, tables.product.initial, strict=True))


@pytest.mark.parametrize(
    "config",
    [
        QLearning(epsilon_decay=0.5, episodes=15, max_steps=10),  # at its minimum from the sixth episode on
        QLearning(epsilon=0.8, epsilon_decay=0.9, episodes=15, max_steps=10),  # never there
        QLearning(epsilon_decay=1.0, episodes=3, max_steps=10),
    ],
)
@pytest.mark.parametrize("name", ["frozen_lake", "cliff_walking", "island_navigation", "sokoban"])
def test_the_ceiling_is_the_mean_over_every_episode(name, config):
    task = tasks.get(name)
    tables = finite_tables(task, None, None)
    explored = [max(config.epsilon * config.epsilon_decay**n, config.epsilon_min) for n in range(config.episodes)]
    episodes = [plain_best(tables, share, config.max_steps) for share in explored]
    assert ceiling(task, config) == pytest.approx(np.mean(episodes), abs=1e-9)


def test_chances_count_where_an_action_has_several_outcomes():
    tables = finite_tables(tasks.get("frozen_lake"), None, None)

    def or_another_action_s(table):
        return np.concatenate([table, np.roll(table, 1, axis=1)], axis=-1)

    successor, completion = or_another_action_s(tables.successor), or_another_action_s(tables.completion)
    chances = np.broadcast_to(np.array([0.75, 2.0], dtype=np.float32), successor.shape)
    measures = {"task_completion": completion}
    slippery = dataclasses.replace(tables, chances=chances, successor=successor, measures=measures)
    assert best_completion(slippery, np.array([0.3]), 8) == pytest.approx(plain_best(slippery, 0.3, 8), abs=1e-9)


def test_shares_are_worked_on_in_parts_that_change_nothing(monkeypatch):
    tables = finite_tables(tasks.get("frozen_lake"), None, None)
    explored = np.linspace(0.0, 1.0, 7)
    whole = best_completion(tables, explored, 20)
    for cells in (1, 2 * tables.successor.size, 3 * tables.successor.size):
        monkeypatch.setattr(module, "_CELLS", cells)
        assert best_completion(tables, explored, 20) == pytest.approx(whole, abs=1e-12)


def test_no_learner_passes_the_ceiling():
    task, config = tasks.get("frozen_lake"), QLearning()
    log, _ = learn_tables(finite_tables(task, task.spec("boolean"), "registers"), config, range(20))
    assert log.task_completion.mean() < ceiling(task, config)
