"""The table of operators is complete, and its one-letter meanings are those of the definition."""

import random

import numpy as np
import pytest
from hypothesis import given

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula
from rewardspec.logic.normal_form import dual, is_literal, negate, to_nnf
from rewardspec.logic.operators import FUTURE, OPERATORS, PAST, TEMPORAL, unfold
from tests.definition import values_by_definition
from tests.strategies import EVERYTHING, ROBUST, formulas, random_batch, random_formula, traces

SHAPES = (fm.Unary, fm.Binary, fm.Nary, fm.Shift, fm.Timed, fm.TimedUnary, fm.TimedBinary, fm.Counted)


class Expansion:
    """Unfolds a formula into formulas: its expansion law."""

    def now(self, formula: Formula) -> Formula:
        return formula

    def later(self, formula: Formula, strong: bool) -> Formula:
        return fm.Next(formula) if strong else fm.WeakNext(formula)

    def earlier(self, formula: Formula, strong: bool) -> Formula:
        return fm.Previous(formula) if strong else fm.WeakPrevious(formula)

    def conjunction(self, *values: Formula) -> Formula:
        return fm.And(*values)

    def disjunction(self, *values: Formula) -> Formula:
        return fm.Or(*values)

    def affine(self, value: Formula, scale: float, offset: float) -> Formula:
        return fm.Affine(value, scale, offset)


def expand(formula: Formula) -> Formula:
    """The expansion law of a formula's outermost operator: an equal formula that looks at most one step away."""
    return unfold(formula, Expansion())


def test_every_class_of_formulas_has_its_row():
    classes = {value for value in vars(fm).values() if isinstance(value, type) and issubclass(value, Formula)}
    assert classes - {*SHAPES, Formula, fm.Atom, fm.Constant} == set(OPERATORS)


def test_no_two_operators_are_written_alike():
    spellings = [text for kind, row in OPERATORS.items() for text in row.spellings if not issubclass(kind, fm.Counted)]
    assert len(set(spellings)) == len(spellings)
    assert (
        len({row.unicode for kind, row in OPERATORS.items() if not issubclass(kind, fm.Counted)}) == len(OPERATORS) - 2
    )


def test_every_operator_looks_ahead_or_back_or_neither():
    assert set(TEMPORAL) == {*FUTURE, *PAST}
    assert not set(FUTURE) & set(PAST)
    timeless = [kind.__name__ for kind in OPERATORS if kind not in TEMPORAL]
    assert sorted(timeless) == ["Affine", "And", "Iff", "Implies", "Not", "Or", "Xor"]


def test_dual_operators_are_of_one_tense_and_swap_safe_with_cosafe():
    for row in OPERATORS.values():
        if row.dual is not None:
            other = OPERATORS[row.dual]
            assert (row.tense, row.safe, row.cosafe) == (other.tense, other.cosafe, other.safe)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("X a", "X a"),
        ("X[3] a", "X X[2] a"),
        ("WY[2] a", "WY WY a"),
        ("F a", "a | X F a"),
        ("G a", "a & WX G a"),
        ("F[0,5] a", "a | X F[0,4] a"),
        ("F[2,5] a", "X F[1,4] a"),
        ("F[2,] a", "X F[1,] a"),
        ("F[0,0] a", "a"),
        ("G[2,5] a", "WX G[1,4] a"),
        ("F[;0.5] a", "a | 0.5 * X F[;0.5] a"),
        ("G[0,2;0.8] a", "a & 0.8 * WX G[0,1;0.8] a + 0.2"),
        ("a U b", "b | a & X(a U b)"),
        ("a U[1,2] b", "a & X(a U[0,1] b)"),
        ("a R[0,2] b", "b & (a | WX(a R[0,1] b))"),
        ("a W b", "a & WX(a W b) | b"),
        ("a M b", "(a | X(a M b)) & b"),
        ("F{1} a", "a | X F{1} a"),
        ("F{3} a", "a & X F{2} a | X F{3} a"),
        ("G{0} a", "a & WX G{0} a"),
        ("G{2} a", "(a | WX G{1} a) & WX G{2} a"),
        ("O[0,5] a", "a | Y O[0,4] a"),
        ("H a", "a & WY H a"),
        ("a S b", "b | a & Y(a S b)"),
        ("a T[1,2] b", "a | WY(a T[0,1] b)"),
        ("0.5 * a + 0.25", "0.5 * a + 0.25"),
        ("a & b | c", "a & b | c"),
    ],
)
def test_expansion_laws(text, expanded):
    assert str(expand(fm.as_formula(text))) == expanded


def one_letter_meanings_hold(formula: Formula, trace: dict, semantics: str = "degree") -> int:
    held = 0
    for part in to_nnf(formula).subformulas():
        if part.args and not is_literal(part):
            law = expand(part)
            np.testing.assert_array_equal(
                values_by_definition(law, trace, semantics), values_by_definition(part, trace, semantics), str(part)
            )
            held += 1
    return held


@given(formulas(max_depth=3, language=EVERYTHING), traces())
def test_unfolding_by_one_letter_keeps_values(formula, trace):
    one_letter_meanings_hold(formula, trace)


@pytest.mark.parametrize("semantics", ["degree", "robustness"])
def test_unfolding_by_one_letter_keeps_the_values_of_random_formulas(semantics):
    rng = random.Random(1)
    held = 0
    for _ in range(150):
        formula = random_formula(rng, rng.randint(1, 4), language=EVERYTHING if semantics == "degree" else ROBUST)
        held += one_letter_meanings_hold(formula, random_batch(rng, rng.randint(1, 7), 20), semantics)
    assert held > 500


@given(formulas(max_depth=4, language=EVERYTHING))
def test_a_formula_in_normal_form_is_negated_by_the_duals_of_its_operators(formula):
    negated = to_nnf(formula).fold(
        lambda part, args: negate(part) if not part.args or is_literal(part) else dual(part, *args)
    )
    assert negated == negate(formula)


def test_the_operators_with_a_tense_are_the_temporal_ones():
    assert {kind for kind in OPERATORS if kind.temporal} == set(TEMPORAL)


@given(formulas(max_depth=4, language=EVERYTHING))
def test_a_formula_is_temporal_if_a_part_of_it_is(formula):
    assert formula.is_temporal == any(isinstance(part, TEMPORAL) for part in formula.subformulas())
