"""No learner goes on from an observation, a reward or a parameter that is not finite."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import Spec
from rewardspec.cli import main
from rewardspec.errors import Error
from rewardspec.lab.learning.settings import PPO, SB3, QLearning
from rewardspec.lab.learning.training import train
from rewardspec.lab.tasks.task import Task

SMALL = PPO(total_steps=64, rollout_steps=16, envs=2)
MODEL = SB3(algorithm="DQN", total_steps=60, options={"learning_starts": 10, "policy_kwargs": {"net_arch": [4]}})
LEARNERS = [pytest.param(SMALL, id="ppo"), pytest.param(MODEL, id="sb3")]


class Broken(gym.Env):
    """Episodes of six steps, one number of which is not finite."""

    observation_space, action_space = gym.spaces.Box(-np.inf, np.inf, (3,)), gym.spaces.Discrete(2)

    def __init__(self, what: str = "", at: int = 3, value: float = np.nan) -> None:
        self.what, self.at, self.value = what, at, value

    def _seen(self) -> np.ndarray:
        obs = np.full(3, self.t / 6, dtype=np.float32)
        if self.what == "observation" and self.t == self.at:
            obs[1] = self.value
        return obs

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._seen(), {}

    def step(self, action):
        self.t += 1
        reward = self.value if self.what == "reward" and self.t == self.at else 1.0
        return self._seen(), reward, self.t == 6, False, {}


def task_of(**options) -> Task:
    return Task.from_env(lambda: Broken(**options), name="broken", title="Broken")


@pytest.mark.filterwarnings("ignore:.*not within the observation space")  # by Gymnasium, of NaN after reset
@pytest.mark.parametrize("config", LEARNERS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("at", [0, 3, 6])  # after reset, amid an episode, and at its end
@pytest.mark.parametrize("paid", ["own", "spec"])
def test_an_observation_stops_the_training(config, value, at, paid):
    spec = None if paid == "own" else Spec([("F up", 1)], atoms={"up": lambda o, a, n: (n[..., 0] > 0.5) * 1.0})
    complaint = rf"observation of Broken in environment 0 of run 0, after step {at} of its episode, should be finite.*"
    with pytest.raises(Error, match=rf"{complaint}Received {value} \(number 1\)"):
        train(task_of(what="observation", at=at, value=value), spec, config=config, seeds=[0])


@pytest.mark.parametrize("config", LEARNERS)
@pytest.mark.parametrize("at", [3, 6])
def test_a_reward_stops_the_training(config, at):
    complaint = rf"reward of Broken in environment 0 of run 0, after step {at} of its episode, should be finite.*nan"
    with pytest.raises(Error, match=complaint):
        train(task_of(what="reward", at=at), None, config=config, seeds=[0])


@pytest.mark.parametrize("config", LEARNERS)
def test_what_a_spec_pays_stops_the_training(config):
    atoms = {"up": lambda o, a, n: n[..., 0] - 0.5}
    spec = Spec([("F[2,5] up", 1, False)], atoms=atoms, semantics="robustness", bound=np.inf)
    with pytest.raises(Error, match=r"reward that the spec pays in Broken .*should be finite. Received -inf"):
        train(task_of(), spec, config=config, seeds=[0])


def test_a_table_of_infinite_rewards_is_refused():
    atoms = {"goal": lambda o, a, n: (n == 15) - 0.5}
    spec = Spec([("F[2,5] goal", 1, False)], atoms=atoms, semantics="robustness", bound=np.inf)
    with pytest.raises(Error, match=r"spec pays in .*, in state 0 for action 0, should be .* Received -inf"):
        train(Task.from_env("FrozenLake-v1"), spec, config=QLearning(episodes=5), seeds=[0])


@pytest.mark.parametrize(
    ("task", "config"),
    [
        (task_of(), PPO(total_steps=64, rollout_steps=16, envs=2, learning_rate=1e38, max_grad_norm=1e30)),
        (task_of(), SB3(algorithm="DQN", total_steps=60, options={"learning_starts": 10, "learning_rate": 1e36})),
        (Task.from_env("FrozenLake-v1"), QLearning(episodes=50, initial_value=3e38, discount=1.0, learning_rate=1.0)),
    ],
    ids=["ppo", "sb3", "q-learning"],
)
def test_parameters_that_are_not_finite_are_no_result(task, config):
    spec = Spec([("F true", 3e38)]) if isinstance(config, QLearning) else None
    with pytest.raises(Error, match=r"diverged: after .* are not finite any more. Lower the learning rate"):
        train(task, spec, config=config, seeds=[0])


def test_the_command_fails_and_leaves_what_was_saved(tmp_path, monkeypatch, capsys):
    (tmp_path / "broken_world.py").write_text(
        "from tests.lab.learning.test_finite_numbers import Broken\n"
        "class Nan(Broken):\n    def __init__(self, **_): super().__init__('observation')\n"
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.npz").write_bytes(b"an earlier policy")
    asked = ["train", "broken_world:Nan", "--set", "rollout_steps=16", "--steps", "64", "-o", "old.npz"]
    assert main(asked) == 2
    assert "should be finite. Received nan" in capsys.readouterr().err
    assert (tmp_path / "old.npz").read_bytes() == b"an earlier policy"
