"""Bounds hold for every continuation, and some continuation attains them."""

import itertools
import random

import numpy as np
import pytest

import rewardspec as rs
from tests.strategies import random_formula, random_trace


def all_continuations(trace, longest, labels):
    """The trace with every continuation of up to `longest` letters, the empty one first unless the trace is empty."""
    letters = list(itertools.product(labels, repeat=len(trace)))
    shortest = 0 if next(iter(trace.values())) else 1
    for length in range(shortest, longest + 1):
        for word in itertools.product(letters, repeat=length):
            yield {name: [*trace[name], *(letter[k] for letter in word)] for k, name in enumerate(trace)}


def state_after(monitor, trace):
    state = monitor.initial_state()
    for k in range(len(next(iter(trace.values())))):
        state, _ = monitor.step(state, {name: values[k] for name, values in trace.items()})
    return state


@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_and_are_attained(seed):
    rng = random.Random(seed)
    for _ in range(60):
        formula = random_formula(rng, depth=rng.randint(1, 3), atoms=("a", "b"))
        length = rng.randint(0, 3)
        trace = random_trace(rng, length=length, atoms=("a", "b")) if length else {"a": [], "b": []}
        monitor = rs.synthesize(formula)
        lower, upper = monitor.bounds(state_after(monitor, trace))
        values = [rs.evaluate(formula, t) for t in all_continuations(trace, 2, (0.0, 0.5, 1.0))]
        values += [rs.evaluate(formula, t) for t in all_continuations(trace, 4, (0.0, 1.0))]
        assert (min(values), max(values)) == (lower, upper), str(formula)


def test_bounds_narrow_as_the_trace_grows():
    rng = random.Random(9)
    for _ in range(60):
        formula = random_formula(rng, depth=4, atoms=("a", "b"))
        monitor = rs.synthesize(formula)
        trace = random_trace(rng, length=8, atoms=("a", "b"))
        state, (low, high) = monitor.initial_state(), (0.0, 1.0)
        for k in range(8):
            state, value = monitor.step(state, {name: values[k] for name, values in trace.items()})
            lower, upper = monitor.bounds(state)
            assert low <= lower <= value <= upper <= high, str(formula)
            low, high = lower, upper


def test_contradictory_futures_are_not_combined():
    # Each half can still reach 1, but not both: only half of each.
    monitor = rs.synthesize("X a & X !a")
    state, _ = monitor.step(monitor.initial_state(), {"a": 0.0})
    assert monitor.bounds(state) == (0.0, 0.5)


@pytest.mark.parametrize(
    ("formula", "letters", "bounds"),
    [
        ("G safe", [1.0, 0.25], (0.0, 0.25)),
        ("F safe", [0.0, 0.75], (0.75, 1.0)),
        ("F G safe", [0.0], (0.0, 1.0)),
        ("safe", [0.25], (0.25, 0.25)),
        ("G(safe | !safe)", [0.75], (0.5, 0.75)),
    ],
)
def test_bounds_of_simple_formulas(formula, letters, bounds):
    monitor = rs.synthesize(formula)
    assert monitor.bounds(state_after(monitor, {"safe": letters})) == bounds


def test_before_the_first_letter_the_empty_trace_does_not_count():
    monitor = rs.synthesize("last | a")
    assert monitor.bounds(monitor.initial_state()) == (0.0, 1.0)
    monitor = rs.synthesize("!last & last")
    assert monitor.bounds(monitor.initial_state()) == (0.0, 0.0)


def test_bounds_of_a_batch_are_those_of_its_elements():
    rng = random.Random(3)
    for formula in ("X X a", "G(a -> X b)", "a U (b & F a)", "(a R b) W last"):
        monitor = rs.synthesize(formula)
        traces = [random_trace(rng, length=5, atoms=("a", "b")) for _ in range(6)]
        batch = monitor.initial_state(batch=6)
        for k in range(5):
            letter = {name: np.array([float(t[name][k]) for t in traces]) for name in monitor.atoms}
            batch, _ = monitor.step(batch, letter)
            lower, upper = monitor.bounds(batch)
            for number, trace in enumerate(traces):
                prefix = {name: trace[name][: k + 1] for name in trace}
                assert (lower[number], upper[number]) == monitor.bounds(state_after(monitor, prefix))


def test_bounds_of_a_hundred_responses_take_no_product():
    monitor = rs.synthesize(" & ".join(f"G(a{k} -> F b{k})" for k in range(100)))
    assert monitor.bounds(monitor.initial_state()) == (0.0, 1.0)
