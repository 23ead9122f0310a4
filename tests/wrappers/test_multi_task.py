import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rewardspec as rs
from rewardspec.lab.tasks import worlds
from rewardspec.wrappers import MonitorReward, MultiTask


def office_specs():
    atoms = worlds.LabeledWorld(worlds.office_world()).atoms
    return [rs.Spec([(formula, 1, False)], atoms=atoms, payment="delta") for formula in worlds.formulas("office")]


def office(**changes):
    return MultiTask(worlds.LabeledWorld(worlds.office_world()), office_specs(), **changes)


def test_each_episode_pays_what_its_spec_alone_would():
    env, specs = office(), office_specs()
    rng = np.random.default_rng(0)
    for episode in range(8):
        obs, info = env.reset(seed=0 if episode == 0 else None)
        assert info["task"] == episode % 4
        alone = MonitorReward(worlds.LabeledWorld(worlds.office_world()), specs[episode % 4], observe="registers")
        alone.reset(seed=0)
        for _ in range(120):
            action = int(rng.integers(4))
            obs, reward, *_, info = env.step(action)
            _, expected, *_, own = alone.step(action)
            assert reward == expected
            assert info["formula_values"] == own["formula_values"]
            assert env.observation_space.contains(obs)
            assert obs[108 : 108 + 4].argmax() == episode % 4


def test_the_task_and_the_registers_are_in_the_observation():
    env = office()
    seen = [env.reset(options={"task": task})[0] for task in range(4)]
    assert len({tuple(obs) for obs in seen}) == 4
    assert env.reset()[1]["task"] == 0
    blind = office(observe=None)
    assert blind.observation_space.shape == (108 + 4,)


def test_tasks_can_be_drawn_and_a_seed_repeats_them():
    env = office(order="random")

    def drawn():
        return [env.reset(seed=3 if k == 0 else None)[1]["task"] for k in range(30)]

    first = drawn()
    assert set(first) == {0, 1, 2, 3}
    assert drawn() == first


def test_an_episode_ends_when_its_task_is_done_or_vetoed():
    atoms = {"goal": lambda o, a, n: n == 15, "hole": lambda o, a, n: n == 5}
    spec = rs.Spec([("F goal", 1), rs.Pair("G !hole", 0, veto=True, penalty=-1)], atoms=atoms, payment="delta")
    env = MultiTask(
        gym.make("FrozenLake-v1", is_slippery=False), [spec], terminate_on_violation=True, terminate_on_completion=True
    )
    env.reset(seed=0)
    assert [env.step(action)[2] for action in (2, 1)] == [False, True]
    env.reset()
    ends = [env.step(action)[1:3] for action in (2, 2, 1, 1, 1, 2)]
    assert ends[-1] == (1.0, True)


@pytest.mark.filterwarnings("ignore:.*(different from the unwrapped version|Box observation space)")
def test_gymnasium_finds_nothing_wrong_with_a_box_either():
    upright = {"upright": lambda o, a, n: abs(n[..., 2]) < 0.1, "left": lambda o, a, n: n[..., 0] < 0}
    specs = [rs.Spec([("G upright", 1)], atoms=upright), rs.Spec([("F(left & F upright)", 1)], atoms=upright)]
    env = MultiTask(gym.make("CartPole-v1").unwrapped, specs)
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("wrong", [{"specs": []}, {"specs": ["F a"]}, {"order": "shuffled"}])
def test_what_makes_no_sense_is_refused(wrong):
    env = worlds.LabeledWorld(worlds.office_world())
    with pytest.raises(rs.SpecError, match="should be"):
        MultiTask(env, **({"specs": office_specs()} | wrong))


@pytest.mark.parametrize("task", [4, -1, 1.0, "1", None, True])
def test_a_task_that_does_not_exist_is_refused_before_anything_is_reset(task):
    env = office()
    env.reset(seed=0)
    with pytest.raises(
        rs.SpecError, match=r"`options\['task'\]` should be the number of a task, from 0 to 3. Received"
    ):
        env.reset(options={"task": task})
    env.step(0)  # the episode goes on
    assert env.reset(options={"task": np.int64(3)})[1]["task"] == 3


@pytest.mark.parametrize("when", ["reset", "step"])
def test_an_episode_with_a_letter_missing_does_not_go_on(when):
    broken = False

    def goal(obs, action, next_obs):
        if broken:
            raise RuntimeError("no label")
        return float(next_obs == 15)

    env = MultiTask(gym.make("FrozenLake-v1", is_slippery=False), [rs.Spec([("F goal", 1)], atoms={"goal": goal})])
    env.reset(seed=0)
    broken = True
    with pytest.raises(rs.LabelError):
        env.step(2) if when == "step" else env.reset()
    broken = False
    with pytest.raises(gym.error.ResetNeeded, match=r"Call reset\(\) before step"):
        env.step(2)
    env.reset()
    env.step(2)
