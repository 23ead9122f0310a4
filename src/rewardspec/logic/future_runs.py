"""At which future positions a formula holds, where every literal does.

A trace is followed by a number of positions at which every literal is true. There a formula is true, false, or says
something about the past, which is known at the last position n of the trace. `FutureRuns` finds out which, in runs of
positions at which it is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula

_MOST_RUNS = 24  # different cases of one subformula at future positions
_MOST_PAST = 100  # future positions at which a formula about the past is looked at one by one


class TooManyRunsError(Exception):
    """A subformula differs at too many future positions."""


class Run(NamedTuple):
    """The future positions n + start, …, n + end, where a subformula holds if `guard` holds at n."""

    start: int
    end: int
    guard: Formula


class FutureRuns:
    """The positions that follow a trace, with every literal true.

    Args:
        steps: How many there are; at least 1.
        everything: Take every subformula as true at every one of them.
    """

    def __init__(self, steps: int, everything: bool = False) -> None:
        self.steps = steps
        self._everything = everything
        self._runs: dict[Formula, list[Run] | None] = {}  # None where there are too many

    def is_certain(self, formula: Formula) -> bool:
        """Return whether a formula is known to hold at every future position."""
        try:
            return self.runs(formula) == self._constant(fm.TRUE)
        except TooManyRunsError:
            return False

    def runs(self, formula: Formula) -> list[Run]:
        """At which future positions a formula holds, given what is known at the end of the trace."""
        if self._everything:
            return self._constant(fm.TRUE)
        for part in formula.subformulas():
            if part not in self._runs:
                try:
                    self._runs[part] = self._part_ahead(part)
                except TooManyRunsError:
                    self._runs[part] = None
        found = self._runs[formula]
        if found is None:
            raise TooManyRunsError
        return found

    def _constant(self, guard: Formula) -> list[Run]:
        return [Run(1, self.steps, guard)]

    def _part_ahead(self, part: Formula) -> list[Run]:
        match part:
            case fm.Constant():
                return self._constant(part)
            case fm.Atom() | fm.Not():
                return self._constant(fm.TRUE)
            case fm.And() | fm.Or():
                join, decides = (conjunction, fm.FALSE) if isinstance(part, fm.And) else (disjunction, fm.TRUE)
                if any(self._runs[arg] == self._constant(decides) for arg in part.args):
                    return self._constant(decides)
                return self._merged((a, b, join(guards)) for a, b, guards in self.together(part.args))
            case fm.Next() | fm.WeakNext():
                beyond = fm.TRUE if isinstance(part, fm.WeakNext) else fm.FALSE
                edges = [run.start - part.steps for run in self.runs(part.arg)] + [self.steps - part.steps + 1]
                return self._at(edges, lambda s: self._guard(part.arg, s + part.steps, beyond))
            case fm.Eventually() | fm.Always():
                join = disjunction if isinstance(part, fm.Eventually) else conjunction
                return self._at(self._edges(part), lambda s: join(self._window(part, s)))
            case fm.Until():
                return self._at(self._edges(part), lambda s: disjunction(list(self._until_at(part, s, conjunction))))
            case fm.Release():
                return self._at(self._edges(part), lambda s: conjunction(list(self._until_at(part, s, disjunction))))
            case fm.AtLeastTimes():
                edges = self._count_edges(part)
                return self._at(edges, lambda s: disjunction([g for c, g in self.tally(part, s) if c >= part.count]))
            case fm.AllButTimes():
                edges = self._count_edges(part)
                return self._at(edges, lambda s: disjunction([g for c, g in self.tally(part, s) if c <= part.count]))
        if (
            isinstance(part, fm.Once | fm.Since)
            and part.low == 0
            and self.runs(part.args[-1]) == self._constant(fm.TRUE)
        ):
            return self._constant(fm.TRUE)
        known = min(horizon(part), self.steps)  # after so many steps nothing changes
        if known > _MOST_PAST:
            raise TooManyRunsError
        return self._at(range(1, known + 1), lambda s: self._past_at(part, s))

    def _at(self, edges: Iterable[int], guard: Callable[[int], Formula]) -> list[Run]:
        """The runs of a subformula whose guard can only change at the given positions."""
        starts = sorted({1, *(s for s in edges if 1 < s <= self.steps)})
        ends = [*(s - 1 for s in starts[1:]), self.steps]
        return self._merged((start, end, guard(start)) for start, end in zip(starts, ends, strict=True))

    @staticmethod
    def _merged(parts: Iterable[tuple[int, int, Formula]]) -> list[Run]:
        runs: list[Run] = []
        for start, end, guard in parts:
            if runs and runs[-1].guard == guard:
                runs[-1] = Run(runs[-1].start, end, guard)
            else:
                runs.append(Run(start, end, guard))
        if len(runs) > _MOST_RUNS:
            raise TooManyRunsError
        return runs

    def _guard(self, formula: Formula, s: int, beyond: Formula) -> Formula:
        return next((run.guard for run in self.runs(formula) if run.start <= s <= run.end), beyond)

    def together(self, formulas: Sequence[Formula]) -> list[tuple[int, int, list[Formula]]]:
        """Stretches of future positions with the guards of several formulas, first to last."""
        starts = sorted({run.start for formula in formulas for run in self.runs(formula)})
        ends = [*(s - 1 for s in starts[1:]), self.steps]
        return [
            (start, end, [self._guard(formula, start, fm.FALSE) for formula in formulas])
            for start, end in zip(starts, ends, strict=True)
        ]

    def _edges(self, part: fm.Timed) -> list[int]:
        """Positions at which the window of an operator begins or ends to see another stretch of its operands."""
        starts = [start for start, _, _ in self.together(part.args)] + [self.steps + 1]
        moves = {0, part.low, part.low - 1} | (set() if part.high is None else {part.high, part.high - 1})
        return [start - move for start in starts for move in moves]

    def _window(self, part: fm.Eventually | fm.Always, s: int) -> list[Formula]:
        first, last = s + part.low, self.steps if part.high is None else s + part.high
        return [run.guard for run in self.runs(part.arg) if run.start <= last and first <= run.end]

    def _until_at(
        self, part: fm.Until | fm.Release, s: int, join: Callable[[Sequence[Formula]], Formula]
    ) -> Iterator[Formula]:
        first, last = s + part.low, self.steps if part.high is None else s + part.high
        so_far: Formula = fm.TRUE if join is conjunction else fm.FALSE
        for start, end, (left, right) in self.together(part.args):
            start = max(start, s)
            if start > end:
                continue
            meeting = max(start, first)  # the earliest is the best
            if meeting <= min(end, last):
                yield join([so_far, right] if meeting == start else [so_far, left, right])
            so_far = join([so_far, left])

    def _count_edges(self, part: fm.Counted) -> list[int]:
        """Positions from which on there are too few left, or few enough, to change a count."""
        runs = self.runs(part.args[0])
        if any(run.guard not in (fm.TRUE, fm.FALSE) for run in runs):
            if self.steps > _MOST_PAST:
                raise TooManyRunsError
            return list(range(1, self.steps + 1))
        edges = []
        for counted in (fm.TRUE, fm.FALSE):
            total = 0  # going back from the end, where the count passes the threshold
            for run in reversed(runs):
                edges.append(run.start)
                if run.guard == counted:
                    for threshold in (part.count, part.count + 1):
                        if total < threshold <= total + run.end - run.start + 1:
                            place = run.end - (threshold - total) + 1
                            edges.extend([place, place + 1])
                    total += run.end - run.start + 1
        return edges

    def tally(self, part: fm.Counted, s: int) -> list[tuple[int, Formula]]:
        """Count the positions from n + s on that satisfy the operand of `F{k}`, with the case of each count, up to k.

        For `G{k}` those that may fail, with the case in which there are no more, up to k + 1.
        """
        negated = isinstance(part, fm.AllButTimes)
        most = part.count + negated
        # Guards are monotone statements, so that a run counts as satisfied only under its guard, and as failing
        # without one.
        tally: dict[int, Formula] = {0: fm.TRUE}
        for run in self.runs(part.args[0]):
            length = run.end - max(run.start, s) + 1
            if length <= 0:
                continue
            after: dict[int, list[Formula]] = {}
            for count, guard in tally.items():
                more = min(count + length, most)
                if negated:
                    after.setdefault(count, []).append(conjunction([guard, run.guard]))
                    after.setdefault(more, []).append(guard)
                else:
                    after.setdefault(more, []).append(conjunction([guard, run.guard]))
                    after.setdefault(count, []).append(guard)
            tally = {count: disjunction(guards) for count, guards in after.items()}
            tally = {count: guard for count, guard in tally.items() if guard != fm.FALSE}
            if len(tally) > _MOST_RUNS:
                raise TooManyRunsError
        return list(tally.items())

    # The past, at future positions.

    def _past_at(self, part: Formula, s: int) -> Formula:
        """Return the condition at the end of the trace for a past formula to hold s positions later."""
        args = part.args
        match part:
            case fm.Previous() | fm.WeakPrevious():
                k = part.steps
                if k < s:
                    return self._guard(args[0], s - k, fm.FALSE)
                return args[0] if k == s else type(part)(args[0], k - s)
            case fm.Once() | fm.Historically():
                join = disjunction if isinstance(part, fm.Once) else conjunction
                first, last = 1 if part.high is None else max(1, s - part.high), s - part.low
                ahead = [run.guard for run in self.runs(args[0]) if run.start <= last and first <= run.end]
                if part.high is None or part.high >= s:
                    ahead.append(type(part)(args[0], max(0, part.low - s), minus(part.high, s)))
                return join(ahead)
            case fm.Since() | fm.Trigger():
                join, other = (disjunction, conjunction) if isinstance(part, fm.Since) else (conjunction, disjunction)
                first, last = 1 if part.high is None else max(1, s - part.high), s - part.low
                ahead = []
                since: Formula = fm.TRUE if isinstance(part, fm.Since) else fm.FALSE
                for place in range(s, 0, -1):
                    if first <= place <= last:
                        ahead.append(other([since, self._guard(args[1], place, fm.FALSE)]))
                    since = other([since, self._guard(args[0], place, fm.FALSE)])
                if part.high is None or part.high >= s:
                    earlier = type(part)(args[0], args[1], max(0, part.low - s), minus(part.high, s))
                    ahead.append(other([since, earlier]))
                return join(ahead)
        raise AssertionError(f"not in normal form: {part}")


def horizon(formula: Formula) -> int:
    """A number of future steps beyond which one more changes nothing."""
    steps = 1
    for part in formula.subformulas():
        match part:
            case fm.Shift():
                steps += part.steps
            case fm.Timed():
                steps += 1 + max(part.low, part.high or 0)
            case fm.Counted():
                steps += 1 + part.count
    return steps


def minus(high: int | None, steps: int) -> int | None:
    """The end of an interval, so many steps nearer; None where it has none."""
    return None if high is None else high - steps


def conjunction(formulas: Sequence[Formula]) -> Formula:
    """`&` of any number of formulas, without constants."""
    kept = [formula for formula in dict.fromkeys(formulas) if formula != fm.TRUE]
    return fm.FALSE if fm.FALSE in kept else fm.And(*kept) if kept else fm.TRUE


def disjunction(formulas: Sequence[Formula]) -> Formula:
    """`|` of any number of formulas, without constants."""
    kept = [formula for formula in dict.fromkeys(formulas) if formula != fm.FALSE]
    return fm.TRUE if fm.TRUE in kept else fm.Or(*kept) if kept else fm.FALSE
