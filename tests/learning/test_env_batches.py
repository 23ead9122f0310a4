"""Batches step like Gymnasium's own environments."""

import sys

import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.errors import Error, MissingExtraError
from rewardspec.learning.array_physics import CLASSIC, ClassicBatch
from rewardspec.learning.env_batches import LoopedBatch, make_batch

SEEDS = [3, 1, 4, 159]


def play(task, batch, steps, seed=0):
    """Random play, beside Gymnasium's environments with the same seeds: yields both sides of every comparison."""
    singles = [task.make() for _ in SEEDS]
    yield batch.reset(), np.array([env.reset(seed=s)[0] for env, s in zip(singles, SEEDS, strict=True)])
    space = batch.action_space
    space.seed(seed)
    for _ in range(steps):
        actions = np.array([space.sample() for _ in SEEDS])
        step = batch.step(actions)
        for k, env in enumerate(singles):
            obs, reward, terminated, truncated, info = env.step(actions[k])
            yield step.next_obs[k], obs
            yield step.reward[k], reward
            yield (step.terminated[k], step.truncated[k]), (terminated, truncated and not terminated)
            if terminated or truncated:
                yield task.task_completion(step.next_obs[k]), info["task_completion"]
                obs, _ = env.reset()
            yield step.obs[k], obs


@pytest.mark.parametrize("name", CLASSIC)
def test_array_physics_is_gymnasiums(name):
    task = tasks.get(name)
    for ours, theirs in play(task, ClassicBatch(task, SEEDS), 520):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("name", ["cart_pole", "mountain_car", "pendulum"])
def test_array_physics_is_gymnasiums_to_the_last_bits(name):
    task = tasks.get(name)
    for ours, theirs in play(task, ClassicBatch(task, SEEDS), 300, seed=1):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "steps"), [("lunar_lander", 150), ("bipedal_walker", 80), ("cart_pole", 100)])
def test_a_loop_over_environments_is_gymnasiums(name, steps):
    task = tasks.get(name)
    for ours, theirs in play(task, LoopedBatch(task, SEEDS), steps):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_arrays_of_earlier_steps_are_left_alone():
    batch = make_batch(tasks.get("cart_pole"), SEEDS)
    first = batch.reset()
    held = [first, *(batch.step(np.ones(4, dtype=np.int64)).obs for _ in range(5))]
    copies = [array.copy() for array in held]
    for _ in range(30):
        batch.step(np.ones(4, dtype=np.int64))
    for array, copy in zip(held, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_source_that_does_not_exist_or_is_not_installed_is_told(monkeypatch):
    with pytest.raises(Error, match=r"should be one of gymnasium, envpool\. Received 'envpol'\. Did you mean"):
        make_batch(tasks.get("lunar_lander"), SEEDS, "envpol")
    monkeypatch.setitem(sys.modules, "envpool", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rewardspec\[envpool\]'"):
        make_batch(tasks.get("lunar_lander"), SEEDS, "envpool")
