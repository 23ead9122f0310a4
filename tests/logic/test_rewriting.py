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
from tests.strategies import EVERYTHING, LTLF, REALS, ROBUST, formulas, random_batch, random_formula, traces

# Negation normal form.


any_formula = formulas() | formulas(language=EVERYTHING)
both_languages = pytest.mark.parametrize("language", [LTLF, EVERYTHING], ids=["ltlf", "everything"])


@given(any_formula, traces())
def test_negation_normal_form_keeps_the_value_at_every_position(formula, trace):
    assert evaluate_positions(to_nnf(formula), trace) == evaluate_positions(formula, trace)


@given(any_formula, traces())
def test_negating_is_one_minus_the_value_at_every_position(formula, trace):
    expected = [1 - value for value in evaluate_positions(formula, trace)]
    assert evaluate_positions(negate(formula), trace) == expected


@given(formulas(language=ROBUST), traces(kinds=(REALS,)))
def test_rewriting_keeps_robustness(formula, trace):
    values = evaluate_positions(formula, trace, semantics="robustness")
    assert evaluate_positions(to_nnf(formula), trace, semantics="robustness") == values
    assert evaluate_positions(simplify(formula), trace, semantics="robustness") == values
    assert evaluate_positions(negate(formula), trace, semantics="robustness") == [-value for value in values]


@both_languages
def test_negation_normal_form_keeps_the_value_of_random_formulas(language):
    rng = random.Random(1)
    for _ in range(300):
        formula = random_formula(rng, rng.randint(2, 6), language=language)
        batch = random_batch(rng, length=rng.randint(1, 7), size=30)
        assert (values_by_definition(to_nnf(formula), batch) == values_by_definition(formula, batch)).all(), str(
            formula
        )


@given(any_formula)
def test_negation_normal_form_negates_atoms_only_and_spells_out_the_rest(formula):
    for normal in (to_nnf(formula), negate(formula)):
        for part in normal.subformulas():
            assert not isinstance(part, Implies | Iff | Xor)
            assert is_literal(part) or not isinstance(part, Not)


@given(any_formula)
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
        ("!X[3] a", "WX[3] !a"),
        ("!F[2,5] a", "G[2,5] !a"),
        ("!G[0,5;0.9] a", "F[0,5;0.9] !a"),
        ("!(a U[2,] b)", "!a R[2,] !b"),
        ("!Y a", "WY !a"),
        ("!WY[2] a", "Y[2] !a"),
        ("!O a", "H !a"),
        ("!H[1,2] a", "O[1,2] !a"),
        ("!(a S[0,3] b)", "!a T[0,3] !b"),
        ("!(a T b)", "!a S !b"),
        ("!F{3} a", "G{2} !a"),
        ("!G{3} a", "F{4} !a"),
        ("!(0.8 * a)", "0.8 * !a + 0.2"),
        ("!(0.8 * a + 0.2)", "0.8 * !a"),
        ("!(0.7 * a + 0.1)", "0.7 * !a + 0.2"),
        ("!0.3", "0.7"),
        ("!first", "Y true"),
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


@given(any_formula, traces())
def test_simplification_keeps_the_value_at_every_position(formula, trace):
    assert evaluate_positions(simplify(formula), trace) == evaluate_positions(formula, trace)


@both_languages
def test_simplification_keeps_the_value_of_random_formulas(language):
    rng = random.Random(2)
    for _ in range(500):
        formula = random_formula(rng, rng.randint(2, 6), rng.choice(("a", "ab", "abc")), language)
        batch = random_batch(rng, length=rng.randint(1, 7), size=30)
        simple = simplify(formula)
        assert (values_by_definition(simple, batch) == values_by_definition(formula, batch)).all(), str(formula)


@given(any_formula)
def test_simplification_never_lengthens_the_negation_normal_form(formula):
    assert simplify(formula).size <= to_nnf(formula).size


@given(any_formula)
def test_simplified_formulas_are_in_negation_normal_form(formula):
    assert to_nnf(simplify(formula)) == simplify(formula)


@given(any_formula)
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
        ("F(last & a)", "F G a"),
        ("now H a", "F G H a"),
        ("now (a & F b)", "F G(a & b)"),
        ("F(last & X a)", "false"),
        ("F G[2,] a", "true"),
        ("G F[1,3] a", "false"),
        # Intervals.
        ("F[0,] a", "F a"),
        ("F[0,0] a", "a"),
        ("X[1] a", "X a"),
        ("F[3,3] a", "X[3] a"),
        ("G[3,3] a", "WX[3] a"),
        ("H[2,2] a", "WY[2] a"),
        ("X[2] X[3] a", "X[5] a"),
        ("X[2] F[0,3] a", "F[2,5] a"),
        ("WX G[0,3] a", "G[1,4] a"),
        ("F[0,3] F[1,2] a", "F[1,5] a"),
        ("F F[2,5] a", "F[2,] a"),
        ("G[0,2] G[0,] a", "G a"),
        ("O[0,3] O[1,2] a", "O[1,5] a"),
        ("F[0,3;0.5] F[0,3;0.5] a", "F[0,6;0.5] a"),
        ("F[0,5] false", "false"),
        ("F[0,5] true", "true"),
        ("F[2,5] true", "F[2,5] true"),
        ("G[2,5] true", "true"),
        ("F[0,5] 0.5", "0.5"),
        ("a U[0,5] true", "true"),
        ("true U[2,5] a", "F[2,5] a"),
        ("false U[2,5] a", "false"),
        ("false R[2,5] a", "G[2,5] a"),
        ("a U[0,5] a", "a"),
        ("a U[0,0] b", "b"),
        ("F[0,3] a & F[0,5] a", "F[0,3] a"),
        ("G[0,3] a & G[0,5] a", "G[0,5] a"),
        ("F[0,5] a | F a", "F a"),
        # The past, which has the same laws.
        ("O O a", "O a"),
        ("H H[0,3] a", "H a"),
        ("true S a", "O a"),
        ("false T a", "H a"),
        ("a S O b", "O b"),
        ("a S a S b", "a S b"),
        ("O WY a", "true"),
        ("H Y a", "false"),
        ("Y false", "false"),
        ("a & O a", "a"),
        # Counts, scales and numbers.
        ("F{1} a", "F a"),
        ("G{0} a", "G a"),
        ("F{2} false", "false"),
        ("G{2} true", "true"),
        ("F a & F{2} a", "F{2} a"),
        ("1 * a", "a"),
        ("0.5 * 0.5 * a", "0.25 * a"),
        ("0.5 * (0.5 * a + 0.5) + 0.25", "0.25 * a + 0.5"),
        ("0.5 * 0.5", "0.25"),
        ("0.25 & 0.5 & a", "0.25 & a"),
        ("a & 0.5 * a", "0.5 * a"),
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
        ("F[0,3] a", "F[0,5] a"),
        ("F[2,3] a", "F[0,5] a"),
        ("F[0,5] a", "F a"),
        ("G[0,5] a", "G[0,3] a"),
        ("G a", "G[2,3] a"),
        ("a U[0,3] b", "a U b"),
        ("a U[2,3] b", "F[2,3] b"),
        ("a U[2,3] b", "a"),
        ("a U[0,3] b", "a W b"),
        ("a R b", "a R[2,3] b"),
        ("G[2,3] b", "a R[2,3] b"),
        ("G[0,5] a", "a"),
        ("a", "F[0,5] a"),
        ("X[3] a", "F[0,5] a"),
        ("X[3] a", "WX[3] a"),
        ("G[0,5] a", "WX[3] a"),
        ("F[0,5;0.5] a", "F[0,5;0.75] a"),
        ("F[0,5;0.5] a", "F[0,5] a"),
        ("G[0,5] a", "G[0,5;0.5] a"),
        ("O[0,3] a", "O a"),
        ("H a", "a"),
        ("H a", "H[0,3] a"),
        ("a S[0,3] b", "a S b"),
        ("a S b", "O b"),
        ("Y a", "WY a"),
        ("Y[2] a", "O[0,3] a"),
        ("F{3} a", "F{2} a"),
        ("F{3} a", "F a"),
        ("G a", "G{2} a"),
        ("G{1} a", "G{2} a"),
        ("0.5 * a", "a"),
        ("0.5 * a", "0.75 * a"),
        ("a", "0.5 * a + 0.5"),
        ("0.25", "0.5"),
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
        ("F[0,5] a", "F[0,3] a"),
        ("F[2,3] a", "a"),
        ("F a", "F[0,5] a"),
        ("G[0,3] a", "G[0,5] a"),
        ("G[1,3] a", "a"),
        ("G[2,3] a", "F[0,5] a"),
        ("a", "F[1,5] a"),
        ("WX[3] a", "F[0,5] a"),
        ("X[3] a", "F[0,2] a"),
        ("X[3] a", "F[0,5;0.5] a"),
        ("F[0,5] a", "F[0,5;0.5] a"),
        ("G[0,5;0.5] a", "G[0,5] a"),
        ("a U b", "a U[0,3] b"),
        ("a R[0,3] b", "a R b"),
        ("O a", "F a"),
        ("H a", "G a"),
        ("Y a", "WX a"),
        ("a S b", "a U b"),
        ("F{2} a", "F{3} a"),
        ("G{2} a", "G{1} a"),
        ("a", "0.5 * a"),
        ("0.5 * a + 0.5", "a"),
        ("0.5", "a"),
        # True of truth, not of values.
        ("a & !a", "false"),
        ("a & !a", "b"),
        ("true", "a | !a"),
        ("b", "a | !a"),
    ],
)
def test_implications_that_do_not_hold_for_values_are_not_claimed(left, right):
    assert not implies(left, right)


@both_languages
def test_implication_is_sound_on_random_pairs(language):
    rng = random.Random(3)
    claims = 0
    for _ in range(60):
        batch = random_batch(rng, length=rng.randint(1, 6), size=60, atoms="ab")
        implication = Implication()
        pool = [to_nnf(random_formula(rng, rng.randint(0, 3), "ab", language)) for _ in range(25)]
        values = {formula: values_by_definition(formula, batch) for formula in pool}
        for left, right in itertools.permutations(values, 2):
            if implication(left, right):
                claims += 1
                assert (values[left] <= values[right]).all(), f"{left} does not imply {right}"
    assert claims > 1000


@given(formulas(max_depth=4) | formulas(max_depth=4, language=EVERYTHING))
def test_a_formula_implies_itself_and_its_weakenings(formula):
    simple = simplify(formula)
    assert Implication()(simple, simple)
    if not isinstance(simple, Constant):
        assert Implication()(simple & "z", simple)
        assert Implication()(simple, simple | "z")
        assert not Implication()(simple, Atom("z"))
