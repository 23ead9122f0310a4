"""Verdicts about single steps, against the definition of the rule's inside at each position."""

import random

import pytest

from rewardspec.errors import FormulaError
from rewardspec.logic import formulas as fm
from rewardspec.logic.decided_steps import reach
from rewardspec.logic.parsing import parse
from rewardspec.logic.step_verdicts import verdicts
from tests.definition import values_by_definition
from tests.strategies import Language, random_formula

ATOMS = ("a", "b", "c")
_UNTILS = (fm.Until, fm.Release, fm.WeakUntil, fm.StrongRelease, fm.AtLeastTimes, fm.AllButTimes)


@pytest.mark.parametrize("semantics", ["degree", "robustness"])
def test_a_verdict_is_the_value_some_steps_earlier(semantics):
    language = Language(past=True, intervals=True, monitorable=True)
    delays = set()
    compared = 0
    for seed in range(600):
        draw = random.Random(seed)
        inner = random_formula(draw, draw.choice((1, 2, 3)), ATOMS, language)
        if reach(inner).ahead is None:
            continue
        if any(isinstance(part, _UNTILS) for part in inner.subformulas()):
            continue
        formula, delay = verdicts(fm.Always(inner))
        low = -3 if semantics == "robustness" else 0
        length = delay + draw.randint(1, 4)
        trace = {name: [draw.choice((low, -low + 1, draw.random())) for _ in range(length)] for name in ATOMS}
        expected = values_by_definition(inner, trace, semantics)
        for now in range(delay, length):
            until_now = {name: labels[: now + 1] for name, labels in trace.items()}
            assert values_by_definition(formula, until_now, semantics)[0] == expected[now - delay], (seed, str(inner))
            compared += 1
        delays.add(delay)
    assert compared > 500
    assert len(delays) > 4


def test_before_the_first_verdict_all_is_well():
    formula, delay = verdicts("G !G[0,3] a")
    for length in range(1, delay + 1):
        assert values_by_definition(formula, {"a": [1.0] * length})[0] == 1.0
    assert values_by_definition(formula, {"a": [1.0] * 4})[0] == 0.0


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("F a", "need a rule `G φ`"),
        ("G[0,5] a", "need a rule `G φ`"),
        ("G(a -> F b)", "looks ahead without an end"),
        ("G(a U[0,3] b)", "know F, G and X"),
    ],
)
def test_what_has_no_verdicts(rule, message):
    with pytest.raises(FormulaError, match=message):
        verdicts(parse(rule))
