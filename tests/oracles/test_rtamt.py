"""Values agree with those of RTAMT, an independent monitor of signal temporal logic.

RTAMT's values are signed: as degrees, atoms are shifted by -1/2, so that its negation, a change of sign, is our
`1 - x`; its values are shifted back.  Beyond the end of a trace it puts an infinity, where ours are 0 and 1: hence the
clipping.  As robustness its values are ours as they are.
"""

import random
import warnings

import pytest

import rewardspec as rs
from rewardspec.logic import formulas as fm
from rewardspec.logic.operators import PAST
from rewardspec.logic.parsing import parse
from tests.strategies import ATOMS, LABELS, REALS, Language, random_formula, random_trace

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its parser's runtime imports `typing.io`
    rtamt = pytest.importorskip("rtamt")

pytestmark = pytest.mark.oracle

TRUE = "one"  # a signal that is 1 throughout, since RTAMT has no constants
ANYTHING = Language(past=True, intervals=True, counts=True)
MONITORABLE = Language(past=True, intervals=True, counts=True, monitorable=True)


def negated(text: str) -> str:
    return f"(not {text})"


def bounds(part: fm.Timed) -> str:
    return "" if part.low == 0 and part.high is None else f"[{part.low}:{part.high}]"


def unary(word: str, step: str, part: fm.Timed, arg: str) -> str:
    """An operator over an interval; RTAMT has none that begins later and never ends."""
    if part.high is None:
        return f"{f'({step} ' * part.low}({word} {arg}){')' * part.low}"
    return f"({word}{bounds(part)} {arg})"


def binary(word: str, step: str, part: fm.Timed, left: str, right: str) -> str:
    if part.high is None:
        return f"{f'({left} and {step} ' * part.low}({left} {word} {right}){')' * part.low}"
    return f"({left} {word}{bounds(part)} {right})"


def at_least(count: int, arg: str) -> str:
    rest = arg if count == 1 else f"({arg} and (s_next {at_least(count - 1, arg)}))"
    return f"(eventually {rest})"


def in_rtamts_words(formula: fm.Formula) -> str:
    def weak_until(left: str, right: str) -> str:
        return f"(({left} until {right}) or (always {left}))"

    def text(part: fm.Formula, args: tuple[str, ...]) -> str:
        match part:
            case fm.Constant():
                return TRUE if part.value else negated(TRUE)
            case fm.Atom():
                # RTAMT appends to the signal's own list at the end of a trace, unless something has copied it.
                return negated(negated(part.name))
            case fm.Not():
                return negated(args[0])
            case fm.Next() | fm.WeakNext() | fm.Previous() | fm.WeakPrevious():
                words = {fm.Next: "s_next", fm.WeakNext: "next", fm.Previous: "s_prev", fm.WeakPrevious: "prev"}
                return f"{f'({words[type(part)]} ' * part.steps}{args[0]}{')' * part.steps}"
            case fm.Eventually():
                return unary("eventually", "s_next", part, args[0])
            case fm.Always():
                return unary("always", "next", part, args[0])
            case fm.Once():
                return unary("once", "s_prev", part, args[0])
            case fm.Historically():
                return unary("historically", "prev", part, args[0])
            case fm.AtLeastTimes():
                return at_least(part.count, args[0])
            case fm.AllButTimes():
                return negated(at_least(part.count + 1, negated(args[0])))
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
                return binary("until", "s_next", part, *args)
            case fm.Release():
                return negated(binary("until", "s_next", part, *map(negated, args)))
            case fm.Since():
                return binary("since", "s_prev", part, *args)
            case fm.Trigger():
                return negated(binary("since", "s_prev", part, *map(negated, args)))
            case fm.WeakUntil():
                return weak_until(*args)
            case fm.StrongRelease():
                return negated(weak_until(*map(negated, args)))
        raise AssertionError(f"no words for {part!r}")

    words: str = formula.fold(text)
    return words


def specification(text: str) -> "rtamt.StlDiscreteTimeSpecification":
    found = rtamt.StlDiscreteTimeSpecification()
    for name in (*ATOMS, TRUE, "out"):
        found.declare_var(name, "float")
    found.spec = f"out = {text}"
    found.parse()
    return found


def rtamts_value(formula: fm.Formula, trace: dict[str, list[float]], semantics: str = "degree") -> float:
    shift, true = (0.5, 0.5) if semantics == "degree" else (0.0, float("inf"))
    length = len(trace[ATOMS[0]])
    signals = {name: [label - shift for label in labels] for name, labels in trace.items()}
    values = specification(in_rtamts_words(formula)).evaluate(
        {"time": list(range(length)), TRUE: [true] * length, **signals}
    )
    value: float = values[0][1]
    return min(1.0, max(0.0, value + 0.5)) if semantics == "degree" else value


@pytest.mark.parametrize("seed", range(150))
def test_rtamt_finds_the_same_value_on_random_formulas_and_traces(seed):
    rng = random.Random(seed)
    formula = random_formula(rng, 2 + seed % 3)
    for length in (2, 3, 5, 8):
        trace = random_trace(rng, length)
        expected = rtamts_value(formula, trace)
        assert rs.evaluate(formula, trace) == expected
        assert rs.synthesize(formula).run(trace)[-1] == expected


@pytest.mark.parametrize("semantics", ["degree", "robustness"])
@pytest.mark.parametrize("seed", range(300))
def test_rtamt_finds_the_same_value_of_formulas_with_time(seed, semantics):
    """Intervals, the past at any place, next of several steps, and counts."""
    rng = random.Random(f"{seed} {semantics}")
    formula = random_formula(rng, 2 + seed % 3, ATOMS, ANYTHING)
    for length in (2, 3, 6, 11):
        trace = random_trace(rng, length, ATOMS, LABELS if semantics == "degree" else (REALS,))
        assert rs.evaluate(formula, trace, semantics=semantics) == rtamts_value(formula, trace, semantics), str(formula)


@pytest.mark.parametrize("semantics", ["degree", "robustness"])
@pytest.mark.parametrize("seed", range(150))
def test_rtamt_finds_the_same_value_as_monitors_of_formulas_with_time(seed, semantics):
    rng = random.Random(f"monitor {seed} {semantics}")
    formula = random_formula(rng, 2 + seed % 2, ATOMS, MONITORABLE)
    trace = random_trace(rng, 13, ATOMS, LABELS if semantics == "degree" else (REALS,))
    values = rs.synthesize(formula, semantics=semantics).run(trace)
    for length in range(2, 14):
        prefix = {atom: labels[:length] for atom, labels in trace.items()}
        assert values[length - 1] == rtamts_value(formula, prefix, semantics), (str(formula), length)


def random_past(rng: random.Random, depth: int) -> fm.Formula:
    """A formula of the past alone, with intervals."""
    if depth == 0:
        return fm.Atom(rng.choice(ATOMS))
    kind = rng.choice((fm.Not, fm.And, fm.Or, fm.Previous, fm.WeakPrevious, fm.Once, fm.Historically, fm.Since))
    operands = [random_past(rng, depth - 1) for _ in range(2 if kind in (fm.And, fm.Or, fm.Since) else 1)]
    low = rng.randint(0, 2)
    return kind(*operands, *((low, low + rng.randint(0, 3)) if issubclass(kind, fm.Timed) else ()))


def repeats(formula: fm.Formula) -> bool:
    """Whether a part with an operator of the past is written twice."""
    parts = [formula]
    for part in parts:
        parts.extend(part.args)
    past = [part for part in parts if isinstance(part, PAST)]
    return len(set(past)) < len(past)


@pytest.mark.parametrize("seed", range(150))
def test_what_rtamt_monitors_online_is_read_as_it_means_it(seed):
    """Its formulas of the past, read under its own syntax, are judged at every step as it judges them."""
    rng = random.Random(f"online {seed}")
    formula = random_past(rng, 1 + seed % 3)
    while repeats(formula):  # RTAMT mixes up the state of parts that are written twice, its issue 203
        formula = random_past(rng, 1 + seed % 3)
    text = in_rtamts_words(formula)
    monitor = rs.synthesize(parse(text, syntax="rtamt"), semantics="robustness")
    online, trace = specification(text), random_trace(rng, 25, ATOMS, (REALS,))
    ours = monitor.run({atom: trace[atom] for atom in monitor.atoms})
    for step in range(25):
        letter = [(atom, labels[step]) for atom, labels in trace.items()]
        assert online.update(step, letter) == ours[step], (text, step)
