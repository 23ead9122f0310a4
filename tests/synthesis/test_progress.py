"""Progress: between the value and 1, as its definition says, on every backend."""

import contextlib
import pickle
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import rewardspec as rs
from rewardspec.logic.formulas import And, Or, Timed
from rewardspec.logic.fragments import is_cosafe
from tests.strategies import LTLF, MONITORABLE, QUARTERS, Language, random_formula, random_trace
from tests.synthesis.progress_definition import TooManyError, progress_by_definition

ATOMS = ("a", "b", "c")
BOUNDED = Language(intervals=True, counts=True)
TASKS = [
    "F(a & F(b & F c))",
    "F(a & X F(b & X F c)) & G !c",
    "F a & F b & F c",
    "F(a & F b) | F(c & F(b & F a))",
    "F a & (F(b & F c) | F(c & F b))",
    "F[0,6](a & F[0,5](b & F[0,4] c))",
    "F(a & F[0,9](b & F[2,12] c)) & G !(a & b)",
    "G(a -> F b) & F(b & F(c & F a))",
    "!c U (a & F(b & F c))",
    "F{3} a & F b",
    "F(a & O b & F(c & O[0,3] a))",
    "F[0,8;0.5](a & F b) & 0.75 * F(c & F a)",
]


def steps_of(monitor, trace):
    """The value and the progress after every prefix of a trace."""
    state, found = monitor.initial_state(), []
    for letter in zip(*trace.values(), strict=True):
        state, value = monitor.step(state, dict(zip(trace, letter, strict=True)))
        found.append((value, monitor.progress(state)))
    return found


def random_task(rng, language):
    """A random formula, alone, beside others, or one after the other, so that more than one thing is owed."""
    parts = [random_formula(rng, rng.randint(1, 3), ATOMS, language) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.5:
        return And(*parts) if rng.random() < 0.7 else Or(*parts)
    return rs.patterns.sequence(*parts, strict=rng.random() < 0.5)


def events(names, *atoms):
    """The trace in which one atom is true at each step, or none."""
    return {atom: [float(name == atom) for name in names] for atom in atoms}


def test_a_sequence_has_done_a_third_then_two_thirds_then_all():
    trace = events(["", "key", "", "door", "key", "goal", ""], "key", "door", "goal")
    for formula in ("F(key & F(door & F goal))", rs.patterns.sequence("key", "door", "goal", strict=True)):
        found = steps_of(rs.synthesize(formula), trace)
        assert [progress for _, progress in found] == [0, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 1, 1]
        assert [value for value, _ in found] == [0, 0, 0, 0, 0, 1, 1]


def test_a_sequence_done_half_is_no_further_than_it_is_true():
    trace = {"key": [0.25, 0.5, 0.0], "door": [0.0, 0.0, 1.0], "goal": [0.0, 0.125, 0.0]}
    found = steps_of(rs.synthesize("F(key & F(door & F goal))"), trace)
    assert [progress for _, progress in found] == [0.25, 1 / 3, 0.5]


def test_safety_beside_a_sequence_owes_nothing_and_is_lost_with_it():
    monitor = rs.synthesize("F(key & F(door & F goal)) & G !lava")
    trace = events(["", "key", "door", "lava", "goal"], "key", "door", "goal", "lava")
    assert [progress for _, progress in steps_of(monitor, trace)] == [0, 1 / 3, 2 / 3, 0, 0]


def test_goals_in_any_order_are_counted():
    trace = events(["c", "", "a", "c", "b"], "a", "b", "c")
    assert [p for _, p in steps_of(rs.synthesize("F a & F b & F c"), trace)] == [1 / 3, 1 / 3, 2 / 3, 2 / 3, 1]


def test_one_of_two_ways_is_enough_and_the_further_one_counts():
    monitor = rs.synthesize("F(a & F b) | F(b & F(c & F(d & F e)))")
    trace = events(["", "b", "c", "d", "a", "e"], "a", "b", "c", "d", "e")
    assert [progress for _, progress in steps_of(monitor, trace)] == [0, 1 / 4, 2 / 4, 3 / 4, 3 / 4, 1]


@pytest.mark.parametrize("bound", [2, 5, 100])
def test_what_is_owed_past_its_deadline_no_longer_counts(bound):
    monitor = rs.synthesize(f"F(key & F[0,{bound}](door & F goal))")
    trace = events(["key", *[""] * (bound + 2), "key", "door", "goal"], "key", "door", "goal")
    progress = [progress for _, progress in steps_of(monitor, trace)]
    assert progress == [1 / 3] * bound + [0] * 3 + [1 / 3, 2 / 3, 1]


@pytest.mark.parametrize(
    "formula", ["G a", "G(a -> F b)", "a", "F a", "F G a", "!b W a", "G[0,20] a", "true", "X true"]
)
def test_where_nothing_is_owed_at_the_start_or_one_step_does_it_all_progress_is_the_value(formula):
    rng = random.Random(0)
    monitor = rs.synthesize(formula)
    for _ in range(20):
        assert all(value == progress for value, progress in steps_of(monitor, random_trace(rng, 8, ("a", "b"))))


def test_as_robustness_progress_is_the_value():
    monitor = rs.synthesize("F(a & F b) & G c", semantics="robustness")
    for value, progress in steps_of(monitor, {"a": [-1.0, 2.0], "b": [0.5, 1.5], "c": [3.0, -4.0]}):
        assert value == progress


@pytest.mark.parametrize("formula", TASKS)
@pytest.mark.parametrize("labels", [(0.0, 1.0), QUARTERS])
def test_tasks_make_the_progress_of_the_definition(formula, labels):
    rng = random.Random(1)
    formula = rs.parse(formula)
    monitor = rs.synthesize(formula, progress=True)
    levels = set()
    for length in (6, 15, 25):
        for _ in range(4):
            trace = {atom: [rng.choice(labels) * (rng.random() < 0.4) for _ in range(length)] for atom in ATOMS}
            found = steps_of(monitor, trace)
            assert [progress for _, progress in found] == pytest.approx(
                progress_by_definition(formula, trace), abs=1e-12
            )
            levels.update(progress for value, progress in found if progress > value)
    assert levels  # some of it was more than the value


@pytest.mark.parametrize("language", [LTLF, BOUNDED, MONITORABLE], ids=["ltlf", "bounded", "monitorable"])
@pytest.mark.parametrize("seed", range(3))
def test_random_formulas_make_the_progress_of_the_definition(seed, language):
    rng = random.Random(seed)
    tried = more = 0
    while tried < 60:
        formula = random_task(rng, language)
        if any(isinstance(p, Timed) and p.discount < 1 and p.high is None for p in formula.subformulas()):
            continue  # a test of its own says what becomes of these
        try:
            monitor = rs.synthesize(formula, progress=True, max_registers=2000)
            trace = random_trace(rng, 9, ATOMS)
            expected = progress_by_definition(formula, trace)
        except (rs.SynthesisError, TooManyError):
            continue
        tried += 1
        found = steps_of(monitor, trace)
        assert [progress for _, progress in found] == pytest.approx(expected, abs=1e-12), str(formula)
        assert all(value <= progress <= 1.0 for value, progress in found), str(formula)
        more += any(progress > value for value, progress in found)
    assert more > 8


@pytest.mark.parametrize("seed", range(3))
def test_progress_does_not_change_the_value_and_is_the_same_where_the_value_has_the_registers(seed):
    rng = random.Random(100 + seed)
    free = 0
    for _ in range(80):
        formula = random_task(rng, BOUNDED)
        trace = random_trace(rng, 8, ATOMS)
        plain, full = rs.synthesize(formula), rs.synthesize(formula, progress=True)
        expected = steps_of(full, trace)
        assert plain.run(trace).tolist() == [value for value, _ in expected], str(formula)
        with contextlib.suppress(rs.SynthesisError):  # which a test of its own is about
            assert steps_of(plain, trace) == expected, str(formula)
            free += 1
    assert free > 40


def test_the_progress_of_unbounded_cosafe_tasks_never_falls():
    rng = random.Random(5)
    for task in TASKS[:1] + TASKS[2:5] + ["F(a & X F(b & X F c))", "F{3} a & F b"]:
        assert is_cosafe(rs.parse(task))
        monitor = rs.synthesize(task, progress=True)
        for _ in range(20):
            progress = [progress for _, progress in steps_of(monitor, random_trace(rng, 12, ATOMS))]
            assert progress == sorted(progress)


@pytest.mark.parametrize("task", TASKS)
def test_every_backend_makes_the_progress_of_one_trace(task):
    rng = random.Random(2)
    monitor = rs.synthesize(task, progress=True)
    traces = [random_trace(rng, 14, ATOMS) for _ in range(5)]
    expected = np.array([[progress for _, progress in steps_of(monitor, trace)] for trace in traces]).T
    batch = {atom: np.array([trace[atom] for trace in traces]).T for atom in ATOMS}

    def run(xp, **options):
        state = monitor.initial_state(batch=5, xp=xp, **options)
        for n in range(14):
            labels = {atom: xp.asarray(rows[n], **options) for atom, rows in batch.items()}
            state, _ = monitor.step(state, labels)
            yield np.asarray(monitor.progress(state))

    np.testing.assert_allclose(list(run(np)), expected, atol=1e-15)
    np.testing.assert_allclose(list(run(torch, dtype=torch.float64)), expected, atol=1e-15)

    @jax.jit
    def scanned(labels):
        def step(state, letter):
            state, _ = monitor.step(state, letter)
            return state, monitor.progress(state)

        return jax.lax.scan(step, monitor.initial_state(batch=5, xp=jnp), labels)[1]

    np.testing.assert_allclose(scanned({a: jnp.asarray(rows) for a, rows in batch.items()}), expected, atol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_elements_of_a_batch_that_start_anew_make_their_own_progress(task):
    rng = random.Random(3)
    monitor = rs.synthesize(task, progress=True)
    state = monitor.initial_state(batch=3)
    alone = [monitor.initial_state() for _ in range(3)]
    for _ in range(60):
        begin = np.array([rng.random() < 0.1 for _ in range(3)])
        state = monitor.reset(state, begin)
        alone = [monitor.initial_state() if anew else own for own, anew in zip(alone, begin, strict=True)]
        labels = {atom: np.array([rng.choice(QUARTERS) for _ in range(3)]) for atom in ATOMS}
        state, _ = monitor.step(state, {atom: labels[atom] for atom in monitor.atoms})
        alone = [
            monitor.step(own, {atom: float(labels[atom][k]) for atom in monitor.atoms})[0]
            for k, own in enumerate(alone)
        ]
        np.testing.assert_array_equal(monitor.progress(state), [monitor.progress(own) for own in alone])


def test_a_monitor_without_the_registers_says_how_to_get_them():
    task = "G(door -> F goal) & F(key & F(door & F goal))"
    monitor = rs.synthesize(task)
    state, _ = monitor.step(monitor.initial_state(), {"key": 1.0, "door": 0.0, "goal": 0.0})
    with pytest.raises(rs.SynthesisError, match=r"synthesize\(formula, progress=True\)"):
        monitor.progress(state)


def test_before_the_first_letter_there_is_no_progress_as_there_is_no_value():
    monitor = rs.synthesize("F(a & F b)")
    assert np.isnan(monitor.progress(monitor.initial_state()))
    assert np.isnan(monitor.progress(monitor.initial_state(batch=2))).all()


@pytest.mark.parametrize("task", TASKS)
def test_a_saved_monitor_makes_the_same_progress(task):
    monitor = rs.synthesize(task, progress=True)
    trace = random_trace(random.Random(4), 12, ATOMS)
    for copy in (rs.Monitor.from_json(monitor.to_json()), pickle.loads(pickle.dumps(monitor))):
        assert copy == monitor
        assert steps_of(copy, trace) == steps_of(monitor, trace)


def test_where_there_is_too_much_to_count_progress_is_the_value():
    formula = " & ".join(f"F(a{k} & F b{k})" for k in range(60))
    monitor = rs.synthesize(formula, progress=True)
    state, value = monitor.step(monitor.initial_state(), dict.fromkeys(monitor.atoms, 0.5))
    assert monitor.progress(state) == value == 0.5
    state, value = monitor.step(monitor.initial_state(), {atom: float(atom[0] == "a") for atom in monitor.atoms})
    assert monitor.progress(state) == value == 0.0


def test_a_discount_without_a_bound_owes_its_goal():
    monitor = rs.synthesize("F[;0.5] goal & F(key & F door)", progress=True)
    found = steps_of(monitor, events(["", "key", "goal", "door"], "key", "door", "goal"))
    assert [value for value, _ in found] == [0, 0, 0, 0.25]
    assert [progress for _, progress in found] == [0, 1 / 3, 1 / 3, 2 / 3]


def test_discounts_that_are_no_powers_of_two_compose():
    monitor = rs.synthesize("F[0,20;0.9](key & F goal)")
    assert monitor.run({"key": [0.0, 1.0, 0.0], "goal": [0.0, 0.0, 1.0]}) == pytest.approx([0.0, 0.0, 0.9])
