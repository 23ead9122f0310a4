"""Vector environments of torch and JAX: everything stays in their library, and equals what NumPy gives."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode

import rewardspec as rs
from rewardspec.wrappers.vector import MonitorReward
from tests.agreement.playback import OnDevice

FORMULAS = [("G upright", 1), ("F[0,9] right", 2)]
ATOMS = {
    "upright": lambda obs, action, next_obs: 1.0 - abs(next_obs[..., 2] / 0.21).clip(0.0, 1.0),
    "right": lambda obs, action, next_obs: (next_obs[..., 0] > obs[..., 0]) * 1.0,
}


def jax_array(values):
    return pytest.importorskip("jax").numpy.asarray(values)


def cartpoles(mode, **options):
    options = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}, **options}
    return gym.make_vec("CartPole-v1", num_envs=3, **options)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize(
    ("array", "observe"), [(torch.as_tensor, "registers"), (torch.as_tensor, "values"), (jax_array, "registers")]
)
def test_arrays_of_a_device_give_what_numpy_gives(array, mode, observe):
    spec = rs.Spec(FORMULAS, ATOMS, penalty=-1, payment="delta")
    host = MonitorReward(cartpoles(mode), spec, observe)
    envs = MonitorReward(OnDevice(cartpoles(mode), array), spec, observe)
    expected, found, rng = host.reset(seed=1), envs.reset(seed=1), np.random.default_rng(0)
    assert envs.observation_space == host.observation_space
    for _ in range(60 if array is torch.as_tensor else 15):
        same(found, expected, array)
        actions = rng.integers(2, size=3)
        expected, found = host.step(actions), envs.step(array(actions))
        ended = expected[2] | expected[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            same(found, expected, array)
            expected = host.reset(options={"reset_mask": ended})
            found = envs.reset(options={"reset_mask": ended.copy()})
    envs.check_labels()


def same(found, expected, array):
    kind = type(array(np.zeros(1)))
    for one, other in zip(found[:-1], expected[:-1], strict=True):
        assert type(one) is kind
        np.testing.assert_allclose(np.asarray(one), other, atol=1e-5)
    for infos, others in ((found[-1], expected[-1]), (found[-1].get("final_info"), expected[-1].get("final_info"))):
        if others is not None:
            for key in ("violated", "cost", "base_reward", "_base_reward"):
                if key in others:
                    np.testing.assert_allclose(np.asarray(infos[key]), others[key], atol=1e-5)
            for name, column in others["formula_values"].items():
                assert type(infos["formula_values"][name]) is kind
                np.testing.assert_allclose(np.asarray(infos["formula_values"][name]), column, atol=1e-5)
    for k, final in enumerate(expected[-1].get("final_obs", ())):
        if final is not None:
            np.testing.assert_allclose(np.asarray(found[-1]["final_obs"][k]), final, atol=1e-5)


def test_a_lost_final_observation_is_reported():
    class Lossy(OnDevice):
        def step(self, actions):
            *others, infos = super().step(actions)
            infos.pop("final_obs", None)
            return *others, infos

    envs = MonitorReward(Lossy(cartpoles(AutoresetMode.SAME_STEP), torch.as_tensor), rs.Spec(FORMULAS, ATOMS))
    envs.reset(seed=0)

    def play():
        for _ in range(50):
            envs.step(torch.ones(3, dtype=torch.int64))

    with pytest.raises(rs.errors.Error, match=r"no 'final_obs'.*SpecTerm"):
        play()


def test_an_entry_that_final_info_lacks_is_not_read_from_the_next_episode():
    class Winning(OnDevice):
        def reset(self, **options):
            observations, infos = super().reset(**options)
            return observations, {**infos, "won": torch.zeros(3)}

        def step(self, actions):
            *others, infos = super().step(actions)
            infos.setdefault("final_obs", others[0])
            return *others, {**infos, "won": torch.zeros(3), "final_info": {}}

    spec = rs.Spec([("F won", 1)], {"won": "info.won"})
    envs = MonitorReward(Winning(cartpoles(AutoresetMode.SAME_STEP), torch.as_tensor), spec)
    envs.reset(seed=0)
    with pytest.raises(rs.LabelError, match="'won'"):
        envs.step(torch.ones(3, dtype=torch.int64))


def test_labels_out_of_range_are_noted_until_asked_for():
    spec = rs.Spec([("F far", 1)], {"far": lambda obs, action, next_obs: next_obs[..., 1] * 9.0})
    envs = MonitorReward(OnDevice(cartpoles(AutoresetMode.NEXT_STEP), torch.as_tensor), spec)
    with pytest.raises(gym.error.ResetNeeded):
        _ = envs.monitor_state
    envs.reset(seed=0)
    for _ in range(5):
        envs.step(torch.ones(3, dtype=torch.int64))
    with pytest.raises(rs.LabelError, match=r"label of 'far' should be in \[0, 1\] and was not, in 3 of 3"):
        envs.check_labels()


def test_recording_is_refused():
    envs = MonitorReward(
        OnDevice(cartpoles(AutoresetMode.NEXT_STEP), torch.as_tensor), rs.Spec(FORMULAS, ATOMS), record=[0]
    )
    with pytest.raises(rs.SpecError, match="`record` keeps labels in Python"):
        envs.reset(seed=0)


def test_a_jax_environment_of_gymnasium_is_wrapped_as_it_is():
    jax = pytest.importorskip("jax")
    pytest.importorskip("gymnasium.envs.phys2d.cartpole")
    from gymnasium.envs.phys2d.cartpole import CartPoleJaxVectorEnv

    spec = rs.Spec([("G upright", 1)], {"upright": ATOMS["upright"]})
    envs = MonitorReward(CartPoleJaxVectorEnv(num_envs=4), spec, "registers")
    observations, _ = envs.reset(seed=0)
    assert isinstance(observations, jax.Array)
    _, rewards, *_, infos = envs.step(jax.numpy.ones(4, dtype=int))
    assert isinstance(rewards, jax.Array)
    np.testing.assert_allclose(rewards, infos["formula_values"]["G upright"])
