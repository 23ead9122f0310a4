import itertools
import random

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.episodes.counterfactual import StatePool, replay, rows_of
from tests.strategies import random_formula

ATOMS = ("a", "b")


@pytest.mark.parametrize("seed", range(25))
def test_a_transition_pays_in_each_state_what_the_definition_says(seed):
    """States come from prefixes: replaying a letter in them is the formula's value on prefix and letter."""
    rng = random.Random(seed)
    formula = random_formula(rng, 4, ATOMS)
    spec = rs.Spec([(formula, 1.0, False)])
    prefixes = [[{n: rng.choice((0.0, 0.25, 1.0)) for n in ATOMS} for _ in range(3)] for _ in range(6)]
    state = spec.start({n: np.array([prefix[0][n] for prefix in prefixes]) for n in ATOMS}, batch=6)
    for k in range(1, 3):
        state, _ = spec.step(state, {n: np.array([prefix[k][n] for prefix in prefixes]) for n in ATOMS})
    letters = [dict(zip(ATOMS, letter, strict=True)) for letter in itertools.product((0.0, 0.5, 1.0), repeat=2)]
    labels = {n: np.array([letter[n] for letter in letters]) for n in ATOMS}
    found = replay(spec, rows_of(spec, state), labels)
    for (b, letter), (k, prefix) in itertools.product(enumerate(letters), enumerate(prefixes)):
        trace = {n: [one[n] for one in (*prefix, letter)] for n in ATOMS}
        assert found.rewards[b, k] == pytest.approx(rs.evaluate(formula, trace), abs=1e-12)
    again = replay(spec, found.states[0], labels)  # what comes after goes on from there
    trace = {n: [one[n] for one in (*prefixes[2], letters[0], letters[4])] for n in ATOMS}
    assert again.rewards[4, 2] == pytest.approx(rs.evaluate(formula, trace), abs=1e-12)


def test_vetoes_penalties_and_ways_to_pay_are_part_of_a_state():
    spec = rs.Spec([("F a", 2), rs.Pair("G b", 1, penalty=-3)], payment="delta")
    start = rows_of(spec, spec.start({"a": np.zeros(1), "b": np.ones(1)}, batch=1))
    lost = replay(spec, start, {"a": np.zeros(1), "b": np.zeros(1)})
    assert lost.violated.all()
    both = np.concatenate([start, lost.states[0]])
    found = replay(spec, both, {"a": np.ones(1), "b": np.ones(1)}, terminated=True)
    single, expected = spec.start({"a": 0.0, "b": 1.0}), []
    for before in ([], [{"a": 0.0, "b": 0.0}]):
        state = single
        for labels in before:
            state, _ = spec.step(state, labels)
        expected.append(spec.step(state, {"a": 1.0, "b": 1.0}, terminated=True)[1])
    np.testing.assert_allclose(found.rewards[0], expected)


def test_a_pool_keeps_each_state_once_and_no_more_than_it_may():
    pool = StatePool(3)
    pool.add(np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]]))
    pool.add(np.array([[[1.0, 1.0]], [[2.0, 0.0]], [[3.0, 0.0]]]))
    np.testing.assert_array_equal(pool.rows, [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    with pytest.raises(rs.Error, match="at least one"):
        StatePool(0)


def test_labels_of_different_lengths_are_refused():
    spec = rs.Spec([("F(a & F b)", 1)])
    with pytest.raises(rs.Error, match="as many labels"):
        replay(spec, np.zeros((1, 4)), {"a": np.zeros(2), "b": np.zeros(3)})


@pytest.mark.parametrize("own", [None, "value"])  # the spec's way to pay is that of its penalties in any case
@pytest.mark.parametrize("payment", ["final", "potential"])
def test_each_state_ends_its_own_episode_where_a_violation_does(payment, own):
    spec = rs.Spec([rs.Pair("G(a -> WX b)", 1, penalty=-3, payment=own)], payment=payment)
    states = spec.start({"a": np.array([0.0, 1.0]), "b": np.zeros(2)})  # of which the second owes `b`
    found = replay(spec, rows_of(spec, states), {"a": np.zeros(1), "b": np.zeros(1)}, terminate_on_violation=True)
    assert found.terminated.tolist() == found.violated.tolist() == [[False, True]]
    for k, (first, ended) in enumerate([(0.0, False), (1.0, True)]):
        alone = spec.start({"a": first, "b": 0.0})
        assert found.rewards[0, k] == spec.step(alone, {"a": 0.0, "b": 0.0}, terminated=ended)[1]


def test_a_spec_without_atoms_replays_as_many_transitions_as_ended():
    spec = rs.Spec([("F true", 2)], payment="final")
    found = replay(spec, rows_of(spec, spec.start({}, batch=1)), {}, terminated=np.array([False, True, True]))
    assert found.rewards.tolist() == [[0.0], [2.0], [2.0]]
