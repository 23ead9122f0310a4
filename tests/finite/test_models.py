"""Finite models: what the arrays say is what the environments do."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.errors import ModelError
from rewardspec.finite.models import finite_model

FINITE = ("cliff_walking", "frozen_lake", "taxi", "island_navigation", "conveyor_belt", "sokoban")


def put(env: gym.Env, state: int) -> None:
    """Let the environment be in a state."""
    inner = env.unwrapped
    setattr(inner, "s" if hasattr(inner, "s") else "_number", state)


@pytest.mark.parametrize("name", FINITE)
def test_every_state_and_action_does_what_the_model_says(name):
    env = tasks.get(name).make()
    model = finite_model(env)
    assert model.states == env.observation_space.n
    assert model.actions == env.action_space.n
    # All six are deterministic: one row for each state and action.
    assert len(model) == model.states * model.actions
    assert (model.probability == 1.0).all()
    env.reset(seed=0)
    for k in range(len(model)):
        put(env, int(model.source[k]))
        obs, reward, terminated, truncated, _ = env.unwrapped.step(int(model.action[k]))
        assert (obs, reward, terminated) == (model.successor[k], model.reward[k], model.terminated[k])
        assert not truncated


def test_the_first_states_are_those_that_resets_give():
    for name in FINITE:
        env = tasks.get(name).make()
        starts = set(finite_model(env).starts.tolist())
        assert {int(env.reset(seed=seed)[0]) for seed in range(20)} <= starts
    taxi = finite_model(tasks.get("taxi").make())
    assert len(taxi.starts) == 300
    assert taxi.initial.sum() == pytest.approx(1.0)


def test_chances_add_up_in_a_slippery_world():
    model = finite_model(gym.make("FrozenLake-v1", is_slippery=True))
    sums = np.bincount(model.source * model.actions + model.action, model.probability)
    np.testing.assert_allclose(sums, 1.0)
    assert model.max_episode_steps == 100


def test_an_environment_without_a_table_is_refused():
    with pytest.raises(ModelError, match="CartPole-v1 has no transition table `P`"):
        finite_model(gym.make("CartPole-v1"))


def test_observations_that_are_not_the_table_s_states_are_refused():
    env = gym.wrappers.TransformObservation(
        gym.make("FrozenLake-v1"), lambda obs: np.array([obs]), gym.spaces.MultiDiscrete([16])
    )
    with pytest.raises(ModelError, match="are not the 16 states"):
        finite_model(env)


class Coin(gym.Env):
    """Starts in one of two states."""

    def __init__(self, seed_decides: bool = True) -> None:
        self.observation_space, self.action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(1)
        self.P = {s: {0: [(0.5, 0, 0.0, False), (0.5, 1, 1.0, True), (0.0, 0, 9.0, False)]} for s in range(2)}
        self.seed_decides = seed_decides

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return (int(self.np_random.integers(2)) if self.seed_decides else 1), {}


def test_a_first_state_that_cannot_be_told_is_refused_and_one_that_can_is_found():
    with pytest.raises(ModelError, match="initial_state_distrib"):
        finite_model(Coin())
    model = finite_model(Coin(seed_decides=False))
    assert model.initial.tolist() == [0.0, 1.0]
    assert len(model) == 4  # what has no chance is left out
    assert model.max_episode_steps is None


BAD_OUTCOMES = [
    ([(0.5, 0, 0.0, False)], "outcomes whose probabilities add up to 0.5"),
    ([(0.9, 0, 0.0, False), (0.9, 1, 0.0, True)], "outcomes whose probabilities add up to 1.8"),
    ([(0.0, 0, 0.0, False)], "outcomes whose probabilities add up to 0"),
    ([(1.5, 0, 0.0, False), (-0.5, 1, 0.0, True)], "an outcome of probability -0.5"),
    ([(float("nan"), 0, 0.0, False)], "an outcome of probability nan"),
    ([(float("inf"), 0, 0.0, False)], "an outcome of probability inf"),
    ([(1.0, 0, float("nan"), False)], "an outcome that pays nan"),
    ([(1.0, 0, float("-inf"), True)], "an outcome that pays -inf"),
    ([(1.0, 7, 0.0, False)], r"leads to state 7, which Discrete\(2\) does not contain"),
]


@pytest.mark.parametrize(("outcomes", "message"), BAD_OUTCOMES)
def test_impossible_outcomes_are_refused_with_their_state_and_action(outcomes, message):
    env = Coin(seed_decides=False)
    env.P[1][0] = outcomes
    with pytest.raises(ModelError, match=rf"table `P` of Coin, action 0 in state 1 .*{message}"):
        finite_model(env)


def test_rounding_of_probabilities_is_allowed_and_an_action_may_be_missing():
    env = Coin(seed_decides=False)
    env.P[0][0] = [(1 / 3, 0, 0.0, False)] * 2 + [(0.333333333, 1, 0.0, True)]
    env.P[1][1] = []
    assert len(finite_model(env)) == 5


@pytest.mark.parametrize("chances", [[1.0], [0.0, 0.0], [1.5, -0.5], [float("nan"), 1.0], [float("inf"), 0.0]])
def test_an_impossible_distribution_of_first_states_is_refused(chances):
    env = Coin()
    env.initial_state_distrib = np.array(chances)
    with pytest.raises(ModelError, match="`initial_state_distrib` of Coin should be a probability for each of its 2"):
        finite_model(env)
