"""The list of violations, against a definition that judges every position on every prefix anew."""

import itertools
import random

import numpy as np
import pytest

from rewardspec.episodes.violations import CRISP, Violation, ViolationFinder, find_violations
from rewardspec.errors import FormulaError
from rewardspec.logic import formulas as fm
from rewardspec.logic.decided_steps import NEVER, decided_steps, reach
from rewardspec.logic.parsing import parse
from tests.definition import values_by_definition
from tests.strategies import Language, random_formula

ATOMS = ("a", "b", "c")


# Kleene's three-valued logic: None is unknown.


def negated(value):
    return None if value is None else not value


def every(values):
    values = list(values)
    return False if False in values else None if None in values else True


def some(values):
    return negated(every(map(negated, values)))


def known(f: fm.Formula, i: int, j: int, trace: dict[str, list[bool]]) -> bool | None:
    """Whether the rows up to j make f true or false at position i; rows from j + 1 on are unknown."""

    def at(g, k):
        return known(g, k, j, trace)

    def ahead(low, high):
        """The positions of an interval up to the first that is unknown, which stands for all others."""
        return range(i + low, min(j + 1, j + 1 if high is None else i + high) + 1)

    def back(low, high):
        return range(max(0, 0 if high is None else i - high), i - low + 1)

    if i > j:
        return None
    match f:
        case fm.Constant(value=value):
            return value == 1
        case fm.Atom(name=name):
            return trace[name][i]
        case fm.Not(args=(a,)):
            return negated(at(a, i))
        case fm.And(args=args):
            return every(at(a, i) for a in args)
        case fm.Or(args=args):
            return some(at(a, i) for a in args)
        case fm.Implies(args=(a, b)):
            return some([negated(at(a, i)), at(b, i)])
        case fm.Iff(args=(a, b)):
            return every([some([negated(at(a, i)), at(b, i)]), some([negated(at(b, i)), at(a, i)])])
        case fm.Xor(args=(a, b)):
            return negated(at(fm.Iff(a, b), i))
        case fm.Next(args=(a,), steps=k) | fm.WeakNext(args=(a,), steps=k):
            return at(a, i + k)
        case fm.Eventually(args=(a,), low=low, high=high):
            unknown = [None] if high is None or i + high > j else []
            return some([*(at(a, k) for k in ahead(low, high)), *unknown])
        case fm.Until(args=(a, b), low=low, high=high):
            positions = [*ahead(low, high), *([max(j + 1, i + low)] if high is None or i + high > j else [])]
            return some(every([at(b, k), *(at(a, m) for m in range(i, k))]) for k in positions)
        case fm.Always(args=(a,), low=low, high=high):
            return negated(at(fm.Eventually(fm.Not(a), low, high), i))
        case fm.Release(args=(a, b), low=low, high=high):
            return negated(at(fm.Until(fm.Not(a), fm.Not(b), low, high), i))
        case fm.WeakUntil(args=(a, b)):
            return some([at(fm.Until(a, b), i), at(fm.Always(a), i)])
        case fm.StrongRelease(args=(a, b)):
            return every([at(fm.Release(a, b), i), at(fm.Eventually(a), i)])
        case fm.AtLeastTimes(args=(a,), count=k):
            return True if [at(a, m) for m in range(i, j + 1)].count(True) >= k else None
        case fm.AllButTimes(args=(a,), count=k):
            return False if [at(a, m) for m in range(i, j + 1)].count(False) > k else None
        case fm.Previous(args=(a,), steps=k):
            return at(a, i - k) if i >= k else False
        case fm.WeakPrevious(args=(a,), steps=k):
            return at(a, i - k) if i >= k else True
        case fm.Once(args=(a,), low=low, high=high):
            return some(at(a, k) for k in back(low, high))
        case fm.Historically(args=(a,), low=low, high=high):
            return every(at(a, k) for k in back(low, high))
        case fm.Since(args=(a, b), low=low, high=high):
            return some(every([at(b, k), *(at(a, m) for m in range(k + 1, i + 1))]) for k in back(low, high))
        case fm.Trigger(args=(a, b), low=low, high=high):
            return negated(at(fm.Since(fm.Not(a), fm.Not(b), low, high), i))
    raise AssertionError(f"the definition does not know {f!r}")


def first(f, i, trace, value):
    length = len(trace["a"])
    return next((j for j in range(i, length) if known(f, i, j, trace) is value), None)


def drawn(seed: int):
    draw = random.Random(seed)
    language = Language(past=seed % 2 == 0, intervals=seed % 3 > 0, counts=seed % 5 == 0)
    formula = random_formula(draw, draw.randint(1, 4), ATOMS, language)
    length = draw.randint(1, 9)
    share = draw.random()
    margins = {name: [draw.choice((-1, 1)) * draw.randint(1, 9) for _ in range(length)] for name in ATOMS}
    if draw.random() < 0.5:
        margins = {name: [abs(m) if draw.random() < share else -abs(m) for m in ms] for name, ms in margins.items()}
    return formula, {name: [m > 0 for m in ms] for name, ms in margins.items()}, margins


def without_deadlines(f: fm.Formula, positive: bool = True) -> fm.Formula:
    """Owed things may come late: `F[a,b]` becomes `F[a,]`, and so does `U`; under a negation, `G[a,b]` and `R`."""
    match f:
        case fm.Not(args=(a,)):
            return fm.Not(without_deadlines(a, not positive))
        case fm.Implies(args=(a, b)):
            return fm.Implies(without_deadlines(a, not positive), without_deadlines(b, positive))
        case fm.Iff(args=(a, b)):
            return without_deadlines(fm.And(fm.Implies(a, b), fm.Implies(b, a)), positive)
        case fm.Xor(args=(a, b)):
            return without_deadlines(fm.Or(fm.And(a, fm.Not(b)), fm.And(fm.Not(a), b)), positive)
    args = [without_deadlines(a, positive) for a in f.args]
    if isinstance(f, (fm.Eventually, fm.Until) if positive else (fm.Always, fm.Release)):
        return type(f)(*args, f.low, None)
    return f.rebuild(*args) if args else f


def violations_by_definition(f: fm.Formula, trace, margins) -> list[Violation]:
    """The violations of `G f`."""
    length = len(trace["a"])
    truths = {name: np.array(values, dtype=float) for name, values in trace.items()}
    broken = [value == 0 for value in values_by_definition(f, truths)]
    robustness = values_by_definition(f, margins, "robustness")
    found = []
    for start in range(length):
        if not broken[start] or (start > 0 and broken[start - 1]):
            continue
        last = next((k - 1 for k in range(start, length) if not broken[k]), length - 1)
        certain = {k: first(f, k, trace, False) for k in range(start, last + 1)}
        certain = {k: step for k, step in certain.items() if step is not None}
        amount = max((-robustness[k] for k in certain if np.isfinite(robustness[k])), default=None)
        late = without_deadlines(f)
        recovered = first(late, last, trace, True)
        if recovered is None and first(late, last, trace, False) is not None and last + 1 < length:
            recovered = last + 1
        found.append(Violation(start, last, min(certain.values(), default=None), amount, recovered))
    return found


@pytest.mark.parametrize("part", range(4))
def test_violations_are_those_of_the_definition(part):
    kinds = set()
    for seed in range(150 * part, 150 * (part + 1)):
        formula, trace, margins = drawn(seed)
        found = find_violations(fm.Always(formula), trace, margins)
        assert found == violations_by_definition(formula, trace, margins), (seed, str(formula))
        kinds |= {(v.certain is None, v.certain == v.step, v.recovered is None, v.amount is None) for v in found}
    assert len(kinds) >= 6


def found_in_blocks(rule: fm.Formula, trace, margins, draw: random.Random) -> list[Violation]:
    """The violations that a finder tells of a record that comes in blocks of random lengths, put together."""
    finder, told, named, length = ViolationFinder(rule, rows_at_once=draw.randint(1, 6)), {}, set(), len(trace["a"])
    start = 0
    while start < length:
        stop, settled = min(length, start + draw.randint(1, 5)), finder.settled
        truths = {name: np.array(column[start:stop]) for name, column in trace.items()}
        changed = finder.feed(truths, {name: np.array(column[start:stop], float) for name, column in margins.items()})
        changed += finder.finish() if stop == length else []
        for violation in changed:
            steps = {violation.step, violation.last, violation.certain, violation.recovered} - {None}
            assert all(step >= settled - 1 for step in steps - named)
            named |= steps
            told[violation.step] = violation
        start = stop
    assert [told[step] for step in sorted(told)] == finder.violations()
    return finder.violations()


@pytest.mark.parametrize("part", range(2))
def test_a_record_in_blocks_has_the_same_violations(part):
    bounded = 0
    for seed in range(300 * part, 300 * (part + 1)):
        formula, trace, margins = drawn(seed)
        rule = fm.Always(formula)
        found = found_in_blocks(rule, trace, margins, random.Random(seed))
        assert found == find_violations(rule, trace, margins), (seed, str(formula))
        bounded += None not in reach(formula) and len(found) > 1
    assert bounded > 20


def test_rows_are_kept_only_as_long_as_rules_need_them():
    finder = ViolationFinder('G(alarm -> F[0,30] closed) & G !G[0,10] "p > 5" & G(closed -> O[0,20] alarm)', 100)
    draw = np.random.default_rng(0)
    kept = []
    for _ in range(50):
        truths = {"alarm": draw.random(100) < 0.05, "closed": draw.random(100) < 0.05, "p > 5": draw.random(100) < 0.9}
        finder.feed(truths, {name: np.where(column, 1.0, -1.0) for name, column in truths.items()})
        kept += [len(column) for part in finder._parts for column in part._truths.columns().values()]
    assert len(finder.violations()) > 50
    assert max(kept) < 600


@pytest.mark.parametrize("ended", [False, True])
def test_decisions_hold_whatever_follows(ended):
    for seed in range(200):
        formula, trace, _ = drawn(seed)
        decided, draw = decided_steps(formula, trace, ended), random.Random(seed)
        length = len(trace["a"])
        for i in range(length):
            for value, steps in ((1, decided.true), (0, decided.false)):
                if steps[i] == NEVER:
                    continue
                for more in [0] if ended else [0, 0, 1, 3, 7]:
                    kept = length if ended else int(steps[i]) + 1
                    then = {
                        name: [*map(float, column[:kept]), *(float(draw.random() < 0.5) for _ in range(more))]
                        for name, column in trace.items()
                    }
                    assert values_by_definition(formula, then)[i] == value, (seed, str(formula), i)
            assert not ended or (decided.true[i] == NEVER) != (decided.false[i] == NEVER)


def test_a_conjunction_has_the_violations_of_its_parts():
    trace = {"a": [0, 1, 0], "b": [1, 1, 0]}
    both = find_violations("G a & !F !b", trace)
    assert both == sorted(find_violations("G a", trace) + find_violations("G b", trace), key=lambda v: v.step)
    assert [v.step for v in both] == [0, 2, 2]


def test_a_rule_with_an_interval_is_about_its_steps_and_one_without_g_about_the_first():
    trace = {"a": [0, 1, 0, 0, 1]}
    assert [(v.step, v.last) for v in find_violations("G[1,2] a", trace)] == [(2, 2)]
    assert find_violations("F[0,2] !a & a", trace) == [Violation(0, 0, 0, None, None)]  # it never is again
    assert find_violations("G[0,2] a", trace) == [Violation(0, 0, 0, None, 1), Violation(2, 2, 2, None, None)]
    assert find_violations("F a", trace) == []


def counted_by_definition(f: fm.Formula, allowed: int, trace) -> list[tuple[int, int | None]]:
    """For each step that breaks `G{allowed} f`, the step at which it and so many before it are certain."""
    length = len(trace["a"])
    holds = values_by_definition(f, {name: np.array(values, dtype=float) for name, values in trace.items()})
    broken = [i for i in range(length) if holds[i] == 0]
    found = []
    for k, i in enumerate(broken[allowed:], start=allowed):
        certain = (
            j
            for j in range(length)
            if known(f, i, j, trace) is False
            and [known(f, before, j, trace) for before in broken[:k]].count(False) >= allowed
        )
        found.append((i, next(certain, None)))
    return found


def test_a_count_is_broken_at_each_step_too_many_and_never_recovers():
    several = 0
    for seed in range(300):
        formula, trace, margins = drawn(seed)
        draw = random.Random(seed)
        rule = fm.AllButTimes(formula, draw.randint(1, 3))
        expected = counted_by_definition(formula, rule.count, trace)
        found = found_in_blocks(rule, trace, margins, draw)
        assert [k for v in found for k in range(v.step, v.last + 1)] == [i for i, _ in expected], (seed, str(rule))
        for v in found:
            certain = [step for i, step in expected if v.step <= i <= v.last and step is not None]
            assert v.certain == min(certain, default=None), (seed, str(rule))
            late = first(without_deadlines(formula), v.last, trace, True)
            assert v.recovered == late, (seed, str(rule))
        several += len(found) > 1
    assert several > 5
    assert find_violations("G{2} !r", {"r": [0, 1, 1, 0, 1, 0]}) == [Violation(4, 4, 4, None, None)]
    assert find_violations("!F{3} r", {"r": [0, 1, 1, 0, 1, 0]}) == [Violation(4, 4, 4, None, None)]


def test_a_count_is_certain_as_soon_as_no_continuation_keeps_it():
    rows = list(itertools.product([0.0, 1.0], repeat=3))
    late = 0
    for seed in range(150):
        draw = random.Random(seed)
        length, allowed = draw.randint(3, 7), draw.randint(1, 2)
        rule = parse(f"G{{{allowed}}} ((a -> F[0,{draw.randint(1, 4)}] b) & !c)")
        share = {"a": 0.5, "b": 0.2, "c": 0.3}
        trace = {name: [float(draw.random() < share[name]) for _ in range(length)] for name in ATOMS}

        def lost(j, rule=rule, trace=trace):
            """Whether the rows up to j break the rule, whatever follows."""
            continued = ({n: [*trace[n][: j + 1], row[k]] for k, n in enumerate(ATOMS)} for row in rows)
            return all(values_by_definition(rule, labels)[0] == 0 for labels in continued)

        expected = next((j for j in range(length) if lost(j)), None)
        found = [v.certain for v in find_violations(rule, trace) if v.certain is not None]
        assert min(found, default=None) == expected, (seed, str(rule))
        late += expected is not None
    assert late > 50


def test_a_count_does_not_wait_for_steps_that_are_open():
    trace = {"a": [0, 1, 0, 0, 0], "b": [0] * 5, "c": [0, 0, 1, 1, 0]}
    assert find_violations("G{1} ((a -> F[0,10] b) & !c)", trace) == [Violation(2, 3, 3, None, None)]
    trace = {"a": [0, 1, 0, 0, 0, 1], "b": [0] * 6, "c": [0, 0, 1, 1, 0, 1]}
    assert find_violations("G{1} ((a -> F[0,3] b) & !c)", trace)[0].certain == 3


def test_nothing_is_open_at_the_end_of_a_complete_record():
    trace, margins = {"a": [1, 0, 1, 0], "b": [0, 1, 0, 0]}, {"a": [1, -1, 1, -1], "b": [-1, 1, -3, -2]}
    for rule, step, amount in (("G(a -> F[0,5] b)", 2, 1), ("G(a -> F b)", 2, 1), ("F(a & b)", 0, 1)):
        (found,) = find_violations(rule, trace, margins)
        assert (found.step, found.certain) == (step, None)
        assert find_violations(rule, trace, margins, complete=True) == [Violation(step, step, 3, amount, None)]
    assert find_violations("G(a -> F[0,1] b)", trace, margins, complete=True)[0].certain == 3
    assert find_violations("G(b -> a)", trace) == find_violations("G(b -> a)", trace, complete=True)


def test_what_has_no_margin_does_not_count():
    margins = {"alarm": [CRISP, -CRISP], "p < 5": [-2.5, 1.0]}
    truths = {name: [m > 0 for m in ms] for name, ms in margins.items()}
    assert find_violations('G(alarm -> "p < 5")', truths, margins) == [Violation(0, 0, 0, 2.5, 1)]
    assert find_violations("G !alarm", truths, margins) == [Violation(0, 0, 0, None, 1)]


@pytest.mark.parametrize("rule", ["G(0.5 * a)", "G F[0,3;0.9] a", "forall box: G a(box)"])
def test_rules_are_true_or_false(rule):
    with pytest.raises(FormulaError):
        find_violations(parse(rule), {"a": [1, 0]})
