import dataclasses

import numpy as np
import pytest

from rewardspec import envs
from rewardspec.errors import Error, PolicyFileError
from rewardspec.learning.playing import play
from rewardspec.learning.policies import load_policy
from rewardspec.learning.ppo import PPO
from rewardspec.learning.q_learning import QLearning
from rewardspec.learning.training import train


@pytest.fixture(scope="module")
def lake_policy():
    task = envs.get("frozen_lake")
    config = QLearning(episodes=1_500, learning_rate=0.1)
    return train(task, task.spec("boolean"), config=config, seeds=range(3), observe="registers").policy


@pytest.fixture(scope="module")
def pole_policy():
    task = envs.get("cart_pole")
    config = PPO.discrete(total_steps=1_024)
    return train(task, task.spec("quantitative"), config=config, seeds=[1, 2], observe="registers").policy


def test_a_learnt_table_crosses_the_lake(lake_policy):
    for run in range(3):
        episode = play(lake_policy, run=run)
        assert episode.task_completion == 1.0
        assert len(episode.actions) == 6
        assert len(episode.observations) == 7


def test_saving_keeps_everything(tmp_path, lake_policy, pole_policy):
    for policy in (lake_policy, pole_policy):
        policy.save(tmp_path / "policy.npz")
        loaded = load_policy(tmp_path / "policy.npz")
        assert dataclasses.replace(loaded, arrays={}) == dataclasses.replace(policy, arrays={})
        for name, array in policy.arrays.items():
            np.testing.assert_array_equal(array, loaded.arrays[name])
        assert play(loaded, run=1, seed=5).rewards == play(policy, run=1, seed=5).rewards
    assert [path.name for path in tmp_path.iterdir()] == ["policy.npz"]


def test_continuous_policies_play_within_the_bounds():
    task = envs.get("pendulum")
    config = PPO.continuous(total_steps=512, rollout_steps=256, minibatches=4)
    policy = train(task, None, config=config, seeds=[0]).policy
    episode = play(policy)
    assert len(episode.actions) == 200
    assert np.abs(episode.actions).max() <= 2.0
    assert 0.0 <= episode.task_completion <= 1.0


@pytest.mark.parametrize("content", [b"", b"not a file of ours", b"PK\x03\x04 damaged"])
def test_a_foreign_file_is_named(tmp_path, content):
    path = tmp_path / "foreign.npz"
    path.write_bytes(content)
    with pytest.raises(PolicyFileError, match=r"foreign\.npz"):
        load_policy(path)


def test_a_pickle_is_not_opened(tmp_path):
    np.savez(tmp_path / "pickle.npz", header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(PolicyFileError, match="not a policy"):
        load_policy(tmp_path / "pickle.npz")


def test_a_missing_file_and_a_missing_folder(tmp_path, lake_policy):
    with pytest.raises(PolicyFileError, match="No such file"):
        load_policy(tmp_path / "none.npz")
    with pytest.raises(PolicyFileError, match="No such file"):
        lake_policy.save(tmp_path / "none" / "policy.npz")


def test_a_run_that_is_not_there(lake_policy):
    with pytest.raises(Error, match="runs 0 to 2"):
        play(lake_policy, run=3)


@pytest.mark.parametrize("seeds", [[], [1, 1], [-1], [2**32]])
def test_seeds_that_are_none(seeds):
    with pytest.raises(Error, match="seeds"):
        train(envs.get("taxi"), None, config=QLearning(), seeds=seeds)


def test_a_learner_for_another_task():
    with pytest.raises(Error, match="Taxi is learnt with QLearning"):
        train(envs.get("taxi"), None, config=PPO(), seeds=[0])
