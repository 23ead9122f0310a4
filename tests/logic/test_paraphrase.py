"""Formulas in plain English."""

import pytest
from hypothesis import given

from rewardspec.logic.formulas import And, Formula
from rewardspec.logic.words import paraphrase
from tests.strategies import EVERYTHING, formulas

WORDS = {
    "true": "true",
    "false": "false",
    "a": "a",
    '"x > 0"': "x > 0",
    "!a": "not a",
    "!(a & b)": "not (a and b)",
    "a & b & c": "a and b and c",
    "(a | b) & c": "(a or b) and c",
    "a & F b": "a, and from then on sooner or later: b",
    "F(a & F(b & F c))": "sooner or later: a, and from then on sooner or later: b, and from then on sooner or later: c",
    "F a & F b": "(sooner or later: a) and sooner or later: b",
    "a & X b": "a and at the next step, which must come: b",
    "a & H b": "a and at every step so far: b",
    "F a & b": "(sooner or later: a) and b",
    "a -> b -> c": "if a then if b then c",
    "a <-> b": "a exactly when b",
    "a ^ b": "either a or b but not both",
    "X a": "at the next step, which must come: a",
    "WX a": "at the next step, if there is one: a",
    "F a": "sooner or later: a",
    "G a": "at every step: a",
    "a U b": "a until b, which must come",
    "a W b": "a until b, or to the end",
    "a R b": "b up to and including the step where a, or to the end",
    "a M b": "b up to and including the step where a, which must come",
    "last": "this is the last step",
    "a U last": "a until this is the last step, which must come",
    "G(a -> F b)": "at every step: if a then sooner or later: b",
    "a U b U c": "a until (b until c, which must come), which must come",
    "0.8": "0.8",
    "0.8 * a": "0.8 times a",
    "0.8 * (a & b) + 0.1": "0.8 times (a and b) plus 0.1",
    "X[3] a": "3 steps from now, which must come: a",
    "WX[3] a": "3 steps from now, if there is one: a",
    "F[0,5] a": "within 5 steps: a",
    "F[0,1] a": "within 1 step: a",
    "F[2,5] a": "2 to 5 steps from now: a",
    "F[3,] a": "at least 3 steps from now: a",
    "F[3,3] a": "exactly 3 steps from now: a",
    "F[0,0] a": "now: a",
    "F[0,20;0.9] a": "within 20 steps (times 0.9 for each step): a",
    "F[;0.9] a": "sooner or later (times 0.9 for each step): a",
    "G[0,5] a": "now and at the next 5 steps: a",
    "G[2,5] a": "at every step 2 to 5 steps from now: a",
    "G[3,] a": "at every step, from 3 steps from now on: a",
    "a U[0,5] b": "a until b, which must come within 5 steps",
    "a U[2,5] b": "a until b, which must come 2 to 5 steps from now",
    "a U[3,] b": "a until b, which must come at least 3 steps from now",
    "a R[0,5] b": "now and at the next 5 steps: b, unless a came before",
    "F{3} a": "at 3 steps or more: a",
    "G{1} a": "at every step but 1 step at most: a",
    "Y a": "at the step before, which must exist: a",
    "WY[2] a": "2 steps ago, if there is one: a",
    "first": "this is the first step",
    "O a": "at some step so far: a",
    "O[0,5] a": "within the last 5 steps: a",
    "O[2,5] a": "2 to 5 steps ago: a",
    "O[3,] a": "at least 3 steps ago: a",
    "H a": "at every step so far: a",
    "H[0,5] a": "now and at the last 5 steps: a",
    "H[3,] a": "at every step up to 3 steps ago: a",
    "a S b": "a ever since b, which must have come",
    "a S[0,5] b": "a ever since b, which must have come within the last 5 steps",
    "a T b": "b since and including the step where a, or from the start",
    "a T[2,5] b": "at every step 2 to 5 steps ago: b, unless a came since",
    "G(a -> F[0,5] b)": "at every step: if a then within 5 steps: b",
}


@pytest.mark.parametrize(("formula", "words"), WORDS.items())
def test_every_operator_has_its_words(formula, words):
    assert paraphrase(formula) == words


@pytest.mark.parametrize("formula", ["F G (a & b)", "G F (a & b)"])
def test_what_surprises_newcomers_is_said_outright(formula):
    assert paraphrase(formula) == "at the last step: a and b"


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("now (a & b)", "at the current step: a and b"),
        ("F(last & a & b)", "at the current step: a and b"),
        ("forall box: now held(box)", "for every box: at the current step: held(box)"),
        ("now G a", "at the current step: at every step: a"),
        ("F(a & now b)", "sooner or later: a, and from then on at the last step: b"),
    ],
)
def test_now_is_the_current_step_except_inside_other_operators(formula, words):
    assert paraphrase(formula) == words


@pytest.mark.parametrize("formula", ["F[0,5] G a", "F G[0,5] a", "G F[0,5] a"])
def test_what_looks_like_it_is_not_said_of_the_last_step(formula):
    assert "last step" not in paraphrase(formula)


def test_long_formulas_are_left_alone():
    assert paraphrase(And(*(f"p{k}" for k in range(20)))) is not None  # 39 operators and atoms
    assert paraphrase(And(*(f"p{k}" for k in range(21)))) is None


@given(formulas(max_depth=4) | formulas(max_depth=4, language=EVERYTHING))
def test_short_formulas_have_words_that_name_every_atom_still_there(formula: Formula):
    words = paraphrase(formula)
    assert (words is None) == (formula.size > 40)
    assert words is None or set(formula.atoms) <= set(
        words.replace("(", " ").replace(")", " ").replace(",", " ").split()
    )
