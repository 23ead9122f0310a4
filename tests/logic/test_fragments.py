"""Which formulas are safe, co-safe or propositional, and which atoms are read at the first state only."""

import itertools
import random

import pytest
from hypothesis import given

from rewardspec.logic.formulas import Always, And, Eventually, Formula, Next, Not, Release, Timed, Until, WeakNext
from rewardspec.logic.fragments import is_cosafe, is_past, is_propositional, is_safe, unguarded_atoms, unguarded_past
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.operators import FUTURE, PAST
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate, evaluate_positions, evaluate_prefixes
from tests.strategies import EVERYTHING, MONITORABLE, formulas, random_formula, traces


@pytest.mark.parametrize(
    ("text", "safe", "cosafe"),
    [
        ("a", True, True),
        ("a -> !b", True, True),
        ("true", True, True),
        ("X a", True, True),
        ("WX a", True, True),
        ("G a", True, False),
        ("G !crash", True, False),
        ("!F crash", True, False),
        ("a R b", True, False),
        ("a W b", True, False),
        ("!(a U b)", True, False),
        ("!(a M b)", True, False),
        ("G(a -> X b)", True, False),
        ("F a", False, True),
        ("!G a", False, True),
        ("a U b", False, True),
        ("a M b", False, True),
        ("!(a R b)", False, True),
        ("!(a W b)", False, True),
        ("F(a & F b)", False, True),
        ("G(a -> F b)", False, False),
        ("F G a", False, False),
        ("F a & G b", False, False),
        ("F a <-> b", False, False),
        ("G a ^ b", False, False),
        ("F a -> G b", True, False),
        ("G a -> F b", False, True),
        ("F[0,5] a", True, True),
        ("F[3,] a", False, True),
        ("G(a -> F[0,5] b)", True, False),
        ("a U[0,5] b", True, True),
        ("G[2,5] a", True, True),
        ("G[2,] a", True, False),
        ("F[;0.5] a", False, True),
        ("F{2} a", False, True),
        ("G{2} a", True, False),
        ("!G{2} a", False, True),
        ("H a", True, True),
        ("G(a -> O b)", True, False),
        ("F(a S b)", False, True),
        ("O F a", False, True),
        ("0.5 * G a", True, False),
        ("0.5", True, True),
    ],
)
def test_safe_and_cosafe_formulas(text, safe, cosafe):
    assert is_safe(text) is safe
    assert is_cosafe(text) is cosafe
    assert is_safe(parse(text)) is safe


any_formula = formulas(max_depth=4) | formulas(max_depth=4, language=EVERYTHING)


@given(any_formula)
def test_a_formula_is_cosafe_exactly_when_its_negation_is_safe(formula):
    assert is_cosafe(formula) == is_safe(Not(formula))


def has(kinds: tuple[type, ...], formula) -> bool:
    return any(isinstance(part, kinds) for part in to_nnf(formula).subformulas())


@given(any_formula, traces())
def test_the_value_of_a_safe_formula_never_rises_unless_it_asks_for_a_next_step(formula, trace):
    if is_safe(formula) and not has((Next, Eventually, Until), formula):
        assert all(later <= now for now, later in itertools.pairwise(evaluate_prefixes(formula, trace)))
    if is_cosafe(formula) and not has((WeakNext, Always, Release), formula):
        assert all(later >= now for now, later in itertools.pairwise(evaluate_prefixes(formula, trace)))


@given(any_formula, traces(max_length=12))
def test_the_value_of_a_bounded_formula_stands_once_its_bounds_have_passed(formula, trace):
    """Safe and co-safe at once: what happens after a horizon does not matter."""
    if is_safe(formula) and is_cosafe(formula) and horizon(formula) < len(trace["a"]):
        values = evaluate_prefixes(formula, trace)[horizon(formula) :]
        assert len(set(values)) == 1


def horizon(formula: Formula) -> int:
    """How far a bounded formula looks ahead."""

    def ahead(part: Formula, below: tuple[int, ...]) -> int:
        own = part.steps if isinstance(part, Next | WeakNext) else 0
        if isinstance(part, Eventually | Always | Until | Release):
            own = part.high
        return own + max(below, default=0)

    return to_nnf(formula).fold(ahead)


@pytest.mark.parametrize(
    ("text", "propositional"),
    [
        ("a", True),
        ("true", True),
        ("!(a -> b ^ c) <-> d", True),
        ("last", False),
        ("X a", False),
        ("a & F b", False),
        ("O a", False),
        ("first", False),
        ("0.5 * a | 0.25", True),
    ],
)
def test_propositional_formulas(text, propositional):
    assert is_propositional(text) is propositional


@given(formulas(max_depth=3), traces())
def test_a_propositional_formula_reads_the_first_state_alone(formula, trace):
    if is_propositional(formula):
        assert evaluate(formula, trace) == evaluate(formula, {name: labels[:1] for name, labels in trace.items()})


@pytest.mark.parametrize(
    ("text", "atoms"),
    [
        ("F G true & !reach_goal", ("reach_goal",)),
        ("F G (true & !reach_goal)", ()),
        ("a", ("a",)),
        ("b -> a & (c <-> b)", ("b", "a", "c")),
        ("a & F(a & b)", ("a",)),
        ("a U b", ()),
        ("X a | WX b | last", ()),
        ("true", ()),
        ("!(a ^ G b)", ("a",)),
        ("H[0,5] quiet", ("quiet",)),
        ("a S (b & F c)", ("a", "b")),
        ("F(a & O b)", ()),
        ("now H a", ()),
        ("F{2} a & 0.5 * b", ("b",)),
    ],
)
def test_atoms_outside_every_temporal_operator(text, atoms):
    assert unguarded_atoms(text) == atoms


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("a & !b", True),
        ("true", True),
        ("H(a -> O[0,5] b)", True),
        ("first", True),
        ("last", False),
        ("O F a", False),
        ("G(a -> O b)", False),
        ("a U X b", False),
        ("F[0,5] a", False),
        ("X[2] a", False),
        ("F{1} a", False),
        ("0.5 * a", True),
        ("0.5", True),
        ("F[;0.5] a", False),
    ],
)
def test_formulas_of_the_past(text, past):
    assert is_past(text) is past


@given(formulas(max_depth=4, language=EVERYTHING), traces())
def test_the_value_of_a_past_formula_at_a_step_does_not_depend_on_later_ones(formula, trace):
    if is_past(formula):
        values = evaluate_positions(formula, trace)
        for stop in range(1, len(values)):
            start = {name: labels[:stop] for name, labels in trace.items()}
            assert evaluate_positions(formula, start) == values[:stop]


@given(formulas(max_depth=3))
def test_under_a_temporal_operator_no_atom_is_unguarded(formula):
    assert unguarded_atoms(Next(formula)) == ()
    assert set(unguarded_atoms(formula)) <= set(formula.atoms)
    if is_propositional(formula):
        assert set(unguarded_atoms(formula)) == set(formula.atoms)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("F goal & H[0,5] quiet", ["H[0,5] quiet"]),
        ("a S (b & O c)", ["a S (b & O c)"]),
        ("!Y a | 0.5 * O b", ["Y a", "O b"]),
        ("now H a", []),
        ("G(a -> O b)", []),
        ("a & F b", []),
    ],
)
def test_what_looks_back_from_the_first_state(text, parts):
    assert list(map(str, unguarded_past(text))) == parts


def test_random_monitorable_formulas_are():
    rng = random.Random(1)
    unbounded = 0
    for _ in range(300):
        formula = random_formula(rng, 4, language=MONITORABLE)
        parts = list(formula.subformulas())
        assert all(is_past(arg) for part in parts if isinstance(part, PAST) for arg in part.args)
        top = set(formula.args) | {formula} if isinstance(formula, And) else {formula}
        for part in parts:
            if isinstance(part, Timed) and isinstance(part, FUTURE) and part.discount < 1 and part.high is None:
                assert part in top
                unbounded += 1
    assert unbounded > 10
