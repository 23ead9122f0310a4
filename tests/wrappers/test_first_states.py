"""A first state that violates a safety objective is warned of, as degrees and as robustness."""

from __future__ import annotations

import dataclasses
import random
import warnings

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import Pair, Spec
from rewardspec.wrappers import MonitorReward
from rewardspec.wrappers.first_states import warn_of_violation
from rewardspec.wrappers.vector import MonitorReward as VectorMonitorReward
from tests.strategies import ROBUST, random_formula


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize(
    ("formula", "label"),
    [
        ("G a", -3.0),  # no degree at all
        ("G !a", 0.5),  # as a degree no violation
        ("G a & X a", -0.25),
    ],
)
def test_a_robustness_spec_that_the_first_state_violates_is_reset_with_a_warning(formula, label, vector) -> None:
    spec = Spec(
        [("F G a", 1, False), (formula, 1, True)],
        atoms={"a": lambda obs, action, next_obs: np.full(np.shape(next_obs)[:-1], label)},
        penalty=-3,
        semantics="robustness",
    )
    made = gym.make_vec("CartPole-v1", 2) if vector else gym.make("CartPole-v1")
    env = (VectorMonitorReward if vector else MonitorReward)(made, spec)
    with pytest.warns(
        UserWarning, match=rf"is violated by the state after reset, where a is {label:g}, .* penalty, -3"
    ):
        _, info = env.reset(seed=0)
    assert np.all(info["violated"])


def test_one_of_the_violated_objectives_is_always_found() -> None:
    rng, found = random.Random(0), 0
    while found < 60:
        semantics = rng.choice(("degree", "robustness"))
        language = dataclasses.replace(ROBUST, monitorable=True)
        pairs = [Pair(random_formula(rng, 2, ("a", "b"), language), 1, True, -rng.random()) for _ in range(3)]
        spec = Spec(pairs, semantics=semantics, bound=9.0 if semantics == "robustness" else None)
        labels = {name: rng.choice((0.0, 0.5, 1.0) if semantics == "degree" else (-2.0, 0.5, 3.0)) for name in "ab"}
        if spec.violated(spec.start(labels)):
            found += 1
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                warn_of_violation(spec, labels, 1)
            assert f"penalty, {spec.penalty_in_force(spec.start(labels)):g}" in str(caught[0].message)
