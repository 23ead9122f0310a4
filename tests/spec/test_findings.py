"""What was found wrong once, each as a statement that must hold."""

import pickle

import gymnasium as gym
import numpy as np
import pytest
import torch

import rewardspec as rs


def test_a_torch_reward_that_is_changed_in_place_leaves_the_state_alone():
    spec = rs.Spec([("F a", 1)])
    state = spec.start({"a": torch.tensor([0.25, 0.5])})
    state, reward = spec.step(state, {"a": torch.tensor([0.5, 0.75])})
    reward *= 100.0
    assert spec.values(state)[0].tolist() == [0.5, 0.75]
    assert spec.level(state).tolist() == [0.5, 0.75]


@pytest.mark.parametrize("observe", [None, "control", "values", "registers"])
def test_a_wrapped_environment_can_be_pickled_with_every_observe(observe):
    # Several control states, and a register that is not always read.
    spec = rs.Spec(
        [("X X a", 1), ("G !b", 1), ("a U b", 1)], {"a": "next_obs[0] > 0", "b": "next_obs[1] > 5"}, payment="delta"
    )
    env = rs.wrappers.MonitorReward(gym.make("CartPole-v1"), spec, observe=observe)
    env.reset(seed=3)
    again = pickle.loads(pickle.dumps(env))
    for action in (0, 1, 1):
        one, other = env.step(action), again.step(action)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1:4] == other[1:4]


def test_the_bounds_of_a_veto_with_many_next_steps_are_found_in_seconds():
    """Minutes, before the growth of its sets was counted and cut short."""
    spec = rs.Spec([("G(a <-> " + "WX " * 14 + "b)", 1)])
    state = spec.start({"a": 1.0, "b": 0.0})
    for _ in range(14):
        assert not spec.violated(state)
        state, _ = spec.step(state, {"a": 1.0, "b": 0.0})
    assert spec.violated(state)


def test_a_spec_cannot_be_changed():
    spec = rs.Spec([("F a", 1)])
    with pytest.raises(rs.SpecError, match=r"Use spec.replace\(payment=…\)"):
        spec.payment = "delta"
    with pytest.raises(rs.SpecError, match="cannot be changed"):
        del spec.pairs
    _, reward = spec.step(spec.start({"a": 0.5}), {"a": 0.75})
    _, rewards = spec.step(spec.start({"a": np.array([0.5])}), {"a": np.array([0.75])})
    assert reward == rewards[0] == 0.75


def test_a_verdict_is_about_one_trace_of_zeros_and_ones():
    monitor = rs.synthesize("F a")
    state, _ = monitor.step(monitor.initial_state(), {"a": 0.5})
    with pytest.raises(rs.LabelError, match=r"the value is 0.5. Use `bounds`"):
        monitor.verdict(state)
    with pytest.raises(rs.LabelError, match="the state of a batch"):
        monitor.verdict(monitor.initial_state(2))


@pytest.mark.parametrize("formula", ["F a", "X X a"])
def test_the_control_state_is_an_integer_whatever_the_formula(formula):
    spec = rs.Spec([(formula, 1)])
    assert type(spec.control_state(spec.start({"a": 1.0}))) is int
    assert np.issubdtype(spec.control_state(spec.start({"a": np.ones(2)})).dtype, np.integer)


@pytest.mark.parametrize("argument", ["base_reward", "terminated"])
def test_an_argument_of_another_shape_does_not_stretch_the_rewards(argument):
    spec = rs.Spec([("F a", 1)], payment="potential")
    state = spec.start({"a": np.zeros(3)})
    with pytest.raises(rs.LabelError, match=rf"`{argument}` should have shape \(3,\).*Received shape \(3, 1\)"):
        spec.step(state, {"a": np.zeros(3)}, **{argument: np.zeros((3, 1))})


@pytest.mark.parametrize("labels", [np.array([None, 0.5], dtype=object), np.array([0.5 + 0j, 0.5])])
def test_labels_of_a_batch_are_real_numbers(labels):
    spec = rs.Spec([("F a", 1)])
    state = spec.start({"a": np.zeros(2)})
    with pytest.raises(rs.LabelError, match="not an array of real numbers"):
        spec.step(state, {"a": labels})


def test_thousands_of_pairs_are_one_spec():
    spec = rs.Spec([(f"F a{k % 7}", 1) for k in range(3_000)])
    labels = {f"a{k}": 0.5 for k in range(7)}
    assert spec.step(spec.start(labels), labels)[1] == 1_500.0


def test_final_payments_that_a_time_limit_outside_keeps_from_being_made_are_noticed():
    spec = rs.Spec([("F a", 1)], {"a": "next_obs[0] > 0"}, payment="final")
    env = gym.wrappers.TimeLimit(rs.wrappers.MonitorReward(gym.make("CartPole-v1").unwrapped, spec), 3)

    def play():
        for _ in range(7):
            env.reset(seed=0)
            for action in (0, 1, 0):
                env.step(action)

    with pytest.warns(UserWarning, match=r"MonitorReward\(TimeLimit\(env, …\), spec\)"):
        play()
    inside = rs.wrappers.MonitorReward(gym.wrappers.TimeLimit(gym.make("CartPole-v1").unwrapped, 3), spec)
    for _ in range(7):
        inside.reset(seed=0)
        rewards = [inside.step(action)[1] for action in (0, 1, 0)]
    assert rewards[:2] == [0.0, 0.0]


def test_a_cost_of_every_step_is_charged_every_step_of_a_spec_that_pays_by_change():
    spec = rs.Spec([("F goal", 10), rs.Pair("F G true", -1, payment="value")], payment="delta")
    state = spec.start({"goal": 0.0})
    rewards = []
    for goal in (0.0, 0.5, 0.5, 1.0):
        state, reward = spec.step(state, {"goal": goal})
        rewards.append(reward)
    assert rewards == [-1.0, 4.0, -1.0, 4.0]
    batch = spec.start({"goal": np.zeros(2)})
    assert spec.step(batch, {"goal": np.array([0.5, 1.0])})[1].tolist() == [4.0, 9.0]


def test_the_front_shows_what_there_is():
    shown = dir(rs)
    assert {"wrappers", "tasks", "relabel", "probe", "audit", "Spec", "parse"} <= set(shown)
    assert all(getattr(rs, name) is not None for name in shown)
    errors = {name for name in vars(rs.errors) if name.endswith("Error")}
    assert errors <= set(shown)
    with pytest.raises(AttributeError, match=r"It is in rewardspec.formulas"):
        _ = rs.Always
