"""Atoms that read `info` have, in every autoreset mode, the labels that each environment alone gives them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import rewardspec as rs
from rewardspec.wrappers import MonitorReward as Single
from rewardspec.wrappers.vector import MonitorReward

COUNT = 4


class Walk(gym.Env[Any, int]):
    """A random walk that tells in its info, and only there, where it is."""

    observation_space, action_space = gym.spaces.Box(0, 1, (1,)), gym.spaces.Discrete(2)

    def __init__(self, always: bool = True) -> None:
        self.always = always  # whether every step tells as much as the reset

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        super().reset(**kwargs)
        self.place = int(self.np_random.integers(3, 6))
        return np.zeros(1, dtype=np.float32), self.info(0)

    def info(self, action: int) -> dict[str, Any]:
        return {"place": self.place, "pair": (self.place, action), "inner": {"share": np.float64(self.place / 8)}}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place += 2 * action - 1
        info = self.info(int(action)) if self.always else {"pair": (self.place, action)}
        return np.zeros(1, dtype=np.float32), 0.5, self.place in (0, 8), False, info


def near(obs: Any, action: Any, next_obs: Any, info: Any) -> Any:
    return 1 - abs(info["place"] - 4) / 4


def spec(**options: Any) -> rs.Spec:
    atoms = {
        "near": near,
        "far": "info.inner.share",
        "right": "info.pair[1] == 1",
        "still": lambda o, a, n: 1 - n[..., 0],
    }
    return rs.Spec(
        [("F far", 1), ("G near", 2), ("F G right", 0.5), ("F still", 1)], atoms=atoms, penalty=-1, **options
    )


@pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_labels_are_those_of_each_environment_alone(mode: AutoresetMode, payment: Any) -> None:
    around_each = SyncVectorEnv([lambda: Single(Walk(), spec(payment=payment))] * COUNT, autoreset_mode=mode)
    around_all = MonitorReward(SyncVectorEnv([Walk] * COUNT, autoreset_mode=mode), spec(payment=payment))
    actions = np.random.default_rng(0)
    assert data_equivalence(around_each.reset(seed=0), around_all.reset(seed=0), exact=True)
    ends = 0
    for _ in range(120):
        taken = actions.integers(2, size=COUNT)
        one, other = around_each.step(taken), around_all.step(taken)
        assert data_equivalence(one, other, exact=True)
        ended = one[2] | one[3]
        ends += int(ended.sum())
        if mode is AutoresetMode.DISABLED and ended.any():
            for envs in (around_each, around_all):
                envs.reset(options={"reset_mask": ended})
    assert ends > COUNT


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_no_label_of_a_step_is_made_of_what_only_a_reset_told(mode: AutoresetMode) -> None:
    envs = MonitorReward(SyncVectorEnv([lambda: Walk(always=False)] * COUNT, autoreset_mode=mode), spec())
    envs.reset(seed=0)
    with pytest.raises(rs.LabelError, match=r"'far' .*at step 1.*'inner'"):
        envs.step(np.zeros(COUNT, dtype=int))


def test_an_environment_that_tells_less_than_the_others_is_named_with_its_step() -> None:
    envs = MonitorReward(SyncVectorEnv([Walk, Walk, lambda: Walk(always=False), Walk]), spec())
    envs.reset(seed=0)
    with pytest.raises(
        rs.LabelError, match=r"'far' cannot be read at step 1: info has no 'inner' in environment 2, and"
    ):
        envs.step(np.zeros(COUNT, dtype=int))
