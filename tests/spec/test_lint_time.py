"""Lint's rules about time, and the rules that try formulas out, on formulas with windows, counts and scales."""

import random

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.logic.normal_form import to_nnf
from rewardspec.spec import Pair, Spec
from rewardspec.spec.lint.exploration import compare, relations
from rewardspec.spec.lint.time_rules import least_steps
from tests.spec.test_lint import violable
from tests.strategies import Language, random_formula, random_trace

TIME = Language(past=True, intervals=True, counts=True, monitorable=True)


def found(spec, rule, **options):
    return [finding for finding in spec.lint(**options) if finding.rule == rule]


@pytest.mark.parametrize(
    ("formula", "needs"),
    [
        ("X[30] a", 30),
        ("F[25,40] a", 25),
        ("F(a & X[15] F[6,9] b)", 21),
        ("F{25} a", 24),
        ("a U[21,] b", 21),
    ],
)
def test_a_formula_that_no_episode_is_long_enough_to_meet(formula, needs):
    (finding,) = found(Spec([(formula, 1)]), "out-of-time", max_episode_steps=20)
    assert (finding.severity, finding.pair) == ("error", 0)
    assert f"takes at least {needs} steps, and episodes end after 20" in finding.message
    assert not found(Spec([(formula, 1)]), "out-of-time", max_episode_steps=needs)
    assert not found(Spec([(formula, 1)]), "out-of-time")


@pytest.mark.parametrize("formula", ["WX[30] a", "G[21,40] a", "G{30} a"])
def test_a_formula_that_no_episode_is_long_enough_to_break(formula):
    (finding,) = found(Spec([(formula, 1)]), "out-of-time", max_episode_steps=20)
    assert finding.severity == "warning"
    assert "its value is 1 in all of them" in finding.message


def test_a_formula_out_of_time_as_robustness():
    spec = Spec([("F(a & X[3] b)", 1), ("G WX[3] a", 1, False)], semantics="robustness", bound=5)
    assert spec.values(spec.start({"a": 1.0, "b": 1.0})) == (-5.0, 5.0)
    lost, kept = found(spec, "out-of-time", max_episode_steps=2)
    assert "its value is -5 in all of them" in lost.message
    assert "its value is 5 in all of them" in kept.message


def test_what_takes_longer_than_it_is_said_to_has_the_value_0():
    rng = random.Random(0)
    checked = 0
    for _ in range(1_500):
        formula = random_formula(rng, rng.randint(1, 4), ("a", "b"), TIME)
        least = least_steps(to_nnf(formula))
        for length in range(1, int(min(least, 8)) + 1):
            checked += 1
            assert rs.evaluate(formula, random_trace(rng, length, ("a", "b"))) == 0.0, str(formula)
    assert checked > 300


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("G(a -> F[0,500] b)", "looks up to 500 steps ahead in `F[0,500] b`"),
        ("now H[0,201] a", "looks up to 201 steps back in `H[0,201] a`"),
    ],
)
def test_a_bound_that_no_episode_reaches(formula, said):
    (finding,) = found(Spec([(formula, 1)]), "bound-past-limit", max_episode_steps=200)
    assert said in finding.message
    assert "the bound never counts" in finding.message
    assert not found(Spec([(formula, 1)]), "bound-past-limit", max_episode_steps=500)


def test_a_formula_out_of_time_is_told_once():
    findings = Spec([("F[300,400] a", 1)]).lint(max_episode_steps=200)
    assert [finding.rule for finding in findings] == ["out-of-time"]


def test_an_interval_of_no_steps():
    (finding,) = found(Spec([("G(key -> F[0,0] door)", 1)]), "no-time-left")
    assert "says no more than its operand" in finding.message
    assert not found(Spec([("G(key -> F[0,1] door)", 1)]), "no-time-left")


@pytest.mark.parametrize(
    ("formula", "whole", "shorter"),
    [
        ("F G[0,3] p", "F(H[0,3] p & Y[3] true)", [0, 0, 0, 0, 1]),
        ("F G[1,3] p", "F(H[0,2] p & Y[3] true)", [0, 0, 0, 0, 1]),
        ("F[0,9] G[1,3] p", "F[0,9](G[1,3] p & X[3] true)", [0, 0, 0, 0, 1]),
        ("F[0,2] G[0,3] p", "F[0,2](G[0,3] p & X[3] true)", [0, 0, 1, 1, 1]),
        ("a & F G[0,3] p", "F(H[0,3] p & Y[3] true)", [0, 0, 0, 0, 1]),
        ("G(a -> F G[0,3] p)", "F(G[0,3] p & X[3] true)", [0, 0, 0, 0, 1]),
        ("F(a & G[0,3] p)", "F(a & G[0,3] p & X[3] true)", [0, 0, 0, 0, 1]),
        ("F H[0,3] p", "F(H[0,3] p & Y[3] true)", [1, 0, 0, 0, 0]),
        ("F(O a & H[0,3] p)", "F(O a & H[0,3] p & Y[3] true)", [1, 0, 0, 0, 0]),
    ],
)
def test_a_hold_that_an_end_of_the_episode_cuts_short(formula, whole, shorter):
    (finding,) = found(Spec([(formula, 1)]), "cut-short")
    assert finding.severity == "warning"
    assert f"write `{whole}`" in finding.remedy
    assert not found(Spec([(whole, 1)]), "cut-short")
    trace = {"a": [1] * 5, "p": shorter}
    assert rs.evaluate(formula, trace) == 1.0
    assert rs.evaluate(whole, trace) == 0.0
    assert rs.evaluate(whole, {"a": [1] * 5, "p": [0, 1, 1, 1, 1]}) == 1.0


@pytest.mark.parametrize(
    "formula", ["now H[0,3] p", "G[0,3] p", "F G p", "F(H[0,3] p & Y[3] a)", "F[3,] H[0,3] p", "G(a -> G[0,3] p)"]
)
def test_a_hold_that_nothing_cuts_short(formula):
    assert not found(Spec([(formula, 1)]), "cut-short")


def test_a_deadline_that_makes_a_veto():
    spec = Spec([("G(key -> F[0,20] door)", 1), ("F goal", 5)])
    (finding,) = found(spec, "deadline-vetoes")
    assert finding.pair == 0
    assert "veto=False" in finding.remedy
    assert found(Spec([("F[0,20] goal", 1)], penalty=-1), "deadline-vetoes")


@pytest.mark.parametrize(
    "pairs",
    [
        [("G(key -> F[0,20] door)", 1)],  # alone: after the violation it pays nothing anyway
        [Pair("G(key -> F[0,20] door)", 1, veto=True), ("F goal", 5)],
        [Pair("G(key -> F[0,20] door)", 1, veto=False), ("F goal", 5)],
        [("G[0,20] safe", 1), ("F goal", 5)],
        [("G(alarm -> H[0,5] smoke)", 1), ("F goal", 5)],
    ],
)
def test_no_deadline_that_makes_a_veto(pairs):
    assert not found(Spec(pairs), "deadline-vetoes")


@pytest.mark.parametrize(
    ("formula", "observe", "said"),
    [
        ("G(a -> F[0,9] b)", "nothing", "a window of 9 steps, for `F[0,9] b`, of which the agent sees nothing"),
        ("G(a -> F[0,9] b)", "values", "of which the agent sees nothing"),
        ("G(a -> F[0,9] b)", "registers", "the extremum and how long it will last"),
        ("G(c -> H[1,3] !c)", "nothing", "a window that reaches 3 steps back, for `H[1,3] !c`, of which the agent"),
        ("G(c -> H[1,1] !c)", "nothing", "a window that reaches 1 step back, for `H[1,1] !c`, of which the agent"),
        ("G(c -> H[1,9] !c)", "registers", "a window that reaches 9 steps back, for `H[1,9] !c`, of which the agent"),
        ("now O[4,4] a", "registers", "a window that reaches 4 steps back"),
        ("now O[4,4] a", "registers", "only the oldest entry of this window"),
    ],
)
def test_a_window_that_the_agent_does_not_see_all_of(formula, observe, said):
    (finding,) = found(Spec([(formula, 1)]), "unseen-window", observe=observe)
    assert said in finding.message
    assert not found(Spec([(formula, 1)]), "unseen-window")
    assert not found(Spec([("G(a -> F b)", 1)]), "unseen-window", observe=observe)


@pytest.mark.parametrize("formula", ["G(a -> F[0,9] b)", "G(a -> H[1,5] !a)", "F(b & F[0,100] a)", "F{2} O[1,9] a"])
def test_of_labels_that_are_0_and_1_the_agent_sees_all(formula):
    crisp = {"a": "next_obs[0] > 1 and next_obs[2] < 2", "b": {"expression": "action == 1", "at_reset": 0}}
    between = {"a": "clip(next_obs[0], 0, 1)", "b": {"expression": "action == 1", "at_reset": 0.5}}

    def told(formula, atoms, observe="registers", **options):
        return found(Spec([Pair(formula, 1, **options)], atoms), "unseen-window", observe=observe)

    assert not told(formula, crisp)
    assert told(formula, crisp, "nothing")
    assert told(formula, between)
    assert told(formula, crisp | {"a": between["a"]})
    assert told(formula, crisp | {"a": lambda obs, action, next_obs: next_obs[0]})
    past = any(operator in formula for operator in "HO")  # whose windows hold labels, whatever is made of them later
    assert bool(told(f"0.5 * ({formula})", crisp)) is not past
    assert bool(told(f"({formula}) & F[0,5;0.9] a", crisp)) is not past
    assert told(f"({formula}) & now O[4,4] a", crisp)  # a delay, whose contents are not seen


def test_the_part_that_needs_the_window_is_named():
    crisp, between = {"p": "next_obs[0] > 1"}, {"p": "clip(next_obs[0], 0, 1)"}
    for formula, part in (("F(H[0,9] p & Y[9] true)", "H[0,9] p"), ("G(O[0,9] p | WY[9] false)", "O[0,9] p")):
        (finding,) = found(Spec([(formula, 1)], between), "unseen-window", observe="registers")
        assert f"a window that reaches 9 steps back, for `{part}`" in finding.message
        assert "the extremum and how long it will last" in finding.message
        assert not found(Spec([(formula, 1)], crisp), "unseen-window", observe="registers")
    (finding,) = found(Spec([("G(p -> F[0,9] q)", 1)]), "unseen-window", observe="registers")
    assert "for `F[0,9] q`" in finding.message


@pytest.mark.parametrize(
    ("formula", "observe", "counts"),
    [
        ("F(key & F door)", "nothing", "(2 registers)"),
        ("G(a -> F b)", "nothing", "(1 register)"),
        ("G(door -> O key)", "nothing", "(2 registers)"),
        ("F a & F b", "values", "(1 register)"),
        ("F(a & X b)", "control", "register"),
        ("F[0,3] a", "nothing", "(1 register, 5 control states)"),
    ],
)
def test_what_happened_before_and_the_agent_does_not_see(formula, observe, counts):
    (finding,) = found(Spec([(formula, 1)]), "unseen-register", observe=observe)
    assert counts in finding.message
    assert f"observe={observe!r}" in finding.message
    assert (finding.severity, finding.remedy) == ("warning", "Pass observe='registers'.")
    assert not found(Spec([(formula, 1)]), "unseen-register", observe="registers")
    assert not found(Spec([(formula, 1)]), "unseen-register")


@pytest.mark.parametrize(
    "formula",
    [
        "now a",
        "F G a",
        "G F a",
        "F a",
        "G !a",
        "WX G !a",
        "X a",
        "!b U a",
        "b R a",
        "a W b",
        "F a & G !b",
        "(F G a | G F b) & G !c",
    ],
)
def test_formulas_of_which_nothing_needs_to_be_seen(formula):
    assert not found(Spec([(formula, 1)]), "unseen-register", observe="nothing")


def test_a_window_that_is_not_seen_is_reported_once():
    findings = Spec([("G(a -> F[0,90] b)", 1)]).lint(observe="nothing")
    assert [finding.rule for finding in findings] == ["unseen-window"]


def test_a_delay_of_one_step_is_seen():
    assert not found(Spec([("G(change -> H[1,1] !change)", 1)]), "unseen-window", observe="registers")
    (finding,) = found(Spec([("G(change -> H[1,5] !change)", 1)]), "unseen-window", observe="registers")
    assert "the extremum and how long it will last" in finding.message


@pytest.mark.parametrize(
    ("formula", "violated"),
    [
        ("G(key -> F[0,20] door)", True),
        ("F[0,20] goal", True),
        ("X[5] a", True),
        ("G(door -> O[0,4] key)", True),
        ("now H[0,5] quiet", False),
        ("F{3} a", False),
        ("G{2} a", True),
        ("0.5 * F a", False),
        ("F[;0.9] a", False),
        ("G(key -> F[0,3000] door)", True),
    ],
)
def test_whether_a_formula_with_a_window_can_be_violated_is_found_out(formula, violated):
    assert violable(rs.parse(formula)) is violated


def test_relations_that_are_claimed_of_formulas_with_time_hold():
    rng = random.Random(1)
    claimed = 0
    for _ in range(120):
        one, other = (rs.synthesize(random_formula(rng, 2, ("a", "b"), TIME)) for _ in range(2))
        relation = compare(one, other)
        for _ in range(3) if relation else ():
            trace = {atom: np.array(labels) for atom, labels in random_trace(rng, 15, ("a", "b")).items()}
            assert relation <= relations(one.run(trace), other.run(trace)), (str(one.formula), str(other.formula))
        claimed += bool(relation)
    assert claimed > 20


def test_pairs_with_windows_are_compared():
    assert compare(rs.synthesize("F[0,5] a"), rs.synthesize("F[0,8] a")) == {"at most"}
    assert compare(rs.synthesize("G[0,5] a"), rs.synthesize("F[0,5] !a")) == {"opposite"}
    assert compare(rs.synthesize("F[0,5;0.9] a"), rs.synthesize("F[0,5] a")) is None
    (finding,) = found(Spec([("G(a -> F[0,5] b)", 1), ("!F(a & G[0,5] !b)", 1)]), "redundant")
    assert "has the same value as pair 1" in finding.message


def test_robustness_is_linted_on_its_own_labels():
    spec = Spec([("G speed", 1), ("G(speed -> F[0,5] brake)", 1, False), ("F[0,9] stop", -3)], semantics="robustness")
    assert not spec.lint(initial_labels={"speed": [2.5, 7.0], "brake": [-3.0, 1.0], "stop": [-4.0, -4.0]})
    (finding,) = spec.lint(initial_labels={"speed": [2.5, -7.0], "brake": [-3.0, 1.0], "stop": [-4.0, -4.0]})
    assert finding.rule == "violated-at-reset"
    assert "in 1 of 2 sampled episodes" in finding.message
