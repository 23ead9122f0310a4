"""The criteria of success of `benchmarks/craftax_tasks.py` beside the formulas that its rewards are made of."""

import functools
import importlib
from types import SimpleNamespace

import numpy as np
import pytest

import rewardspec as rs

pytestmark = [pytest.mark.jaxenvs, pytest.mark.filterwarnings("ignore")]  # the packages' own warnings

EPISODES = 120


@pytest.fixture(scope="module")
def tasks():
    pytest.importorskip("craftax")
    return importlib.import_module("craftax_tasks")


def levels(random, length, refill):
    """Return a level that falls by 1 now and then from 9, and rises by up to `refill` now and then."""
    change = random.choice([-1, 0, refill], size=length, p=[0.05, 0.93, 0.02])
    found = [9]
    for one in change[1:]:
        found.append(int(np.clip(found[-1] + one, 0, 9)))
    return found


def episode(random, tasks):
    """Return the states of an episode: achievements at random times, levels that fall and rise, sometimes a death."""
    length = int(random.integers(200, tasks.LIMIT + 1))
    often = random.random() < 0.7  # achievements early, in the order that the crafting table enforces
    times = random.integers(1, 200 if often else 400, size=22)
    times[[0, 1, 5]] = np.sort(random.integers(1, 280, size=3)) + np.arange(3)  # wood, table, pickaxe
    dies = random.random() < 0.2
    drink, food = levels(random, length + 1, 6), levels(random, length + 1, 6)
    return [
        SimpleNamespace(
            achievements=times <= t,
            timestep=t,
            player_drink=np.int32(drink[t]),
            player_food=np.int32(food[t]),
            player_health=np.int32(0 if dies and t == length else 5),
        )
        for t in range(length + 1)
    ]


def record_of(tasks, states):
    return tasks.Record(
        states[-1],
        np.array([min([t for t, s in enumerate(states) if s.achievements[k]], default=tasks.NEVER) for k in range(22)]),
        *(
            np.array([getattr(s, name) for s in states] + [0] * (tasks.LIMIT + 1 - len(states)), np.int8)
            for name in ("player_drink", "player_food")
        ),
    )


monitor = functools.cache(rs.synthesize)


def final_values(spec, states):
    """Return the value of each pair's formula at the end of an episode."""
    infos = [{"state": SimpleNamespace(env=state)} for state in states]
    trace = {
        name: np.array([float(atom(None, None, None, i)) for i in infos]) for name, atom in spec.atom_functions.items()
    }
    return [
        float(monitor(pair.formula).run({name: trace[name] for name in pair.formula.atoms})[-1]) for pair in spec.pairs
    ]


def test_random_play_is_a_row_of_each_task(tasks, tmp_path, capsys):
    device_jobs = importlib.import_module("device_jobs")
    job = {"task": "all", "reward": tasks.RANDOM, "seeds": [0], "episodes": 40, "envs": 32}
    result = tasks.train_job(job, tmp_path / "state.npz")
    assert all(0.0 <= result[name][0] <= 1.0 for name in (*tasks.TASKS, "died", "degree", "made wood"))
    assert result["made plant"][0] <= result["made sapling"][0]
    assert 0.2 < result["made wood"][0] < 0.8
    assert 50 < result["length"][0] <= tasks.LIMIT
    device_jobs.append(tmp_path / "results.jsonl", job, result)
    tasks.report(tmp_path / "results.jsonl")
    assert capsys.readouterr().out.count(f"| {tasks.RANDOM} | 0 |") == len(tasks.TASKS)


@pytest.mark.parametrize("name", ["drink", "eat", "thirst", "graded"])
def test_the_criterion_is_the_value_of_the_formula(tasks, name):
    task, random = tasks.TASKS[name], np.random.default_rng(0)
    spec, found = tasks.spec_of(task, tasks.AUTOMATON), []
    for _ in range(EPISODES):
        states = episode(random, tasks)
        (value,) = final_values(spec, states)
        assert bool(task.succeeded(record_of(tasks, states))) == (value == 1.0)
        found.append(value)
    assert 5 <= sum(found) <= EPISODES - 5  # both outcomes are there


def test_the_two_formulas_of_thirst_are_the_instruction(tasks):
    task, random, found = tasks.TASKS["thirst"], np.random.default_rng(3), []
    for _ in range(EPISODES):
        states = episode(random, tasks)
        (value,) = final_values(tasks.spec_of(task, tasks.AUTOMATON), states)
        assert min(final_values(tasks.spec_of(task, tasks.PROGRESS), states)) == value
        found.append(value)
    assert 5 <= sum(found) <= EPISODES - 5


def test_the_degree_is_the_level_of_the_graded_spec(tasks):
    random, found = np.random.default_rng(1), []
    spec = tasks.spec_of(tasks.TASKS["graded"], tasks.PROGRESS)
    for _ in range(100):
        states = episode(random, tasks)
        drink, food, alive = final_values(spec, states)
        degree = float(tasks.degree(record_of(tasks, states)))
        assert degree == pytest.approx((drink + food) / 2 if alive else 0.0)
        found.append(degree)
    assert len(set(found)) > 10


def test_a_record_grows_with_the_episode(tasks):
    states = episode(np.random.default_rng(2), tasks)
    record = tasks.Record.first(states[0])
    for state in states[1:]:
        record = record.after(state)
    for grown, whole in zip(record[1:], record_of(tasks, states)[1:], strict=True):
        np.testing.assert_array_equal(grown, whole)


@pytest.mark.parametrize("name", ["drink", "eat"])
def test_the_sapling_is_one_more_part_that_is_paid(tasks, name):
    done, levels = {"alive"}, []
    spec = tasks.spec_of(tasks.TASKS[name], tasks.SAPLING_TOO)
    (formula,) = (pair.formula for pair in spec.pairs)
    state = spec.start({atom: float(atom in done) for atom in formula.atoms})
    for achieved in (None, "cow", "drink", "sapling", "plant", "wood", "table", "pickaxe"):
        done.add(achieved)
        state, reward = spec.step(state, {atom: float(atom in done) for atom in formula.atoms})
        levels.append(reward)
    parts = len(formula.atoms) + 1  # `plant` and `pickaxe` stand in two parts, and `alive` in none of its own
    wanted = [0, int("cow" in formula.atoms), 1, 1, 2, 1, 1, 2]
    np.testing.assert_allclose(np.array(levels) * parts, wanted, atol=1e-6)


def test_planting_needs_a_sapling(tasks):
    """Random play of Craftax."""
    jax = pytest.importorskip("jax")
    env, count = tasks.recorded(), 256

    def play(key):
        reset_key, key = jax.random.split(key)

        def step(record, key):
            keys = jax.random.split(key)
            action = jax.random.randint(keys[0], (), 0, env.action_space.n)
            return env.step(keys[1], record, action)[0], None

        record = jax.lax.scan(step, env.reset(reset_key)[0], jax.random.split(key, tasks.LIMIT - 1))[0]
        return record.time("COLLECT_SAPLING"), record.time("PLACE_PLANT")

    sapling, plant = map(np.asarray, jax.jit(jax.vmap(play))(jax.random.split(jax.random.key(0), count)))
    planted = plant < tasks.NEVER
    assert planted.sum() > 5
    assert (sapling[planted] < plant[planted]).all()
