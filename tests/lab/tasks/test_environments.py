"""All twelve environments as Gymnasium environments."""

from __future__ import annotations

import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from rewardspec import tasks
from rewardspec.errors import MissingExtraError, UnknownEnvironmentError

# What Gymnasium's checker remarks on its own environments, whose spaces are theirs to choose.
REMARKS = (
    ".*A Box observation space (minimum|maximum) value is.*infinity",
    ".*For Box action spaces, we recommend using a symmetric and normalized space",
)


def test_there_are_twelve_in_four_families():
    families = [tasks.get(name).family for name in tasks.names("paper")]
    assert families == ["Classic"] * 4 + ["Toy"] * 3 + ["Box2D"] * 2 + ["Safety gridworlds"] * 3


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_gymnasium_finds_nothing_wrong(name):
    env = tasks.get(name).make()
    with warnings.catch_warnings():
        for remark in REMARKS:
            warnings.filterwarnings("ignore", message=remark)
        check_env(env.unwrapped, skip_render_check=True)
    env.close()


@pytest.mark.parametrize("name", ["island_navigation", "conveyor_belt", "sokoban"])
def test_gymnasium_finds_nothing_wrong_with_the_rendering_of_the_gridworlds(name):
    check_env(tasks.get(name).make().unwrapped)


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_the_task_is_attached_and_the_spec_rebuilds_the_environment(name):
    task = tasks.get(name)
    env = task.make()
    assert env.get_wrapper_attr("task") is task
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert str(again) == str(env)
    assert env.get_wrapper_attr("spec").max_episode_steps == task.max_episode_steps


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_the_same_seed_gives_the_same_episode(name):
    def play():
        env = tasks.get(name).make(disable_env_checker=True)
        env.action_space.seed(1)
        trace = [env.reset(seed=1)[0]]
        trace += [env.step(env.action_space.sample())[:2] for _ in range(8)]
        return [np.asarray(part).tolist() for step in trace for part in (step if isinstance(step, tuple) else (step,))]

    assert play() == play()


def test_a_vector_of_environments_reports_completion_where_an_episode_ended():
    vector = gym.make_vec("rewardspec/FrozenLake-v0", num_envs=2)
    vector.reset(seed=0)
    for actions in ([2, 1], [2, 1], [1, 2], [1, 2], [1, 1]):
        *_, infos = vector.step(np.array(actions))
        assert "task_completion" not in infos
    *_, terminations, _, infos = vector.step(np.array([2, 0]))
    assert terminations.tolist() == [True, False]
    assert infos["task_completion"][0] == 1.0
    assert infos["_task_completion"].tolist() == [True, False]


def test_a_fall_from_the_cliff_ends_the_episode_on_the_cliff():
    env = tasks.get("cliff_walking").make()
    env.reset(seed=0)
    obs, reward, terminated, truncated, info = env.step(1)
    assert (obs, reward, terminated, truncated) == (37, -100, True, False)
    assert info["task_completion"] == 0.0


def test_cart_pole_pays_one_plus_the_proximity():
    task = tasks.get("cart_pole")
    env = task.make()
    env.reset(seed=0)
    obs, reward, *_ = env.step(1)
    assert reward == pytest.approx(1.0 + float(task.base_bonus(None, 1, obs)))
    assert reward == pytest.approx(1.0 + 1.0 - (2.0 - obs[0] - 0.1) / 2.3, abs=1e-6)


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownEnvironmentError, match="Did you mean 'frozen_lake'"):
        tasks.get("frozen_lak")


@pytest.mark.parametrize("name", ["bipedal_walker", "lunar_lander"])
def test_without_box2d_the_error_says_what_to_install(name, monkeypatch):
    for module in [module for module in sys.modules if module.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[box2d\]'"):
        tasks.get(name).make()


def test_without_pygame_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = tasks.get("mountain_car").make(render_mode="rgb_array")
    env.reset(seed=0)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[envs\]'"):
        env.render()
