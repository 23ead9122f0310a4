import importlib.util
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import rewardspec as rs
from rewardspec import tasks
from rewardspec.lab.learning.env_batches import make_batch
from rewardspec.lab.learning.monitored_batch import MonitoredBatch
from rewardspec.lab.paper import further_atoms
from rewardspec.lab.paper.best import BEST
from rewardspec.lab.paper.evaluation import paper_reward, paper_study, paper_tasks
from rewardspec.spec.toml_reading import loads_spec
from rewardspec.spec.toml_writing import dumps_spec
from rewardspec.wrappers import MonitorReward


def load_script(name):
    path = Path(__file__).parents[3] / "docs" / "scripts" / f"{name}.py"
    found = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # where dataclasses look up their annotations
    found.loader.exec_module(module)
    return module


SCRIPT = load_script("reward_candidates")
CANDIDATES = {name: SCRIPT.candidates(tasks.get(name)) for name in tasks.names("paper")}


def test_every_environment_has_every_reward():
    assert set(BEST) == set(tasks.names("paper"))
    for name in tasks.names("paper"):
        for reward in paper_study().rewards:
            setup = paper_reward(tasks.get(name), reward)
            assert (setup.spec is None) == (reward == "base")
            assert setup.note.endswith(".")


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_every_candidate_runs_in_its_environment(name):
    """Labels in [0, 1] all along, which the spec checks itself; and what it pays is finite."""
    task = tasks.get(name)
    for candidate in CANDIDATES[name]:
        env = MonitorReward(task.make(), candidate.spec(task))
        env.reset(seed=3)
        env.action_space.seed(3)
        for _ in range(60):
            _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            assert np.isfinite(reward)
            if terminated or truncated:
                env.reset()
        env.close()


@pytest.mark.parametrize("name", ["acrobot", "mountain_car", "pendulum"])
def test_every_candidate_runs_in_a_batch(name):
    task = tasks.get(name)
    for candidate in CANDIDATES[name]:
        batch = MonitoredBatch(task, make_batch(task, range(4)), 2, candidate.spec(task), candidate.observe)
        assert batch.reset().shape == (4, batch.observation_size)
        space = batch.batch.action_space
        for _ in range(10):
            _, reward, *_ = batch.step(np.array([space.sample() for _ in range(4)]))
            assert np.isfinite(reward).all()


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_the_best_specs_can_be_saved(name):
    spec = paper_reward(tasks.get(name), "best").spec
    assert loads_spec(dumps_spec(spec)) == spec


@pytest.mark.parametrize("name", ["acrobot", "mountain_car"])
def test_energy_is_kept_without_a_motor(name):
    """What the motor does not add and friction does not take stays; the environment's own integrator aside."""
    task = tasks.get(name)
    energy = CANDIDATES[name][0].spec(task).atom_functions["energy"]
    env = task.make()
    seen, _ = env.reset(seed=1)
    idle = 1
    labels = []
    for _ in range(100):
        seen, *_ = env.step(idle)
        labels.append(float(energy(None, None, seen)))
    assert max(labels) - min(labels) < 0.01


def test_the_careful_way_keeps_clear_of_the_cliff():
    near = SCRIPT._careful_nearness()
    state, way = 36, []
    moves = rs.tasks.get("cliff_walking").make().unwrapped.P
    while state != 47:
        state = max((after for [(_, after, _, _)] in moves[state].values()), key=lambda after: near[after])
        way.append(state)
        assert len(way) < 48
    beside = [state for state in way if 25 <= state <= 34]
    assert beside == []


def test_no_reward_of_the_fourth_column_counts_the_steps_to_the_goal():
    known = paper_tasks()
    assert [name for name, task in known.items() if CANDIDATES[name][0].counts_steps(task)] == []
    counting = {name for name, task in known.items() if any(one.counts_steps(task) for one in CANDIDATES[name])}
    assert counting == {"cliff_walking", "frozen_lake", "taxi"}


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_at_most_one_other_candidate_is_the_best_by_task_completion(name):
    best, *others = CANDIDATES[name]
    assert not best.by_completion
    assert sum(one.by_completion for one in others) <= 1


def test_who_is_clear_of_the_cliff_cannot_fall_in_one_step():
    moves = tasks.get("cliff_walking").make().unwrapped.P
    clear = [state for state in moves if further_atoms.clear_of_the_cliff(None, None, state)]
    assert len(clear) == 24
    assert all(reward > -100 for state in clear for [(_, _, reward, _)] in moves[state].values())
    fatal = [state for state in moves for [(_, _, reward, _)] in moves[state].values() if reward == -100]
    assert set(fatal).isdisjoint(clear)
    assert fatal


def test_the_box_can_be_put_back_and_each_part_pays():
    """Aside to the right, past it, back to the left, and to the goal: no other order pays for all parts."""
    task = tasks.get("sokoban")
    candidate = next(one for one in CANDIDATES["sokoban"] if one.by_completion)
    env = MonitorReward(task.make(), candidate.spec(task))
    env.reset()
    way = "left down right down right right up left down down right"
    actions = {"up": 0, "down": 1, "left": 2, "right": 3}
    paid = []
    for word in way.split():
        *_, terminated, _, info = (step := env.step(actions[word]))
        paid.append(round(step[1]))
    assert terminated
    assert info["task_completion"] == 1.0
    assert sum(paid) == 100
    assert [place for place, reward in enumerate(paid) if reward] == [2, 5, 7, 10]


def test_engines_are_off_before_the_first_action():
    obs = np.zeros((3, 8))
    assert further_atoms.lander_firing(None, None, obs).tolist() == [0.0, 0.0, 0.0]
    assert further_atoms.lander_firing(obs, np.array([0, 2, 3]), obs).tolist() == [0.0, 1.0, 1.0]
    standing = np.array([[0, 0, 0, 0, 0, 0, 1, 1], [0, 0, 0, 0.06, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0, 1, 0]])
    assert further_atoms.lander_at_rest(None, None, standing).tolist() == [1.0, 0.0, 0.0]


def test_a_walker_is_gentle_by_the_torque_that_its_environment_charges_for():
    env = gym.make("BipedalWalker-v3").unwrapped
    env.reset(seed=0)
    for action in (np.zeros(4, np.float32), np.array([1.0, -0.5, 0.25, 3.0], np.float32)):
        env.prev_shaping = None  # so that the step pays for nothing but torque
        _, reward, *_ = env.step(action)
        gentle = further_atoms.walker_gentle(None, action, np.zeros(24))
        assert reward == pytest.approx((gentle - 1.0) * 4 * 0.00035 * 80)
    assert further_atoms.walker_gentle(None, None, np.zeros((2, 24))).tolist() == [1.0, 1.0]


def test_an_unknown_reward_is_refused_with_a_hint():
    with pytest.raises(rs.Error, match="Did you mean"):
        paper_reward(tasks.get("taxi"), "bolean")
    with pytest.raises(rs.Error, match="Did you mean"):
        paper_study().checked_reward("bst")
