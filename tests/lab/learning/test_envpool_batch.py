"""A batch from EnvPool behaves like one of Gymnasium's environments, but for the random numbers."""

import itertools

import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.lab.learning.env_batches import LoopedBatch, make_batch
from rewardspec.lab.learning.settings import PPO
from rewardspec.lab.learning.training import train

pytest.importorskip("envpool")
POOLED = ("lunar_lander", "bipedal_walker")
pytestmark = pytest.mark.envpool


def random_play(batch, steps, seed=0):
    """The steps of random play; every list of actions is drawn anew."""
    rng = np.random.default_rng(seed)
    first, _ = batch.reset()
    found = []
    for _ in range(steps):
        if batch.action_space.dtype.kind == "f":
            actions = rng.uniform(-1.0, 1.0, (len(batch), *batch.action_space.shape)).astype(np.float32)
        else:
            actions = rng.integers(batch.action_space.n, size=len(batch))
        found.append(batch.step(actions))
    return first, found


def episodes(batch, steps):
    """Return and length of every episode that random play finished."""
    _, found = random_play(batch, steps)
    total, length, ended = np.zeros(len(batch)), np.zeros(len(batch)), []
    for step in found:
        total += step.reward
        length += 1
        over = step.terminated | step.truncated
        ended += zip(total[over], length[over], strict=True)
        total[over] = length[over] = 0.0
    return np.array(ended)


@pytest.mark.parametrize("name", POOLED)
def test_episodes_are_like_gymnasiums(name):
    task = tasks.get(name)
    copies, steps = (64, 400) if name == "lunar_lander" else (24, 400)
    ours, theirs = (episodes(make_batch(task, range(copies), source), steps) for source in ("envpool", "gymnasium"))
    assert min(len(ours), len(theirs)) > 40
    error = np.sqrt(ours.var(axis=0) / len(ours) + theirs.var(axis=0) / len(theirs))
    assert np.all(abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 4.5 * error)


@pytest.mark.parametrize("name", POOLED)
def test_a_copy_plays_the_same_whatever_stands_beside_it(name):
    task = tasks.get(name)
    alone = make_batch(task, [7], "envpool")
    among = make_batch(task, [1, 7, 2**32 - 1], "envpool")
    np.testing.assert_array_equal(alone.reset()[0][0], among.reset()[0][1])
    rng = np.random.default_rng(0)
    for _ in range(150):
        one = rng.uniform(-1.0, 1.0, 4).astype(np.float32) if name == "bipedal_walker" else rng.integers(4)
        here, there = alone.step(np.array([one])), among.step(np.array([one] * 3))
        for ours, theirs in zip(here[:5], there[:5], strict=True):
            np.testing.assert_array_equal(ours[0], theirs[1])


def test_an_episode_that_ends_is_followed_by_the_next_at_once_and_none_passes_the_limit():
    task = tasks.get("lunar_lander")
    _, found = random_play(make_batch(task, range(8), "envpool"), 300)
    ends = 0
    for step, after in itertools.pairwise(found):
        over = step.terminated | step.truncated
        ends += over.sum()
        np.testing.assert_array_equal(step.obs[~over], step.next_obs[~over])
        assert np.all(step.obs[over][:, 1] > 1.3)  # high up again
        assert not (after.terminated | after.truncated)[over].any()
    assert ends > 8


def test_arrays_of_earlier_steps_are_left_alone():
    first, found = random_play(make_batch(tasks.get("bipedal_walker"), range(3), "envpool"), 1)
    again, more = random_play(make_batch(tasks.get("bipedal_walker"), range(3), "envpool"), 40)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(found[0].obs, more[0].obs)


def test_training_takes_it():
    task = tasks.get("lunar_lander")
    logs = [
        train(task, None, config=PPO.discrete(total_steps=2048), seeds=range(2), source=source).log
        for source in ("envpool", "envpool", "gymnasium")
    ]
    np.testing.assert_array_equal(logs[0].reward, logs[1].reward)
    assert len(logs[0]) != len(logs[2]) or not np.array_equal(logs[0].reward, logs[2].reward)


def test_other_environments_are_not_taken_from_it():
    assert isinstance(make_batch(tasks.get("cart_pole"), [0], "envpool"), type(make_batch(tasks.get("cart_pole"), [0])))
    assert isinstance(make_batch(tasks.get("lunar_lander"), [0]), LoopedBatch)
