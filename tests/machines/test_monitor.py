"""Monitors as values and as pure functions."""

import copy
import pickle

import numpy as np
import pytest

import rewardspec as rs


def test_the_papers_tuple_is_there():
    monitor = rs.synthesize("F(a & F b)")
    assert list(monitor.states) == [0]
    assert monitor.initial == 0
    assert monitor.successors == (0,)
    assert monitor.atoms == ("a", "b")
    assert set(monitor.registers) == {"value", "max[a]"}
    assert monitor.initial_registers == {"value": 0.0, "max[a]": 0.0}
    assert set(monitor.updates[0]) == {"value", "max[a]"}
    assert monitor.outputs[0] == monitor.updates[0]["value"]


@pytest.mark.parametrize("semantics", ["degree", "robustness"])
def test_updates_print_negation_and_not_one_way_to_compute_it(semantics):
    monitor = rs.synthesize("G(a -> F b)", semantics=semantics)
    assert str(monitor.updates[0]["value"]) == "max(b, min(r0, !a))"
    assert str(rs.synthesize("X a", semantics=semantics).outputs[0]) == "false"


def test_step_is_pure():
    monitor = rs.synthesize("F goal")
    start = monitor.initial_state()
    first = monitor.step(start, {"goal": 0.5})
    assert monitor.step(start, {"goal": 0.5}) == first
    assert monitor.step(start, {"goal": 0.25})[1] == 0.25


def test_monitors_are_values():
    monitor = rs.synthesize("G(a -> F b)")
    assert monitor == rs.synthesize("G(a -> F b)")
    assert hash(monitor) == hash(rs.synthesize("G(a -> F b)"))
    assert monitor != rs.synthesize("F b")
    assert pickle.loads(pickle.dumps(monitor)) == monitor
    assert copy.deepcopy(monitor) == monitor


def test_repr_says_what_and_how_large():
    assert repr(rs.synthesize("X p")) == "<Monitor of X p: 1 register, 3 control states>"


def test_every_element_of_a_batch_can_be_at_its_own_time():
    monitor = rs.synthesize("X X p")
    state = monitor.initial_state(batch=3)
    values = []
    for step, reset in enumerate([[0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]):
        state = monitor.reset(state, np.array(reset, dtype=bool))
        state, value = monitor.step(state, {"p": np.full(3, 0.25 * (step + 1))})
        values.append(value.tolist())
    # The first element reads p at step 2; the second, restarted at step 1, at step 3; the third has not got there.
    assert values == [[0, 0, 0], [0, 0, 0], [0.75, 0, 0], [0.75, 1.0, 0]]


def test_reset_without_a_mask_resets_all():
    monitor = rs.synthesize("F p")
    state, _ = monitor.step(monitor.initial_state(batch=2), {"p": np.ones(2)})
    fresh = monitor.initial_state(batch=2)
    again = monitor.reset(state)
    assert [r.tolist() for r in again.registers] == [r.tolist() for r in fresh.registers]
    scalar, _ = monitor.step(monitor.initial_state(), {"p": 1.0})
    assert monitor.step(monitor.reset(scalar), {"p": 0.5})[1] == 0.5


def test_results_cannot_be_written_over_by_accident():
    monitor = rs.synthesize("F p")
    state, value = monitor.step(monitor.initial_state(batch=2), {"p": np.array([0.25, 0.5])})
    with pytest.raises(ValueError, match="read-only"):
        value *= 2.0
    assert state.registers[0].tolist() == [0.25, 0.5]


@pytest.mark.parametrize("formula", ["F G p", "F(p & X true)", "p", "F p", "X p"])
def test_the_callers_arrays_may_be_reused(formula):
    monitor = rs.synthesize(formula)
    buffer, state, values = np.empty(2), monitor.initial_state(batch=2), []
    letters = [[0.25, 0.5], [0.75, 0.0], [0.5, 1.0]]
    for letter in letters:
        buffer[:] = letter
        state, value = monitor.step(state, {"p": buffer})
        values.append(value)
        buffer[:] = 0.125
    assert np.stack(values).tolist() == monitor.run({"p": np.array(letters)}).tolist()


def test_labels_are_not_written_to():
    monitor = rs.synthesize("G(a -> F b)")
    labels = {"a": np.array([0.25, 0.5]), "b": np.array([0.125, 0.0])}
    monitor.step(monitor.initial_state(batch=2), labels)
    assert labels["a"].tolist() == [0.25, 0.5]
    assert labels["b"].tolist() == [0.125, 0.0]


def test_batches_have_any_shape_and_keep_their_type():
    monitor = rs.synthesize("G(a -> F b)")
    state = monitor.initial_state(batch=(2, 3), dtype=np.float32)
    state, value = monitor.step(state, {"a": np.ones((2, 3)), "b": 0.25})
    assert value.shape == (2, 3)
    assert value.dtype == np.float32
    assert (value == 0.25).all()


def test_a_single_traces_state_meets_array_labels():
    monitor = rs.synthesize("G(a -> F b)")
    state, value = monitor.step(monitor.initial_state(), {"a": np.array([1.0, 0.5]), "b": np.array([0.25, 0.0])})
    assert value.tolist() == [0.25, 0.5]
    state, value = monitor.step(state, {"a": np.array([0.0, 0.0]), "b": np.array([1.0, 0.0])})
    assert value.tolist() == [1.0, 0.5]


@pytest.mark.parametrize("labels", [[1, 0, 1], [True, False, True], np.array([1, 0, 1]), np.array([True, False, True])])
def test_run_takes_booleans_and_integers(labels):
    assert rs.synthesize("G p").run({"p": labels}).tolist() == [1.0, 0.0, 0.0]


def test_run_takes_batches_with_time_first():
    labels = np.array([[0.25, 1.0], [0.5, 0.0], [0.0, 0.75]])
    assert rs.synthesize("F p").run({"p": labels}).tolist() == [[0.25, 1.0], [0.5, 1.0], [0.5, 1.0]]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"a": 0.5}, r"no label for atom 'b'; there are: a"),
        ({"a": 0.5, "c": 1, "B": 1}, r"no label for atom 'b'"),
        ({"a": float("nan"), "b": 0.5}, r"'a' should be in \[0, 1\]. Received NaN"),
        ({"a": 0.5, "b": -0.1}, r"'b' should be in \[0, 1\]. Received -0.1"),
        ({"a": 1.1, "b": 0.5}, r"'a' should be in \[0, 1\]. Received 1.1"),
        ({"a": float("inf"), "b": 0.5}, r"'a' should be in \[0, 1\]. Received inf"),
        ({"a": "high", "b": 0.5}, r"'a' should be a number in \[0, 1\]. Received 'high'"),
        ({"a": None, "b": 0.5}, r"'a' should be a number in \[0, 1\]. Received None"),
        ([0.5, 0.5], r"Labels should map each atom to its value"),
        ({"a": np.array([0.5, np.nan]), "b": np.array([0.5, 0.5])}, r"'a' at index 1 .* Received NaN"),
        ({"a": np.array([0.5, 0.5]), "b": np.array([0.5, 0.5, 0.5])}, r"shapes do not fit together"),
    ],
)
def test_bad_labels_are_refused_by_name(labels, message):
    monitor = rs.synthesize("G(a -> F b)")
    with pytest.raises(rs.LabelError, match=message):
        monitor.step(monitor.initial_state(), labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"a": np.zeros(2)}, r"no label for atom 'b'"),
        ({"a": np.zeros(3), "b": np.zeros(2)}, r"'a' should have shape \(2,\). Received shape \(3,\)"),
        ({"a": np.zeros(2), "b": np.array([0.0, 1.1])}, r"'b' at index 1 should be in \[0, 1\]. Received 1.1"),
        ({"a": np.array([-0.1, 0.0]), "b": np.zeros(2)}, r"'a' at index 0 should be in \[0, 1\]. Received -0.1"),
        ({"a": np.array([0.0, np.inf]), "b": np.zeros(2)}, r"'a' at index 1"),
        ({"a": np.array([0.0, np.nan]), "b": np.zeros(2)}, r"'a' at index 1"),
        ({"a": "high", "b": np.zeros(2)}, r"labels of 'a' are not an array of real numbers"),
    ],
)
def test_bad_labels_in_a_batch_are_refused_by_name_and_place(labels, message):
    monitor = rs.synthesize("G(a -> F b)")
    with pytest.raises(rs.LabelError, match=message):
        monitor.step(monitor.initial_state(batch=2), labels)


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 5e-324])
def test_the_ends_of_the_interval_are_good_labels(value):
    monitor = rs.synthesize("F p")
    assert monitor.step(monitor.initial_state(), {"p": value})[1] == value
    for dtype in (np.float64, np.float32):
        state = monitor.initial_state(batch=2, dtype=dtype)
        assert monitor.step(state, {"p": np.full(2, value, dtype)})[1][0] == dtype(value)


def test_bad_labels_in_a_run_name_the_step():
    with pytest.raises(rs.LabelError, match=r"At step 1: .*'p'"):
        rs.synthesize("F p").run({"p": [0.5, 2.0]})
    with pytest.raises(rs.LabelError, match=r"At step 1: .*'p' at index 0"):
        rs.synthesize("F p").run({"p": np.array([[0.5], [2.0]])})


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ({"p": []}, "empty"),
        ({}, "no label for atom 'p'"),
        ({"p": [0.5], "q": [0.5]}, "no label for atom 'r'"),
        ({"p": [0.5, 0.5], "r": [0.5]}, "same shape"),
        ({"p": ["x"], "r": [0.5]}, "not an array of numbers"),
    ],
)
def test_bad_traces_are_refused(trace, message):
    with pytest.raises(rs.LabelError, match=message):
        rs.synthesize("F p & F r" if len(trace) > 1 else "F p").run(trace)


def test_a_formula_without_atoms_runs_on_any_trace():
    assert rs.synthesize("last").run({"unrelated": [0.5, 0.5, 0.5]}).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", [bool, int, np.bool_, np.uint8, np.float16, np.float64])
def test_any_kind_of_number_is_a_label(kind):
    monitor = rs.synthesize("G(a -> F b)")
    _, value = monitor.step(monitor.initial_state(), {"a": kind(1), "b": kind(0)})
    assert value == 0.0
    assert type(value) is float


def test_a_batch_runs_a_machine_of_hundreds_of_control_states():
    """What differs between control states was chosen by nested calls, of which Python reads a hundred or so."""
    monitor = rs.synthesize("G[4,300;0.999] d -> d")
    assert len(monitor.states) > 200
    trace = {"d": np.linspace(0.0, 1.0, 310)}
    batch = {"d": np.stack([trace["d"]] * 2, axis=1)}
    state, found = monitor.initial_state(batch=2), []
    for d in batch["d"]:
        state, value = monitor.step(state, {"d": d})
        found.append(value)
    state = monitor.initial_state()
    for d, values in zip(trace["d"].tolist(), found, strict=True):
        state, value = monitor.step(state, {"d": d})
        assert values.tolist() == [value, value]
