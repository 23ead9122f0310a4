"""What a Discrete observation has to number is found from the table that an environment publishes, and from no more."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv

from rewardspec.errors import ModelError
from rewardspec.finite.models import finite_model
from rewardspec.spec import Spec
from rewardspec.wrappers import MonitorReward, vector
from rewardspec.wrappers.product_numbering import model_of


class Corridor(gym.Env):
    """Three cells, 2 to 4, walked to the right until the last one; nothing leads to the cell 5."""

    observation_space = spaces.Discrete(4, start=2)
    action_space = spaces.Discrete(2)

    def __init__(self, start: int = 2) -> None:
        self.start = self.state = start
        self.resets = 0
        self.P = {s: {a: [(1.0, min(s + a, 4), 0.0, s + a >= 4)] for a in range(2)} for s in (2, 3, 5)}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.resets += 1
        self.state = self.start
        return self.state, {}

    def step(self, action: Any) -> Any:
        [(_, self.state, reward, ended)] = self.P[self.state][int(action)]
        return self.state, reward, ended, False, {}


def far(obs: Any, action: Any, next_obs: Any) -> float:
    """For one environment only, and only for what can be."""
    return {2: 0.0, 3: 0.5, 4: 1.0}[next_obs]


def far_of_all(obs: Any, action: Any, next_obs: Any) -> Any:
    """For batches only."""
    return (next_obs[:, None] - 2.0).sum(axis=-1) / 2.0


class Known(Corridor):
    initial_state_distrib = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


def test_atoms_for_one_environment_are_called_for_one_at_a_time_and_only_for_what_can_be() -> None:
    env = MonitorReward(Known(), Spec([("F far", 1)], atoms={"far": far}), "registers")
    assert env.extension.pairs == ((2, (0.0,)), (3, (0.5,)), (4, (1.0,)))
    assert [env.reset()[0], *(env.step(action)[0] for action in (0, 1, 1))] == [0, 0, 1, 2]


def test_atoms_for_batches_are_called_for_batches() -> None:
    envs = vector.MonitorReward(
        SyncVectorEnv([Known] * 2), Spec([("F far", 1)], atoms={"far": far_of_all}), "registers"
    )
    assert envs.single_observation_space == spaces.Discrete(3)
    assert envs.reset()[0].tolist() == [0, 0]
    assert envs.step(np.array([0, 1]))[0].tolist() == [0, 1]


def test_where_the_first_state_is_not_told_it_may_be_any_and_nothing_is_reset() -> None:
    env = Corridor(start=3)
    wrapped = MonitorReward(env, Spec([("F even", 1)], atoms={"even": lambda o, a, n: float(n % 2 == 0)}), "registers")
    assert env.resets == 0
    assert {state for state, _ in wrapped.extension.pairs} == {2, 3, 4, 5}
    assert wrapped.extension.pairs[wrapped.reset()[0]] == (3, (0.0,))


def test_where_it_has_to_be_told_resets_tell() -> None:
    assert finite_model(Corridor(start=3)).starts.tolist() == [3]
    assert finite_model(Corridor(), unknown_start="anywhere").starts.tolist() == [2, 3, 5]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda env: gym.wrappers.TransformObservation(env, lambda state: 7 - state, env.observation_space),
        lambda env: gym.wrappers.TransformAction(env, lambda action: 1 - action, env.action_space),
    ],
)
def test_a_table_of_other_observations_or_actions_is_no_model(wrap: Any) -> None:
    with pytest.raises(ModelError, match="changes the observations or actions of Known"):
        finite_model(wrap(Known()))
    assert model_of(wrap(Known())) is None


def test_a_table_that_leads_out_of_the_observations_is_no_model() -> None:
    env = Known()
    env.P = {2: {0: [(1.0, 9, 0.0, True)]}}
    with pytest.raises(ModelError, match="leads to state 9, which Discrete"):
        finite_model(env)


def test_equal_environments_are_searched_once() -> None:
    calls = []

    def counted(obs: Any, action: Any, next_obs: Any) -> Any:
        calls.append(len(next_obs))
        return far_of_all(obs, action, next_obs)

    spec = Spec([("F far", 1)], atoms={"far": counted})
    vector.MonitorReward(SyncVectorEnv([Known] * 1), spec, "registers")
    once = len(calls)
    vector.MonitorReward(SyncVectorEnv([Known] * 7), spec, "registers")
    assert len(calls) == 2 * once
    assert finite_model(Known()) == finite_model(Known())
    assert finite_model(Known()) != finite_model(Corridor(start=3))
    assert len({finite_model(Known()), finite_model(Known())}) == 1


def test_values_of_things_that_appear_are_shown_beside_the_state() -> None:
    def seen(obs: Any, action: Any, next_obs: Any) -> Any:
        return [next_obs]

    spec = Spec([("mean cell: F seen(cell)", 1)], {"seen": seen}, sorts={"cell": "names"})
    env = MonitorReward(gym.make("FrozenLake-v1", is_slippery=False), spec, observe="values")
    observation, _ = env.reset(seed=0)
    assert observation == {"observation": 0, "monitor": np.ones(1)}
    assert env.observation_space.contains(env.step(1)[0])
