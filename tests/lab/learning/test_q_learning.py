import dataclasses

import numpy as np
import pytest

import rewardspec as rs
from rewardspec import tasks
from rewardspec.audit.solving import solve
from rewardspec.finite.products import build_product
from rewardspec.lab.learning.finite_tables import finite_tables
from rewardspec.lab.learning.q_learning import learn_tables
from rewardspec.lab.learning.settings import QLearning
from rewardspec.lab.tasks.measures import RETURN, Measure

QUICK = QLearning(episodes=60)


def columns(log):
    return {name: column for name, column in log.columns().items() if name != "seconds"}


def lake(kind="boolean"):
    task = tasks.get("frozen_lake")
    return finite_tables(task, task.spec(kind), "registers")


def test_the_same_seeds_give_the_same_log_and_table():
    (first, table), (again, same_table) = (learn_tables(lake(), QUICK, range(5)) for _ in range(2))
    for name, column in columns(first).items():
        np.testing.assert_array_equal(column, columns(again)[name])
    np.testing.assert_array_equal(table, same_table)


def test_a_run_does_the_same_whichever_runs_it_is_trained_beside():
    together, table = learn_tables(lake(), QUICK, [3, 8, 5])
    alone, own_table = learn_tables(lake(), QUICK, [8])
    rows = together.episodes_of(1)
    for name in ("length", "reward", "end_step", "task_completion"):
        np.testing.assert_array_equal(getattr(together, name)[rows], getattr(alone, name))
    np.testing.assert_array_equal(table[1], own_table[0])
    assert not np.array_equal(table[0], table[1])


def test_the_table_is_what_plain_q_learning_makes_of_the_same_transitions():
    """An independent loop, fed with the random numbers of the program, arrives at the same table."""
    import jax

    tables, config = lake(), dataclasses.replace(QUICK, epsilon=0.7, learning_rate=0.25)
    log, table = learn_tables(tables, config, [4])
    values = np.zeros_like(table[0])
    node, step, episode, now, lengths = None, 0, 0, 0, []
    while episode < config.episodes:
        bits = np.asarray(jax.random.bits(jax.random.fold_in(jax.random.key(4), now), (4,)))
        chance = (bits >> 8) / 2**24
        node = int(tables.starts[0]) if node is None else node
        explores = chance[1] < max(config.epsilon * config.epsilon_decay**episode, config.epsilon_min)
        action = int(chance[2] * 4) if explores else int(np.argmax(values[node]))
        after = int(tables.successor[node, action, 0])
        step, now = step + 1, now + 1
        future = 0.0 if after < 0 else config.discount * values[after].max()
        values[node, action] += config.learning_rate * (tables.reward[node, action, 0] + future - values[node, action])
        node = after
        if after < 0 or step == config.max_steps:
            lengths.append(step)
            node, step, episode = None, 0, episode + 1
    assert log.length.tolist() == lengths
    np.testing.assert_allclose(table[0], values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["frozen_lake", "island_navigation"])
def test_with_time_it_learns_the_optimal_values(name):
    task = tasks.get(name)
    tables = finite_tables(task, None, "registers")
    config = QLearning(episodes=3_000, learning_rate=0.2, epsilon_decay=1.0)
    _, table = learn_tables(tables, config, range(4))
    product = build_product(tables.product.model, tables.product.spec)
    optimal = solve(product, config.discount).values
    np.testing.assert_allclose(table.max(axis=2)[:, 0], optimal[tables.starts[0]], rtol=0.02, atol=0.02)


def test_lengths_and_returns_add_up():
    log, _ = learn_tables(lake(), QUICK, range(6))
    assert len(log) == 6 * QUICK.episodes
    assert (log.length >= 1).all()
    assert (log.length <= QUICK.max_steps).all()
    for run in range(6):
        rows = log.episodes_of(run)
        np.testing.assert_array_equal(log.end_step[rows], np.cumsum(log.length[rows]))
        assert (np.diff(log.seconds[rows]) >= 0).all()


def test_progress_reaches_its_end():
    seen = []
    learn_tables(lake(), QUICK, range(3), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (180, 180)
    assert seen == sorted(seen)


@pytest.mark.parametrize("wrong", [{"episodes": 0}, {"max_steps": -1}, {"discount": 1.1}, {"epsilon": -0.1}])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(rs.Error, match=f"`{next(iter(wrong))}` should be"):
        QLearning(**wrong)


@pytest.mark.parametrize("env", ["FrozenLake-v1", "CliffWalking-v1"])
def test_a_measure_that_is_a_formula_is_its_value_at_the_end_and_changes_nothing_else(env):
    atoms = {"low": lambda o, a, n: (n >= 8) * 1.0, "left": lambda o, a, n: (n % 12 == 9) * 0.5}
    spec = rs.Spec([("F(low & F left)", 1)], atoms=atoms, payment="final")  # which pays that value at the end
    plain = tasks.Task.from_env(env, {"path": spec})
    measured = plain.replace(
        measures={
            "return": RETURN,
            "path": Measure.from_formula("F(low & F left)"),
            "low": Measure.from_formula("F G low"),
            "late": Measure(lambda obs: obs >= 8),
            "long": Measure(lambda end: end.length > 9, reads="ending"),
        }
    )
    config = QLearning(episodes=50, max_steps=40)
    (one, table), (two, same) = (
        learn_tables(finite_tables(task, spec, "registers"), config, range(3)) for task in (plain, measured)
    )
    np.testing.assert_array_equal(table, same)
    for name, column in columns(one).items():
        np.testing.assert_array_equal(column, columns(two)[name])
    np.testing.assert_array_equal(two.measures["path"], two.reward)
    np.testing.assert_array_equal(two.measures["low"], two.measures["late"])
    np.testing.assert_array_equal(two.measures["long"], two.length > 9)
    assert len(set(two.measures["path"])) > 1
