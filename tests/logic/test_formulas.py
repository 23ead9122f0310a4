"""Formulas are values: immutable, hashable, compared by structure, at any nesting."""

import copy
import gc
import itertools
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardspec.errors import Error, FormulaError
from rewardspec.logic.formulas import (
    FALSE,
    FIRST,
    LAST,
    TRUE,
    Affine,
    AllButTimes,
    Always,
    And,
    AtLeastTimes,
    Atom,
    Constant,
    Eventually,
    Formula,
    Historically,
    Iff,
    Implies,
    Next,
    Not,
    Once,
    Or,
    Previous,
    Release,
    Since,
    Trigger,
    Unary,
    Until,
    WeakNext,
    WeakPrevious,
    WeakUntil,
    Xor,
    as_formula,
    now,
)
from rewardspec.logic.fragments import is_cosafe, is_propositional, is_safe, unguarded_atoms
from rewardspec.logic.normal_form import negate, to_nnf
from rewardspec.logic.parsing import parse
from rewardspec.logic.semantics import evaluate, evaluate_prefixes
from rewardspec.logic.simplification import simplify
from tests.strategies import BINARY, EVERYTHING, LTLF, NARY, UNARY, formulas

a, b, c = Atom("a"), Atom("b"), Atom("c")


# Values.


@pytest.mark.parametrize("formula", [a, TRUE, Not(a), And(a, b), Until(a, b)], ids=str)
@pytest.mark.parametrize("attribute", ["args", "_hash", "name", "value", "anything"])
def test_a_formula_cannot_be_changed(formula, attribute):
    before = str(formula)
    with pytest.raises(AttributeError, match=r"cannot be changed.*Build a new formula"):
        setattr(formula, attribute, ())
    with pytest.raises(AttributeError, match="cannot be changed"):
        delattr(formula, attribute)
    assert str(formula) == before


def test_operands_are_a_tuple():
    assert Until(a, b).args == (a, b)
    assert (Until(a, b).left, Until(a, b).right) == (a, b)
    assert Not(a).arg == a
    assert a.args == TRUE.args == ()


def test_formulas_built_apart_are_equal_and_hash_alike():
    left = Always(Implies(Atom("request"), Eventually(Atom("grant"))))
    right = parse("G(request -> F grant)")
    assert left is not right
    assert left == right
    assert hash(left) == hash(right)
    assert {left: "found"}[right] == "found"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (a, b),
        (a, TRUE),
        (Atom("true"), TRUE),
        (TRUE, FALSE),
        (a & b, b & a),
        (a & b, a & b & c),
        (a & b, a | b),
        (Until(a, b), Until(b, a)),
        (Next(a), WeakNext(a)),
        (Eventually(a), Until(TRUE, a)),
        (Not(Not(a)), a),
        (Implies(a, b), Not(a) | b),
        (Next(a), Next(a, 2)),
        (Next(a), Previous(a)),
        (Eventually(a), Eventually(a, 0, 5)),
        (Eventually(a, 0, 5), Eventually(a, 0, 5, 0.5)),
        (Eventually(a, 0, 5), Once(a, 0, 5)),
        (Until(a, b, 1), Until(a, b)),
        (AtLeastTimes(a, 2), AtLeastTimes(a, 3)),
        (AtLeastTimes(a, 2), AllButTimes(a, 2)),
        (Affine(a, 0.5), Affine(a, 0.5, 0.25)),
        (Constant(0.5), Constant(0.25)),
    ],
    ids=str,
)
def test_formulas_of_different_structure_differ(left, right):
    assert left != right
    assert len({left, right}) == 2


def test_formulas_whose_hashes_collide_are_told_apart():
    for collides in (Atom("b"), Constant(True), Next(a), And(a, b)):
        object.__setattr__(collides, "_hash", hash(a))
        assert hash(collides) == hash(a)
        assert collides != a
        assert len({a, collides}) == 2


def test_operators_with_the_same_operands_are_all_different():
    binary = [kind(a, b) for kind in (*BINARY, *NARY)]
    unary = [kind(a) for kind in UNARY]
    for group in (binary, unary):
        assert all(left != right for left, right in itertools.combinations(group, 2))
        assert len(set(group)) == len(group)


def test_a_formula_is_not_its_text_nor_anything_else():
    assert a != "a"
    assert a not in ("a", None, 1, ("a",))
    assert a.__eq__("a") is NotImplemented


@pytest.mark.parametrize("language", [LTLF, EVERYTHING], ids=["ltlf", "everything"])
@given(data=st.data())
def test_formulas_are_equal_exactly_when_their_texts_are(language, data):
    left, right = (data.draw(formulas(max_depth=3, language=language)) for _ in range(2))
    assert (left == right) == (str(left) == str(right))
    assert left == parse(str(left))


def test_formulas_that_share_their_parts_are_compared_part_by_part_once():
    def doubled(levels: int) -> Formula:
        formula = a
        for _ in range(levels):
            formula = Iff(formula, formula)
        return formula

    left, right = doubled(60), doubled(60)
    assert left == right
    assert left != doubled(59)
    assert left.size == 2**61 - 1
    assert sum(1 for _ in left.subformulas()) == 61
    assert evaluate(left, {"a": [0.25]}) == 0.75


def test_a_formula_has_no_truth_value():
    for formula in (a, TRUE, FALSE, a & b):
        with pytest.raises(TypeError, match=r"no truth value\. Use &, \| and ~"):
            bool(formula)
    with pytest.raises(TypeError, match="no truth value"):
        assert not a


@given(formulas(max_depth=4, atoms=("a", "b c", "U", 'say "hi"', "back\\slash", "é"), language=EVERYTHING))
def test_formulas_survive_copying_and_pickling(formula):
    assert copy.copy(formula) is formula
    assert copy.deepcopy(formula) is formula
    assert copy.deepcopy([formula])[0] is formula
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(formula, protocol))
        assert again == formula
        assert type(again) is type(formula)


def test_formulas_are_not_kept_alive():
    formula = Until("p", Next("q"))
    reference = weakref.ref(formula)
    assert reference() is formula
    del formula
    gc.collect()
    assert reference() is None


# Parameters.

TIMED = [
    (Next(a, 3), (3,), "X[3] a"),
    (WeakNext(a), (1,), "WX a"),
    (Previous(a, 2), (2,), "Y[2] a"),
    (WeakPrevious(a), (1,), "WY a"),
    (Eventually(a), (0, None, 1.0), "F a"),
    (Eventually(a, 0, 5), (0, 5, 1.0), "F[0,5] a"),
    (Always(a, 3), (3, None, 1.0), "G[3,] a"),
    (Until(a, b, 1, 4, 0.5), (1, 4, 0.5), "a U[1,4;0.5] b"),
    (Release(a, b, discount=0.9), (0, None, 0.9), "a R[;0.9] b"),
    (Once(a, 2, 2), (2, 2, 1.0), "O[2,2] a"),
    (Historically(a, high=0), (0, 0, 1.0), "H[0,0] a"),
    (Since(a, b, low=1), (1, None, 1.0), "a S[1,] b"),
    (Trigger(a, b, 0, 7), (0, 7, 1.0), "a T[0,7] b"),
    (AtLeastTimes(a, 2), (2,), "F{2} a"),
    (AllButTimes(a, 0), (0,), "G{0} a"),
    (Affine(a, 0.8), (0.8, 0.0), "0.8 * a"),
    (Affine(a, 0.75, 0.25), (0.75, 0.25), "0.75 * a + 0.25"),
    (Constant(0.8), (0.8,), "0.8"),
    (a, ("a",), "a"),
    (And(a, b), (), "a & b"),
]


@pytest.mark.parametrize(("formula", "params", "text"), TIMED, ids=[text for *_, text in TIMED])
def test_parameters_are_values_and_part_of_the_text(formula, params, text):
    assert formula.params == params
    assert str(formula) == text
    assert parse(text) == formula
    assert formula.rebuild(*formula.args) == formula
    assert pickle.loads(pickle.dumps(formula)) == formula
    operands = (c,) * len(formula.args)
    again = formula.rebuild(*operands)
    assert (type(again), again.args, again.params) == (type(formula), operands, params)


def test_parameters_have_names():
    assert Next(a, 3).steps == 3
    timed = Since(a, b, 2, 5, 0.5)
    assert (timed.low, timed.high, timed.discount) == (2, 5, 0.5)
    assert AllButTimes(a, 3).count == 3
    assert (Affine(a, 0.5, 0.25).scale, Affine(a, 0.5, 0.25).offset) == (0.5, 0.25)
    assert Eventually(a).is_plain
    assert not Eventually(a, 0, 5).is_plain
    assert not Eventually(a, discount=0.5).is_plain


def test_numbers_of_any_kind_are_one_parameter():
    assert Eventually(a, np.int64(0), np.int32(5), 1) == Eventually(a, 0, 5)
    assert hash(Affine(a, np.float64(0.5), -0.0)) == hash(Affine(a, 0.5))
    assert Constant(1) == Constant(True) == TRUE
    assert Constant(0) == Constant(-0.0) == FALSE
    assert type(Eventually(a, np.int64(0), np.int32(5)).high) is int


def test_short_forms():
    assert parse("first") == FIRST == WeakPrevious(FALSE)
    assert now("H a") == parse("now H a") == Eventually(LAST & Historically(a))
    assert {0.5 * a, a * 0.5} == {Affine(a, 0.5)}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Next(a, 0), "`steps` should be a whole number, 1 or more. Received 0."),
        (lambda: Next(a, 1.5), "`steps` should be a whole number, 1 or more. Received 1.5."),
        (lambda: Next(a, True), "Received True."),
        (lambda: Eventually(a, -1), "`low` should be a whole number, 0 or more. Received -1."),
        (lambda: Eventually(a, None), "`low` should be a whole number, 0 or more. Received None."),
        (lambda: Until(a, b, 5, 3), "The interval [5,3] ends before it begins. Write [3,5]."),
        (lambda: Always(a, 0, 10**10), "`high` should be at most 1,000,000,000. Received 10000000000."),
        (lambda: Always(a, 0, 10**5000), "Received a much larger number."),
        (lambda: Once(a, 0, 5, 0.0), "`discount` should be above 0 and at most 1. Received 0.0."),
        (lambda: Once(a, 0, 5, 1.5), "`discount` should be above 0 and at most 1. Received 1.5."),
        (lambda: Once(a, 0, 5, float("nan")), "`discount` should be above 0 and at most 1. Received nan."),
        (lambda: Once(a, 0, 5, "0.5"), "`discount` should be a number. Received '0.5'."),
        (lambda: AtLeastTimes(a, 0), "`count` should be a whole number, 1 or more. Received 0."),
        (lambda: AllButTimes(a, -1), "`count` should be a whole number, 0 or more. Received -1."),
        (lambda: Affine(a, 0.0), "A scale should be above 0"),
        (lambda: Affine(a, 0.5, 0.75), "Received a scale of 0.5 and an offset of 0.75."),
        (lambda: Affine(a, 0.5, -0.25), "an offset 0 or more"),
        (lambda: 2 * a, "Received a scale of 2 and an offset of 0.0."),
        (lambda: Constant(1.5), "A constant should be in [0, 1]. Received 1.5."),
        (lambda: Constant(float("nan")), "A constant should be in [0, 1]. Received nan."),
    ],
)
def test_parameters_out_of_range_are_refused(build, message):
    with pytest.raises(FormulaError) as caught:
        build()
    assert message in str(caught.value)


@pytest.mark.parametrize("build", [lambda: Until(a), lambda: Not(a, b), lambda: Formula(), lambda: Unary()])
def test_calls_with_the_wrong_number_of_operands_are_type_errors(build):
    with pytest.raises(TypeError):
        build()


# Building.


def test_and_and_or_flatten():
    assert a & (b & c) == (a & b) & c == And(a, b, c)
    assert And(a, b, c).args == (a, b, c)
    assert a | (b | c) == (a | b) | c == Or(a, b, c)
    assert Or(a, And(b, c)).args == (a, And(b, c))
    assert And(a, Or(b, c)).args == (a, Or(b, c))
    assert And(a, And(b, Or(a, b)), c).args == (a, b, Or(a, b), c)


def test_other_operators_do_not_flatten():
    assert Xor(Xor(a, b), c) != Xor(a, Xor(b, c))
    assert Iff(Iff(a, b), c) != Iff(a, Iff(b, c))


def test_and_of_one_formula_is_that_formula():
    assert And(a) is a
    assert Or(Until(a, b)) == Until(a, b)
    assert And(And(a, b)) == And(a, b)
    assert And("a & b") == And(a, b)
    assert Or(And(a, b)) == And(a, b)


def test_repeated_operands_are_kept():
    assert And(a, a).args == (a, a)


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (a & b, "a & b"),
        (a & "b | c", "a & (b | c)"),
        ("b | c" & a, "(b | c) & a"),
        (a | b, "a | b"),
        (a | "b & c", "a | b & c"),
        ("b" | a, "b | a"),
        (a ^ b, "a ^ b"),
        ("b" ^ a, "b ^ a"),
        (a ^ "b", "a ^ b"),
        (a >> b, "a -> b"),
        ("b" >> a, "b -> a"),
        (a >> "F b", "a -> F b"),
        (~a, "!a"),
        (a & True, "a & true"),
        (False | a, "false | a"),
        (Until("a", "X b"), "a U X b"),
        (Next(True), "X true"),
        (LAST, "last"),
    ],
    ids=str,
)
def test_python_operators_build_formulas(built, text):
    assert built == parse(text)


def test_repr_is_the_call_that_makes_the_formula():
    formula = Always(a >> Eventually(Atom('"')))
    assert eval(repr(formula), {"parse": parse}) == formula


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: And(), "And takes at least one formula. Received none"),
        (lambda: Or(), "Or takes at least one formula. Received none"),
        (lambda: Atom(""), "non-empty string. Received ''"),
        (lambda: Atom(3), "non-empty string. Received 3"),
        (lambda: as_formula(0.5), "Expected a formula or its text. Received 0.5 of type float"),
        (lambda: Not(None), "Received None of type NoneType"),
        (lambda: a & 1, "Received 1 of type int"),
        (lambda: a.to_string("html"), "`style` should be one of ascii, unicode, latex. Received 'html'"),
        (lambda: And("a", "b &"), "stops too early"),
    ],
)
def test_what_is_not_a_formula_is_refused(build, message):
    with pytest.raises(FormulaError, match=message) as caught:
        build()
    assert isinstance(caught.value, Error)
    assert isinstance(caught.value, ValueError)


def test_as_formula_takes_formulas_text_and_bools():
    assert as_formula(a) is a
    assert as_formula(True) is TRUE
    assert as_formula(False) is FALSE
    assert as_formula("a U b") == Until(a, b)
    assert Constant(True) == TRUE


# Looking inside.


def test_subformulas_come_once_and_after_their_operands():
    parts = list(parse("(a U b) & X(a U b) & !a").subformulas())
    assert [str(part) for part in parts] == ["a", "b", "a U b", "X(a U b)", "!a", "a U b & X(a U b) & !a"]


@given(formulas())
def test_subformulas_are_in_an_order_that_a_fold_can_follow(formula):
    seen = set()
    for part in formula.subformulas():
        assert part not in seen
        assert seen.issuperset(part.args)
        seen.add(part)
    assert part == formula


def test_a_fold_visits_every_distinct_part_once():
    visited = []
    height = parse("(a U b) & X(a U b)").fold(lambda f, heights: visited.append(f) or 1 + max(heights, default=0))
    assert height == 4
    assert len(visited) == 5


def test_atoms_are_in_the_order_of_the_text():
    assert parse('z U (b & "x y") | b | a').atoms == ("z", "b", "x y", "a")
    assert TRUE.atoms == ()


@pytest.mark.parametrize(
    ("text", "size"),
    [("a", 1), ("true", 1), ("!a", 2), ("a & b", 3), ("a & b & a", 5), ("G(a -> F b)", 5), ("last", 2)],
)
def test_size_counts_the_symbols_of_the_text(text, size):
    assert parse(text).size == size


# Deep nesting.

DEEP = 10_000

WRAPPERS = {  # how to nest, and how many operators deeper that is
    "Not": (Not, 1),
    "Always": (Always, 1),
    "Until to the right": (lambda f: Until(b, f), 1),
    "Release to the left": (lambda f: Release(f, b), 1),
    "Implies to the right": (lambda f: Implies(b, f), 1),
    "Iff to the left": (lambda f: Iff(f, b), 1),
    "bounded until to the right": (lambda f: Until(b, f, 0, 3), 1),
    "since to the left": (lambda f: Since(f, b), 1),
    "scales": (lambda f: Affine(f, 0.5, 0.25), 1),
    "counts": (lambda f: AtLeastTimes(f, 1), 1),
    "And over Or": (lambda f: And(b, Or(c, f)), 2),
    "several kinds": (lambda f: Not(WeakUntil(b, Next(Xor(c, f)))), 4),
}
every_kind_of_nesting = pytest.mark.parametrize("name", WRAPPERS)


def nested(name: str, depth: int = DEEP) -> Formula:
    wrap, levels = WRAPPERS[name]
    formula = a
    for _ in range(depth // levels):
        formula = wrap(formula)
    return formula


@every_kind_of_nesting
def test_formulas_as_values_are_not_limited_by_the_nesting(name):
    formula, twin = nested(name), nested(name)
    assert formula == twin
    assert hash(formula) == hash(twin)
    assert formula != nested(name, DEEP - 4)
    assert formula.size > DEEP
    assert formula.atoms[-1] == "a" or formula.atoms[0] == "a"
    assert formula.fold(lambda f, heights: 1 + max(heights, default=0)) > DEEP
    assert copy.deepcopy(formula) is formula
    del formula, twin  # freeing must not recurse either
    gc.collect()


@every_kind_of_nesting
def test_printing_parsing_and_pickling_are_not_limited_by_the_nesting(name):
    formula = nested(name)
    assert len(formula.to_string("latex")) > len(formula.to_string("unicode")) > DEEP
    assert repr(formula) == f"parse({str(formula)!r})"
    assert pickle.loads(pickle.dumps(formula)) == formula  # by way of its text


@every_kind_of_nesting
def test_evaluation_is_not_limited_by_the_nesting(name):
    formula = nested(name)
    trace = {"a": [0.25, 0.5], "b": [0.75, 0.125], "c": [0.0, 1.0]}
    value = evaluate_prefixes(formula, trace)[-1]
    assert evaluate(to_nnf(formula), trace) == value
    assert evaluate(negate(formula), trace) == 1 - value


@every_kind_of_nesting
def test_simplification_and_classification_are_not_limited_by_the_nesting(name):
    # Fewer levels where each becomes several operators that are compared with one another.
    formula = nested(name, DEEP // 10 if name in ("Iff to the left", "several kinds") else DEEP)
    trace = {"a": [0.25, 0.5], "b": [0.75, 0.125], "c": [0.0, 1.0]}
    assert evaluate(simplify(formula), trace) == evaluate(formula, trace)
    assert is_safe(formula) == is_cosafe(Not(formula))
    if is_propositional(formula):
        assert set(unguarded_atoms(formula)) == set(formula.atoms)
    else:
        assert unguarded_atoms(Next(formula)) == ()


def test_a_conjunction_of_ten_thousand_is_one_formula():
    wide = And(*(Atom(f"p{i}") for i in range(DEEP)))
    assert len(wide.args) == DEEP
    assert parse(str(wide)) == wide
    assert evaluate(wide, {f"p{i}": [1 - i / 2**14] for i in range(DEEP)}) == 1 - (DEEP - 1) / 2**14
