"""What `parse` accepts, how tightly each operator binds, and what it says about text that is not a formula."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardspec.errors import FormulaError
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
    StrongRelease,
    Trigger,
    Until,
    WeakNext,
    WeakPrevious,
    WeakUntil,
    Xor,
    now,
)
from rewardspec.logic.parsing import parse
from rewardspec.logic.unknown_atoms import atom_hint, operators_run_together, require_known_atoms
from tests.definition import values_by_definition
from tests.strategies import random_batch

a, b, c, d = map(Atom, "abcd")


# Accepted forms.


@pytest.mark.parametrize("text", ["!a", "~a", "not a", "¬a", "! a", "not(a)", "not\ta"])
def test_negation(text):
    assert parse(text) == Not(a)


@pytest.mark.parametrize("text", ["a & b", "a && b", "a and b", "a ∧ b", "a&b", "a&&b", "(a)and(b)"])
def test_conjunction(text):
    assert parse(text) == And(a, b)


@pytest.mark.parametrize("text", ["a | b", "a || b", "a or b", "a ∨ b", "a|b", "a||b"])
def test_disjunction(text):
    assert parse(text) == Or(a, b)


@pytest.mark.parametrize("text", ["a ^ b", "a xor b", "a ⊕ b", "a^b"])
def test_exclusive_or(text):
    assert parse(text) == Xor(a, b)


@pytest.mark.parametrize("text", ["a -> b", "a => b", "a → b", "a ⇒ b", "a->b", "a=>b"])
def test_implication(text):
    assert parse(text) == Implies(a, b)


@pytest.mark.parametrize("text", ["a <-> b", "a <=> b", "a ↔ b", "a ⇔ b", "a<->b"])
def test_equivalence(text):
    assert parse(text) == Iff(a, b)


@pytest.mark.parametrize("text", ["X a", "X[!] a", "X[!]a", "X(a)", "○a", "○ a", "next a"])
def test_strong_next(text):
    assert parse(text) == Next(a)


@pytest.mark.parametrize("text", ["WX a", "wX a", "N a", "WX(a)", "●a"])
def test_weak_next(text):
    assert parse(text) == WeakNext(a)


@pytest.mark.parametrize("text", ["F a", "<> a", "<>a", "◇a", "F(a)", "F\na", "eventually a", "finally(a)"])
def test_eventually(text):
    assert parse(text) == Eventually(a)


@pytest.mark.parametrize("text", ["G a", "[] a", "[]a", "□a", "G(a)", "always a", "globally(a)"])
def test_always(text):
    assert parse(text) == Always(a)


@pytest.mark.parametrize(
    ("text", "kind"), [("a U b", Until), ("a R b", Release), ("a W b", WeakUntil), ("a M b", StrongRelease)]
)
def test_binary_temporal_operators(text, kind):
    assert parse(text) == kind(a, b)
    assert parse(text.replace("a", "(a)").replace("b", "(b)").replace(" ", "")) == kind(a, b)


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("Y a", Previous(a)),
        ("previous a", Previous(a)),
        ("prev(a)", Previous(a)),
        ("⊖a", Previous(a)),
        ("WY a", WeakPrevious(a)),
        ("wY a", WeakPrevious(a)),
        ("O a", Once(a)),
        ("once a", Once(a)),
        ("◆a", Once(a)),
        ("H a", Historically(a)),
        ("historically(a)", Historically(a)),
        ("■a", Historically(a)),
        ("a S b", Since(a, b)),
        ("a since b", Since(a, b)),
        ("a T b", Trigger(a, b)),
        ("a triggered b", Trigger(a, b)),
        ("a until b", Until(a, b)),
        ("a releases b", Release(a, b)),
        ("a unless b", WeakUntil(a, b)),
        ("a implies b", Implies(a, b)),
        ("a iff b", Iff(a, b)),
        ("first", FIRST),
        ("now H a", Eventually(And(LAST, Historically(a)))),
        ("now a & b", And(now(a), b)),
    ],
)
def test_the_past_and_words(text, formula):
    assert parse(text) == formula
    assert parse(f"!({text})") == Not(formula)


@pytest.mark.parametrize(
    ("interval", "params"),
    [
        ("[0,5]", (0, 5)),
        ("[0:5]", (0, 5)),
        ("[0..5]", (0, 5)),
        ("[ 0 , 5 ]", (0, 5)),
        (" [0,5] ", (0, 5)),
        ("[<=5]", (0, 5)),
        ("[< 6]", (0, 5)),
        ("[,5]", (0, 5)),
        ("[:5]", (0, 5)),
        ("[3,]", (3, None)),
        ("[3:]", (3, None)),
        ("[>=3]", (3, None)),
        ("[> 2]", (3, None)),
        ("[3,inf]", (3, None)),
        ("[2,2]", (2, 2)),
        ("[0,20;0.9]", (0, 20, 0.9)),
        ("[3:;.5]", (3, None, 0.5)),
        ("[<=20;1e-1]", (0, 20, 0.1)),
        ("[;0.9]", (0, None, 0.9)),
        ("[0,]", ()),
        ("[0,5;1]", (0, 5)),
    ],
)
def test_intervals_and_discounts(interval, params):
    unary = {"F": Eventually, "G": Always, "O": Once, "H": Historically, "once": Once, "◇": Eventually}
    for symbol, kind in unary.items():
        assert parse(f"{symbol}{interval} a") == kind(a, *params)
        assert parse(f"b & {symbol}{interval}(a)") == And(b, kind(a, *params))
    for symbol, kind in {"U": Until, "R": Release, "S": Since, "T": Trigger, "since": Since}.items():
        assert parse(f"a {symbol}{interval} b") == kind(a, b, *params)


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("X[3] a", Next(a, 3)),
        ("WX[ 2 ] a", WeakNext(a, 2)),
        ("Y[3](a)", Previous(a, 3)),
        ("WY[1] a", WeakPrevious(a)),
        ("F{3} a", AtLeastTimes(a, 3)),
        ("eventually{ 3 }(a)", AtLeastTimes(a, 3)),
        ("G{0} a", AllButTimes(a, 0)),
        ("[]{2}a", AllButTimes(a, 2)),
        ("within[5] a", Eventually(a, 0, 5)),
        ("within[2,5] a", Eventually(a, 2, 5)),
        ("F[]a", Eventually(Always(a))),
        ("F[0,5][]a", Eventually(Always(a), 0, 5)),
    ],
)
def test_steps_and_counts(text, formula):
    assert parse(text) == formula


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("0.8", Constant(0.8)),
        (".5", Constant(0.5)),
        ("1.0", TRUE),
        ("0.0 | a", Or(FALSE, a)),
        ("0.8 * a", Affine(a, 0.8)),
        ("0.8*a", Affine(a, 0.8)),
        ("0.8 · a", Affine(a, 0.8)),
        ("1 * a", Affine(a, 1.0)),
        ("0.8 * a + 0.1", Affine(a, 0.8, 0.1)),
        ("0.8 * a & b", And(Affine(a, 0.8), b)),
        ("0.8 * a + 0.1 U b", Until(Affine(a, 0.8, 0.1), b)),
        ("0.8 * F a", Affine(Eventually(a), 0.8)),
        ("F 0.8 * a", Eventually(Affine(a, 0.8))),
        ("0.5 * 0.5 * a + 0.25", Affine(Affine(a, 0.5, 0.25), 0.5)),
        ("0.5 * (0.5 * a) + 0.25", Affine(Affine(a, 0.5), 0.5, 0.25)),
        ("0.5 * !0.5 * a + 0.25 + 0.125", Affine(Not(Affine(a, 0.5, 0.25)), 0.5, 0.125)),
        ("0.5 * (a | b)", Affine(Or(a, b), 0.5)),
        ("0.5 * 0.5", Affine(Constant(0.5), 0.5)),
    ],
)
def test_numbers_and_scales(text, formula):
    assert parse(text) == formula


@pytest.mark.parametrize(
    ("text", "constant"),
    [("true", TRUE), ("1", TRUE), ("⊤", TRUE), ("false", FALSE), ("0", FALSE), ("⊥", FALSE), ("last", LAST)],
)
def test_constants(text, constant):
    assert parse(text) == constant
    assert parse(f"a & ({text})") == And(a, constant)


def test_last_is_weak_next_of_false():
    assert parse("last") == parse("WX false")


@pytest.mark.parametrize(
    "name",
    ["a", "A", "_", "reach_goal", "p1", "été", "Fast", "Xray", "Go", "U2", "WXy", "N1", "trueish", "falsehood",
     "lastly", "notable", "android", "orbit", "xor_gate", "Not", "TRUE", "Last", "_1", "x__y"],
)  # fmt: skip
def test_an_atom_is_an_identifier_even_where_it_begins_like_an_operator(name):
    assert parse(name) == Atom(name)
    assert parse(f"!{name} U ({name})") == Until(Not(Atom(name)), Atom(name))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"a"', "a"),
        ('"speed > 3"', "speed > 3"),
        ('"U"', "U"),
        ('"true"', "true"),
        ('"not"', "not"),
        ('"1"', "1"),
        ('"x.y"', "x.y"),
        ('"("', "("),
        (r'"say \"hi\""', 'say "hi"'),
        (r'"back\\slash"', "back\\slash"),
        (r'"\n"', "n"),
        ('"two\nlines"', "two\nlines"),
        ('" "', " "),
    ],
)
def test_any_text_in_double_quotes_is_an_atom(text, name):
    assert parse(text) == Atom(name)
    assert parse(f"F{text}&a") == And(Eventually(Atom(name)), a)


@given(st.text(min_size=1))
def test_every_name_can_be_quoted(name):
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    assert parse(f'X "{escaped}"') == Next(Atom(name))


def test_white_space_and_line_breaks_do_not_matter():
    assert parse("\n G (\ta->\r\n F\u00a0b ) \n") == Always(Implies(a, Eventually(b)))


def test_spot_syntax_reads_a_bare_x_as_weak():
    assert parse("X a", syntax="spot") == WeakNext(a)
    assert parse("○a", syntax="spot") == WeakNext(a)
    assert parse("X[!] a", syntax="spot") == Next(a)
    assert parse("WX a & F b", syntax="spot") == And(WeakNext(a), Eventually(b))


@pytest.mark.parametrize(
    ("text", "nested"),
    [
        ("X[3]a", "X X X a"),
        ("X[3!]a", "X[!] X[!] X[!] a"),
        ("X[0]a", "a"),
        ("F[0:2]a", "a | X(a | X a)"),
        ("F[2:3]a", "X X(a | X a)"),
        ("F[2..3]a", "X X(a | X a)"),
        ("F[2:3!]a", "X[!] X[!](a | X[!] a)"),
        ("F[2:]a", "X X F a"),
        ("F[2:$]a", "X X F a"),
        ("F[2:!]a", "X[!] X[!] F a"),
        ("F[0:0]a", "a"),
        ("G[2:3]a", "X X(a & X a)"),
        ("G[2:3!]a", "X[!] X[!](a & X[!] a)"),
        ("G[2:]a", "X X G a"),
        ("G[2:!]a", "X[!] X[!] G a"),
    ],
)
def test_spot_intervals_are_short_for_nested_next(text, nested):
    """What Spot 2.13 prints for each; `X` is weak there."""
    short, long = (parse(formula, syntax="spot") for formula in (text, nested))
    rng = random.Random(text)
    for length in range(1, 7):
        batch = random_batch(rng, length, 30, "a")
        np.testing.assert_array_equal(values_by_definition(short, batch), values_by_definition(long, batch))


RTAMT = {
    "historically[0,5](a)": "now H[0,5] a",
    "once a": "now O a",
    "a since[0:2] b": "now (a S[0,2] b)",
    "prev a": "now WY a",
    "Y a": "now WY a",
    "s_prev a": "now Y a",
    "rise(a)": "now (a & !Y a)",
    "fall(a)": "now (!a & WY a)",
    "a and b": "now (a & b)",
    "not a > 1": 'now !"a > 1"',
    "always a": "G a",
    "X a": "WX a",
    "next a": "WX a",
    "s_next a": "X a",
    "eventually[0:5] a": "F[0,5] a",
    "always (a -> once[0,5] b)": "G(a -> O[0,5] b)",
    "always (req >= 3 -> eventually[0:5](gnt  >=  3))": 'G("req >= 3" -> F[0,5] "gnt >= 3")',
    "abs(x) + 2*y >= -0.5": 'now "abs(x) + 2*y >= -0.5"',
    "a <-> b": "now (a <-> b)",
    "a -> b > 1": 'now (a -> "b > 1")',
    "(a -> b) -> c": "now ((a -> b) -> c)",
}
REELAY = {
    "{a}": "now a",
    "historically[0:5]{door}": "now H[0,5] door",
    "once[:5]{speed > 10.0}": 'now O[0,5] "speed > 10.0"',
    "{a: true, b: false} since[2:] {c}": "now ((a & !b) S[2,] c)",
    "pre {a} -> P{b}": "now (Y a -> O b)",
    "!{a} && {b}": "now (!a & b)",
    "{mode: 3}": 'now "mode == 3"',
    "{'the door'}": 'now "the door"',
    "H[2:inf]{a}": "now H[2,] a",
}


@pytest.mark.parametrize(
    ("syntax", "text", "formula"),
    [*(("rtamt", *case) for case in RTAMT.items()), *(("reelay", *case) for case in REELAY.items())],
)
def test_formulas_of_rtamt_and_reelay_are_judged_now_where_they_look_back(syntax, text, formula):
    assert parse(text, syntax=syntax) == parse(formula)


@pytest.mark.parametrize(
    "text", ["a -> b -> c", "a until b until c", "a since b until c", "a xor b or c", "a -> b xor c", "a xor b iff c"]
)
def test_what_rtamt_groups_differently_needs_parentheses(text):
    with pytest.raises(FormulaError, match=r"(?s)is grouped differently by rtamt.*Write parentheses") as caught:
        parse(text, syntax="rtamt")
    assert caught.value.column > 1
    parse(text)


def test_a_formula_parses_to_itself():
    formula = Until(a, b)
    assert parse(formula) is formula


def test_equal_parts_of_one_text_are_one_object():
    first, second = parse("F(a U b) & G(a U b)").args
    assert first.args[0] is second.args[0]


# Precedence, tightest first: unary; U R W M; &; ^; |; ->; <->.


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("!a U b", Until(Not(a), b)),
        ("a U !b", Until(a, Not(b))),
        ("F a U G b", Until(Eventually(a), Always(b))),
        ("X a & b", And(Next(a), b)),
        ("!X WX F G a", Not(Next(WeakNext(Eventually(Always(a)))))),
        ("a U b & c", And(Until(a, b), c)),
        ("a & b U c", And(a, Until(b, c))),
        ("a & b ^ c", Xor(And(a, b), c)),
        ("a ^ b & c", Xor(a, And(b, c))),
        ("a ^ b | c", Or(Xor(a, b), c)),
        ("a | b ^ c", Or(a, Xor(b, c))),
        ("a | b & c", Or(a, And(b, c))),
        ("a & b | c", Or(And(a, b), c)),
        ("a | b -> c", Implies(Or(a, b), c)),
        ("a -> b | c", Implies(a, Or(b, c))),
        ("a -> b <-> c", Iff(Implies(a, b), c)),
        ("a <-> b -> c", Iff(a, Implies(b, c))),
        ("a <-> b -> c | d ^ a & b U !c", Iff(a, Implies(b, Or(c, Xor(d, And(a, Until(b, Not(c)))))))),
        ("(a | b) & c", And(Or(a, b), c)),
        ("F(a & b)", Eventually(And(a, b))),
        ("!(a)", Not(a)),
        ("((a))", a),
    ],
)
def test_precedence(text, formula):
    assert parse(text) == formula


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("a U b U c", Until(a, Until(b, c))),
        ("a R b U c", Release(a, Until(b, c))),
        ("a W b M c", WeakUntil(a, StrongRelease(b, c))),
        ("(a U b) U c", Until(Until(a, b), c)),
        ("a -> b -> c", Implies(a, Implies(b, c))),
        ("a <-> b <-> c", Iff(Iff(a, b), c)),
        ("a ^ b ^ c", Xor(Xor(a, b), c)),
        ("a & b & c", And(a, b, c)),
        ("a | (b | c)", Or(a, b, c)),
    ],
)
def test_associativity(text, formula):
    assert parse(text) == formula


# Errors: the place, what was expected, and a remedy.

OPERATOR = "an operator such as '&' or 'U'"
END = "the end of the formula"
ANYTHING = ("an atom", "an operator", "a parenthesis")
INTERVAL = "an interval such as '[0,5]'"


@pytest.mark.parametrize(
    ("text", "line", "column", "found", "expected", "remedy"),
    [
        ("", 1, 1, "The formula is empty", ("a formula",), "Write one, for example 'F goal'"),
        (" \n\t ", 1, 1, "The formula is empty", ("a formula",), "Write one"),
        ("a &", 1, 4, "The formula stops too early", ("a formula",), "Finish the formula."),
        ("a & \n\n", 1, 4, "The formula stops too early", ("a formula",), "Finish the formula."),
        ("G", 1, 2, "The formula stops too early", ("a formula",), "Finish the formula."),
        ("a\n  U", 2, 4, "The formula stops too early", ("a formula",), "Finish the formula."),
        ("(a", 1, 3, "The formula stops too early", (OPERATOR, "')'"), "close the '(' opened at line 1, column 1"),
        ("(a)\n | (b\n | (c)", 3, 7, "stops too early", (OPERATOR, "')'"), "the '(' opened at line 2, column 4"),
        ('("(" & ("b"', 1, 12, "stops too early", (OPERATOR, "')'"), "the '(' opened at line 1, column 8"),
        ("a)", 1, 2, "Unexpected ')'", (OPERATOR, END), "This ')' closes nothing: remove it"),
        ("(a))", 1, 4, "Unexpected ')'", (OPERATOR, END), "This ')' closes nothing"),
        ("()", 1, 2, "Unexpected ')'", ("a formula",), ""),
        ("a b", 1, 3, "Unexpected 'b'", (OPERATOR, END), "Join the two formulas with an operator."),
        ("(a b)", 1, 4, "Unexpected 'b'", (OPERATOR, "')'"), "Join the two formulas with an operator."),
        ("a & b\n   F c", 2, 4, "Unexpected 'F'", (OPERATOR, END), "Join the two formulas"),
        ("a true", 1, 3, "Unexpected 'true'", (OPERATOR, END), "Join the two formulas"),
        ('a "b"', 1, 3, "Unexpected '\"b\"'", (OPERATOR, END), "Join the two formulas"),
        ("FG home", 1, 1, "'FG' was read as an atom", ("an operator",), "spaces between them: did you mean 'F G'?"),
        ("a &\n  GWXF (b)", 2, 3, "'GWXF' was read as an atom", ("an operator",), "did you mean 'G WX F'?"),
        ("never home", 1, 1, "'never' was read as an atom", ("an operator",), "The operator is written 'G !'"),
        ("G(a -> Eventually b)", 1, 8, "'Eventually' was read as an atom", ("an operator",), "mean 'eventually'?"),
        ("a Until b", 1, 3, "Unexpected 'Until'", (OPERATOR, END), "lower-case: did you mean 'until'?"),
        ("a & f goal", 1, 5, "'f' was read as an atom", ("an operator",), "upper-case: did you mean 'F'?"),
        ("a & & b", 1, 5, "Unexpected '&'", ("a formula",), ""),
        ("a & -> b", 1, 5, "Unexpected '->'", ("a formula",), ""),
        ("U a", 1, 1, "Unexpected 'U'", ("a formula",), "'U' stands between two formulas; an atom of that name needs"),
        ("a & M", 1, 5, "Unexpected 'M'", ("a formula",), "double quotes"),
        ("a u b", 1, 3, "Unexpected 'u'", (OPERATOR, END), "Temporal operators are upper-case: did you mean 'U'?"),
        ("a AND b", 1, 3, "Unexpected 'AND'", (OPERATOR, END), "in words are lower-case: did you mean 'and'?"),
        ("a r b", 1, 3, "Unexpected 'r'", (OPERATOR, END), "did you mean 'R'?"),
        ("a = b", 1, 3, "Unexpected character '='", ANYTHING, "equivalence is '<->' and implication '->'"),
        ("x > 3", 1, 3, "Unexpected character '>'", ANYTHING, "A comparison is an atom in double quotes"),
        ("x < 3", 1, 3, "Unexpected character '<'", ANYTHING, "A comparison is an atom in double quotes"),
        ("reach-goal", 1, 6, "Unexpected character '-'", ANYTHING, "A name with a dash needs double quotes."),
        ("pos.x", 1, 4, "Unexpected character '.'", ANYTHING, "A name with a dot needs double quotes."),
        ('"abc', 1, 1, "Unexpected character '\"'", ANYTHING, "Close the quoted atom with another double quote."),
        ('a & ""', 1, 5, "Empty quoted atom", ANYTHING, "Put the atom's name between the double quotes."),
        ("'a'", 1, 1, 'Unexpected character "\'"', ANYTHING, "Quoted atoms use double quotes."),
        ("a /\\ b", 1, 3, "Unexpected character '/'", ANYTHING, "Conjunction is '&'."),
        ("a \\/ b", 1, 3, r"Unexpected character '\\'", ANYTHING, "Disjunction is '|'."),
        ("F[0,5 a", 1, 2, "Unexpected character '['", ANYTHING, "Close the interval with ']'"),
        ("{a}", 1, 1, "Unexpected character '{'", ANYTHING, "Group with round parentheses; a count is"),
        ("a &\n\n  %", 3, 3, "Unexpected character '%'", ANYTHING, ""),
        ("F[5,3] a", 1, 2, "'[5,3]' cannot be used", (INTERVAL,), "[5,3] ends before it begins. Write [3,5]."),
        ("a U[5,3] b", 1, 4, "'[5,3]' cannot be used", (INTERVAL,), "Write [3,5]."),
        ("F[-1,2] a", 1, 2, "'[-1,2]' is no interval", (INTERVAL,), "whole numbers of steps, 0 or more"),
        ("F[0,2.5] a", 1, 2, "'[0,2.5]' is no interval", (INTERVAL,), "whole numbers of steps"),
        ("F[0,5s] a", 1, 2, "'[0,5s]' has durations", (INTERVAL,), "Write steps here."),
        ("F[0,9999999999] a", 1, 2, "cannot be used", (INTERVAL,), "`high` should be at most 1,000,000,000."),
        (f"F[0,{'9' * 5000}] a", 1, 2, "'[0,9999", (INTERVAL,), "`high` should be at most 1,000,000,000."),
        ("F[5] a", 1, 2, "'[5]' is no interval", (INTERVAL,), "Write '[0,5]' for the steps up to there, '[5,5]'"),
        ("F[x] a", 1, 2, "'[x]' is no interval", (INTERVAL,), "as in '[0,5]', '[<=5]', '[3,]'"),
        ("F[0,5;1.5] a", 1, 2, "cannot be used", (INTERVAL,), "`discount` should be above 0 and at most 1."),
        ("F[0,5;x] a", 1, 2, "'x' is no discount", ("an interval such as '[0,20;0.9]'",), "A discount is a number"),
        ("X[0] a", 1, 2, "'[0]' cannot be used", ("a number of steps such as '[3]'",), "1 or more. Received 0."),
        ("X[1,2] a", 1, 2, "'X' takes one number of steps", ("a number in brackets",), "'X[3]' looks 3 steps away"),
        ("a W[0,5] b", 1, 4, "'W' takes no interval", ("a formula",), "Write 'a U[0,5] b | G[0,5] a'"),
        ("a M[0,5] b", 1, 4, "'M' takes no interval", ("a formula",), "Write 'a R[0,5] b & F[0,5] a'"),
        ("![0,5] a", 1, 2, "'!' takes no interval", ("a formula",), ""),
        ("a U{3} b", 1, 4, "'U' takes no count", ("a formula",), "Counts go with F and G"),
        ("F{0} a", 1, 2, "'{0}' cannot be used", ("a count such as '{3}'",), "`count` should be a whole number, 1 or"),
        ("within a", 1, 1, "'within' needs an interval", ("an interval",), "Write 'within[5] a', or 'F a'."),
        ("H & a", 1, 3, "Unexpected '&'", ("a formula",), "'H' is an operator, which needs a formula after it"),
        ("F(O | b)", 1, 5, "Unexpected '|'", ("a formula",), "an atom of that name needs double quotes"),
        ("a & Y", 1, 6, "The formula stops too early", ("a formula",), "'Y' is an operator"),
        ("a & S", 1, 5, "Unexpected 'S'", ("a formula",), "'S' stands between two formulas; an atom of that name"),
        ("a s b", 1, 3, "Unexpected 's'", (OPERATOR, END), "Temporal operators are upper-case: did you mean 'S'?"),
        ("h door", 1, 1, "'h' was read as an atom", ("an operator",), "upper-case: did you mean 'H'?"),
        ("HO door", 1, 1, "'HO' was read as an atom", ("an operator",), "did you mean 'H O'?"),
        ("obs[0]", 1, 4, "Unexpected '[0]'", (OPERATOR, END), "a name with brackets needs double quotes"),
        ("a{3}", 1, 2, "Unexpected '{3}'", (OPERATOR, END), "A count follows F or G"),
        ("a * 0.5", 1, 3, "Unexpected '*'", (OPERATOR, END), "A scale is a number before the formula"),
        ("a + b", 1, 3, "Unexpected '+'", (OPERATOR, END), "Only a scaled formula is raised by a number"),
        ("0.5 * a + 0.75", 1, 1, "'0.5' cannot be used", ("a scale such as '0.8 * a'",), "at most 1 together"),
        ("1.5 * a", 1, 1, "'1.5' cannot be used", ("a scale such as '0.8 * a'",), "Received a scale of 1.5"),
        ("10", 1, 1, "'10' cannot be used", ("a number in [0, 1]",), "A constant should be in [0, 1]. Received 10.0."),
        ("a\t\tb", 1, 4, "Unexpected 'b'", (OPERATOR, END), "Join"),
        ("a\r\n& b c", 2, 5, "Unexpected 'c'", (OPERATOR, END), "Join"),
        ("a\u2028b", 1, 3, "Unexpected 'b'", (OPERATOR, END), "Join"),
    ],
)  # fmt: skip
def test_a_syntax_error_shows_the_place_what_was_expected_and_a_remedy(text, line, column, found, expected, remedy):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    error = caught.value
    assert (error.text, error.line, error.column, error.expected) == (text, line, column, expected)
    headline, blank, shown, caret, advice = str(error).split("\n")
    assert found in headline
    assert headline.endswith(f" at line {line}, column {column}.")
    assert blank == ""
    if len(text) < 80:
        assert shown.split() == text.split("\n")[line - 1].split()
        assert caret == " " * (4 + column - 1) + "^"
    assert advice.startswith("Expected ")
    assert all(words in advice for words in expected)
    assert remedy in advice
    # Nothing of the parser's own error is shown to the user.
    assert error.__suppress_context__


@pytest.mark.parametrize("before", [0, 20, 44, 60, 200])
@pytest.mark.parametrize("after", [0, 20, 44, 60, 200])
def test_of_a_long_line_the_part_around_the_error_is_shown(before, after):
    text = "x" * before + " & a ? b" + "y" * after
    with pytest.raises(FormulaError) as caught:
        parse("a" + text)
    _, _, shown, caret, _ = str(caught.value).split("\n")
    assert shown[caret.index("^")] == "?"
    assert len(shown) <= 4 + 88 + 4
    assert caught.value.column == 1 + text.index("?") + 1


def formula_or_error(text: str, syntax: str) -> Formula | FormulaError:
    try:
        return parse(text, syntax=syntax)
    except FormulaError as error:
        return error


@pytest.mark.parametrize("syntax", ["rewardspec", "spot", "rtamt", "reelay"])
@given(text=st.text(alphabet='ab&|!()->UXFGYHST "\n\\[]{}<>=01.,:;*+', max_size=14))
def test_any_text_is_either_a_formula_or_a_formula_error(syntax, text):
    outcome = formula_or_error(text, syntax)
    if isinstance(outcome, FormulaError):
        lines = text.split("\n")
        assert 1 <= outcome.line <= len(lines)
        assert 1 <= outcome.column <= len(lines[outcome.line - 1]) + 1
        assert outcome.expected
    else:
        assert parse(str(outcome)) == outcome


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: parse(3), "A formula's text should be a string. Received 3 of type int."),
        (lambda: parse(None), "A formula's text should be a string. Received None"),
        (
            lambda: parse("a", syntax="ltl"),
            "`syntax` should be one of 'rewardspec', 'spot', 'rtamt', 'reelay'. Received 'ltl'.",
        ),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(call, message):
    with pytest.raises(FormulaError) as caught:
        call()
    assert message in str(caught.value)


# Unknown atoms.


def test_an_unknown_atom_suggests_the_nearest_known_one():
    with pytest.raises(FormulaError) as caught:
        parse("G ballanced", atoms=["balanced", "reach_goal"])
    assert str(caught.value) == (
        "Unknown atom 'ballanced'; known atoms: balanced, reach_goal. Did you mean 'balanced'?"
    )  # fmt: skip


def test_an_unknown_atom_that_resembles_none_gets_the_list_alone():
    with pytest.raises(FormulaError) as caught:
        parse("F zzz", atoms=["balanced"])
    assert str(caught.value) == "Unknown atom 'zzz'; known atoms: balanced."
    with pytest.raises(FormulaError, match="known atoms: none"):
        parse("F zzz", atoms=[])


def test_known_atoms_are_accepted_in_any_order_and_number():
    assert parse("a U b", atoms=("c", "b", "a")) == Until(a, b)
    assert parse("a U b", atoms=iter("ab")) == Until(a, b)
    assert parse("true", atoms=[]) == TRUE


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("GFa", "G F a"),
        ("Fgoal", "F goal"),
        ("FGreach_goal", "F G reach_goal"),
        ("Xa", "X a"),
        ("GXXp1", "G X X p1"),
        ("GWXa", "G WX a"),
        ("wXa", "wX a"),
        ("Na", "N a"),
        ("F_x", "F _x"),
        ("HOa", "H O a"),
        ("WYgoal", "WY goal"),
    ],
)
def test_operators_run_together_with_an_atom_are_recognised(name, meant):
    assert operators_run_together(name) == meant
    assert atom_hint(name) == f" Did you mean '{meant}'?"
    with pytest.raises(FormulaError, match=f"Did you mean '{meant}'"):
        parse(f"a & {name}", atoms=["a", meant.split()[-1]])


@pytest.mark.parametrize("name", ["goal", "G", "GF", "FAST", "a", "_F", "goalF", "1", "F1", "Open", "Hot", "Yellow"])
def test_other_names_are_not_taken_for_operators_run_together(name):
    assert operators_run_together(name) is None


def test_operators_run_together_are_not_suggested_for_an_atom_that_does_not_exist():
    assert atom_hint("Fgaol", ["goal"]) == " Did you mean 'goal'?"
    assert atom_hint("Fx", ["goal"]) == ""
    assert atom_hint("Okey", ["key"]) == " Did you mean 'O key'?"


def test_the_unknown_atom_of_a_formula_is_named_with_what_was_known():
    with pytest.raises(FormulaError, match="Unknown atom 'b'; atoms of the environment: a"):
        require_known_atoms(parse("a U b"), ["a"], what="atoms of the environment")


# Deep nesting; more of it in test_formulas.

DEEP = 10_000


def test_parentheses_nest_ten_thousand_deep():
    assert parse("(" * DEEP + "a" + ")" * DEEP) == a
    assert parse("F(" * DEEP + "a" + ")" * DEEP).size == DEEP + 1


def test_nested_conjunctions_become_one():
    assert parse("a & (" * 1000 + "a" + ")" * 1000) == And(*[a] * 1001)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("(" * DEEP, DEEP + 1),
        ("!" * DEEP + "&", DEEP + 1),
        ("(" * DEEP + "a" + ")" * (DEEP + 1), 2 * DEEP + 2),
        ("F(" * DEEP + "a b" + ")" * DEEP, 2 * DEEP + 3),
        ("a U " * DEEP + "%", 4 * DEEP + 1),
    ],
    ids=["unclosed", "unfinished", "closed too often", "not joined", "character"],
)
def test_an_error_ten_thousand_deep_is_explained_all_the_same(text, column):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert caught.value.column == column
    assert len(str(caught.value)) < 500
