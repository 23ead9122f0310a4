import gymnasium as gym
import numpy as np
import pytest

import rewardspec as rs
from rewardspec import tasks
from rewardspec.lab.learning.finite_tables import finite_tables
from rewardspec.wrappers import MonitorReward

PAYMENTS = ("value", "delta", "potential", "final")
REWARDS = [None, *((kind, payment) for kind in ("boolean", "quantitative") for payment in PAYMENTS)]


@pytest.mark.parametrize("name", ["frozen_lake", "taxi", "conveyor_belt", "sokoban"])
@pytest.mark.parametrize("reward", REWARDS)
def test_walking_the_tables_pays_what_the_wrapped_environment_pays(name, reward):
    task = tasks.get(name)
    spec = None if reward is None else task.spec(reward[0], payment=reward[1], discount=0.9)
    tables = finite_tables(task, spec, "registers")
    env = task.make() if spec is None else MonitorReward(task.make(), spec)
    rng = np.random.default_rng(7)
    for seed in range(3):
        state, _ = env.reset(seed=seed)
        node = tables.starts[np.flatnonzero(tables.product.model.starts == state)[0]]
        over, steps = False, 0
        while not over:
            action = rng.integers(tables.successor.shape[1])
            state, reward, terminated, truncated, info = env.step(int(action))
            steps, over = steps + 1, terminated or truncated
            ours = tables.truncated_reward if truncated and not terminated else tables.reward
            assert ours[node, action, 0] == pytest.approx(float(reward), abs=1e-4)
            assert (tables.successor[node, action, 0] < 0) == terminated
            if over:
                assert tables.completion[node, action, 0] == pytest.approx(info["task_completion"])
            node = tables.successor[node, action, 0]
            assert terminated or tables.product.state[node] == state


def test_outcomes_of_chance_keep_their_probabilities():
    task = tasks.get("frozen_lake")
    slippery = task.replace(env="FrozenLake-v1", id=None)
    tables = finite_tables(slippery, None, None)
    assert tables.successor.shape[2] == 3
    assert tables.chances[0, 0, :2] == pytest.approx([1 / 3, 2 / 3])
    assert (tables.chances[..., -1] > 1).all()
    assert gym.make("FrozenLake-v1").unwrapped.P[0][0][0][1] == tables.product.state[tables.successor[0, 0, 0]]


def test_a_learner_that_sees_the_state_alone_sees_fewer_things():
    task = tasks.get("taxi")
    seen, all_nodes = (finite_tables(task, task.spec("boolean"), observe) for observe in (None, "registers"))
    assert seen.observations < all_nodes.observations == len(all_nodes.successor)
    assert len(np.unique(seen.observed)) == seen.observations


def test_what_a_table_cannot_observe_is_refused():
    with pytest.raises(rs.Error, match="state alone"):
        finite_tables(tasks.get("taxi"), None, "values")


def control_states(tables, plain, steps):
    """The control states in the observations along an episode that always takes the first action that goes on."""
    node, found = int(tables.starts[0]), []
    for _ in range(steps):
        found.append(tables.observed[node] // plain.observations)
        moves = tables.successor[node]
        node = int(moves[moves >= 0][0])
    return found


def test_a_quantitative_monitor_starts_in_a_control_state_of_its_own_and_then_alternates():
    task = tasks.get("frozen_lake")
    plain = finite_tables(task, task.spec("quantitative"), None)
    tables = finite_tables(task, task.spec("quantitative"), "start-and-parity")
    assert control_states(tables, plain, 7) == [0, 1, 2, 1, 2, 1, 2]
    assert tables.observations == 3 * plain.observations
    nodes = len(plain.observed)
    for phase, after in enumerate([1, 2, 1]):
        rows = slice(phase * nodes, (phase + 1) * nodes)
        expected = np.where(plain.successor < 0, -1, plain.successor + after * nodes)
        np.testing.assert_array_equal(tables.successor[rows], expected)
        for name in ("reward", "truncated_reward", "base_reward", "last_state", "chances", "violated", "group"):
            np.testing.assert_array_equal(getattr(tables, name)[rows], getattr(plain, name))
    assert [tables.seen(3, steps) for steps in range(6)] == [tables.observed[3 + k * nodes] for k in (0, 1, 2, 1, 2, 1)]


def test_a_counter_of_steps_is_a_new_control_state_at_every_step():
    task = tasks.get("frozen_lake")
    plain = finite_tables(task, task.spec("boolean"), "registers")
    tables = finite_tables(task, task.spec("boolean"), "registers-and-steps")
    limit = task.max_episode_steps
    assert control_states(tables, plain, limit) == list(range(limit))
    assert tables.observations == limit * plain.observations
    assert len({tables.seen(3, steps) for steps in range(limit)}) == limit


def test_a_counter_of_steps_needs_a_limit_of_steps():
    endless = tasks.get("frozen_lake").replace(max_episode_steps=None, id=None)
    with pytest.raises(rs.Error, match="limit of steps"):
        finite_tables(endless, None, "registers-and-steps")


def test_a_learner_of_tables_is_shown_what_its_task_shows():
    task = tasks.get("frozen_lake")
    rows = task.replace(shown=lambda states: states // 4, id=None)
    tables = finite_tables(rows, None, None)
    assert tables.observations == 4
    np.testing.assert_array_equal(tables.observed, tables.product.state // 4)
