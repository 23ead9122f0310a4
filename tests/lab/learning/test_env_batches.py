"""Batches step like Gymnasium's own environments."""

import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from rewardspec import tasks
from rewardspec.errors import Error, MissingExtraError
from rewardspec.lab.learning.env_batches import LoopedBatch, batched_infos, make_batch
from rewardspec.lab.learning.physics_env import PhysicsBatch
from rewardspec.spec.atoms.batch_info import BatchInfo

SEEDS = [3, 1, 4, 159]
CLASSIC = ("acrobot", "cart_pole", "mountain_car", "pendulum")


def play(task, batch, steps, seed=0):
    """Random play, beside Gymnasium's environments with the same seeds: yields both sides of every comparison."""
    singles = [task.make() for _ in SEEDS]
    yield batch.reset()[0], np.array([env.reset(seed=s)[0] for env, s in zip(singles, SEEDS, strict=True)])
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
                if "task_completion" in info:
                    yield task.task_completion(step.next_obs[k]), info["task_completion"]
                obs, _ = env.reset()
            yield step.obs[k], obs


@pytest.mark.parametrize("name", CLASSIC)
def test_array_physics_is_gymnasiums(name):
    task = tasks.get(name)
    assert isinstance(make_batch(task, SEEDS), PhysicsBatch)
    for ours, theirs in play(task, make_batch(task, SEEDS), 520):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-4)


@pytest.mark.parametrize("name", ["cart_pole", "mountain_car", "pendulum"])
def test_array_physics_is_gymnasiums_to_the_last_bits(name):
    task = tasks.get(name)
    for ours, theirs in play(task, make_batch(task, SEEDS), 300, seed=1):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("name", "steps"), [("lunar_lander", 150), ("bipedal_walker", 80), ("cart_pole", 100)])
def test_a_loop_over_environments_is_gymnasiums(name, steps):
    task = tasks.get(name)
    for ours, theirs in play(task, LoopedBatch(task, SEEDS), steps):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_arrays_of_earlier_steps_are_left_alone():
    batch = make_batch(tasks.get("cart_pole"), SEEDS)
    first, _ = batch.reset()
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
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[envpool\]'"):
        make_batch(tasks.get("lunar_lander"), SEEDS, "envpool")


@pytest.mark.parametrize("env", ["CartPole-v0", "CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Pendulum-v1"])
def test_gymnasiums_own_ids_have_array_physics_too(env):
    task = tasks.get(env, specs={})
    batch = make_batch(task, SEEDS)
    assert isinstance(batch, PhysicsBatch)
    for ours, theirs in play(task, batch, 220):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-4)


def test_an_environment_that_is_made_differently_is_stepped_itself():
    gym.register("test/Weak-v0", "gymnasium.envs.classic_control.pendulum:PendulumEnv", kwargs={"g": 5.0})
    try:
        assert isinstance(make_batch(tasks.get("test/Weak-v0", specs={}), SEEDS), LoopedBatch)
    finally:
        del gym.registry["test/Weak-v0"]


class Counting(gym.Env):
    """Observes how many steps were taken, in several ways; ends after five, or is cut off by itself after three."""

    observation_space = spaces.Dict(
        number=spaces.Box(-np.inf, np.inf, (2, 1)),
        parity=spaces.Discrete(2),
        pair=spaces.MultiDiscrete([9, 3]),
    )
    action_space = spaces.Discrete(3, start=-1)

    def __init__(self, own_limit=99):
        self.own_limit = own_limit

    def _seen(self):
        number = np.full((2, 1), self.steps, dtype=np.float32)
        return {
            "number": number,
            "parity": np.int64(self.steps % 2),
            "pair": np.array([self.steps, 0]),
        }

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._seen(), {"steps": 0, "nested": {"a": 1.5}}

    def step(self, action):
        assert action in self.action_space
        self.steps += 1
        info = {"steps": self.steps, "nested": {"a": 0.5}, **({"odd": "yes"} if self.steps % 2 else {})}
        return self._seen(), float(action), self.steps == 5, self.steps == self.own_limit, info


def test_observations_of_any_space_are_batched_and_followed_by_first_ones():
    batch = LoopedBatch(tasks.Task(name="counting", env=Counting), [0, 1])
    first, info = batch.reset()
    assert first["pair"].tolist() == [[0, 0], [0, 0]]
    assert info["steps"].tolist() == [0, 0]
    assert info["nested"]["a"].tolist() == [1.5, 1.5]
    steps = [batch.step(np.array([-1, 1])) for _ in range(5)]
    assert [step.next_obs["number"][0, 0, 0] for step in steps] == [1, 2, 3, 4, 5]
    assert [step.obs["number"][0, 0, 0] for step in steps] == [1, 2, 3, 4, 0]
    assert steps[4].terminated.tolist() == [True, True]
    assert steps[4].info["steps"].tolist() == [5, 5]
    assert steps[4].first_info["steps"].tolist() == [0, 0]
    assert steps[0].info["odd"].tolist() == ["yes", "yes"]
    assert "odd" not in steps[1].info


def test_a_truncation_of_the_environments_own_counts():
    batch = LoopedBatch(tasks.Task(name="counting", env=lambda **_: Counting(own_limit=3)), [0])
    batch.reset()
    steps = [batch.step(np.array([0])) for _ in range(3)]
    assert [bool(step.truncated[0]) for step in steps] == [False, False, True]
    assert steps[2].obs["number"][0, 0, 0] == 0


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (3, 4, np.int64),
        (True, False, np.bool_),
        (1, 0.5, np.float64),
        (np.uint8(1), np.uint8(2), np.uint8),
        (np.float32([1, 2]), np.float32([3, 4]), np.float32),
        (2**63, -1, np.float64),
        ((np.uint32(1), np.uint32(2)), (np.uint32(3), np.uint32(4)), object),
        ([1, 2], [3, 4], object),
        ([1, 2], [3], object),
        ([(1, 2), 3], [(1, 2), 3], object),
        (np.zeros(2), np.zeros(3), object),
        (1.5, None, object),
        (None, None, object),
        ({"a": 1}, None, object),
        ({"a": 1}, [1], object),
        ("x", "y", object),
        (2**70, 1, object),
        (1j, 2j, object),
    ],
)
def test_anything_can_be_in_info(one, other, kind):
    column = batched_infos([{"x": one}, {}, {"x": other}])["x"]
    assert column.dtype == kind
    for place, value in ((0, one), (2, other)):
        assert column[place] is value if kind is object else np.all(column[place] == value)
    assert column[1] is None if kind is object else not np.any(column[1])


def test_tuples_and_lists_in_info_are_read_as_numbers():
    infos = batched_infos([{"at": (1, 2), "nested": {"path": [3]}}, {"at": (5, 6), "nested": {"path": [4]}}])
    seen = BatchInfo(infos, 2)
    assert seen["at"].tolist() == [[1, 2], [5, 6]]
    assert seen["nested"]["path"].tolist() == [[3], [4]]
