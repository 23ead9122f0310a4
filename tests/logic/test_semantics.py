"""`evaluate` is the definition: checked against a literal transcription of it, by hand, and against golden values."""

import json
import random
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from rewardspec.errors import Error, FormulaError, LabelError
from rewardspec.logic.formulas import (
    Always,
    Eventually,
    Formula,
    Historically,
    Not,
    Once,
    Release,
    Since,
    Trigger,
    Until,
)
from rewardspec.logic.fragments import is_past
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate, evaluate_positions, evaluate_prefixes
from tests.definition import value_by_definition, values_by_definition
from tests.strategies import (
    EVERYTHING,
    LABELS,
    LTLF,
    REALS,
    ROBUST,
    formulas,
    random_batch,
    random_formula,
    traces,
)

DATA = Path(__file__).parents[1] / "data"
GOLDEN = json.loads((DATA / "values.json").read_text())
GOLDEN_TIME = json.loads((DATA / "values_time.json").read_text())


# Against the definition.


any_formula = formulas() | formulas(language=EVERYTHING)


@given(any_formula, traces())
def test_evaluate_is_the_definition(formula, trace):
    assert evaluate(formula, trace) == value_by_definition(formula, trace)


@given(formulas(language=ROBUST), traces(kinds=(REALS,)))
def test_robustness_is_the_definition(formula, trace):
    expected = values_by_definition(formula, trace, "robustness").tolist()
    assert evaluate_positions(formula, trace, semantics="robustness") == expected
    assert evaluate(formula, trace, semantics="robustness") == expected[0]


@pytest.mark.parametrize(
    ("language", "semantics", "kinds"),
    [(LTLF, "degree", LABELS), (EVERYTHING, "degree", LABELS), (ROBUST, "robustness", (REALS,))],
    ids=["ltlf", "everything", "robustness"],
)
def test_evaluate_is_the_definition_at_every_position_of_thousands_of_random_traces(language, semantics, kinds):
    rng = random.Random(1)
    for _ in range(800):
        formula = random_formula(rng, rng.randint(1, 6), language=language)
        batch = random_batch(rng, length=rng.randint(1, 9), size=6, kinds=kinds)
        expected = values_by_definition(formula, batch, semantics)
        for column in range(6):
            trace = {name: labels[:, column] for name, labels in batch.items()}
            values = evaluate_positions(formula, trace, semantics=semantics)
            assert values == expected[:, column].tolist(), (str(formula), trace)


@pytest.mark.parametrize("discount", [0.9, 0.3])
def test_discounts_that_are_not_exact_in_binary_are_right_up_to_rounding(discount):
    rng = random.Random(2)
    for _ in range(150):
        low = rng.choice((0, 0, 2))
        params = (low, rng.choice((None, low + 3)), discount)
        formula = rng.choice((Eventually, Always, Once, Historically))("a", *params)
        if rng.random() < 0.6:
            formula = rng.choice((Until, Release, Since, Trigger))("a", "b", *params)
        batch = random_batch(rng, length=12, size=5)
        expected = values_by_definition(formula, batch)
        for column in range(5):
            trace = {name: labels[:, column] for name, labels in batch.items()}
            assert evaluate_positions(formula, trace) == pytest.approx(expected[:, column].tolist(), abs=1e-14)


@pytest.mark.parametrize("text", ["F[0,5000] a", "G[100,4000] a", "O[0,5000] a", "H[7,] a", "a U[10,3000] b"])
def test_long_windows_over_long_traces(text):
    rng = np.random.default_rng(0)
    trace = {name: rng.integers(0, 1025, 10_000) / 1024 for name in "ab"}
    values = evaluate_positions(text, trace)
    formula = parse(text)
    for i in (0, 17, 4321, 9_990, 9_999):
        start, stop = (0, i + 1) if is_past(formula) else (i, 10_000)
        window = {name: labels[start:stop] for name, labels in trace.items()}
        assert values[i] == plain_window(formula, window)


def plain_window(formula: Formula, window: dict[str, np.ndarray]) -> float:
    """The value at the start of a window, or for the past at its end, with NumPy alone."""
    a, b = (window[name][:: -1 if is_past(formula) else 1] for name in "ab")
    stop = None if formula.high is None else formula.high + 1
    if isinstance(formula, Until):
        before = np.minimum.accumulate(np.concatenate(([1.0], a[:-1])))
        return np.minimum(b, before)[formula.low : stop].max(initial=0.0)
    reached = a[formula.low : stop]
    return reached.max(initial=0.0) if isinstance(formula, Eventually | Once) else reached.min(initial=1.0)


@given(any_formula, traces())
def test_the_value_of_a_trace_is_the_value_at_its_first_position(formula, trace):
    positions = evaluate_positions(formula, trace)
    assert len(positions) == len(trace["a"])
    assert evaluate(formula, trace) == positions[0]


@given(formulas(), traces())
def test_the_value_at_a_position_is_the_value_of_the_trace_from_there(formula, trace):
    suffixes = [{name: labels[start:] for name, labels in trace.items()} for start in range(len(trace["a"]))]
    assert evaluate_positions(formula, trace) == [evaluate(formula, suffix) for suffix in suffixes]


@given(any_formula, traces())
def test_prefixes_are_evaluated_each_on_its_own(formula, trace):
    prefixes = [{name: labels[:stop] for name, labels in trace.items()} for stop in range(1, len(trace["a"]) + 1)]
    assert evaluate_prefixes(formula, trace) == [evaluate(formula, prefix) for prefix in prefixes]


@given(any_formula, traces())
def test_values_are_in_the_unit_interval_and_negation_is_one_minus(formula, trace):
    value = evaluate(formula, trace)
    assert 0.0 <= value <= 1.0
    assert evaluate(Not(formula), trace) == 1 - value


@given(formulas(language=ROBUST), traces())
def test_boolean_labels_give_boolean_values(formula, trace):
    rounded = {name: [float(label >= 0.5) for label in labels] for name, labels in trace.items()}
    assert evaluate(formula, rounded) in (0.0, 1.0)


@pytest.mark.parametrize("entry", range(0, len(GOLDEN), 50))
def test_golden_values(entry):
    for golden in GOLDEN[entry : entry + 50]:
        assert evaluate_prefixes(golden["formula"], golden["trace"]) == golden["values"], golden["formula"]
        formula = parse(golden["formula"])
        assert value_by_definition(formula, golden["trace"]) == golden["values"][-1]


@pytest.mark.parametrize("kind", ["timed", "soft", "real"])
def test_golden_values_with_time(kind):
    cases = [golden for golden in GOLDEN_TIME if golden["kind"] == kind]
    assert len(cases) == (200 if kind == "timed" else 100)
    semantics = "robustness" if kind == "real" else "degree"
    for golden in cases:
        formula, values = parse(golden["formula"]), [float(value) for value in golden["values"]]
        assert evaluate_prefixes(formula, golden["trace"], semantics=semantics) == values, golden["formula"]
        assert value_by_definition(formula, golden["trace"], semantics) == values[-1]


# By hand.

INF = float("inf")
TRACE = {"p": [0.25, 1.0, 0.5], "q": [0.0, 0.125, 0.75]}


@pytest.mark.parametrize(
    ("formula", "values"),
    [
        ("true", [1, 1, 1]),
        ("false", [0, 0, 0]),
        ("p", [0.25, 1, 0.5]),
        ("!p", [0.75, 0, 0.5]),
        ("p & q", [0, 0.125, 0.5]),
        ("p | q", [0.25, 1, 0.75]),
        ("p -> q", [0.75, 0.125, 0.75]),
        ("p <-> q", [0.75, 0.125, 0.5]),
        ("p ^ q", [0.25, 0.875, 0.5]),
        ("X p", [1, 0.5, 0]),
        ("WX p", [1, 0.5, 1]),
        ("last", [0, 0, 1]),
        ("F q", [0.75, 0.75, 0.75]),
        ("F p", [1, 1, 0.5]),
        ("G p", [0.25, 0.5, 0.5]),
        ("p U q", [0.25, 0.75, 0.75]),
        ("p W q", [0.25, 0.75, 0.75]),
        ("p W false", [0.25, 0.5, 0.5]),
        ("p U false", [0, 0, 0]),
        ("p R q", [0, 0.125, 0.75]),
        ("q R p", [0.25, 0.5, 0.5]),
        ("q M p", [0.25, 0.5, 0.5]),
        ("false R p", [0.25, 0.5, 0.5]),
        ("false M p", [0, 0, 0]),
        ("G F p", [0.5, 0.5, 0.5]),
        ("F G p", [0.5, 0.5, 0.5]),
        ("X[2] p", [0.5, 0, 0]),
        ("WX[2] p", [0.5, 1, 1]),
        ("Y p", [0, 0.25, 1]),
        ("WY p", [1, 0.25, 1]),
        ("first", [1, 0, 0]),
        ("F[1,1] q", [0.125, 0.75, 0]),
        ("F[0,1] q", [0.125, 0.75, 0.75]),
        ("F[1,] p", [1, 0.5, 0]),
        ("G[0,1] p", [0.25, 0.5, 0.5]),
        ("G[1,2] p", [0.5, 0.5, 1]),
        ("F[;0.5] q", [0.1875, 0.375, 0.75]),
        ("G[;0.5] p", [0.25, 0.75, 0.5]),
        ("p U[1,2] q", [0.25, 0.75, 0]),
        ("q R[1,2] p", [0.5, 0.5, 1]),
        ("O p", [0.25, 1, 1]),
        ("H p", [0.25, 0.25, 0.25]),
        ("O[1,1] p", [0, 0.25, 1]),
        ("H[0,1] p", [0.25, 0.25, 0.5]),
        ("O[;0.5] p", [0.25, 1, 0.5]),
        ("p S q", [0, 0.125, 0.75]),
        ("q T p", [0.25, 0.25, 0.5]),
        ("F{2} p", [0.5, 0.5, 0]),
        ("G{1} p", [0.5, 1, 1]),
        ("0.5 * p", [0.125, 0.5, 0.25]),
        ("0.5 * p + 0.5", [0.625, 1, 0.75]),
        ("0.25 | q", [0.25, 0.25, 0.75]),
        ("now q", [0.75, 0.75, 0.75]),
        ("now H p", [0.25, 0.25, 0.25]),
    ],
)
def test_values_by_hand(formula, values):
    assert evaluate_positions(formula, TRACE) == values


def test_the_two_nexts_differ_at_the_last_position_only():
    assert evaluate_positions("X true", TRACE) == [1, 1, 0]
    assert evaluate_positions("WX false", TRACE) == [0, 0, 1]


def test_until_does_not_ask_the_left_side_where_the_right_side_holds():
    assert evaluate("a U b", {"a": [1, 0], "b": [0, 1]}) == 1
    assert evaluate("a R b", {"a": [0, 1], "b": [1, 1]}) == 1
    assert evaluate("a R b", {"a": [0, 1], "b": [1, 0]}) == 0


def test_a_contradiction_can_have_a_value_above_zero():
    assert evaluate("p & !p", {"p": [0.5]}) == 0.5


def test_a_b_seen_before_any_a_does_not_count():
    assert evaluate("F(a & F b)", {"a": [0, 1], "b": [1, 0]}) == 0
    assert evaluate("F(a & F b)", {"a": [1, 0], "b": [0, 1]}) == 1


# Robustness.


@pytest.mark.parametrize(
    ("formula", "values"),
    [
        ("true", [INF, INF]),
        ("false", [-INF, -INF]),
        ("!x", [2.5, -1.5]),
        ("x & y", [-2.5, 0.5]),
        ("x -> y", [4.0, 0.5]),
        ("X x", [1.5, -INF]),
        ("WX x", [1.5, INF]),
        ("G[1,5] x", [1.5, INF]),
        ("F[1,5] x", [1.5, -INF]),
        ("Y x", [-INF, -2.5]),
        ("F{2} x", [-2.5, -INF]),
        ("last", [-INF, INF]),
    ],
)
def test_robustness_by_hand(formula, values):
    assert evaluate_positions(formula, {"x": [-2.5, 1.5], "y": [4.0, 0.5]}, semantics="robustness") == values


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("F 0.5 * x", "Robustness has no scales, since its values have no largest and smallest: `0.5 * x`."),
        ("F[0,5;0.5] x", "Robustness has no discounts, since its values have no largest and smallest: `F[0,5;0.5] x`."),
        ("x | 0.5", "Robustness has no constants but true and false"),
    ],
)
def test_what_has_no_robustness_is_refused(formula, message):
    for function in (evaluate, evaluate_positions, evaluate_prefixes):
        with pytest.raises(FormulaError) as caught:
            function(formula, {"x": [1.0]}, semantics="robustness")
        assert message in str(caught.value)
        assert "Leave it out" in str(caught.value)


def test_an_unknown_semantics_is_refused():
    with pytest.raises(FormulaError, match=r"`semantics` should be 'degree' or 'robustness'\. Received 'fuzzy'"):
        evaluate("x", {"x": [1.0]}, semantics="fuzzy")


@pytest.mark.parametrize("label", [INF, -INF, float("nan")])
def test_labels_for_robustness_are_finite(label):
    with pytest.raises(LabelError, match="The label of 'x' at step 1 should be finite"):
        evaluate("x", {"x": [7.0, label]}, semantics="robustness")


# What a trace may be.


@pytest.mark.parametrize(
    "labels",
    [
        [0.25, 1.0],
        (0.25, 1),
        np.array([0.25, 1.0]),
        np.array([0.25, 1.0], dtype=np.float32),
        [np.float64(0.25), True],
        deque([0.25, 1.0]),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_may_be_any_sequence_of_numbers(labels):
    for value in (evaluate("G a", {"a": labels}), evaluate_prefixes("G a", {"a": labels})[-1]):
        assert value == 0.25
        assert type(value) is float


def test_booleans_and_integers_are_labels():
    assert evaluate_positions("a & b", {"a": [True, False], "b": np.array([1, 1], dtype=np.int8)}) == [1.0, 0.0]


def test_atoms_that_the_formula_does_not_use_are_not_read():
    assert evaluate("a", {"a": [0.5], "unused": [float("nan")]}) == 0.5
    assert evaluate("true", {"unused": [7, 8]}) == 1.0


def test_a_label_that_is_out_of_range_by_rounding_is_clipped():
    assert evaluate_positions("a", {"a": [1 + 1e-7, -1e-9, 0.5]}) == [1.0, 0.0, 0.5]


def test_the_trace_is_left_as_it_was():
    labels = [0.25, 0.5]
    trace = {"a": labels}
    evaluate_positions("a", trace).append(9.0)
    assert trace == {"a": [0.25, 0.5]}
    assert trace["a"] is labels


# What a trace may not be.


@pytest.mark.parametrize("function", [evaluate, evaluate_positions, evaluate_prefixes])
@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ({"balanced": [1.5]}, "The label of 'balanced' at step 0 should be in [0, 1]. Received 1.5."),
        ({"balanced": [1, 0.5, -0.25]}, "The label of 'balanced' at step 2 should be in [0, 1]. Received -0.25."),
        ({"balanced": [1.00001]}, "should be in [0, 1]. Received 1.00001."),
        ({"balanced": [1, float("nan")]}, "The label of 'balanced' at step 1 should be in [0, 1]. Received NaN."),
        ({"balanced": [float("inf")]}, "should be in [0, 1]. Received inf."),
        ({"balanced": [10**400]}, "The label of 'balanced' at step 0 should be a number in [0, 1]. Received 1000"),
        ({"balanced": [1, None]}, "The label of 'balanced' at step 1 should be a number in [0, 1]. Received None."),
        ({"balanced": ["high"]}, "The label of 'balanced' at step 0 should be a number in [0, 1]. Received 'high'."),
        ({"balanced": [[0.5]]}, "The label of 'balanced' at step 0 should be a number in [0, 1]. Received [0.5]."),
        ({"balanced": np.ones((2, 3))}, "The label of 'balanced' at step 0 should be a number in [0, 1]"),
        ({"balanced": 0.5}, "The labels of 'balanced' should be a sequence, one for each step. Received 0.5."),
        ({"balanced": np.array(0.5)}, "The labels of 'balanced' should be a sequence, one for each step."),
        ({"balanced": iter([0.5])}, "The labels of 'balanced' should be a sequence, one for each step."),
        (
            {"balanced": [1, 1], "b": [1]},
            "Every atom needs the same number of labels. Received {'balanced': 2, 'b': 1}.",
        ),
        ({"balanced": []}, "The trace is empty. A trace holds at least the labels of the state after reset."),
        ({}, "The trace is empty."),
        ({"b": [1], "c": [1]}, "The trace has no labels for atom 'balanced'; it has: b, c."),
        ({"ballanced": [1]}, "it has: ballanced. Did you mean 'ballanced'?"),
        ([0.5], "A trace should map each atom to its labels. Received a list."),
        (None, "A trace should map each atom to its labels. Received a NoneType."),
    ],
)
def test_a_bad_trace_is_refused_and_the_atom_the_value_and_the_step_are_named(function, trace, message):
    with pytest.raises(LabelError) as caught:
        function("G balanced", trace)
    assert message in str(caught.value)
    assert isinstance(caught.value, Error)
    assert isinstance(caught.value, ValueError)


def test_an_atom_written_with_its_operators_run_together_is_recognised():
    with pytest.raises(LabelError, match="Did you mean 'G F a'"):
        evaluate("GFa", {"a": [1.0]})
