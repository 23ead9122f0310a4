"""Satisfiable continuations: a formula that holds of a trace while some continuation satisfies another formula.

`possible(φ)` is positive on a trace exactly when φ is positive on the trace or on some continuation of it; as
robustness, it is at least 0 exactly when φ is at least 0. A spec vetoes when it no longer is. Because it is a formula,
it is monitored like any other: with windows for long intervals, in constant time, on every backend.

Whether a value is positive depends on which literals are. A future step whose labels are all 1/2 makes every literal
positive, so nothing is better than such steps, and only their number matters. Let m be that number, n the last position
of the trace, and i a position of it. Then

* a subformula at a future position n + s is true, false, or says something about the past that is known at n
  (`FutureRuns`);
* a subformula at i is one about the trace alone, in which the distance n - i decides what the future contributes
  (`_Extended.here`): `F[2,5] a` becomes `F[2,5] a | WX[5] false`, which holds while the interval has not passed.

A formula without X, F, U, M and F{k} in its normal form never gains by more steps: `possible(φ)` is φ itself. Most
others never lose by them, so that one large m decides. `last` and its like do both: for them every m is tried, up to a
limit. Past the limit, and where the past makes too many cases, everything in the future counts as true: then
`possible(φ)` may hold too long, never too short, and `Possible.exact` is False.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula
from rewardspec.logic.future_runs import FutureRuns, TooManyRunsError, conjunction, disjunction, horizon, minus
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.operators import PAST
from rewardspec.logic.simplification import simplify

_MOST_LENGTHS = 24  # numbers of future steps that are tried where more steps are not always better
_STRONG = (fm.Next, fm.Eventually, fm.Until, fm.StrongRelease, fm.AtLeastTimes)  # false past the end of a trace


class Possible(NamedTuple):
    """A formula that holds while another still can, and whether it does so no longer than that."""

    formula: Formula
    exact: bool


def possible(formula: Formula, *, approximate: bool = False) -> Possible:
    """A formula that is positive on a trace while some continuation has a positive value.

    Args:
        formula: The formula, without operators of the future under those of the past.
        approximate: Take everything in the future as true, which gives a simpler formula that may hold too long.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> str(possible(parse("G safe")).formula), str(possible(parse("F goal")).formula)
        ('G safe', 'true')
        >>> str(possible(parse("F[2,5] a")).formula)
        'F[2,5] a | WX[5] false'
    """
    normal = to_nnf(formula)
    if not any(isinstance(part, _STRONG) for part in normal.subformulas()):
        return Possible(formula, exact=True)
    positive = _support(normal)
    steps = horizon(positive)
    try:
        if not approximate:
            longest = simplify(_Extended(steps).here(positive))
            if longest == fm.TRUE or _gains_by_steps(positive):
                return Possible(longest, exact=True)
            if steps <= _MOST_LENGTHS:
                shorter = [simplify(_Extended(m).here(positive)) for m in range(1, steps)]
                return Possible(simplify(disjunction([positive, *shorter, longest])), exact=True)
    except TooManyRunsError:
        pass
    return Possible(simplify(_Extended(steps, everything=True).here(positive)), exact=False)


def _support(formula: Formula) -> Formula:
    """A formula in normal form without numbers, positive wherever the given one is."""

    def positive(part: Formula, args: tuple[Formula, ...]) -> Formula:
        match part:
            case fm.Constant():
                return fm.TRUE if part.value > 0.0 else fm.FALSE
            case fm.Affine():
                return fm.TRUE if part.offset > 0.0 else args[0]
            case fm.WeakUntil():
                return fm.Release(args[1], fm.Or(*args))
            case fm.StrongRelease():
                return fm.Until(args[1], fm.And(*args))
            case fm.Timed() if part.discount < 1.0:
                if isinstance(part, fm.Always | fm.Release | fm.Historically | fm.Trigger):
                    # 1 - w(1 - x) is positive at every distance but 0, where the weight w is 1.
                    return args[-1] if part.low == 0 else fm.TRUE
                return type(part)(*args, part.low, part.high)
        return part.rebuild(*args) if args else part

    return formula.fold(positive)


def _gains_by_steps(formula: Formula) -> bool:
    """Return whether further steps, with every literal true, never make the formula false."""
    gains: dict[Formula, bool] = {}
    certain: dict[Formula, bool] = {}  # true at every future position, however many there are
    for part in formula.subformulas():
        args = part.args
        if isinstance(part, PAST):
            gains[part], certain[part] = True, FutureRuns(horizon(part)).is_certain(part)
            continue
        gains[part] = all(gains[arg] for arg in args)
        match part:
            case fm.Constant():
                certain[part] = part == fm.TRUE
            case fm.Atom() | fm.Not():
                certain[part] = True
            case fm.And():
                certain[part] = all(certain[arg] for arg in args)
            case fm.Or():
                certain[part] = any(certain[arg] for arg in args)
            case fm.Next():
                certain[part] = False
            case fm.Eventually() | fm.Until():
                certain[part] = part.low == 0 and certain[args[-1]]
            case fm.AtLeastTimes():
                certain[part] = part.count == 1 and certain[args[0]]
            case _:  # WX, G, R and G{k}, which further steps can break
                certain[part] = certain[args[-1]]
                gains[part] = gains[part] and certain[args[-1]]
    return gains[formula]


class _Extended:
    """A trace and the positions that follow it; the arguments are those of `FutureRuns`."""

    def __init__(self, steps: int, everything: bool = False) -> None:
        self.steps = steps
        self._future = FutureRuns(steps, everything)
        self._here: dict[Formula, Formula] = {}

    def here(self, formula: Formula) -> Formula:
        """A formula about the trace alone with the same truth as `formula` has with the positions that follow."""
        for part in formula.subformulas():
            if part not in self._here:
                self._here[part] = part if isinstance(part, PAST) else self._part_here(part)
        return self._here[formula]

    def _part_here(self, part: Formula) -> Formula:
        args = [self._here[arg] for arg in part.args]
        match part:
            case fm.And():
                return conjunction(args)
            case fm.Or():
                return disjunction(args)
            case fm.Next() | fm.WeakNext():
                return self._shift_here(part, args[0])
            case fm.Eventually():
                return disjunction([part.rebuild(*args), *(case.holds() for case in self._interval_cases(part))])
            case fm.Always():
                cases = self._interval_cases(part)
                return conjunction([part.rebuild(*args), *(case.holds_or_passes() for case in cases)])
            case fm.Until():
                later = disjunction([case.holds() for case in self._until_cases(part, conjunction)])
                return disjunction([part.rebuild(*args), conjunction([fm.Always(args[0]), later])])
            case fm.Release():
                later = conjunction([case.holds_or_passes() for case in self._until_cases(part, disjunction)])
                return conjunction([part.rebuild(*args), disjunction([fm.Eventually(args[0]), later])])
            case fm.AtLeastTimes():
                tally = self._future.tally(part, 1)
                ways = [conjunction([_at_least(part.count - count, args[0]), _now(guard)]) for count, guard in tally]
                return disjunction(ways)
            case fm.AllButTimes():
                tally = [(part.count - count, guard) for count, guard in self._future.tally(part, 1)]
                ways = [conjunction([fm.AllButTimes(args[0], left), _now(guard)]) for left, guard in tally if left >= 0]
                return disjunction(ways)
        return part

    def _shift_here(self, part: fm.Next | fm.WeakNext, arg: Formula) -> Formula:
        """`X[k] φ` at distance d from the end reads position n + (k - d), which may lie beyond all that follows."""
        k = part.steps
        cases = [_Case(max(k - run.end, 0), k - run.start, run.guard) for run in self._future.runs(part.arg)]
        if isinstance(part, fm.WeakNext):
            cases.append(_Case(0, k - self.steps - 1, fm.TRUE))
        cases = [case for case in cases if case.high is not None and case.high >= 0]
        if all(case.guard == fm.TRUE for case in cases) and _cover(cases, k):
            return fm.WeakNext(arg, k)
        return disjunction([fm.Next(arg, k), *(case.holds() for case in cases)])

    def _interval_cases(self, part: fm.Eventually | fm.Always) -> list[_Case]:
        """From where on the trace an interval reaches into each run of the future."""
        runs = self._future.runs(part.arg)
        return [_Case(part.low - run.end, minus(part.high, run.start), run.guard) for run in runs]

    def _until_cases(
        self, part: fm.Until | fm.Release, join: Callable[[Sequence[Formula]], Formula]
    ) -> Iterable[_Case]:
        """List the places after the end of the trace where an until may be met, or a release missed."""
        so_far: Formula = fm.TRUE if join is conjunction else fm.FALSE  # the first operand, over all positions before
        for start, end, (first, second) in self._future.together(part.args):
            yield _Case(part.low - start, minus(part.high, start), join([so_far, second]))
            so_far = join([so_far, first])
            if end > start:
                yield _Case(part.low - end, minus(part.high, start + 1), join([so_far, second]))


class _Case(NamedTuple):
    """Positions between `low` and `high` steps before the end, and what has to hold at the end."""

    low: int
    high: int | None
    guard: Formula

    def holds(self) -> Formula:
        """The position is one of these, and the guard holds."""
        if self.high is not None and self.high < max(self.low, 0):
            return fm.FALSE
        at_least = fm.TRUE if self.low <= 0 else fm.Next(fm.TRUE, self.low)
        at_most = fm.TRUE if self.high is None else fm.WeakNext(fm.FALSE, self.high + 1)
        return conjunction([at_least, at_most, _now(self.guard)])

    def holds_or_passes(self) -> Formula:
        """The position is none of these, or the guard holds."""
        if self.high is not None and self.high < max(self.low, 0):
            return fm.TRUE
        nearer = fm.FALSE if self.low <= 0 else fm.WeakNext(fm.FALSE, self.low)
        farther = fm.FALSE if self.high is None else fm.Next(fm.TRUE, self.high + 1)
        return disjunction([nearer, farther, _now(self.guard)])


def _cover(cases: Sequence[_Case], count: int) -> bool:
    """Return whether the cases include every distance from 0 up to `count`, excluded."""
    reached = 0
    for case in sorted(cases):
        if case.low <= reached and case.high is not None:
            reached = max(reached, case.high + 1)
    return reached >= count


def _now(guard: Formula) -> Formula:
    return guard if guard in (fm.TRUE, fm.FALSE) else fm.Eventually(fm.And(fm.LAST, guard))


def _at_least(count: int, formula: Formula) -> Formula:
    return fm.TRUE if count <= 0 else fm.AtLeastTimes(formula, count)
