"""Violations of rules in a record: every place at which what stands under the outermost `G` is broken.

`find_violations` lists them in a record that is there as a whole, `ViolationFinder` while one is being read. A rule
whose intervals all end is judged as the rows come. Of the rows it keeps as many as its intervals are long, and where a
violation has not recovered, the truth values since then. Any other rule, such as `G(a -> F b)`, keeps its columns and
is judged at the end.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardspec.errors import FormulaError
from rewardspec.logic.decided_steps import NEVER, decided_steps, reach
from rewardspec.logic.formulas import AllButTimes, Always, And, Eventually, Formula, FormulaLike, Not, Until, as_formula
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.quantifiers import Quantified
from rewardspec.logic.semantics import evaluate_positions

Truths: TypeAlias = NDArray[np.bool_]
Margins: TypeAlias = NDArray[np.float64]

CRISP = 1e300
"""The margin of what is only true or false: larger than any that is measured."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Consecutive steps at which a rule is broken.

    Attributes:
        step: The first of them, where the rule was triggered.
        last: The last of them.
        certain: The first step at which a row made one of them certain, whatever followed; None for what is still open
            at the end of the record, such as a deadline that lies behind it.
        amount: The largest amount by which comparisons were missed; None where only atoms without a margin decided, or
            where the violation is not certain.
        recovered: The step at which what was owed came late; where nothing can come late, the first step after `last`.
            None if the record ends before, if the rule is not about that step, and where steps are counted.
    """

    step: int
    last: int
    certain: int | None
    amount: float | None
    recovered: int | None


def find_violations(
    rule: FormulaLike,
    truths: Mapping[str, ArrayLike],
    margins: Mapping[str, Sequence[float]] | None = None,
    complete: bool = False,
) -> list[Violation]:
    """List the violations of a rule in a record.

    A rule `G φ` is broken at each step at which φ is false; consecutive such steps are one violation. In `G φ & G ψ`
    each conjunct is a rule of its own, and `G[a,b] φ` is about the steps from a to b. `G{k} φ` is broken at each step
    at which φ is false but the first k of these. Any other formula is about the first step alone.

    Args:
        rule: The formula or its text.
        truths: The truth of each atom, Boolean arrays of shape (steps,).
        margins: For each atom the margin by which it holds, negative where it does not; ±`CRISP` where there is none.
        complete: Whether nothing follows the record, so that nothing is open at its end.

    Raises:
        FormulaError: The rule has a quantifier, a scale, or a discount.

    Example:
        >>> record = {"alarm": [0, 1, 0, 0, 0, 1, 0], "closed": [0, 0, 0, 0, 1, 0, 0]}
        >>> for violation in find_violations("G(alarm -> F[0,2] closed)", record):
        ...     print(violation)
        Violation(step=1, last=1, certain=3, amount=None, recovered=4)
        Violation(step=5, last=5, certain=None, amount=None, recovered=None)
    """
    finder = ViolationFinder(rule)
    finder.feed(
        {name: np.asarray(column, dtype=bool) for name, column in truths.items()},
        None if margins is None else {name: np.asarray(column, dtype=float) for name, column in margins.items()},
    )
    finder.finish(complete)
    return finder.violations()


class ViolationFinder:
    """The violations of a rule in a record that is being read.

    About as many rows are judged together as `rows_at_once` says. More are quicker and need more memory.

    Example:
        >>> finder = ViolationFinder("G(alarm -> F[0,2] closed)", rows_at_once=1)
        >>> for alarm, closed in [(0, 0), (1, 0), (0, 0), (0, 0), (0, 1)]:
        ...     changed = finder.feed({"alarm": np.array([alarm == 1]), "closed": np.array([closed == 1])})
        >>> changed = finder.finish()
        >>> finder.violations()
        [Violation(step=1, last=1, certain=3, amount=None, recovered=4)]
    """

    def __init__(self, rule: FormulaLike, rows_at_once: int = 1 << 14) -> None:
        rule = as_formula(rule)
        self.atoms = rule.atoms
        self._parts = [_PartFinder(part, rows_at_once) for part in rule_parts(rule)]

    @property
    def settled(self) -> int:
        """The number of steps, from the first, that are judged.

        What `feed` returns later names no step before the last of them, but for steps that it named before.
        """
        return min(part.settled for part in self._parts)

    def feed(self, truths: Mapping[str, Truths], margins: Mapping[str, Margins] | None = None) -> list[Violation]:
        """Take further rows, as for `find_violations`, and return the violations that are new or changed."""
        return [violation for part in self._parts for violation in part.feed(truths, margins)]

    def finish(self, complete: bool = False) -> list[Violation]:
        """End the record, and return the violations that are new or changed; `complete` as for `find_violations`."""
        return [violation for part in self._parts for violation in part.finish(complete)]

    def violations(self) -> list[Violation]:
        """All violations so far, in the order of their first steps."""
        found = (violation for part in self._parts for violation in part.found.values())
        return sorted(found, key=lambda violation: violation.step)


class RulePart(NamedTuple):
    """What a rule says of single steps.

    Attributes:
        formula: What should hold at each of them.
        low: The first of them.
        high: The last of them; None where there is none.
        allowed: At how many of them it may be false.
    """

    formula: Formula
    low: int = 0
    high: int | None = 0
    allowed: int = 0


def rule_parts(rule: Formula) -> Iterator[RulePart]:
    """What a rule says of single steps.

    Example:
        >>> list(rule_parts(as_formula("G[2,] a & b")))[0]
        RulePart(formula=parse('a'), low=2, high=None, allowed=0)
    """
    match rule:
        case Quantified():
            raise FormulaError(f"The violations of a rule about many things cannot be listed: `{rule}`.")
        case Not():
            normal = to_nnf(rule)
            yield from [RulePart(normal)] if isinstance(normal, Not) else rule_parts(normal)
        case And():
            for arg in rule.args:
                yield from rule_parts(arg)
        case Always(args=(inner,), discount=1.0):
            yield RulePart(inner, rule.low, rule.high)
        case AllButTimes(args=(inner,)):
            yield RulePart(inner, high=None, allowed=rule.count)
        case _:
            yield RulePart(rule)


class _Rows:
    """The columns of the rows that are still needed; `base` is the number of the first."""

    def __init__(self) -> None:
        self.base = 0
        self._blocks: list[Mapping[str, NDArray[Any]]] = []

    def append(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Add rows."""
        self._blocks.append(columns)

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """All rows that are kept."""
        if len(self._blocks) > 1:
            names = self._blocks[0]
            self._blocks = [{name: np.concatenate([block[name] for block in self._blocks]) for name in names}]
        return self._blocks[0]

    def drop(self, step: int) -> None:
        """Leave out the rows before a step."""
        count = step - self.base
        if count > 0 and self._blocks:
            # Copies, so that the whole arrays are not kept for the sake of a few rows.
            self._blocks = [{name: column[count:].copy() for name, column in self.columns().items()}]
            self.base = step


class _PartFinder:
    """The violations of one part of a rule."""

    def __init__(self, rule: RulePart, rows_at_once: int) -> None:
        self.found: dict[int, Violation] = {}  # by their first steps
        self.settled = 0
        part = rule.formula
        self._part, self._rule = part, rule
        self._earliest: list[int] = []  # of the false steps, the first `allowed` decisions, negative: a heap
        self._names = part.atoms
        self._late = _without_deadlines(to_nnf(part))
        self._reach = reach(part)
        self._at_once = rows_at_once
        self._truths, self._margins = _Rows(), _Rows()
        self._measured = False
        self._length = 0
        self._run: Violation | None = None  # the violation that lasts
        self._waiting: list[Violation] = []  # those that are over, and have not recovered
        decided_steps(part, {name: [False] for name in self._names or ("",)})  # says what is neither true nor false

    def feed(self, truths: Mapping[str, Truths], margins: Mapping[str, Margins] | None) -> list[Violation]:
        names = self._names or tuple(truths)[:1]  # a rule without atoms needs to know the number of rows
        rows = len(next(iter(truths.values())))
        self._truths.append({name: truths[name] for name in names})
        if margins is not None:
            self._measured = True
            self._margins.append({name: margins[name] for name in names})
        before, self._length = self._length, self._length + rows
        back, ahead = self._reach
        if back is None or ahead is None or not rows:
            return []
        # As many rows as are kept have to come before these are looked at again, so that each is looked at seldom.
        kept = before - self._truths.base
        if self._length - ahead - self.settled < max(self._at_once, kept - ahead - back):
            return []
        changed = self._settle(self._length - ahead, ended=False)
        self._margins.drop(self.settled - back)
        recovering = [violation.last for violation in (*self._waiting, self._run) if violation is not None]
        self._truths.drop(min([self.settled, *recovering]) - back)
        return changed

    def finish(self, complete: bool) -> list[Violation]:
        return self._settle(self._length, ended=True, complete=complete) if self._length else []

    def _settle(self, stop: int, ended: bool, complete: bool = False) -> list[Violation]:
        """Judge the steps before `stop`."""
        base, columns = self._truths.base, self._truths.columns()
        false = _absolute(decided_steps(self._part, columns).false, base)[self.settled - base : stop - base]
        broken = decided_steps(self._part, columns, ended=True).false[self.settled - base : stop - base] != NEVER
        first = self.settled
        broken[: max(0, min(self._rule.low - first, len(broken)))] = False
        if self._rule.high is not None:
            broken[max(0, self._rule.high + 1 - first) :] = False
        if complete:
            false[false == NEVER] = self._length - 1
        if self._rule.allowed:
            self._count(broken, false)
        changed: dict[int, Violation] = {}
        edges = np.flatnonzero(np.diff(np.concatenate([[False], broken, [False]]).astype(np.int8))).tolist()
        runs = list(zip(edges[::2], edges[1::2], strict=True))
        if self._run is not None and not (runs and runs[0][0] == 0) and len(broken):
            self._end(self._run)
        values = self._values(first, runs)
        for start, end in runs:
            known = false[start:end]
            certain = int(known.min())
            amount = None
            if values is not None and certain != NEVER:
                measured = values[start:end][known != NEVER]
                measured = measured[np.abs(measured) < CRISP]
                amount = 0.0 - float(measured.min()) if len(measured) else None
            new = Violation(first + start, first + end - 1, None if certain == NEVER else certain, amount, None)
            run = new if self._run is None else _joined(self._run, new)
            self._run = changed[run.step] = run
            if end < len(broken) or ended:
                self._end(run)
        self.settled = stop
        changed |= self._recover(columns, base, ended)
        self.found |= changed
        return list(changed.values())

    def _count(self, broken: Truths, false: NDArray[np.int64]) -> None:
        """Remove the steps that the count allows.

        A further step is certain once it and as many earlier steps as are allowed are known to be false.
        """
        for step in np.flatnonzero(broken).tolist():
            known = int(false[step])
            if len(self._earliest) < self._rule.allowed:
                heapq.heappush(self._earliest, -known)
                broken[step] = False
            else:
                false[step] = max(known, -self._earliest[0])
                heapq.heappushpop(self._earliest, -known)

    def _end(self, run: Violation) -> None:
        self._waiting.append(run)
        self._run = None

    def _recover(self, columns: Mapping[str, Truths], base: int, ended: bool) -> dict[int, Violation]:
        """The violations that have recovered by now."""
        if not self._waiting:
            return {}
        length = base + len(next(iter(columns.values())))
        late = decided_steps(self._late, columns)
        changed, waiting = {}, []
        for violation in self._waiting:
            place, recovered = violation.last - base, None
            if late.true[place] != NEVER:
                recovered = int(late.true[place]) + base
            elif late.false[place] != NEVER:
                if self._rule.allowed or violation.last == self._rule.high:
                    continue  # for good
                recovered = violation.last + 1 if violation.last + 1 < length else None
            if recovered is not None:
                changed[violation.step] = replace(violation, recovered=recovered)
            elif not ended:
                waiting.append(violation)
        self._waiting = waiting
        return changed

    def _values(self, first: int, runs: Sequence[tuple[int, int]]) -> Margins | None:
        """The margins of the steps that are broken, by their distance from `first`; computed only near these."""
        if not self._measured or not runs:
            return None
        base, columns = self._margins.base, self._margins.columns()
        length = base + len(next(iter(columns.values())))
        back, ahead = (length if reach is None else reach for reach in self._reach)
        values = np.full(runs[-1][1], np.nan)
        for start, end in _merged(runs, back + ahead):
            low, high = max(base, first + start - back), min(length, first + end + ahead)
            near = {name: column[low - base : high - base].tolist() for name, column in columns.items()}
            found = evaluate_positions(self._part, near, semantics="robustness")
            values[start:end] = found[first + start - low : first + end - low]
        return values


def _joined(one: Violation, other: Violation) -> Violation:
    """A violation and the rest of it."""
    certain = [step for step in (one.certain, other.certain) if step is not None]
    amounts = [amount for amount in (one.amount, other.amount) if amount is not None]
    return Violation(one.step, other.last, min(certain, default=None), max(amounts, default=None), None)


def _merged(runs: Sequence[tuple[int, int]], distance: int) -> list[tuple[int, int]]:
    """Runs, with those as one that are no farther apart than a distance.

    Example:
        >>> _merged([(0, 2), (3, 4), (9, 10)], 2)
        [(0, 4), (9, 10)]
    """
    merged = [runs[0]]
    for start, end in runs[1:]:
        if start - merged[-1][1] <= distance:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged


def _absolute(steps: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    return np.where(steps == NEVER, NEVER, steps + base)


def _without_deadlines(formula: Formula) -> Formula:
    """A formula in negation normal form without the upper bounds of `F` and `U`: what was owed may come late."""
    made: dict[Formula, Formula] = {}
    for part in formula.subformulas():
        args = [made[arg] for arg in part.args]
        match part:
            case Eventually():
                made[part] = Eventually(args[0], part.low, None, part.discount)
            case Until():
                made[part] = Until(args[0], args[1], part.low, None, part.discount)
            case _:
                made[part] = part.rebuild(*args) if args else part
    return made[formula]
