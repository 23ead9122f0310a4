"""The wrapper keeps what it was shown: nobody who writes into an observation later changes what an atom reads."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rewardspec.episodes.observation_copies import copied
from rewardspec.spec import Spec
from rewardspec.wrappers import MonitorReward
from rewardspec.wrappers import monitor_reward as module

SHOWN: dict[str, Callable[[np.ndarray], Any]] = {
    "the array itself": lambda place: place,
    "a view": lambda place: place[:],
    "a dict": lambda place: {"place": place},
    "a dict in a dict": lambda place: {"body": {"place": place}, "lives": 3},
    "a tuple": lambda place: (place, 1),
    "a list": lambda place: [place],
    "a copy": lambda place: place.copy(),
}


def number_in(observation: Any) -> float:
    while not isinstance(observation, np.ndarray):
        observation = next(iter(observation.values() if isinstance(observation, dict) else observation))
    return float(observation[0])


def moved(obs: Any, action: Any, next_obs: Any) -> float:
    return float(number_in(next_obs) != number_in(obs))


class OneArray(gym.Env):
    """Writes every observation into the same array."""

    observation_space = gym.spaces.Box(0, 99, (1,))
    action_space = gym.spaces.Discrete(2)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.place = np.zeros(1, dtype=np.float32)
        return SHOWN[self.kind](self.place), {}

    def step(self, action: int) -> Any:
        self.place += 1
        return SHOWN[self.kind](self.place), 0.0, False, False, {}


SPEC = Spec([("F G moved", 1)], atoms={"moved": moved})


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("kind", SHOWN)
def test_an_environment_may_write_over_its_observations(kind: str, record: bool) -> None:
    env = MonitorReward(OneArray(kind), SPEC, record=record)
    env.reset()
    assert [env.step(0)[1] for _ in range(4)] == [1.0] * 4


def test_an_agent_may_write_into_what_it_is_handed() -> None:
    env = MonitorReward(OneArray("a copy"), SPEC)
    observation, _ = env.reset()
    rewards = []
    for _ in range(4):
        observation[:] += 1  # what the next observation will be
        observation, reward, *_ = env.step(0)
        rewards.append(reward)
    assert rewards == [1.0] * 4


@pytest.mark.parametrize("again", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("kind", SHOWN)
def test_a_copy_of_the_wrapper_remembers_the_last_observation(kind: str, again: Any) -> None:
    env = MonitorReward(OneArray(kind), SPEC)
    env.reset()
    env.step(0)
    other = again(env)
    assert [other.step(0)[1] for _ in range(3)] == [1.0] * 3
    assert env.step(0)[1] == 1.0


def test_nothing_is_copied_for_atoms_of_the_state_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    copies = []
    monkeypatch.setattr(module, "copied", copies.append)
    of_states = Spec([("F high", 1)], atoms={"high": lambda obs, action, next_obs: next_obs[0] / 99})
    for spec in (of_states, of_states.boolean(), of_states.replace(clip=True)):
        env = MonitorReward(OneArray("the array itself"), spec)
        env.reset()
        env.step(0)
    assert copies == []


@pytest.mark.parametrize(
    "observation",
    [
        np.arange(3.0),
        np.array([[1, 2], [3]], dtype=object),
        {"a": np.zeros(2), "b": (np.ones(1), {"c": 4})},
        (1, np.int64(2), np.float32(0.5), "text", None),
        [np.zeros(1), {1}],
    ],
)
def test_copies_are_equal_and_share_no_array(observation: Any) -> None:
    again = copied(observation)
    np.testing.assert_equal(again, observation)
    assert type(again) is type(observation)
    if isinstance(observation, np.ndarray):
        assert not np.shares_memory(again, observation)
        assert observation.dtype != object or again[0] is not observation[0]
