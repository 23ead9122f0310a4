"""A vector environment with a task for each episode pays as one with that task alone."""

import gymnasium as gym
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

import rewardspec as rs
from rewardspec.errors import SpecError
from tests.agreement.playback import OnDevice

ENVS = 5


def near(obs, action, next_obs):
    return 1.0 - np.minimum(np.abs(next_obs[..., 0]) / 0.5, 1.0)


def upright(obs, action, next_obs):
    return 1.0 - np.minimum(np.abs(next_obs[..., 2]) / 0.21, 1.0)


def still(obs, action, next_obs):
    return 1.0 - np.minimum(np.abs(next_obs[..., [1, 3]]), 1.0)  # of the cart, and of the pole


ATOMS = {"near": near, "upright": upright, "still": still}
SPECS = [
    rs.Spec([("G upright", 1)], ATOMS, payment="delta"),
    rs.Spec([("F !near", 2), ("G upright", 1, True)], ATOMS, penalty=-1),
    rs.Spec(
        [("now H[0,3] near", 1), rs.Pair("mean part: F(!still(part) & F still(part))", 1, progress=True)],
        ATOMS,
        payment="potential",
        sorts={"part": ["cart", "pole"]},
    ),
]


def make(mode):
    kwargs = {"vector_kwargs": {"autoreset_mode": mode}}
    return gym.make_vec("CartPole-v1", num_envs=ENVS, vectorization_mode="sync", **kwargs)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
@pytest.mark.parametrize("order", ["in turn", "random"])
def test_each_environment_is_paid_and_shown_what_its_task_says(mode, order):
    envs = rs.wrappers.vector.MultiTask(make(mode), SPECS, order=order)
    alone = [rs.wrappers.vector.MonitorReward(make(mode), spec, observe="registers") for spec in SPECS]
    observations, infos = envs.reset(seed=3)
    found = [each.reset(seed=3) for each in alone]
    rng, seen, ended, told = np.random.default_rng(0), set(), np.zeros(ENVS, dtype=bool), range(ENVS)
    for t in range(120):
        tasks, rows = infos["task"], range(ENVS)
        if t == 0 and order == "in turn":
            assert tasks.tolist() == [0, 1, 2, 0, 1]
        assert envs.observation_space.contains(observations)
        for k in rows:
            shown = found[tasks[k]][0][k]
            assert np.allclose(observations[k][:4], shown[:4])
            assert observations[k][4:7].tolist() == [float(number == tasks[k]) for number in range(3)]
            assert np.allclose(observations[k][7 : 7 + len(shown) - 4], shown[4:])
        for k in told:
            own = found[tasks[k]][-1]
            assert infos["violated"][k] == own["violated"][k]
            for name, column in own["formula_values"].items():
                assert infos["formula_values"][name][k] == column[k]
            for name, column in own.get("worst_things", {}).items():
                assert infos["worst_things"][name][k] == column[k]
        seen |= {(k, int(tasks[k])) for k in rows}
        told, actions = range(ENVS), rng.integers(0, 2, ENVS)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        found = [each.step(actions) for each in alone]
        for k in rows:
            assert rewards[k] == found[tasks[k]][1][k]
            assert infos["cost"][k] == found[infos["task"][k]][-1]["cost"][k]
        assert (infos["task"] == tasks)[~ended].all()
        ended = (terminated | truncated) if mode is AutoresetMode.NEXT_STEP else ended
        if mode is AutoresetMode.DISABLED and (mask := terminated | truncated).any():
            options = {"reset_mask": mask}
            observations, infos = envs.reset(options=options)
            found = [each.reset(options={"reset_mask": mask.copy()}) for each in alone]
            told = np.flatnonzero(mask)
    assert len(seen) > ENVS  # some environments have had several tasks


def test_a_seed_for_some_environments_leaves_the_tasks_of_the_others():
    envs = rs.wrappers.vector.MultiTask(make(AutoresetMode.DISABLED), SPECS)
    envs.reset(seed=0)
    _, infos = envs.reset(options={"reset_mask": np.array([True, False, True, False, False])})
    assert infos["task"].tolist() == [1, 1, 0, 0, 1]
    _, infos = envs.reset(seed=0, options={"reset_mask": np.array([True, True, False, False, False])})
    assert infos["task"].tolist() == [0, 1, 0, 0, 1]


@pytest.mark.parametrize("seed", [3, [3, 1, 4, 1, 5]])
def test_a_seed_decides_which_tasks_are_drawn(seed):
    envs = rs.wrappers.vector.MultiTask(make(AutoresetMode.NEXT_STEP), SPECS * 9, order="random")
    first, again = (envs.reset(seed=seed)[1]["task"].tolist() for _ in range(2))
    assert first == again


def test_there_may_be_hundreds_of_tasks():
    specs = [rs.Spec([("G upright", weight)], ATOMS) for weight in range(200)]
    envs = rs.wrappers.vector.MultiTask(make(AutoresetMode.NEXT_STEP), specs)
    observations, _ = envs.reset(seed=0)
    assert envs.observation_space.contains(observations)
    _, rewards, _, _, infos = envs.step(np.ones(ENVS, dtype=int))
    values = [infos["formula_values"]["G upright"][k] for k in range(ENVS)]
    assert rewards.tolist() == [weight * value for weight, value in enumerate(values)]


def test_what_does_not_fit_is_refused():
    with pytest.raises(SpecError, match="SAME_STEP"):
        rs.wrappers.vector.MultiTask(make(AutoresetMode.SAME_STEP), SPECS)
    with pytest.raises(SpecError, match="at least one"):
        rs.wrappers.vector.MultiTask(make(AutoresetMode.NEXT_STEP), [])
    with pytest.raises(SpecError, match="'in turn' or 'random'"):
        rs.wrappers.vector.MultiTask(make(AutoresetMode.NEXT_STEP), SPECS, order="sorted")


@pytest.mark.parametrize("array", [torch.as_tensor, jnp.asarray])
def test_arrays_of_other_libraries_are_refused(array):
    envs = rs.wrappers.vector.MultiTask(OnDevice(make(AutoresetMode.NEXT_STEP), array), SPECS)
    with pytest.raises(SpecError, match=r"chooses .* in NumPy. Received observations that are a \w+. Convert"):
        envs.reset(seed=0)
