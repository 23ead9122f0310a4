"""Warnings about formulas that parse and yet may not mean what their author wants."""

import pytest

import rewardspec as rs
from rewardspec.synthesis.diagnosis import warnings_about


def warnings(text: str) -> list[str]:
    return list(warnings_about(rs.parse(text), rs.synthesize(text)))


@pytest.mark.parametrize(
    "formula",
    ["F p", "G !crash", "F G p", "X p", "WX p", "a U b", "G(request -> F grant)", "!a U (a & F b)", "F(p & !p) | F q"],
)
def test_good_formulas_pass_in_silence(formula):
    assert warnings(formula) == []


def test_an_atom_outside_every_temporal_operator():
    assert warnings("F G true & !reach_goal") == [
        "'reach_goal' is read at the first state only, since no temporal operator stands over it. "
        "Put G, F or X before it."
    ]


def test_several_atoms_outside_every_temporal_operator():
    (warning,) = warnings("(a -> b) & F c")
    assert warning.startswith("'a', 'b' are read at the first state only, outside every temporal operator.")


@pytest.mark.parametrize(
    ("formula", "meant"), [("H[0,5] quiet", "now H[0,5] quiet"), ("F a & (b S c)", "now (b S c)"), ("!O a", "now O a")]
)
def test_the_past_of_the_first_state(formula, meant):
    (warning, *_) = warnings_about(rs.parse(formula), None)
    assert "looks back from the first state, before which there is nothing." in warning
    assert f"Write `{meant}` to judge it at the current step, or put G or F before it." in warning
    assert not any("stands over it" in other for other in warnings_about(rs.parse(formula), None))


@pytest.mark.parametrize(("formula", "meant"), [("F GFa", "G F a"), ("G Xp", "X p"), ("G(a -> WXb)", "WX b")])
def test_operators_run_together(formula, meant):
    assert any(f"Did you mean {meant!r}?" in warning for warning in warnings(formula))


@pytest.mark.parametrize(
    ("formula", "value"), [("G X a", 0), ("F WX a", 1), ("G F last", 1), ("true", 1), ("G(a -> true)", 1)]
)
def test_a_value_that_no_trace_changes(formula, value):
    (warning,) = warnings(formula)
    assert warning.startswith(f"The value is {value} on every trace")


@pytest.mark.parametrize(
    ("formula", "limit"),
    [("F(a & !a)", "rises above 0.5"), ("G(a | !a)", "falls below 0.5"), ("a & G !a", "rises above 0.5")],
)
def test_a_contradiction_or_tautology_reaches_one_half_only(formula, limit):
    assert any(warning.startswith(f"The value never {limit}, ") for warning in warnings(formula))


def test_an_atom_that_does_not_matter():
    assert warnings("G(a | b & a)") == ["The value does not depend on 'b'."]


def test_without_a_monitor_the_warnings_come_from_the_text_alone():
    formula = rs.parse("F(a & !a) & b")
    assert len(list(warnings_about(formula, None))) == 1
    assert len(list(warnings_about(formula, rs.synthesize(formula)))) == 2
