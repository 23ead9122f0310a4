"""Monitors for intervals, the past, counts, scales, discounts and robustness: exact after every step."""

import json
import random
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import rewardspec as rs
from rewardspec.machines.effort_limit import Effort
from rewardspec.synthesis.quantitative.equations import equations
from rewardspec.synthesis.quantitative.obligations import Obligations
from tests.definition import value_by_definition
from tests.strategies import MONITORABLE, REALS, Language, random_formula, random_trace

ATOMS = ("a", "b", "c")
ROBUST = Language(past=True, intervals=True, counts=True, monitorable=True)
GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "values_time.json").read_text(encoding="utf-8"))


def monitors(seed, prefixes, language=MONITORABLE, semantics="degree", depth=4):
    """Random formulas with their monitors, until traces of so many prefixes have been used."""
    rng = random.Random(seed)
    refused = tried = 0
    while prefixes > 0:
        formula = random_formula(rng, rng.randint(1, depth), ATOMS, language)
        try:
            monitor = rs.synthesize(formula, semantics=semantics)
        except rs.SynthesisError as error:
            if "discounts without a bound" not in str(error):
                refused, tried = refused + 1, tried + 1
            continue
        tried += 1
        used = yield rng, formula, monitor
        prefixes -= used
    assert refused < 0.05 * tried


def run_all(monitors, check):
    """Feed every monitor of a generator to a check, which says how many prefixes it used."""
    try:
        case = next(monitors)
        while True:
            case = monitors.send(check(*case))
    except StopIteration:
        pass


@pytest.mark.parametrize("seed", range(5))
def test_every_prefix_has_the_value_of_the_definition(seed):
    def check(rng, formula, monitor):
        used = 0
        for length in (7, 12, 19):
            traces = [random_trace(rng, length, ATOMS) for _ in range(8)]
            batch = {atom: np.array([trace[atom] for trace in traces]).T for atom in ATOMS}
            found = monitor.run({atom: batch[atom] for atom in monitor.atoms or ATOMS})
            alone = monitor.run({atom: traces[0][atom] for atom in monitor.atoms or ATOMS})
            for n in range(1, length + 1):
                expected = value_by_definition(formula, {atom: labels[:n] for atom, labels in batch.items()})
                np.testing.assert_allclose(found[n - 1], expected, atol=1e-12, rtol=0, err_msg=str(formula))
                assert alone[n - 1] == found[n - 1, 0], str(formula)
            used += 8 * length
        return used

    run_all(monitors(seed, prefixes=10_500), check)


def test_robustness_has_the_value_of_the_definition():
    def check(rng, formula, monitor):
        trace = random_trace(rng, 14, ATOMS, (REALS,))
        found = monitor.run({atom: trace[atom] for atom in monitor.atoms or ATOMS})
        for n in range(1, 15):
            prefix = {atom: np.array(labels[:n])[:, None] for atom, labels in trace.items()}
            assert found[n - 1] == value_by_definition(formula, prefix, "robustness")[0], str(formula)
        return 14

    run_all(monitors(9, prefixes=3_000, language=ROBUST, semantics="robustness"), check)


@pytest.mark.parametrize("kind", ["timed", "soft", "real"])
def test_golden_values(kind):
    """Values on every prefix that an independent program computed; infinities are text."""
    cases = [case for case in GOLDEN if case["kind"] == kind]
    assert len(cases) > 80
    for case in cases:
        monitor = rs.synthesize(case["formula"], semantics="robustness" if kind == "real" else "degree")
        trace = {atom: case["trace"][atom] for atom in monitor.atoms or list(case["trace"])[:1]}
        expected = [float(value) for value in case["values"]]
        np.testing.assert_allclose(monitor.run(trace), expected, atol=1e-12, rtol=0, err_msg=case["formula"])


LONG = ("F[0,30] a", "G(a -> F[0,25] b)", "G(a -> (b U[5,20] c))", "G(a -> G[3,17] b)", "F G (a S[2,9] b)", "X[20] a")


def restarts(rng, steps, size):
    """At which steps which element of a batch starts anew."""
    return {rng.randrange(1, steps): rng.randrange(size) for _ in range(size * 3)}


@pytest.mark.parametrize("formula", LONG)
@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_traces_of_a_batch_that_start_anew_are_traces_of_their_own(formula, library):
    rng = random.Random(f"{formula} {library}")
    monitor, steps, size = rs.synthesize(formula), 60, 4
    labels = {
        a: np.array([[rng.choice((0.0, 0.25, 0.75, 1.0)) for _ in range(size)] for _ in range(steps)]) for a in "abc"
    }
    xp, array = {
        "numpy": (np, np.asarray),
        "torch": (torch, lambda values: torch.tensor(np.asarray(values))),
        "jax": (jnp, jnp.asarray),
    }[library]
    step, reset = (jax.jit(monitor.step), jax.jit(monitor.reset)) if library == "jax" else (monitor.step, monitor.reset)
    state = monitor.initial_state(size, xp, torch.float64 if library == "torch" else None)
    begun, when = np.zeros(size, dtype=int), restarts(rng, steps, size)
    for t in range(steps):
        if t in when:
            begun[when[t]] = t
            state = reset(state, array(np.arange(size) == when[t]))
        state, values = step(state, {atom: array(labels[atom][t]) for atom in monitor.atoms})
        for k in range(size):
            trace = {atom: labels[atom][begun[k] : t + 1, k].tolist() for atom in monitor.atoms}
            assert float(values[k]) == rs.evaluate(formula, trace), (t, k)


def test_a_state_can_be_gone_on_from_twice():
    """States are values: what one continuation does to a window, another does not see."""
    monitor = rs.synthesize("G(a -> F[0,4] b)")
    for batch in (None, 2):
        state = monitor.initial_state(batch)
        for t in range(7):
            state, _ = monitor.step(state, {"a": 0.125 * t, "b": 0.0})
        first = [state]
        for _ in range(6):
            first.append(monitor.step(first[-1], {"a": 0.5, "b": 0.25})[0])
        again = state
        for other in first[1:]:
            again, value = monitor.step(again, {"a": 0.5, "b": 0.25})
            np.testing.assert_array_equal(value, monitor.describe(other)["value"])


def test_bounds_are_never_passed():
    """Sound for every formula; where they say that they are exact, tests/machines/test_bounds.py holds them to it."""

    def check(rng, formula, monitor):
        try:
            state = monitor.initial_state()
            for _ in range(3):
                state, _ = monitor.step(state, {atom: rng.choice((0.0, 0.25, 0.75, 1.0)) for atom in ATOMS})
            lower, upper = monitor.bounds(state)
        except rs.SynthesisError:
            return 1
        for _ in range(12):
            going = state
            for _ in range(rng.randint(1, 12)):
                going, value = monitor.step(going, {atom: rng.choice((0.0, 0.5, 1.0)) for atom in ATOMS})
                assert lower - 1e-12 <= value <= upper + 1e-12, str(formula)
        return 1

    run_all(monitors(3, prefixes=250), check)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("O F a", "`O F a` looks ahead from within the past, by `F a`"),
        ("G(a -> H(b | X c))", "by `X c`"),
        ("G(a -> F[;0.9] b)", r"discounts without a bound.*F\[0,50;0.9\]"),
    ],
)
def test_what_cannot_be_monitored_is_refused_by_name(formula, message):
    with pytest.raises(rs.SynthesisError, match=message):
        rs.synthesize(formula)
    assert 0.0 <= rs.evaluate(formula, {"a": [0.5, 1.0], "b": [0.0, 1.0], "c": [0.0, 0.5]}) <= 1.0


@pytest.mark.parametrize("formula", ["F[0,20;0.9] a", "G[0,24;0.7] a", "G(a -> F[0,6;0.9] b)", "!F[0,30;0.9] a"])
def test_discounts_that_are_no_binary_fractions_stay_within_the_unit_interval(formula):
    """Rounding lifts 0.9 * (0.9 * … + 0.1) + 0.1 above 1."""
    monitor, rng = rs.synthesize(formula), np.random.default_rng(0)
    trace = {atom: rng.choice([0.0, 0.3, 1.0], size=35) for atom in monitor.atoms}
    expected = [rs.evaluate(formula, {a: labels[:n].tolist() for a, labels in trace.items()}) for n in range(1, 36)]
    np.testing.assert_allclose(monitor.run(trace), expected, atol=1e-12, rtol=0)


def test_a_discount_that_leaves_nothing_is_refused_for_its_length_alone():
    with pytest.raises(rs.SynthesisError, match="counts 2,000 steps"):
        rs.synthesize("F[0,2000;0.5] a")


@pytest.mark.parametrize("formula", ["G(!a | (b U[0,9;0.5] c))", "G(!a | F[0,9;0.7] b)", "G(!a | G[0,9;0.7] b)"])
def test_of_obligations_under_different_maps_the_smallest_is_kept(formula):
    """Else each set of them would have a register, a thousand here."""
    found = equations(rs.to_nnf(formula), Obligations(Effort(10**6)), 100)
    assert len(found.updates) <= 13


def test_a_long_window_is_one_register_and_one_window():
    for bound in (50, 2_000):
        monitor = rs.synthesize(f"G(key -> F[0,{bound}] door)")
        assert (len(monitor.registers), len(monitor.program.windows), len(monitor.states)) == (1, 1, 1)
        assert rs.Monitor.from_json(monitor.to_json()) == monitor


def test_robustness_takes_no_scale():
    with pytest.raises(rs.FormulaError, match="Robustness has no scales"):
        rs.synthesize("0.5 * F a", semantics="robustness")
    monitor = rs.synthesize("G x", semantics="robustness")
    with pytest.raises(rs.LabelError, match="should be finite"):
        monitor.step(monitor.initial_state(), {"x": float("nan")})
    assert monitor.step(monitor.initial_state(), {"x": -7.5})[1] == -7.5


@pytest.mark.parametrize("formula", ["F F[0,235;0.9] !(first U c)", "G !F[0,133;0.999999] F (c <-> 0.5 * d)"])
def test_control_states_with_long_polynomials_are_counted_as_work(formula):
    """One for each step of the discount, where one is enough: the other way to build the machine finds it."""
    assert len(rs.synthesize(formula).states) == 1
