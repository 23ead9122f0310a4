"""The label said to decide a value is that value, and its cause is the newest label that made it so."""

import random

import numpy as np
import pytest
from hypothesis import assume, given

import rewardspec as rs
from rewardspec.episodes.traced_program import ProvenanceRun
from rewardspec.errors import SynthesisError
from rewardspec.logic.semantics import evaluate, evaluate_prefixes
from tests.episodes.causes_definition import causes_by_definition
from tests.episodes.prefixes import cause_prefixes, decide_prefixes
from tests.episodes.waiting_definition import TooManyError
from tests.strategies import (
    ATOMS,
    BOOLEAN,
    DYADIC,
    LTLF,
    MONITORABLE,
    QUARTERS,
    REALS,
    Language,
    formulas,
    random_formula,
    random_trace,
    traces,
)

TIMED = Language(past=True, intervals=True, counts=True, monitorable=True)


def monitored(function, formula, *args):
    """The result for a formula that has a monitor."""
    try:
        return function(formula, *args)
    except SynthesisError:
        assume(False)


@given(formulas(4), traces())
def test_deciding_label_equals_the_value_on_every_prefix(formula, trace):
    values, deciders = monitored(decide_prefixes, formula, trace)
    assert values.tolist() == evaluate_prefixes(formula, trace)
    for last, (value, decider) in enumerate(zip(values, deciders, strict=True)):
        if decider.atom is None:
            assert value in (0.0, 1.0)
            assert decider.step in (None, last)
        else:
            label = trace[decider.atom][decider.step]
            assert decider.step <= last
            assert value == (1 - label if decider.negated else label)


def distinct_trace(rng, length):
    """Labels such that no two of them, nor of their complements, are equal or within 1/512 of each other."""
    chosen = rng.sample(range(1, 128), length * len(ATOMS))
    labels = iter((k if rng.random() < 0.5 else 256 - k) / 256 for k in chosen)
    return {atom: [next(labels) for _ in range(length)] for atom in ATOMS}


@pytest.mark.parametrize("seed", range(60))
def test_no_other_label_matters_while_the_order_stays(seed):
    rng = random.Random(seed)
    formula, length = random_formula(rng, 4), 5
    trace = distinct_trace(rng, length)
    values, deciders = decide_prefixes(formula, trace)
    value, decider = values[-1], deciders[-1]
    for atom in ATOMS:
        for step in range(length):
            changed = {name: list(column) for name, column in trace.items()}
            changed[atom][step] += rng.choice((-1, 1)) / 1024
            moved = evaluate(formula, changed) - value
            if (atom, step) == (decider.atom, decider.step):
                assert moved == (trace[atom][step] - changed[atom][step]) * (1 if decider.negated else -1)
            else:
                assert moved == 0


@given(formulas(4, language=MONITORABLE), traces(max_length=6, kinds=(DYADIC,)))
def test_values_of_formulas_with_every_operator_are_those_of_the_definition(formula, trace):
    assert monitored(cause_prefixes, formula, trace)[0].tolist() == evaluate_prefixes(formula, trace)


@pytest.mark.parametrize("semantics", ["degree", "robustness"])
@pytest.mark.parametrize("seed", range(12))
def test_causes_are_those_of_the_definition(seed, semantics):
    rng, compared = random.Random(seed), 0
    while compared < 20:
        formula = random_formula(rng, rng.randint(1, 3), language=rng.choice((LTLF, TIMED)))
        kinds = (BOOLEAN, QUARTERS, DYADIC) if semantics == "degree" else (REALS,)
        trace = random_trace(rng, 6, kinds=kinds)
        try:
            expected = causes_by_definition(formula, trace, semantics)
        except TooManyError:
            continue
        _, causes = cause_prefixes(formula, trace, semantics)
        found = [None if cause.atom is None else (cause.literal, cause.step) for cause in causes]
        assert found == expected, (str(formula), trace)
        compared += 1


def test_of_labels_that_tie_the_one_of_the_step_made_a_value_fall():
    values, causes = cause_prefixes("F[0,9;0.5] G(a | c)", {"a": [0.25, 0.0, 0.25], "c": [0.0, 0.75, 0.0]})
    assert values.tolist() == [0.25, 0.375, 0.25]
    assert str(causes[-1]) == "a@2"


@given(formulas(4, language=MONITORABLE), traces(max_length=6))
def test_a_value_that_stays_keeps_its_cause_and_one_that_changes_has_one_of_this_step_unless_time_alone_did_it(
    formula, trace
):
    values, causes = monitored(cause_prefixes, formula, trace)
    for step in range(1, len(values)):
        assert causes[step].step is None or causes[step].step <= step
        if values[step] == values[step - 1] and causes[step - 1].atom is not None:
            assert causes[step] == causes[step - 1]
        elif values[step] != values[step - 1] and causes[step].step != step:
            assert unaffected_by_the_last_letter(formula, trace, step)


def unaffected_by_the_last_letter(formula, trace, step):
    """Whether the value after this step is the same whatever its labels, so that only time has passed."""
    prefix = {atom: column[:step] for atom, column in trace.items()}
    return (
        len(
            {
                evaluate(
                    formula,
                    {atom: [*column, float(number >> k & 1)] for k, (atom, column) in enumerate(prefix.items())},
                )
                for number in range(2 ** len(prefix))
            }
        )
        == 1
    )


@pytest.mark.parametrize(
    ("formula", "trace", "expected"),
    [
        ("a & b", {"a": [0.5], "b": [0.5]}, "a@0"),  # the first operand
        ("!F a", {"a": [0.25, 0.75, 0.5]}, "!a@1"),
        ("!!a", {"a": [0.25]}, "a@0"),
        ("X a", {"a": [0.25]}, "end@0"),
        ("X X a", {"a": [0.25, 0.5]}, "end@1"),
        ("true", {"a": [0.25]}, "constant"),
        ("F a", {"a": [0.0, 0.0]}, "end@1"),  # nothing but the end keeps it from being true
        ("a U b", {"a": [0.75, 0.5, 0.25], "b": [0.0, 0.25, 1.0]}, "b@2"),  # 0.5, which is a@1, now that there is b
        ("G a", {"a": [0.5, 0.5, 0.5]}, "a@0"),  # the cause that it had
        # Labels that tie, and the newest that made the value what it is.
        ("F(key & F door)", {"key": [0, 1, 0, 0, 0], "door": [0, 0, 0, 1, 1]}, "door@3"),
        ("F(key & F door)", {"key": [0, 0.9, 0, 0, 0], "door": [0, 0, 0, 1, 1]}, "door@3"),
        ("G(request -> F grant)", {"request": [0, 1, 0, 0], "grant": [0, 0, 0, 1]}, "grant@3"),
        ("G(request -> F grant)", {"request": [0, 1, 0, 1], "grant": [0, 0, 1, 0]}, "!request@3"),
        ("a U b", {"a": [1, 1, 0, 1], "b": [0, 0, 0, 1]}, "a@2"),  # it is over since then
        ("F[0,2] a", {"a": [0, 0, 0, 0, 1]}, "a@2"),  # and here since the deadline
        ("F[0,2] a & F b", {"a": [0, 0, 0, 0, 1], "b": [0, 0, 0, 0, 0]}, "a@2"),
        ("F(last & O[0,1] a)", {"a": [0, 1, 0]}, "a@1"),
        ("F{2} a", {"a": [0, 1, 0, 1, 1]}, "a@3"),
        ("F{2} a", {"a": [0.9, 0.5, 1]}, "a@2"),  # 0.9, which is a@0, now that there is a better one
        ("0.5 * F a", {"a": [0, 1, 0]}, "a@1"),
        ("F(last & O[0,1] a)", {"a": [0, 1, 0.25, 0.125]}, "a@3"),  # 0.25, which is a@2, as a@3 is no better
        # Delays: time alone has brought an older label in.
        ("F Y[2] a", {"a": [0, 1, 0, 0]}, "a@1"),
        ("F(last & Y[2] a)", {"a": [0, 0.5, 0.25, 0, 0]}, "a@2"),
        ("X[2] a", {"a": [0, 0, 0.5, 1]}, "a@2"),
    ],
)
def test_the_cause_is_the_newest_label_that_made_the_value(formula, trace, expected):
    assert str(cause_prefixes(formula, trace)[1][-1]) == expected


def test_robustness_with_the_past_is_explained():
    """Labels that say something of the past are infinite before its start, which no user's label may be."""
    spec = rs.Spec([("G(b -> O[2,5] a)", 1)], semantics="robustness")
    labels = {"a": [-1.0, 2.0, 0.5, -3.0], "b": [-4.0, -0.5, -1.0, 1.5]}
    explanation = spec.explain(labels)
    assert [row.values[0] for row in explanation] == evaluate_prefixes(
        "G(b -> O[2,5] a)", labels, semantics="robustness"
    )
    assert [str(row.decider) for row in explanation] == ["!b@0", "!b@1", "!b@1", "!b@1"]


def test_each_step_runs_the_program_a_bounded_number_of_times(monkeypatch):
    steps = 0
    run = ProvenanceRun.step

    def counted(self, *args):
        nonlocal steps
        steps += 1
        return run(self, *args)

    monkeypatch.setattr(ProvenanceRun, "step", counted)
    rng, length = np.random.default_rng(0), 500
    spec = rs.Spec([("G(alarm -> F[0,30](closed W reset))", 1)])
    spec.explain({atom: rng.random(length) for atom in spec.atoms})
    literals = 3
    assert steps <= (2 + literals) * length


def test_what_is_remembered_does_not_grow_with_the_trace():
    monitor = rs.synthesize("G(b -> O[0,9] a)")
    run = ProvenanceRun(monitor.program, monitor.formula, newest_first=True)
    state, sizes = run.initial, []
    for step in range(100):
        state, _ = run.step(state, run.literals_of([0.5, 0.25], step))
        sizes.append(size_of(state))
    assert max(sizes[50:]) <= max(sizes[:50])


def size_of(value):
    """How many numbers a state holds."""
    if isinstance(value, tuple | list):
        return sum(map(size_of, value))
    return 1
