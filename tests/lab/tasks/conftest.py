"""Random episodes of every environment, recorded once for all tests."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from rewardspec import tasks

STEPS = 10_000


class Recording(NamedTuple):
    """Ten thousand transitions of random play, first axis time, and the last observation of every episode."""

    obs: Any
    action: Any
    next_obs: Any
    first: Any
    last: Any
    completions: list[float]


@functools.cache
def record(name: str) -> Recording:
    task = tasks.get(name)
    # The checker warns of observations outside Box2D's declared bounds, which are looser facts than the atoms' range.
    env = task.make(disable_env_checker=True)
    env.action_space.seed(0)
    obs, _ = env.reset(seed=0)
    transitions, first, last, completions = [], [obs], [], []
    for _ in range(STEPS):
        action = env.action_space.sample()
        next_obs, _, terminated, truncated, info = env.step(action)
        transitions.append((obs, action, next_obs))
        assert ("task_completion" in info) == (terminated or truncated)
        obs = next_obs
        if terminated or truncated:
            last.append(obs)
            completions.append(info["task_completion"])
            obs, _ = env.reset()
            first.append(obs)
    env.close()
    columns = (np.array(column) for column in zip(*transitions, strict=True))
    return Recording(*columns, np.array(first), np.array(last), completions)


@pytest.fixture
def recording() -> Callable[[str], Recording]:
    return record
