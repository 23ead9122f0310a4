"""Values agree with those of RTAMT, an independent monitor of signal temporal logic, on whole traces.

RTAMT's values are signed: atoms are shifted by -1/2, so that its negation, a change of sign, is our `1 - x`; its
values are shifted back.  Beyond the end of a trace it puts an infinity, where ours are 0 and 1: hence the clipping.
"""

import random
import warnings

import pytest

import rewardspec as rs
from rewardspec.logic import formulas as fm
from tests.strategies import ATOMS, random_formula, random_trace

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its parser's runtime imports `typing.io`
    rtamt = pytest.importorskip("rtamt")

pytestmark = pytest.mark.oracle

TRUE = "one"  # a signal that is 1 throughout, since RTAMT has no constants


def in_rtamts_words(formula: fm.Formula) -> str:
    def negated(text: str) -> str:
        return f"(not {text})"

    def until(left: str, right: str) -> str:
        return f"({left} until {right})"

    def weak_until(left: str, right: str) -> str:
        return f"({until(left, right)} or (always {left}))"

    def text(part: fm.Formula, args: tuple[str, ...]) -> str:
        match part:
            case fm.Constant():
                return TRUE if part.value else negated(TRUE)
            case fm.Atom():
                return part.name
            case fm.Not():
                return negated(args[0])
            case fm.Next():
                return f"(s_next {args[0]})"
            case fm.WeakNext():
                return f"(next {args[0]})"
            case fm.Eventually():
                return f"(eventually {args[0]})"
            case fm.Always():
                return f"(always {args[0]})"
            case fm.And():
                return f"({' and '.join(args)})"
            case fm.Or():
                return f"({' or '.join(args)})"
            case fm.Implies():
                return f"({negated(args[0])} or {args[1]})"
            case fm.Iff():
                return f"(({negated(args[0])} or {args[1]}) and ({negated(args[1])} or {args[0]}))"
            case fm.Xor():
                return f"(({negated(args[0])} and {args[1]}) or ({negated(args[1])} and {args[0]}))"
            case fm.Until():
                return until(*args)
            case fm.Release():
                return negated(until(*map(negated, args)))
            case fm.WeakUntil():
                return weak_until(*args)
            case fm.StrongRelease():
                return negated(weak_until(*map(negated, args)))
        raise AssertionError(f"no words for {part!r}")

    words: str = formula.fold(text)
    return words


def rtamts_value(formula: fm.Formula, trace: dict[str, list[float]]) -> float:
    specification = rtamt.StlDiscreteTimeSpecification()
    for name in (*ATOMS, TRUE, "out"):
        specification.declare_var(name, "float")
    specification.spec = f"out = {in_rtamts_words(formula)}"
    specification.parse()
    length = len(trace[ATOMS[0]])
    signals = {name: [label - 0.5 for label in labels] for name, labels in trace.items()}
    values = specification.evaluate({"time": list(range(length)), TRUE: [0.5] * length, **signals})
    return min(1.0, max(0.0, values[0][1] + 0.5))


@pytest.mark.parametrize("seed", range(150))
def test_rtamt_finds_the_same_value_on_random_formulas_and_traces(seed):
    rng = random.Random(seed)
    formula = random_formula(rng, 2 + seed % 3)
    for length in (2, 3, 5, 8):
        trace = random_trace(rng, length)
        expected = rtamts_value(formula, trace)
        assert rs.evaluate(formula, trace) == expected
        assert rs.synthesize(formula).run(trace)[-1] == expected
