"""With the registers observed, the product of FrozenLake and a spec is Markov; without them it is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from rewardspec.episodes.features import Features
from rewardspec.spec import Spec
from rewardspec.wrappers import MonitorReward
from rewardspec.wrappers.observations import Numbered
from rewardspec.wrappers.product_numbering import model_of, possible_pairs
from tests.wrappers.specs import PAYMENTS, lake, lake_spec


def transitions(spec: Spec, read: Callable[[int, Any], Any]) -> dict[Any, set[float]]:
    """Every reward that can follow each (observation, action, next observation, end) of the whole product."""
    table = lake().unwrapped.P
    rewards = defaultdict(set)
    frontier = [(0, spec.start(spec.labels(0, None, 0)))]
    seen = set(frontier)
    while frontier:
        state, memory = frontier.pop()
        for action, outcomes in table[state].items():
            for _, successor, base, ended in outcomes:
                new, reward = spec.step(memory, spec.labels(state, action, successor), base, ended, False)
                rewards[read(state, memory), action, read(successor, new), ended].add(reward)
                if not ended and (successor, new) not in seen:
                    seen.add((successor, new))
                    frontier.append((successor, new))
    return rewards


@pytest.mark.parametrize("payment", PAYMENTS)
def test_with_the_registers_the_reward_is_a_function_of_the_transition(payment: str) -> None:
    spec = lake_spec(payment=payment)
    extension = MonitorReward(lake(), spec, "registers").extension
    assert isinstance(extension, Numbered)
    features = Features(spec, "registers")
    rewards = transitions(spec, lambda state, memory: extension.extend(state, features.read(memory)))
    assert len(rewards) > 1000
    assert all(len(found) == 1 for found in rewards.values())
    # Nothing that cannot occur has a number.
    assert {number for key in rewards for number in (key[0], key[2])} == set(range(len(extension.pairs)))


@pytest.mark.parametrize("payment", PAYMENTS)
@pytest.mark.parametrize("observe", [None, "control"])
def test_without_the_registers_it_is_not(payment: str, observe: Any) -> None:
    spec = lake_spec(payment=payment)
    features = None if observe is None else Features(spec, observe)
    rewards = transitions(spec, lambda state, memory: (state, features and features.read(memory)))
    assert any(len(found) > 1 for found in rewards.values())


def successors(spec: Spec, observe: Any) -> dict[Any, set[Any]]:
    """The observations that can follow each observation and action when the environment goes to each state."""
    features = Features(spec, observe)
    found = defaultdict(set)
    for before, action, after, _ in transitions(spec, lambda state, memory: (state, features.read(memory))):
        found[before, action, after[0]].add(after)
    return found


@pytest.mark.parametrize("payment", PAYMENTS)
def test_with_the_registers_what_follows_depends_on_the_observation_alone(payment: str) -> None:
    assert all(len(found) == 1 for found in successors(lake_spec(payment=payment), "registers").values())


@pytest.mark.parametrize("payment", PAYMENTS)
def test_with_the_values_it_does_not(payment: str) -> None:
    assert any(len(found) > 1 for found in successors(lake_spec(payment=payment), "values").values())


def test_the_numbering_is_the_same_on_every_run() -> None:
    spec = lake_spec()
    first, second = (
        possible_pairs(
            lake().observation_space, spec, Features(spec, "registers"), [model_of(lake())], one_by_one=one_by_one
        )
        for one_by_one in (True, False)
    )
    assert first == second
