"""Formulas written for RTAMT, reelay and Spot, read under their `syntax`, have the values that those tools give."""

import copy
import itertools
import random
import warnings
from collections.abc import Callable

import pytest

import rewardspec as rs
from tests.strategies import REALS

pytestmark = pytest.mark.oracle


def written(rng: random.Random, depth: int, atoms: list[str], unary: list[str], binary: list[str]) -> str:
    """A random formula over operators whose intervals are left open, fully parenthesized.

    Intervals do not end at 0, which reelay takes for no end.
    """
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(atoms)
    low = rng.randint(0, 2)
    interval = {"low": low, "high": max(1, low + rng.randint(0, 3))}
    if rng.random() < 0.5:
        return f"{rng.choice(unary).format(**interval)} ({written(rng, depth - 1, atoms, unary, binary)})"
    left, right = (written(rng, depth - 1, atoms, unary, binary) for _ in range(2))
    return f"(({left}) {rng.choice(binary).format(**interval)} ({right}))"


PREDICATES: dict[str, Callable[[float, float, float], float]] = {
    "a > 0.5": lambda a, b, c: a - 0.5,
    "b <= -0.25": lambda a, b, c: -0.25 - b,
    "a + c >= 1": lambda a, b, c: a + c - 1,
}
LOOKING_BACK = ["once", "historically[{low}:{high}]", "O[{low},{high}]", "H", "prev", "s_prev", "rise", "fall", "not"]
LOOKING_AHEAD = ["always", "eventually[{low}:{high}]", "G[{low},{high}]", "F", "next", "s_next", "X"]


@pytest.mark.parametrize("past", [True, False], ids=["past", "future"])
def test_rtamt(past):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its parser's runtime imports `typing.io`
        rtamt = pytest.importorskip("rtamt")
    rng = random.Random(1)
    unary = LOOKING_BACK if past else LOOKING_BACK + LOOKING_AHEAD
    binary = ["and", "or", "->", "since", "S[{low},{high}]", *([] if past else ["until", "until[{low}:{high}]"])]
    for _ in range(200):
        text = written(rng, rng.randint(1, 4), [*"abc", *(f"({text})" for text in PREDICATES)], unary, binary)
        length = rng.randint(2, 8)
        signals = {name: rng.choices(REALS, k=length) for name in "abc"}
        specification = rtamt.StlDiscreteTimeSpecification()
        for name in ("a", "b", "c", "out"):
            specification.declare_var(name, "float")
        specification.spec = f"out = {text}"
        specification.parse()
        data = {"time": list(range(length)), **copy.deepcopy(signals)}  # it writes into what it is given
        values = [value for _, value in specification.evaluate(data)]
        formula = rs.parse(text, syntax="rtamt")
        rows = zip(*signals.values(), strict=True)
        margins = [[predicate(*row) for predicate in PREDICATES.values()] for row in rows]
        trace = signals | dict(zip(PREDICATES, map(list, zip(*margins, strict=True)), strict=True))
        looks_ahead = not str(formula).startswith("now")
        expected = values[0] if looks_ahead else values[-1]
        assert rs.evaluate(formula, trace, semantics="robustness") == expected, text


def test_reelay():
    reelay = pytest.importorskip("reelay")
    rng = random.Random(2)
    unary = ["once", "once[{low}:{high}]", "historically[{low}:]", "historically[:{high}]", "P", "H", "pre", "not", "!"]
    binary = ["and", "&&", "or", "->", "since", "since[{low}:{high}]", "S"]
    for _ in range(150):
        text = written(rng, rng.randint(1, 4), ["{a}", "{b}", "{a: true, b: false}"], unary, binary)
        monitor = reelay.discrete_timed_monitor(pattern=text, condense=False)
        rows = [(rng.random() < 0.5, rng.random() < 0.5) for _ in range(8)]
        values = [monitor.update({"a": a, "b": b})["value"] for a, b in rows]
        trace = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
        assert rs.evaluate_prefixes(rs.parse(text, syntax="reelay"), trace) == values, text


def test_spot():
    spot = pytest.importorskip("spot")
    from tests.oracles.test_spot import LETTERS, determinized

    rng = random.Random(3)
    ends = ["{low}:{high}", "{low}:{high}!", "{low}:", "{low}:!"]
    unary = ["F", "G", "X", "X[!]", "!", "X[{low}]", "X[{low}!]", *(f"{op}[{end}]" for op in "FG" for end in ends)]
    for _ in range(60):
        text = written(rng, rng.randint(1, 3), ["a", "b"], unary, ["&", "|", "->", "U", "R", "W", "M"])
        formula = rs.parse(text, syntax="spot")
        infinite = spot.from_ltlf(spot.formula(text))
        automaton = determinized(spot.to_finite(spot.translate(infinite, "small", "buchi", "sbacc")))
        for length in range(1, 5):
            for word in itertools.product(range(0, len(LETTERS), 2), repeat=length):  # without the third atom
                state = 0
                for letter in word:
                    state = automaton.steps[state][letter]
                trace = {name: [LETTERS[letter][name] for letter in word] for name in "ab"}
                assert rs.evaluate(formula, trace) == automaton.accepting[state], (text, trace)
