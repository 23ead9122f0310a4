"""Windows hold what they are said to hold: compared with a plain list of values for each element of a batch."""

import copy
import itertools
import pickle
import random
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import rewardspec as rs
from rewardspec.machines.expressions import label
from rewardspec.machines.program import Program, Push, Step, Window
from rewardspec.machines.window_code import BatchWindows, has_begun
from rewardspec.machines.windows import queue_newest

LENGTHS = (1, 2, 3, 4, 5, 8, 13)
KINDS = (("max", 0.0), ("min", 1.0), ("last", 0.0), ("last", 1.0))


class Lists:
    """A window's values for each element of a batch, oldest first."""

    def __init__(self, window, program, size):
        self.window = window
        self.neutral = program.top if window.neutral else program.bottom
        self.inner = max if window.neutral else min
        self.held = [[self.neutral] * window.length for _ in range(size)]

    def push(self, values, guards):
        for k, held in enumerate(self.held):
            bounded = held if guards is None else [self.inner(value, guards[k]) for value in held]
            self.held[k] = [*bounded[1:], values[k]]

    def begin(self, element):
        self.held[element] = [self.neutral] * self.window.length

    def restart(self, element, newest):
        self.held[element] = [self.neutral] * (self.window.length - 1) + [newest]

    def read(self):
        return [
            held[0] if self.window.op == "last" else {"max": max, "min": min}[self.window.op](held)
            for held in self.held
        ]

    def contents(self):
        """What is held, where newer values stand for those that they hide."""
        if self.window.op == "last":
            return self.held
        best = {"max": max, "min": min}[self.window.op]
        return [list(itertools.accumulate(reversed(held), best))[::-1] for held in self.held]

    def lasting(self):
        """In how many steps each extremum will be gone."""
        return [
            0 if value == self.neutral else max(k for k, other in enumerate(held) if other == value) + 1
            for held, value in zip(self.held, self.read(), strict=True)
        ]


def window_of(length, op, neutral, guarded, semantics="degree"):
    window = Window("w", length, op, neutral)
    step = Step((), (label("x"),), (Push(label("x"), label("g") if guarded else None),))
    program = Program(("x", "g"), (), (), (step,), 0, (window,), semantics)
    return program, BatchWindows(program)


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("semantics", ["degree", "robustness"])
def test_windows_of_batches_that_start_anew_hold_the_last_values(guarded, semantics):
    rng, size = random.Random(f"{guarded} {semantics}"), 3
    for length, (op, neutral) in itertools.product(LENGTHS, KINDS):
        program, windows = window_of(length, op, neutral, guarded, semantics)
        state, lists = windows.initial(np.zeros(size), np), Lists(program.windows[0], program, size)
        for step in range(5 * length + 12):
            element = rng.randrange(size)
            mask = np.arange(size) == element
            if rng.random() < 0.2:
                state = windows.begin(mask, (), state, np)
                lists.begin(element)
            values = [rng.choice((0.125, 0.25, 0.5, 0.75)) for _ in range(size)]
            guards = [rng.choice((0.25, 0.5, 0.75, 1.0, 0.0)) for _ in range(size)] if guarded else None
            state = windows.push(state, [np.array(values)], [None if guards is None else np.array(guards)], np)
            lists.push(values, guards)
            if rng.random() < 0.2:
                newest = rng.choice((0.125, 0.5, 1.0))
                started = windows.push(windows.initial(np.zeros(1), np), [np.array([newest])], [None], np)
                state = windows.restart_at(np.array([element]), mask, started, state)
                lists.restart(element, newest)
                values[element] = newest
            assert windows.read(state, 0, np).tolist() == lists.read(), (length, op, neutral, step)
            assert queue_newest(state[0]).tolist() == values
            assert op == "last" or windows.lasting(state, np)[0].tolist() == lists.lasting()
            if rng.random() < 0.3:
                state = windows.of_contents(windows.contents(state, 0, np))
                assert windows.read(state, 0, np).tolist() == lists.read()


def tables_of(rng, lengths, semantics):
    """A program with windows of these lengths and random kinds, half of them guarded."""
    windows = [Window("w", length, *rng.choice(KINDS)) for length in lengths]
    pushes = tuple(Push(label("x"), rng.choice((label("g"), None))) for _ in windows)
    return Program(("x", "g"), (), (), (Step((), (label("x"),), pushes),), 0, tuple(windows), semantics)


@pytest.mark.parametrize(
    ("library", "semantics"),
    [("torch", "degree"), ("torch", "robustness"), ("jax", "degree"), ("jax each", "robustness")],
)
def test_windows_that_share_a_table_hold_the_last_values(library, semantics):
    """Windows of lengths from 1 to 100, compared with lists: values, how long they last, and what short ones hold."""
    rng, size, steps = random.Random(f"{library} {semantics}"), 4, 250
    short = 6 if library == "torch" else 3
    lengths = (
        [1, 2, 3, 5, 8, 13][:short] + [rng.randint(2, 100) for _ in range(8 if library == "torch" else 4)] + [64, 100]
    )
    program = tables_of(rng, lengths, semantics)
    tables, xp = BatchWindows(program), torch if library == "torch" else jnp
    random_ = np.random.default_rng(rng.randrange(1000))
    values, firsts = (random_.choice((0.125, 0.25, 0.5, 0.75), (steps, len(lengths), size)) for _ in range(2))
    # Mostly guards that change nothing in one kind of window, so that long windows hold old values.
    guards = random_.choice((1.0, 0.75, 0.5, 0.25, 0.0), (steps, len(lengths), size), p=(0.9, *[0.025] * 4))
    upward = np.array([bool(window.neutral) for window in program.windows])[None, :, None]
    guards = np.where(upward, 1.0 - guards, guards)
    begun, restarted = (random_.random((steps, size)) < 0.02 for _ in range(2))

    def run_step(initial, state, row):
        value, guard, begun, restarted, first = row
        bounds = [guard[k] if program.guarded(k) else None for k in range(len(lengths))]
        state = tables.begin(begun, initial, state, xp)
        state = tables.push(state, list(value), bounds, xp)
        state = tables.restart(restarted, tables.push(initial, list(first), bounds, xp), state, xp)
        held = [xp.stack(tables.contents(state, k, xp)) for k in range(short)]
        return state, ([tables.read(state, k, xp) for k in range(len(lengths))], tables.lasting(state, xp), held)

    rows = (values, guards, begun, restarted, firsts)
    if library == "torch":
        state = initial = tables.initial(torch.zeros(size, dtype=torch.float64), xp)
        found = []
        for t in range(steps):
            state, got = run_step(initial, state, [torch.as_tensor(column[t]) for column in rows])
            found.append([[np.asarray(x) for x in part] for part in got])
    else:

        def run(rows):
            initial = tables.initial(jnp.zeros_like(rows[0][0, 0]), xp)
            return jax.lax.scan(lambda state, row: run_step(initial, state, row), initial, rows)[1]

        run = jax.vmap(run, in_axes=-1, out_axes=-1) if library == "jax each" else run
        got = jax.jit(run)([jnp.asarray(x, None if x.dtype == bool else jnp.float32) for x in rows])
        found = [[[np.asarray(x[t]) for x in part] for part in got] for t in range(steps)]
    lists = [Lists(window, program, size) for window in program.windows]
    for t in range(steps):
        lasting = iter(found[t][1])
        for k, each in enumerate(lists):
            for element in np.flatnonzero(begun[t]):
                each.begin(element)
            each.push(values[t, k].tolist(), guards[t, k].tolist() if program.guarded(k) else None)
            for element in np.flatnonzero(restarted[t]):
                each.restart(element, firsts[t, k, element])
            where = each.window, program.guarded(k), t
            assert found[t][0][k].tolist() == each.read(), where
            assert each.window.op == "last" or next(lasting).tolist() == each.lasting(), where
            assert k >= short or found[t][2][k].T.tolist() == each.contents(), where


def test_the_table_works_on_when_its_clock_overflows():
    _, window = window_of(11, "max", 0.0, guarded=False)
    rng = np.random.default_rng(0)
    late = window.initial(jnp.zeros(3), jnp)
    late, early = late._replace(clock=late.clock + (2**31 - 20)), late
    push = jax.jit(window.push, static_argnames="xp")
    for _ in range(40):
        values = jnp.asarray(rng.random(3), jnp.float32)
        late, early = (push(state, (values,), (None,), xp=jnp) for state in (late, early))
        assert late.extrema[0].tolist() == early.extrema[0].tolist()
    assert late.clock < 0


def test_no_step_of_a_window_is_longer_than_another():
    """A step keeps to a few operations: none does the work of a whole window at once."""
    calls = 0

    class Counting:
        full_like, where = staticmethod(np.full_like), staticmethod(np.where)

        @staticmethod
        def maximum(left, right):
            nonlocal calls
            calls += 1
            return np.maximum(left, right)

        minimum = maximum

    _, window = window_of(1_000, "max", 0.0, guarded=False)
    state, most = window.initial(np.zeros(2), np), 0
    for _ in range(3_000):
        calls = 0
        state = window.push(state, [np.ones(2)], [None], Counting)
        window.read(state, 0, Counting)
        most = max(most, calls)
    assert 0 < most <= 4


def test_a_trace_that_has_begun_with_numbers_goes_on_with_numbers():
    """Also where as many values have been pushed as the window holds, so that its counter is back at the start."""
    monitor = rs.synthesize("F G H[0,4] p")
    state = monitor.initial_state()
    assert not has_begun(state[1])
    for _ in range(monitor.program.windows[0].length):
        state, _ = monitor.step(state, {"p": 1.0})
        assert has_begun(state[1])
        with pytest.raises(rs.LabelError, match="begun with numbers"):
            monitor.step(state, {"p": np.ones(3)})


def test_batches_with_robustness_have_the_values_of_single_traces():
    """The least and the largest value are infinite there, and must not become NaN in a batch."""
    rng = np.random.default_rng(0)
    for formula in ("X[5] a", "F G H[0,4] a", "G(a -> F[0,6] b)", "F G (a S[1,5] b)", "F[3,9] G[0,5] a"):
        monitor = rs.synthesize(formula, semantics="robustness")
        trace = {atom: rng.normal(size=(40, 2)) for atom in monitor.atoms}
        batch = monitor.run(trace)
        for k in range(2):
            np.testing.assert_array_equal(batch[:, k], monitor.run({atom: v[:, k] for atom, v in trace.items()}))


@pytest.mark.parametrize("formula", ["G(a -> F[0,100] b)", "F G (a S[3,100] b)", "X[100] a"])
def test_jax_writes_a_windows_rows_in_place(formula):
    """A copy of all rows at every step, which XLA makes where it must, would cost as much as the window is long."""
    monitor = rs.synthesize(formula)

    def one(state, letter):
        mask, labels = letter
        return monitor.step(monitor.reset(state, mask), labels)

    def several(state, letters):
        return jax.lax.scan(one, state, letters)

    letters = jnp.zeros((50, 7), dtype=bool), {atom: jnp.zeros((50, 7)) for atom in monitor.atoms}
    code = jax.jit(several).lower(monitor.initial_state(batch=7, xp=jnp), letters).compile().as_text()
    # What is indented belongs to the computation named before it; the one called ENTRY runs once.
    loops, entry = code.split("ENTRY")
    assert "scatter" in loops
    assert not re.search(r"= f32\[\d{2,},7\]\S* copy\(", loops)
    assert re.search(r"= f32\[\d{2,},7\]\S* copy\(", entry)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda state: pickle.loads(pickle.dumps(state))])
@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("formula", ["G(a -> (b U[0,1500] a))", "G(a -> X[1500] b)", "now H[0,1500] a & F b"])
def test_a_state_with_thousands_of_values_can_be_copied_and_pickled(formula, batch, duplicate):
    rng, monitor = np.random.default_rng(0), rs.synthesize(formula)
    size = () if batch is None else (batch,)
    state = monitor.initial_state(batch)
    letters = [{atom: rng.random(size) for atom in "ab"} for _ in range(2_000)]
    for letter in letters:
        state, _ = monitor.step(state, letter)
    other = duplicate(state)
    for letter in letters:
        state, value = monitor.step(state, letter)
        other, again = monitor.step(other, letter)
        assert np.array_equal(value, again)
