"""Rewriting keeps values: negation normal form, simplification, and the implications it rests on."""

import itertools
import random

import pytest
from hypothesis import given

from rewardspec.logic.formulas import Affine, Atom, Constant, Iff, Implies, Not, Xor
from rewardspec.logic.implication import Implication
from rewardspec.logic.normal_form import is_literal, negate, to_nnf
from rewardspec.logic.operators import OPERATORS
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate, evaluate_positions
from rewardspec.logic.simplification import simplify
from tests.definition import values_by_definition
from tests.strategies import formulas, random_batch, random_formula, traces

# Negation normal form.


@given(formulas(), traces())
def test_negation_normal_form_keeps_the_value_at_every_position(formula, trace):
    assert evaluate_positions(to_nnf(formula), trace) == evaluate_positions(formula, trace)


@given(formulas(), traces())
def test_negating_is_one_minus_the_value_at_every_position(formula, trace):
    expected = [1 - value for value in evaluate_positions(formula, trace)]
    assert evaluate_positions(negate(formula), trace) == expected


def test_negation_normal_form_keeps_the_value_of_random_formulas():
    rng = random.Random(1)
    for _ in range(300):
        formula = random_formula(rng, rng.randint(2, 6))
        batch = random_batch(rng, length=rng.randint(1, 7), size=30)
        assert (values_by_definition(to_nnf(formula), batch) == values_by_definition(formula, batch)).all(), str(
            formula
        )


@given(formulas())
def test_negation_normal_form_negates_atoms_only_and_spells_out_the_rest(formula):
    for normal in (to_nnf(formula), negate(formula)):
        for part in normal.subformulas():
            assert not isinstance(part, Implies | Iff | Xor)
            assert is_literal(part) or not isinstance(part, Not)


@given(formulas())
def test_negation_normal_form_of_itself_is_itself(formula):
    assert to_nnf(to_nnf(formula)) == to_nnf(formula)
    assert negate(negate(formula)) == to_nnf(formula)
    assert negate(formula) == to_nnf(Not(formula))


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("!!a", "a"),
        ("!true", "false"),
        ("!(a & b)", "!a | !b"),
        ("!(a | b)", "!a & !b"),
        ("!X a", "WX !a"),
        ("!WX a", "X !a"),
        ("!F a", "G !a"),
        ("!G a", "F !a"),
        ("!(a U b)", "!a R !b"),
        ("!(a R b)", "!a U !b"),
        ("!(a W b)", "!a M !b"),
        ("!(a M b)", "!a W !b"),
        ("a -> b", "!a | b"),
        ("!(a -> b)", "a & !b"),
        ("a -> b -> c", "!a | !b | c"),
        ("!(a -> b -> c)", "a & b & !c"),
        ("(a -> b) -> c", "a & !b | c"),
        ("a <-> b", "(!a | b) & (a | !b)"),
        ("a ^ b", "a & !b | !a & b"),
        ("!(a <-> b)", "a & !b | !a & b"),
        ("!(a ^ b)", "(!a | b) & (a | !b)"),
        ("!last", "X true"),
        ("!(a U X b)", "!a R WX !b"),
    ],
)
def test_negation_normal_forms(text, normal):
    assert str(to_nnf(text)) == normal


def test_the_dual_of_the_dual_is_the_operator():
    duals = {kind: row.dual for kind, row in OPERATORS.items() if row.dual is not None}
    assert len(duals) == 19
    assert all(duals[dual] is kind for kind, dual in duals.items())
    assert [kind for kind, dual in duals.items() if dual is kind] == [Affine]


def test_literals_are_atoms_and_negated_atoms():
    assert [is_literal(parse(text)) for text in ("a", "!a", "!!a", "true", "!true", "F a")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip


def test_nested_equivalences_do_not_blow_up():
    formula = parse("a")
    for _ in range(100):
        formula = Iff(formula, Atom("b"))
    normal = to_nnf(formula)
    assert sum(1 for _ in normal.subformulas()) < 1000
    assert evaluate(normal, {"a": [0.25], "b": [0.125]}) == evaluate(formula, {"a": [0.25], "b": [0.125]})


# Simplification.


@given(formulas(), traces())
def test_simplification_keeps_the_value_at_every_position(formula, trace):
    assert evaluate_positions(simplify(formula), trace) == evaluate_positions(formula, trace)


def test_simplification_keeps_the_value_of_random_formulas():
    rng = random.Random(2)
    for _ in range(500):
        formula = random_formula(rng, rng.randint(2, 6), rng.choice(("a", "ab", "abc")))
        batch = random_batch(rng, length=rng.randint(1, 7), size=30)
        simple = simplify(formula)
        assert (values_by_definition(simple, batch) == values_by_definition(formula, batch)).all(), str(formula)


@given(formulas())
def test_simplification_never_lengthens_the_negation_normal_form(formula):
    assert simplify(formula).size <= to_nnf(formula).size


@given(formulas())
def test_simplified_formulas_are_in_negation_normal_form(formula):
    assert to_nnf(simplify(formula)) == simplify(formula)


@given(formulas())
def test_simplifying_again_changes_nothing(formula):
    assert simplify(simplify(formula)) == simplify(formula)


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        # Constants.
        ("a & true", "a"),
        ("a & false", "false"),
        ("a | true", "true"),
        ("a | false", "a"),
        ("X false", "false"),
        ("WX true", "true"),
        ("F true", "true"),
        ("G false", "false"),
        ("a U true", "true"),
        ("a U false", "false"),
        ("true U a", "F a"),
        ("false R a", "G a"),
        ("a W false", "G a"),
        ("true W a", "true"),
        ("a M true", "F a"),
        ("false M a", "false"),
        # Absorption and implied parts.
        ("a & a", "a"),
        ("a | a", "a"),
        ("a & (a | b)", "a"),
        ("a | a & b", "a"),
        ("a & F a", "a"),
        ("a | F a", "F a"),
        ("G a & F a", "G a"),
        ("G a | a", "a"),
        ("a U b & F b", "a U b"),
        ("X a & WX a", "X a"),
        # Temporal operators under temporal operators.
        ("F F a", "F a"),
        ("G G a", "G a"),
        ("F(a U b)", "F b"),
        ("G(a R b)", "G b"),
        ("G(a W b)", "G(a | b)"),
        ("F(a M b)", "F(a & b)"),
        ("a U a U b", "a U b"),
        ("a R a R b", "a R b"),
        ("a U F b", "F b"),
        ("a R G b", "G b"),
        ("a U a", "a"),
        # The last position of a finite trace.
        ("F G F a", "F G a"),
        ("G F a", "F G a"),
        ("G F(a U b)", "F G b"),
        ("F G(a U b)", "F G b"),
        ("G F(a R b)", "F G b"),
        ("G F(a W b)", "F G(a | b)"),
        ("F G(a M b)", "F G(a & b)"),
        ("G F(a & X b | c)", "F G c"),
        ("F G(a & WX b)", "F G a"),
        ("G F X a", "false"),
        ("F WX a", "true"),
        ("G X a", "false"),
        ("F last", "true"),
        # Negations.
        ("!(F a -> F F (b U a))", "F a & G !a"),
    ],
)
def test_simplified_formulas(text, simple):
    assert str(simplify(text)) == simple


@pytest.mark.parametrize(
    ("text", "value"),
    [("p & !p", 0.5), ("p | !p", 0.5), ("F p & G !p", 0.5), ("p U q & !(p U q)", 0.5), ("p -> p", 0.5), ("p ^ p", 0.5)],
)
def test_contradictions_and_tautologies_are_kept_for_their_value(text, value):
    trace = {"p": [0.5], "q": [0.5]}
    assert str(simplify(text)) not in ("true", "false")
    assert evaluate(simplify(text), trace) == value


@pytest.mark.parametrize(
    "text", ["a & X a", "F a & F b", "G a | G b", "a U b | c", "F(a & X b)", "G(a -> F b)", "a W b"]
)
def test_what_cannot_be_shortened_is_kept(text):
    assert simplify(text) == to_nnf(text)


def test_a_wide_conjunction_is_simplified_quickly():
    wide = parse(" & ".join(f"F p{i}" for i in range(2000)))
    assert simplify(wide) == wide


# Implication.


def implies(left: str, right: str) -> bool:
    return Implication()(to_nnf(left), to_nnf(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("false", "a"),
        ("a", "true"),
        ("a", "a"),
        ("a & b", "a"),
        ("a", "a | b"),
        ("a & b", "b & a"),
        ("a | b", "b | a | c"),
        ("G a", "a"),
        ("a", "F a"),
        ("G a", "F a"),
        ("X a", "WX a"),
        ("G(a & b)", "G a"),
        ("F(a & b)", "F a"),
        ("a U b", "F b"),
        ("a U b", "a W b"),
        ("a U b", "a | b"),
        ("G a", "a W b"),
        ("b", "a U b"),
        ("a M b", "a R b"),
        ("a M b", "F a"),
        ("a R b", "b"),
        ("G b", "a R b"),
        ("a & b", "a R b"),
        ("(a & c) U b", "a U (b | c)"),
        ("X(a & b)", "X a"),
        ("G G a", "G a"),
        ("F F a", "F a"),
        ("!(a | b)", "!a"),
    ],
)
def test_implications_that_are_seen(left, right):
    assert implies(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a", "b"),
        ("a", "a & b"),
        ("F a", "a"),
        ("a", "G a"),
        ("F a", "G a"),
        ("WX a", "X a"),
        ("a W b", "a U b"),
        ("F b", "a U b"),
        ("a R b", "a M b"),
        ("a R b", "a"),
        ("a U b", "a"),
        ("F a & F b", "F(a & b)"),
        ("G(a | b)", "G a | G b"),
        ("X a", "a"),
        ("a", "!a"),
        # True of truth, not of values.
        ("a & !a", "false"),
        ("a & !a", "b"),
        ("true", "a | !a"),
        ("b", "a | !a"),
    ],
)
def test_implications_that_do_not_hold_for_values_are_not_claimed(left, right):
    assert not implies(left, right)


def test_implication_is_sound_on_random_pairs():
    rng = random.Random(3)
    claims = 0
    for _ in range(60):
        batch = random_batch(rng, length=rng.randint(1, 6), size=60, atoms="ab")
        implication = Implication()
        pool = [to_nnf(random_formula(rng, rng.randint(0, 3), "ab")) for _ in range(25)]
        values = {formula: values_by_definition(formula, batch) for formula in pool}
        for left, right in itertools.permutations(values, 2):
            if implication(left, right):
                claims += 1
                assert (values[left] <= values[right]).all(), f"{left} does not imply {right}"
    assert claims > 2000


@given(formulas(max_depth=4))
def test_a_formula_implies_itself_and_its_weakenings(formula):
    simple = simplify(formula)
    assert Implication()(simple, simple)
    if not isinstance(simple, Constant):
        assert Implication()(simple & "z", simple)
        assert Implication()(simple, simple | "z")
        assert not Implication()(simple, Atom("z"))
