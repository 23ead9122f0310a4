"""Finite models: what the arrays say is what the environments do."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import Spec, tasks
from rewardspec.finite.models import ModelError, finite_model

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


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize("kind", ["boolean", "quantitative"])
def test_the_labels_of_all_transitions_are_those_of_each(name, kind):
    task = tasks.get(name)
    spec, model = task.spec(kind), finite_model(task.make())
    labels, first = model.labels(spec), model.initial_labels(spec)
    for k in np.random.default_rng(0).choice(len(model), min(len(model), 300), replace=False):
        one = spec.labels(int(model.source[k]), int(model.action[k]), int(model.successor[k]))
        assert {atom: column[k] for atom, column in labels.items()} == one
    for k, start in enumerate(model.starts):
        assert {a: column[k] for a, column in first.items()} == spec.labels(int(start), None, int(start))


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


def test_a_spec_without_atoms_can_still_be_labelled():
    assert finite_model(Coin(seed_decides=False)).labels(Spec([("true", 1)], atoms={})) == {}
