"""Every kind of observation space takes in the spec's numbers in its own way."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import data_equivalence

import rewardspec as rs
from rewardspec.episodes.features import Features
from rewardspec.spec import Pair, Spec
from rewardspec.wrappers import MonitorReward, vector
from rewardspec.wrappers.observations import extension
from tests.wrappers.specs import cartpole, cartpole_spec, lake, lake_spec

ATOMS = {"a": lambda *_: 0.5, "b": lambda *_: 1.0}


class Sampled(gym.Env):
    """Observations drawn from any space."""

    action_space = spaces.Discrete(2)

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.observation_space = copy.deepcopy(space)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        return self.observation_space.sample(), 0.0, False, False, {}


SPACES = {
    "flat": spaces.Box(-1, 1, (3,), dtype=np.float32),
    "double": spaces.Box(-1, 1, (3,), dtype=np.float64),
    "image": spaces.Box(0, 255, (4, 4, 3), dtype=np.uint8),
    "integers": spaces.Box(0, 9, (3,), dtype=np.int64),
    "dict": spaces.Dict(x=spaces.Discrete(3), y=spaces.Box(0, 1)),
    "tuple": spaces.Tuple((spaces.Discrete(3), spaces.Box(0, 1))),
    "discrete": spaces.Discrete(5, start=2),
    "binary": spaces.MultiBinary(4),
    "text": spaces.Text(5),
}


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("observe", ["control", "registers", "values"])
def test_extended_observations_lie_in_the_extended_space(kind: str, observe: Any) -> None:
    space = SPACES[kind]
    env = MonitorReward(Sampled(space), Spec([("F a", 1), ("X X b", 2)], atoms=ATOMS, payment="delta"), observe)
    for obs in (env.reset(seed=0)[0], env.step(0)[0], env.step(1)[0]):
        assert env.observation_space.contains(obs)
    extended = env.observation_space
    match kind:
        case "flat" | "double":
            assert isinstance(extended, spaces.Box)
            assert extended.dtype == space.dtype
            assert extended.shape[0] > 3
        case "dict":
            assert isinstance(extended, spaces.Dict)
            assert set(extended.spaces) == {"x", "y", "monitor"}
        case "tuple":
            assert isinstance(extended, spaces.Tuple)
            assert len(extended) == 3
        case "discrete" if observe == "control":
            assert isinstance(extended, spaces.Discrete)
        case _:
            assert isinstance(extended, spaces.Dict)
            assert set(extended.spaces) == {"observation", "monitor"}


def test_registers_are_all_that_the_future_depends_on() -> None:
    pairs = [Pair("F a", 2), Pair("G b", 1, penalty=-1), Pair("G a", 1, penalty=-3), Pair("X X b", -1, veto=False)]
    spec = Spec(pairs, payment="delta")
    features = Features(spec, "registers")
    control = [f"control = {k}" for k in spec.states]
    assert features.names == (*control, *spec.registers, "penalty <= -1", "penalty <= -3", "level")
    assert (features.low[-1], features.high[-1]) == (-3.0, 4.0)
    state = spec.start({"a": 0.5, "b": 1.0})
    assert features.read(state)[-3:] == (0.0, 0.0, 0.0)
    state, _ = spec.step(state, {"a": 0.5, "b": 0.0})
    assert features.read(state)[-3:] == (1.0, 0.0, -1.0)
    state, _ = spec.step(state, {"a": 0.0, "b": 0.0})
    assert features.read(state)[-3:] == (1.0, 1.0, -3.0)


def test_the_level_is_observed_only_where_its_change_is_paid() -> None:
    names = {payment: Features(lake_spec(payment=payment), "registers").names for payment in ("value", "final")}
    assert "level" not in names["value"] + names["final"]
    for payment in ("delta", "potential"):
        assert Features(lake_spec(payment=payment), "registers").names == (*names["value"], "level")


@pytest.mark.parametrize(("observe", "formula"), [("registers", "F G a"), ("control", "F G a"), ("control", "F a")])
def test_where_there_is_nothing_to_tell_nothing_is_added(observe: Any, formula: str) -> None:
    spec = Spec([(formula, 1)], atoms=ATOMS)
    for space in SPACES.values():
        env, plain = MonitorReward(Sampled(space), spec, observe), Sampled(space)
        assert env.extension is None
        assert env.observation_space == space
        assert data_equivalence(env.reset(seed=0)[0], plain.reset(seed=0)[0], exact=True)
        assert data_equivalence(env.step(0)[0], plain.step(0)[0], exact=True)
    envs = vector.MonitorReward(gym.vector.SyncVectorEnv([lake] * 2), Spec([(formula, 1)], atoms=ATOMS), observe)
    assert envs.observation_space == spaces.MultiDiscrete([16, 16])


def test_appended_numbers_follow_the_observation() -> None:
    spec = cartpole_spec()
    env, plain = MonitorReward(cartpole(), spec, "values"), cartpole()
    obs, info = env.reset(seed=1)
    np.testing.assert_array_equal(obs[:4], plain.reset(seed=1)[0])
    np.testing.assert_array_equal(obs[4:], np.float32(list(info["formula_values"].values())))
    obs, _, _, _, info = env.step(0)
    np.testing.assert_array_equal(obs[:4], plain.step(0)[0])
    np.testing.assert_array_equal(obs[4:], np.float32(list(info["formula_values"].values())))


def test_numbered_observations_can_be_read_back() -> None:
    env, plain = MonitorReward(lake(), lake_spec(), "values"), lake()
    assert isinstance(env.observation_space, spaces.Discrete)
    for (number, info), (state, _) in [(env.reset(seed=2), plain.reset(seed=2))]:
        assert env.extension.pairs[number] == (state, tuple(info["formula_values"].values()))
    for action in (0, 1, 2, 3, 1):
        number, _, ended, _, info = env.step(action)
        assert env.extension.pairs[number] == (plain.step(action)[0], tuple(info["formula_values"].values()))
        if ended:
            break


def test_control_states_need_no_transition_table() -> None:
    spec = Spec([("X X b", 1)], atoms=ATOMS)
    env = MonitorReward(Sampled(spaces.Discrete(5, start=2)), spec, "control")
    assert env.observation_space == spaces.Discrete(5 * len(spec.states))


def test_a_wrapper_that_changes_observations_hides_the_table() -> None:
    shifted = gym.wrappers.TransformObservation(lake(), lambda s: 15 - s, spaces.Discrete(16))
    assert isinstance(MonitorReward(shifted, lake_spec(), "registers").observation_space, spaces.Dict)


def test_an_atom_with_a_memory_of_its_own_is_found_out() -> None:
    seen: list[int] = []

    def counting(obs: Any, action: Any, next_obs: Any) -> float:
        seen.append(1)
        return min(len(seen) / 1e6, 1.0)

    env = MonitorReward(lake(), Spec([("F counting", 1)], atoms={"counting": counting}), "registers")
    with pytest.raises(rs.SpecError, match=r"State 0 was reached with .*rules out"):
        env.reset(seed=0)


def test_too_many_pairs_make_a_dict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewardspec.wrappers.product_numbering.MOST_PAIRS", 20)
    with pytest.warns(UserWarning, match="more than 20 pairs"):
        env = MonitorReward(lake(), lake_spec(), "registers")
    assert isinstance(env.observation_space, spaces.Dict)


def test_a_key_that_is_taken_is_refused() -> None:
    with pytest.raises(rs.SpecError, match="'monitor' already"):
        MonitorReward(Sampled(spaces.Dict(monitor=spaces.Discrete(2))), Spec([("F a", 1)], atoms=ATOMS), "values")


def test_added_numbers_have_names_in_every_space():
    features = Features(Spec([("F(key & F door)", 1)]), "registers")
    known = spaces.Dict({"a": spaces.Discrete(2)}), spaces.Box(-1, 1, (2,)), spaces.Tuple((spaces.Discrete(2),))
    assert {extension(space, features).names for space in (*known, spaces.MultiBinary(4))} == {features.names}
