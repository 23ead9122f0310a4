"""What learners are given of several tasks, formulas about things among them."""

import gymnasium as gym
import numpy as np
import pytest

import rewardspec as rs

pytest.importorskip("stable_baselines3")

from stable_baselines3 import DQN
from stable_baselines3.common.logger import configure

from rewardspec.sb3 import CounterfactualReplayBuffer, FormulaLogger
from rewardspec.wrappers import MultiTask

ATOMS = {
    "still": lambda obs, action, next_obs: 1.0 - np.minimum(np.abs(next_obs[..., [1, 3]]), 1.0),
    "upright": lambda obs, action, next_obs: 1.0 - np.minimum(np.abs(next_obs[..., 2]) / 0.2, 1.0),
}
SPECS = [
    rs.Spec(
        [
            rs.Pair("forall part: G still(part)", 1, penalty=-1),
            rs.Pair("mean part: F(!still(part) & F still(part))", 2, veto=False, progress=True, payment="delta"),
        ],
        ATOMS,
        sorts={"part": ["cart", "pole"]},
    ),
    rs.Spec([rs.Pair("exists part: F[0,3] !still(part)", 1, veto=False)], ATOMS, sorts={"part": ["cart", "pole"]}),
    rs.Spec([("G upright", 1)], ATOMS),
]


def test_the_replay_buffer_has_the_rows_that_the_other_tasks_would_have_given():
    def played(task):
        env = MultiTask(gym.make("CartPole-v1"), SPECS)
        obs, _ = env.reset(seed=5, options={"task": task})
        for action in (1, 1, 0, 1):
            next_obs, reward, terminated, _, info = env.step(action)
            yield obs, next_obs, action, reward, terminated, info
            obs = next_obs

    space = MultiTask(gym.make("CartPole-v1"), SPECS)
    buffer = CounterfactualReplayBuffer(500, space.observation_space, space.action_space, "cpu", spec=SPECS)
    for obs, next_obs, action, reward, terminated, info in played(0):
        buffer.add(obs[None], next_obs[None], np.array([action]), np.array([reward]), np.array([terminated]), [info])
    stored = [
        (buffer.observations[k, 0], buffer.next_observations[k, 0], int(buffer.actions[k, 0, 0]), buffer.rewards[k, 0])
        for k in range(buffer.size())
    ]
    for task in range(len(SPECS)):
        for obs, next_obs, action, reward, _, _ in played(task):
            like = [row for row in stored if np.allclose(row[0], obs) and row[2] == action]
            assert len(like) == 1
            assert np.allclose(like[0][1], next_obs)
            assert like[0][3] == pytest.approx(reward, abs=1e-6)


def test_the_log_has_the_formulas_of_all_tasks(tmp_path):
    env = MultiTask(gym.make("CartPole-v1", max_episode_steps=5), SPECS)
    model = DQN("MlpPolicy", env, learning_starts=1_000, buffer_size=100)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(20, callback=FormulaLogger(), log_interval=3)
    model.logger.close()
    header = (tmp_path / "progress.csv").read_text(encoding="utf-8").splitlines()[0]
    for formula in ("forall part: G still(part)", "exists part: F[0:3] !still(part)", "G upright"):
        assert f"rewardspec/value/{formula}" in header
