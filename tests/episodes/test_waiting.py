"""What is waited for comes next on the way along which progress is measured, as the definition says."""

import random

import pytest
from hypothesis import assume, given

import rewardspec as rs
from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import And, Atom, Not, Or
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.semantics import evaluate, evaluate_prefixes
from rewardspec.synthesis.quantitative.splitting import split
from tests.episodes.prefixes import waited_for
from tests.episodes.waiting_definition import TooManyError, waiting_by_definition
from tests.strategies import (
    BOOLEAN,
    LTLF,
    QUARTERS,
    REALS,
    Language,
    formulas,
    random_formula,
    random_trace,
    traces,
)

TIMED = Language(past=True, intervals=True, counts=True, monitorable=True)


@pytest.mark.parametrize(
    ("formula", "trace", "expected"),
    [
        ("F(key & F door)", {"key": [0, 1, 0, 0], "door": [1, 0, 0, 1]}, ["key", "door", "door", ""]),
        ("F(key & F door)", {"key": [0.1, 0.6, 0, 0], "door": [0, 0, 0.1, 0.5]}, ["key", "door", "door", ""]),
        ("G(request -> F grant)", {"request": [0, 1, 0, 0], "grant": [0, 0, 0, 1]}, ["", "grant", "grant", ""]),
        ("G(request -> F grant)", {"request": [0, 0.75, 0], "grant": [0, 0, 1]}, ["", "grant", ""]),
        ("F a & G b", {"a": [0, 0, 1], "b": [1, 1, 1]}, ["a", "a", ""]),  # b has to hold, and does
        ("F a & G b", {"a": [0, 0, 0], "b": [1, 0, 1]}, ["a", "", ""]),  # after which nothing helps
        ("F(c & F a & G b)", {"a": [0, 0, 1], "b": [1, 1, 1], "c": [1, 0, 0]}, ["a", "a", ""]),
        ("F[0,2] a & G b", {"a": [0, 0, 0, 1], "b": [1, 1, 1, 1]}, ["a", "a", "", ""]),
        ("F b & F a", {"a": [0, 1, 0], "b": [0, 0, 1]}, ["b", "b", ""]),  # the first of those that owe as much
        ("F c & F(a & F b)", {"a": [0, 1, 0], "b": [0, 0, 1], "c": [0, 0, 0]}, ["a", "c", "c"]),  # the longest way
        ("a U b", {"a": [1, 0, 1], "b": [0, 0, 1]}, ["b", "", ""]),
        ("F[0,2] a", {"a": [0, 0, 0, 1]}, ["a", "a", "", ""]),
        ("F[0,900] a", {"a": [0, 0, 1]}, ["a", "a", ""]),
        ("X X a", {"a": [0, 0, 0]}, ["a", "a", ""]),
        ("F(a & b) | F(c & d & e)", {atom: [0] for atom in "abcde"}, ["a & b"]),
        ("F(a & F b) & G(c -> F[0,9](d | a))", {"a": [0, 1], "b": [0, 0], "c": [0, 0], "d": [0, 0]}, ["a", "b"]),
        ("F !a", {"a": [1, 0]}, ["!a", ""]),
        ("0.4 * F a", {"a": [0, 1, 0]}, ["a", "", ""]),  # it cannot become more
        ("F(last & O[0,1] a)", {"a": [0, 1, 0, 0]}, ["O[0,1] a", "", "", "O[0,1] a"]),
        ("G a", {"a": [1, 0.25, 0]}, ["", "", ""]),
        # Two of five are left, which is less than one of two.
        (
            "F(a & F b) | F(c & F(d & F(e & F(f & F g))))",
            {"a": [1, 0, 0, 0], "b": [0] * 4, "c": [0, 1, 0, 0], "d": [0, 0, 1, 0], "e": [0, 0, 0, 1]}
            | {"f": [0] * 4, "g": [0] * 4},
            ["b", "b", "b", "f"],
        ),
    ],
)
def test_a_value_that_is_low_because_something_is_owed_waits_for_it(formula, trace, expected):
    assert [" & ".join(literals) for literals in waited_for(formula, trace)] == expected


def test_it_waits_for_what_progress_is_measured_along():
    """Negated literals count as others do: two are fewer than three."""
    formula = "F(!a & !b & c | d & e)"
    nothing = {atom: [0.0] for atom in "abcde"}
    assert waited_for(formula, nothing) == [("d", "e")]
    monitor = rs.synthesize("F((!a & !b & c | d & e) & X F f)", progress=True)
    start = dict.fromkeys("abcdef", 0.0)
    for met, progress in ((("d", "e"), 2 / 3), (("c",), 2 / 3), ((), 0.0)):
        state, _ = monitor.step(monitor.initial_state(), start | dict.fromkeys(met, 1.0))
        assert monitor.progress(state) == pytest.approx(progress)


@pytest.mark.parametrize("semantics", ["degree", "robustness"])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_waited_for_is_that_of_the_definition(seed, semantics):
    rng, compared, waiting = random.Random(seed), 0, 0
    while compared < 40:
        formula = random_formula(rng, rng.randint(1, 3), language=rng.choice((LTLF, TIMED)))
        if rng.random() < 0.5:
            formula = rng.choice((And, Or))(formula, random_formula(rng, 2, language=TIMED))
        trace = random_trace(rng, 5, kinds=(BOOLEAN, QUARTERS) if semantics == "degree" else (REALS,))
        try:
            expected = waiting_by_definition(formula, trace, semantics)
        except TooManyError:
            continue
        assert waited_for(formula, trace, semantics) == expected, (str(formula), trace)
        compared += 1
        waiting += any(expected)
    assert waiting > 0


def random_stage(rng):
    """A disjunction of conjunctions of literals."""
    conjunctions = [rng.sample("abcde", rng.randint(1, 3)) for _ in range(rng.randint(1, 3))]
    literals = [[rng.choice((Atom, lambda name: Not(Atom(name))))(name) for name in names] for names in conjunctions]
    return Or(*(And(*each) for each in literals))


@pytest.mark.parametrize("seed", range(20))
def test_meeting_what_is_waited_for_makes_progress(seed):
    rng = random.Random(seed)
    formula = rs.patterns.sequence(*(random_stage(rng) for _ in range(rng.randint(2, 3))), strict=True)
    monitor, trace = rs.synthesize(formula, progress=True), random_trace(rng, 5, "abcde", kinds=(BOOLEAN,))
    state = monitor.initial_state()
    for step, literals in enumerate(waited_for(formula, trace)):
        state, _ = monitor.step(state, {atom: trace[atom][step] for atom in monitor.atoms})
        before = monitor.progress(state)
        assert bool(literals) == (before < 1.0)
        met = {literal.lstrip("!"): float(not literal.startswith("!")) for literal in literals}
        for number in range(2 ** len(monitor.atoms)) if literals else ():
            letter = {atom: float(number >> k & 1) for k, atom in enumerate(monitor.atoms)}
            after = monitor.progress(monitor.step(state, letter | met)[0])
            assert after > before, (str(formula), trace, step, literals)


@given(formulas(4), traces(max_length=6, kinds=((0.0, 1.0),)))
def test_what_is_waited_for_can_still_come(formula, trace):
    assume(not isinstance(split(to_nnf(formula)), And | Or))  # parts may exclude each other
    try:
        waits = waited_for(formula, trace)
    except SynthesisError:
        assume(False)
    for last, (value, literals) in enumerate(zip(evaluate_prefixes(formula, trace), waits, strict=True)):
        if literals:
            assert value == 0.0
            prefix = {atom: column[: last + 1] for atom, column in trace.items()}
            assert can_become_true(formula, prefix, 3), (last, literals)


def can_become_true(formula, prefix, more):
    if evaluate(formula, prefix) == 1.0:
        return True
    atoms = formula.atoms
    if more == 0:
        return False
    return any(
        can_become_true(
            formula,
            {
                name: [*column, float(number >> atoms.index(name) & 1) if name in atoms else 0.0]
                for name, column in prefix.items()
            },
            more - 1,
        )
        for number in range(2 ** len(atoms))
    )
