import numpy as np
import pytest

import rewardspec as rs
from rewardspec import tasks
from rewardspec.experiments.paper.candidates import CANDIDATES
from rewardspec.experiments.paper.evaluation import paper_reward, paper_study
from rewardspec.experiments.paper.further_atoms import _careful_nearness
from rewardspec.learning.env_batches import make_batch
from rewardspec.learning.monitored_batch import MonitoredBatch
from rewardspec.spec.toml_reading import loads_spec
from rewardspec.spec.toml_writing import dumps_spec
from rewardspec.wrappers import MonitorReward


def test_every_environment_has_every_reward():
    assert set(CANDIDATES) == set(tasks.names("paper"))
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
    near = _careful_nearness()
    state, way = 36, []
    moves = rs.tasks.get("cliff_walking").make().unwrapped.P
    while state != 47:
        state = max((after for [(_, after, _, _)] in moves[state].values()), key=lambda after: near[after])
        way.append(state)
        assert len(way) < 48
    beside = [state for state in way if 25 <= state <= 34]
    assert beside == []


def test_an_unknown_reward_is_refused_with_a_hint():
    with pytest.raises(rs.Error, match="Did you mean"):
        paper_reward(tasks.get("taxi"), "bolean")
    with pytest.raises(rs.Error, match="Did you mean"):
        paper_study().checked_reward("bst")
