"""Pulling conjunctions and disjunctions out keeps values."""

import random

import pytest

from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate_positions
from rewardspec.synthesis.quantitative.splitting import split
from tests.strategies import random_formula, random_trace


def test_values_are_kept_at_every_position():
    rng = random.Random(0)
    for _ in range(1_500):
        formula = random_formula(rng, depth=rng.randint(1, 5), atoms=("a", "b", "c"))
        trace = random_trace(rng, length=rng.randint(1, 6), atoms=("a", "b", "c"))
        assert evaluate_positions(split(formula), trace) == evaluate_positions(formula, trace), str(formula)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("G(F a & F b)", "F G a & F G b"),
        ("F(G a | F b)", "F G a | F b"),
        ("a U (F b | G c)", "F b | a U G c"),
        ("G(a U b)", "G(a | b) & F G b"),
        ("X(F a & F b)", "X F a & X F b"),
        ("G(a & b)", "G(a & b)"),
    ],
)
def test_examples(formula, expected):
    assert split(parse(formula)) == parse(expected)
