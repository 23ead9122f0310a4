"""A formula prints as text that parses back to it, with the fewest parentheses."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardspec.errors import FormulaError
from rewardspec.logic.formulas import Affine, Atom, Formula, Next, Not, Previous, Until, now
from rewardspec.logic.operators import OPERATORS
from rewardspec.logic.parsing import parse
from rewardspec.logic.printing import STYLES, to_string
from tests.strategies import (
    BINARY,
    CONSTANTS,
    COUNTED,
    EVERYTHING,
    LTLF,
    NARY,
    PAST_BINARY,
    PAST_UNARY,
    UNARY,
    formulas,
    random_formula,
)

PARSED_STYLES = ("ascii", "unicode")


@pytest.mark.parametrize(
    ("text", "ascii_text", "unicode_text"),
    [
        ("((a))", "a", "a"),
        ("true & false", "true & false", "⊤ ∧ ⊥"),
        ("not(a)", "!a", "¬a"),
        ("!(!(a))", "!!a", "¬¬a"),
        ("[] (request => <> grant)", "G(request -> F grant)", "□(request → ◇grant)"),
        ("G F a", "G F a", "□◇a"),
        ("X[!] a & wX b", "X a & WX b", "○a ∧ ●b"),
        ("WX false", "last", "last"),
        ("F(last)", "F last", "◇last"),
        ("!F a", "!F a", "¬◇a"),
        ("F !a", "F !a", "◇¬a"),
        ("(!a) U (a & F b)", "!a U (a & F b)", "¬a U (a ∧ ◇b)"),
        ("!(a U b)", "!(a U b)", "¬(a U b)"),
        ("a U (b R c)", "a U b R c", "a U b R c"),
        ("(a W b) M c", "(a W b) M c", "(a W b) M c"),
        ("(a & b) | (c & d)", "a & b | c & d", "a ∧ b ∨ c ∧ d"),
        ("(a | b) & c", "(a | b) & c", "(a ∨ b) ∧ c"),
        ("(a ^ b) ^ c", "a ^ b ^ c", "a ⊕ b ⊕ c"),
        ("a ^ (b ^ c)", "a ^ (b ^ c)", "a ⊕ (b ⊕ c)"),
        ("a -> (b -> c)", "a -> b -> c", "a → b → c"),
        ("(a -> b) -> c", "(a -> b) -> c", "(a → b) → c"),
        ("(a <-> b) <-> c", "a <-> b <-> c", "a ↔ b ↔ c"),
        ("a <-> (b <-> c)", "a <-> (b <-> c)", "a ↔ (b ↔ c)"),
        ("X(a & b)", "X(a & b)", "○(a ∧ b)"),
        ('"a"', "a", "a"),
        ('F "speed > 3"', 'F "speed > 3"', '◇"speed > 3"'),
        ('"U" U "true"', '"U" U "true"', '"U" U "true"'),
        ("F[<=5] (a)", "F[0,5] a", "◇[0,5]a"),
        ("F[0,5](a & b)", "F[0,5](a & b)", "◇[0,5](a ∧ b)"),
        ("a U[0:] b", "a U b", "a U b"),
        ("(a since[2:5] b) & c", "a S[2,5] b & c", "a S[2,5] b ∧ c"),
        ("(a S b) U c", "(a S b) U c", "(a S b) U c"),
        ("WY false", "first", "first"),
        ("WY[2] false", "WY[2] false", "⊜[2]⊥"),
        ("now H a", "now H a", "now ■a"),
        ("F(last & a & b)", "now(a & b)", "now(a ∧ b)"),
        ("F(a & last)", "F(a & last)", "◇(a ∧ last)"),
        ("F[0,3](last & a)", "F[0,3](last & a)", "◇[0,3](last ∧ a)"),
        ("0.5 * now (0.5 * a) + 0.25", "0.5 * (now 0.5 * a) + 0.25", "0.5 * (now 0.5 * a) + 0.25"),
        ("X[1] X[3] a", "X X[3] a", "○○[3]a"),
        ("F{2} G{0} a", "F{2} G{0} a", "◇{2}□{0}a"),
        ("F[;0.90] a", "F[;0.9] a", "◇[;0.9]a"),
        ("0.50 * (a)", "0.5 * a", "0.5 * a"),
        ("0.5 * (a & b) + 0.25", "0.5 * (a & b) + 0.25", "0.5 * (a ∧ b) + 0.25"),
        ("0.5 * (0.5 * a) + 0.25", "0.5 * (0.5 * a) + 0.25", "0.5 * (0.5 * a) + 0.25"),
        ("0.5 * (0.5 * a + 0.25)", "0.5 * 0.5 * a + 0.25", "0.5 * 0.5 * a + 0.25"),
        ("(0.5 * a) U 0.75", "0.5 * a U 0.75", "0.5 * a U 0.75"),
    ],
)
def test_formulas_as_people_write_them(text, ascii_text, unicode_text):
    formula = parse(text)
    assert str(formula) == to_string(formula) == ascii_text
    assert formula.to_string("unicode") == unicode_text


@pytest.mark.parametrize("style", PARSED_STYLES)
@given(formula=formulas() | formulas(language=EVERYTHING))
def test_printing_then_parsing_gives_the_same_formula(style, formula):
    assert parse(formula.to_string(style)) == formula


@pytest.mark.parametrize("style", PARSED_STYLES)
@given(formula=formulas(language=EVERYTHING))
def test_the_current_value_is_printed_as_it_is_written(style, formula):
    current = now(formula)
    assert current.to_string(style).startswith("now")
    for one in (current, Until(current, current), Affine(current, 0.5, 0.25)):
        assert parse(one.to_string(style)) == one


@pytest.mark.parametrize("style", PARSED_STYLES)
def test_thousands_of_random_formulas_survive_printing_and_parsing(style):
    rng = random.Random(1)
    for language in [LTLF, EVERYTHING] * 1000:
        formula = random_formula(rng, rng.randint(1, 7), ("a", "b", "goal 1", "U", "été", 'q"\\', "H"), language)
        assert parse(formula.to_string(style)) == formula


@pytest.mark.parametrize("style", PARSED_STYLES)
@given(name=st.text(min_size=1))
def test_an_atom_of_any_name_survives_printing_and_parsing(style, name):
    formula = Until(Not(Atom(name)), Atom(name))
    assert parse(formula.to_string(style)) == formula


@pytest.mark.parametrize("name", ["X", "WX", "wX", "N", "F", "G", "U", "R", "W", "M", "true", "false", "last", "not",
                                  "and", "or", "xor", "0", "1", "1a", "a b", "a-b", "é!", "Y", "WY", "O", "H", "S", "T",
                                  "first", "now", "once", "since", "until", "within", "next"])  # fmt: skip
def test_a_name_that_would_be_read_otherwise_is_quoted(name):
    assert str(Atom(name)) == f'"{name}"'


@pytest.mark.parametrize("name", ["a", "_x1", "Fast", "été", "NOT", "lastly"])
def test_a_plain_name_is_not_quoted(name):
    assert str(Atom(name)) == name


def without_one_pair_of_parentheses(text: str) -> list[str]:
    """The text with each pair of parentheses, in turn, blanked out."""
    opened, variants = [], []
    for position, character in enumerate(text):
        if character == "(":
            opened.append(position)
        elif character == ")":
            start = opened.pop()
            variants.append(f"{text[:start]} {text[start + 1 : position]} {text[position + 1 :]}")
    return variants


def parses_to(text: str, formula: Formula) -> bool:
    try:
        return parse(text) == formula
    except FormulaError:
        return False


@pytest.mark.parametrize("style", PARSED_STYLES)
def test_every_pair_of_parentheses_is_needed(style):
    rng = random.Random(2)
    tried = 0
    for language in [LTLF, EVERYTHING] * 300:
        formula = random_formula(rng, rng.randint(2, 6), language=language)
        text = formula.to_string(style)
        for shorter in without_one_pair_of_parentheses(text):
            assert not parses_to(shorter, formula), f"{text} needs no more than {shorter}"
            tried += 1
    assert tried > 1000


@given(formula=formulas(max_depth=4) | formulas(max_depth=4, language=EVERYTHING))
def test_ascii_is_ascii_and_unicode_has_no_letters_for_operators_that_have_a_symbol(formula):
    assert str(formula).isascii()
    words = set(re.findall(r"[^\W\d]\w*", formula.to_string("unicode")))
    assert words <= {"a", "b", "c", "U", "R", "W", "M", "S", "T", "last", "first", "now"}


# LaTeX, which is for reading only.


def test_latex_of_a_formula():
    formula = parse("G(request -> F grant) & !a U X b_1")
    assert formula.to_string("latex") == (
        r"\Box (\mathit{request} \rightarrow \Diamond \mathit{grant})"
        r" \land \lnot \mathit{a} \mathbin{\mathcal{U}} \bigcirc \mathit{b\_1}"
    )
    assert formula._repr_latex_() == f"${formula.to_string('latex')}$"


@given(
    formula=formulas(
        max_depth=4, atoms=("a", "b_c", "50%", "x & y", "{", "back\\slash", "$#", "x^2^~"), language=EVERYTHING
    )
)
def test_latex_is_balanced_and_escapes_what_it_must(formula):
    text = formula.to_string("latex")
    unescaped = re.sub(r"\\[\\{}_%&$#]", "", text)
    assert unescaped.count("{") == unescaped.count("}")
    assert not set(re.sub(r"_\{[^{}]*\}", "", unescaped)) & set("_%&$#^~")  # but for intervals, which are subscripts


def test_latex_writes_intervals_as_subscripts():
    assert parse("G[0,5] a").to_string("latex") == r"\Box_{[0,5]} \mathit{a}"
    assert parse("a U[2,;0.5] b").to_string("latex") == r"\mathit{a} \mathbin{\mathcal{U}}_{[2,;0.5]} \mathit{b}"
    assert parse("F{3} a").to_string("latex") == r"\Diamond_{\{3\}} \mathit{a}"
    assert parse("0.5 * a + 0.25").to_string("latex") == r"0.5 \cdot \mathit{a} + 0.25"


def test_latex_keeps_the_spaces_of_a_name():
    assert Atom("speed > 3").to_string("latex") == r"\mathit{speed\ >\ 3}"


def test_latex_groups_as_ascii_does():
    rng = random.Random(3)
    for language in [LTLF, EVERYTHING] * 100:
        formula = random_formula(rng, 4, language=language)
        assert formula.to_string("latex").count("(") == str(formula).count("(")


@pytest.mark.parametrize("style", STYLES)
def test_every_style_writes_every_operator_differently(style):
    unary = [kind(Atom("a")) for kind in (*UNARY, *PAST_UNARY)]
    other = [kind(Atom("a"), Atom("b")) for kind in (*BINARY, *NARY, *PAST_BINARY)]
    different = [*unary, *other, *CONSTANTS, *(kind(Atom("a"), 1) for kind in (*COUNTED, Next, Previous, Affine))]
    different = list(dict.fromkeys(different))
    assert len({type(formula) for formula in different}) == len(OPERATORS) + 1
    assert len({to_string(formula, style) for formula in different}) == len(different)


def test_an_unknown_style_is_refused():
    with pytest.raises(FormulaError, match=r"`style` should be one of ascii, unicode, latex\. Received 'html'"):
        parse("a").to_string("html")
