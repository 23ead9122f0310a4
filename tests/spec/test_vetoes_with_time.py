"""A veto falls at the step where a formula with deadlines or the past can no longer be met, and no step before."""

import random

import pytest

import rewardspec as rs
from rewardspec.spec import Pair, Spec
from tests.strategies import Language, random_formula

TIME = Language(past=True, intervals=True, counts=True, monitorable=True)
NAMED = (
    *("G(a -> F[0,6] b)", "G(a -> F[3,9] b)", "G(a -> X[5] b)", "G(a -> G[2,8] b)", "G(a -> (b U[2,8] a))", "F[0,9] a"),
    # Of these what windows give tells too little, and what they hold is looked at.
    *("G(a -> F[0,5] G[0,5] b)", "first | a <-> a U[2,4] b", "F[0,2] Y[3](a & b)", "X[3] H[2,4] b"),
)


def violations(formula, rng, traces):
    """How many traces violate a formula, each of them vetoed just then."""
    monitor, spec, violated = rs.synthesize(formula), Spec([Pair(formula, 1, veto=True)]), 0
    for _ in range(traces):
        state, paid, share = monitor.initial_state(), None, rng.choice((0.1, 0.5, 0.9))
        for _ in range(25):
            letter = {atom: float(rng.random() < share) for atom in monitor.atoms}
            state, _ = monitor.step(state, letter)
            paid = spec.start(letter) if paid is None else spec.step(paid, letter)[0]
            assert spec.violated(paid) == (monitor.bounds(state)[1] == 0.0), str(formula)
        violated += bool(spec.violated(paid))
    return violated


@pytest.mark.parametrize("formula", NAMED)
def test_a_veto_falls_when_nothing_can_be_done_any_more(formula):
    assert violations(formula, random.Random(0), traces=20) > 0


def test_vetoes_of_random_formulas():
    rng, violated = random.Random(1), 0
    while violated < 40:
        formula = random_formula(rng, rng.randint(2, 4), ("a", "b"), TIME)
        if rs.is_safe(formula) and rs.synthesize(formula).program.windows and rs.synthesize(formula).has_exact_bounds:
            violated += violations(formula, rng, traces=4)


def test_a_deadline_of_many_steps_vetoes_in_time():
    spec = Spec([Pair("G(a -> F[0,400] b)", 1, veto=True)])
    state = spec.start({"a": 1.0, "b": 0.0})
    for step in range(1, 402):
        state, _ = spec.step(state, {"a": 0.0, "b": 0.0})
        assert spec.violated(state) == (step >= 400)
