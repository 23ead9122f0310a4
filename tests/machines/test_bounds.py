"""Bounds hold for every continuation, and some continuation attains them."""

import itertools
import random

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import rewardspec as rs
from rewardspec.machines.bounds import Bounds, largest
from rewardspec.machines.expressions import all_parts
from rewardspec.machines.windows import Queue, algebra, queue_contents
from tests.strategies import Language, random_formula, random_trace


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


def all_of(monitor, state):
    """All that the rest of a trace depends on."""
    program, control, *cells = monitor.program, *state[:-1]
    count = len(program.registers)
    held = (
        tuple(queue_contents(Queue(*queue), window.length, algebra(window, program, None)))
        for window, queue in zip(program.windows, cells[count:], strict=True)
    )
    return control, *cells[:count], *held


def reachable(monitor, state, most):
    """The values of all continuations with labels 0, 1/2 and 1; None where there are more states than `most`."""
    letters = [dict(zip(monitor.atoms, word, strict=True)) for word in itertools.product((0.0, 0.5, 1.0), repeat=2)]
    seen, waiting, values = set(), [state], set() if state[-1] != state[-1] else {state[-1]}
    while waiting:
        before = waiting.pop()
        for letter in letters:
            after, value = monitor.step(before, letter)
            values.add(value)
            key = all_of(monitor, after)
            if key not in seen:
                seen.add(key)
                waiting.append(after)
        if len(seen) > most:
            return None
    return values


@pytest.mark.parametrize("seed", range(3))
def test_bounds_with_windows_hold_and_are_attained(seed):
    """What can be reached is found by trying, since the definition would have to try too many continuations."""
    rng, exact = random.Random(seed), 0
    language = Language(past=True, intervals=True, counts=True, monitorable=True)
    while exact < 25:
        monitor = rs.synthesize(random_formula(rng, rng.randint(1, 3), ("a", "b"), language))
        if not monitor.program.windows or set(monitor.atoms) != {"a", "b"}:
            continue
        state = state_after(monitor, random_trace(rng, length=rng.randint(1, 8), atoms=("a", "b")))
        values = reachable(monitor, state, 300)
        if values is None:
            continue
        lower, upper = monitor.bounds(state)
        assert lower <= min(values) <= max(values) <= upper
        if monitor.has_exact_bounds:  # else they take too long to find
            exact += 1
            assert (lower, upper) == (min(values), max(values)), str(monitor.formula)


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


def test_bounds_after_a_missed_deadline_and_before_it():
    monitor = rs.synthesize("G(a -> F[0,5] b)")
    state, uppers = monitor.initial_state(), []
    for t in range(8):
        state, _ = monitor.step(state, {"a": 0.75 * (t == 1), "b": 0.0})
        uppers.append(monitor.bounds(state)[1])
    assert uppers == [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.25, 0.25]


def test_windows_of_many_values_have_sound_bounds_that_are_marked():
    assert rs.synthesize("G(a -> F[0,60] b)").has_exact_bounds
    assert not rs.synthesize("G(a -> F[0,600] b)").has_exact_bounds
    assert not rs.synthesize("0.5 * F a").has_exact_bounds


@pytest.mark.parametrize("formula", ["G(a -> F[0,6] b)", "now (a S[0,5] b)", "G(a -> X[5] b)", "G[2,7] (a | b)"])
def test_bounds_of_a_batch_with_windows(formula):
    """NumPy and torch look into windows as a single trace does; in JAX bounds are sound, and wider at most."""
    rng, monitor = random.Random(formula), rs.synthesize(formula)
    traces = [random_trace(rng, length=9, atoms=("a", "b")) for _ in range(5)]
    states = [monitor.initial_state(batch=5, xp=xp) for xp in (np, torch, jnp)]
    for k in range(9):
        letter = {name: np.array([float(trace[name][k]) for trace in traces]) for name in monitor.atoms}
        alone = [state_after(monitor, {name: trace[name][: k + 1] for name in trace}) for trace in traces]
        lower, upper = np.transpose([monitor.bounds(state) for state in alone])
        letters = (letter, {name: torch.tensor(x) for name, x in letter.items()}, letter)
        states = [monitor.step(state, labels)[0] for state, labels in zip(states, letters, strict=True)]
        found = [[np.asarray(bound) for bound in monitor.bounds(state)] for state in states]
        for one in found[:2]:
            np.testing.assert_array_equal(one, (lower, upper))
        assert (found[2][0] <= lower).all()
        assert (found[2][1] >= upper).all()


def test_a_discount_lowers_what_can_still_come():
    for formula, ends in (("F[;0.5] a", (0.0, 0.125)), ("G[;0.5] a", (0.875, 1.0)), ("b U[;0.5] a", (0.0, 0.125))):
        monitor = rs.synthesize(formula)
        letter = {"a": float(formula.startswith("G")), "b": 1.0}
        state = state_after(monitor, {atom: [letter[atom]] * 3 for atom in monitor.atoms})
        assert monitor.bounds(state) == ends, formula


@pytest.mark.parametrize("formula", ["F{100} a", "G{100} a", "G(a -> F[0,100;0.9] b)", "G(a -> (b U[0,100;0.9] c))"])
def test_the_work_for_counts_and_discounts_is_not_cubic(formula):
    program = rs.synthesize(formula).program
    for negated in (False, True):
        largest(program, negated=negated, effort=60_000)


def test_of_two_constants_in_a_set_the_larger_counts():
    monitor = rs.synthesize("G(a -> F[0,3;0.5] b)")
    state = state_after(monitor, {"a": [1.0, 0.0], "b": [0.0, 0.0]})
    assert monitor.bounds(state)[1] == 0.25  # b two steps after a


def test_long_windows_are_not_listed():
    for steps, listed in ((60, 60), (900, 0)):
        bounds = Bounds(rs.synthesize(f"G(a -> F[0,{steps}] b)").program)
        found = {part for part in all_parts([*bounds.lower, *bounds.upper]) if part.op == "content"}
        assert len(found) == listed
