"""Which formulas are safe, co-safe or propositional, and which atoms are read at the first state only."""

import itertools

import pytest
from hypothesis import given

from rewardspec.logic.formulas import Next, Not, WeakNext
from rewardspec.logic.fragments import is_cosafe, is_propositional, is_safe, unguarded_atoms
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate, evaluate_prefixes
from tests.strategies import formulas, traces


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
    ],
)
def test_safe_and_cosafe_formulas(text, safe, cosafe):
    assert is_safe(text) is safe
    assert is_cosafe(text) is cosafe
    assert is_safe(parse(text)) is safe


@given(formulas())
def test_a_formula_is_cosafe_exactly_when_its_negation_is_safe(formula):
    assert is_cosafe(formula) == is_safe(Not(formula))


def has(kind: type, formula) -> bool:
    return any(isinstance(part, kind) for part in to_nnf(formula).subformulas())


@given(formulas(max_depth=4), traces())
def test_the_value_of_a_safe_formula_never_rises_unless_it_asks_for_a_next_step(formula, trace):
    if is_safe(formula) and not has(Next, formula):
        assert all(later <= now for now, later in itertools.pairwise(evaluate_prefixes(formula, trace)))
    if is_cosafe(formula) and not has(WeakNext, formula):
        assert all(later >= now for now, later in itertools.pairwise(evaluate_prefixes(formula, trace)))


@pytest.mark.parametrize(
    ("text", "propositional"),
    [("a", True), ("true", True), ("!(a -> b ^ c) <-> d", True), ("last", False), ("X a", False), ("a & F b", False)],
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
    ],
)
def test_atoms_outside_every_temporal_operator(text, atoms):
    assert unguarded_atoms(text) == atoms


@given(formulas(max_depth=3))
def test_under_a_temporal_operator_no_atom_is_unguarded(formula):
    assert unguarded_atoms(Next(formula)) == ()
    assert set(unguarded_atoms(formula)) <= set(formula.atoms)
    if is_propositional(formula):
        assert set(unguarded_atoms(formula)) == set(formula.atoms)
