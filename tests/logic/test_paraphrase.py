"""Formulas in plain English."""

import pytest
from hypothesis import given

from rewardspec.logic.formulas import And, Formula
from rewardspec.logic.words import paraphrase
from tests.strategies import formulas

WORDS = {
    "true": "true",
    "false": "false",
    "a": "a",
    '"x > 0"': "x > 0",
    "!a": "not a",
    "!(a & b)": "not (a and b)",
    "a & b & c": "a and b and c",
    "(a | b) & c": "(a or b) and c",
    "a & F b": "a and sooner or later: b",
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
}


@pytest.mark.parametrize(("formula", "words"), WORDS.items())
def test_every_operator_has_its_words(formula, words):
    assert paraphrase(formula) == words


@pytest.mark.parametrize("formula", ["F G (a & b)", "G F (a & b)"])
def test_what_surprises_newcomers_is_said_outright(formula):
    assert paraphrase(formula) == "at the last step: a and b"


def test_long_formulas_are_left_alone():
    assert paraphrase(And(*(f"p{k}" for k in range(20)))) is not None  # 39 operators and atoms
    assert paraphrase(And(*(f"p{k}" for k in range(21)))) is None


@given(formulas(max_depth=4))
def test_short_formulas_have_words_that_name_every_atom_still_there(formula: Formula):
    words = paraphrase(formula)
    assert (words is None) == (formula.size > 40)
    assert words is None or set(formula.atoms) <= set(
        words.replace("(", " ").replace(")", " ").replace(",", " ").split()
    )
