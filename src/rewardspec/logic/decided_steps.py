"""The steps at which a record decides formulas: for each position, when the rows so far make it true or false.

A formula at a position is *decided* at a step if the rows up to there determine its truth, whatever rows follow or
whether any do. Decisions are found operator by operator, as in Kleene's logic with an unknown future. So a formula
that only its parts together contradict, such as `F a & G !a`, counts as undecided for as long as each part is.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardspec.errors import FormulaError
from rewardspec.logic.formulas import (
    Affine,
    AllButTimes,
    Always,
    And,
    AtLeastTimes,
    Atom,
    Constant,
    Formula,
    Historically,
    Not,
    Once,
    Or,
    Previous,
    Release,
    Shift,
    Since,
    StrongRelease,
    Timed,
    Trigger,
    WeakNext,
    WeakPrevious,
    WeakUntil,
)
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.operators import PAST, TEMPORAL

Steps: TypeAlias = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
"""The step of a decision that the record does not make."""
_ALWAYS_KNOWN = -1

_WEAK = (WeakNext, Always, Release, WeakPrevious, Historically, Trigger, AllButTimes)
_PAST = (Previous, WeakPrevious, Once, Historically, Since, Trigger)


class Decided(NamedTuple):
    """Decisions about a formula.

    Attributes:
        true: For each position the first step at which the formula is known to be true there, or `NEVER`; an integer
            array of shape (positions,).
        false: Likewise known to be false.
    """

    true: Steps
    false: Steps

    def swapped(self) -> Decided:
        """The decisions about the negation."""
        return Decided(self.false, self.true)

    def backwards(self) -> Decided:
        """The decisions from the last position to the first."""
        return Decided(self.true[::-1], self.false[::-1])


def decided_steps(formula: Formula, labels: Mapping[str, ArrayLike], ended: bool = False) -> Decided:
    """Find when the rows of a record decide a formula at each position.

    Args:
        formula: The formula.
        labels: The truth of each atom, Boolean arrays of shape (positions,).
        ended: Whether the record is known to end with its last row. Then every position is decided, as it is by the
            finite-trace semantics.

    Raises:
        FormulaError: The formula has a scale, a discount, or a constant between 0 and 1, and so is not true or false.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> decided = decided_steps(parse("F[0,2] a"), {"a": [0, 0, 0, 1, 0]})
        >>> [None if step == NEVER else int(step) for step in decided.true]
        [None, 3, 3, 3, None]
        >>> [None if step == NEVER else int(step) for step in decided.false]
        [2, None, None, None, None]
    """
    truths = {name: np.asarray(column, dtype=bool) for name, column in labels.items()}
    length = len(next(iter(truths.values())))
    here = np.arange(length)
    edge = _ALWAYS_KNOWN if ended else NEVER
    found: dict[Formula, Decided] = {}
    for part in to_nnf(formula).subformulas():  # operands first
        found[part] = _decided(part, [found[arg] for arg in part.args], truths, here, edge)
    return found[to_nnf(formula)]


class Reach(NamedTuple):
    """How many rows before and after a position its truth depends on; None for all of them."""

    back: int | None
    ahead: int | None


def reach(formula: Formula) -> Reach:
    """The reach of a formula.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> reach(parse("a -> F[0,30] Y b")), reach(parse("H[2,5] a & F b"))
        (Reach(back=1, ahead=30), Reach(back=5, ahead=None))
    """
    found: dict[Formula, Reach] = {}
    for part in formula.subformulas():
        back, ahead = (
            (
                None if any(far is None for far in each) else max((far for far in each if far is not None), default=0)
                for each in zip(*(found[arg] for arg in part.args), strict=True)
            )
            if part.args
            else (0, 0)
        )
        far: int | None = 0
        if isinstance(part, Shift):
            far = part.steps
        elif isinstance(part, Timed):
            far = part.high
        elif isinstance(part, TEMPORAL):
            far = None
        if isinstance(part, PAST):
            back = None if back is None or far is None else back + far
        else:
            ahead = None if ahead is None or far is None else ahead + far
        found[part] = Reach(back, ahead)
    return found[formula]


def _decided(
    part: Formula, args: list[Decided], truths: Mapping[str, NDArray[np.bool_]], here: Steps, edge: int
) -> Decided:
    match part:
        case Atom(name=name):
            return _known(truths[name], here)
        case Constant(value=0.0 | 1.0 as value):
            return _known(np.full(len(here), value == 1.0), here)
        case Not():
            return args[0].swapped()
        case And():
            return Decided(_greatest(a.true for a in args), _least(a.false for a in args))
        case Or():
            return Decided(_least(a.true for a in args), _greatest(a.false for a in args))
        case WeakUntil():  # a W b is b R (a | b)
            left, right = args
            either = Decided(np.minimum(left.true, right.true), np.maximum(left.false, right.false))
            return _until(right.swapped(), either.swapped(), 0, None, edge).swapped()
        case StrongRelease():  # a M b is b U (a & b)
            left, right = args
            both = Decided(np.maximum(left.true, right.true), np.minimum(left.false, right.false))
            return _until(right, both, 0, None, edge)
    if isinstance(part, Affine | Constant) or (isinstance(part, Timed) and part.discount != 1.0):
        raise FormulaError(
            f"`{part}` is neither true nor false, but a degree. Leave scales and discounts out of rules "
            "whose violations are listed."
        )
    return _timed(part, args, here, edge)


def _timed(part: Formula, args: list[Decided], here: Steps, edge: int) -> Decided:
    """An operator of time: a weak one by its dual, and one of the past as one of the future, backwards."""
    weak, past = isinstance(part, _WEAK), isinstance(part, _PAST)
    args = [arg.swapped() if weak else arg for arg in args]
    args = [arg.backwards() if past else arg for arg in args]
    found = _strong(part, args, _ALWAYS_KNOWN if past else edge)
    found = found.backwards() if past else found
    found = Decided(np.maximum(found.true, here), np.maximum(found.false, here))
    return found.swapped() if weak else found


def _strong(part: Formula, args: list[Decided], edge: int) -> Decided:
    """An operator that is false past the end. Its falsehood there is known at the step `edge`."""
    arg = args[-1]
    if isinstance(part, Shift):
        # The next row has to be there, even where its label does not matter.
        return Decided(_ahead(arg.true, part.steps, NEVER), _ahead(arg.false, part.steps, edge))
    if isinstance(part, AtLeastTimes | AllButTimes):
        # `G{k}` allows k exceptions: it is false if `F{k+1}` of the negation is true.
        count = part.count + isinstance(part, AllButTimes)
        return _at_least(arg, count, edge)
    assert isinstance(part, Timed)
    if len(args) == 1:
        return Decided(
            _extreme(np.minimum, arg.true, part.low, part.high, NEVER),
            _extreme(np.maximum, arg.false, part.low, part.high, edge),
        )
    return _until(args[0], arg, part.low, part.high, edge)


def _until(left: Decided, right: Decided, low: int, high: int | None, edge: int) -> Decided:
    length = len(left.true)
    never, known = np.full(length, NEVER), np.full(length, edge)
    if high is None:
        true, false = never.copy(), known.copy()
        after = (NEVER, edge)
        for i in range(length - 1, -1, -1):
            after = (
                min(int(right.true[i]), max(int(left.true[i]), after[0])),
                max(int(right.false[i]), min(int(left.false[i]), after[1])),
            )
            true[i], false[i] = after
    else:
        true, false = right.true, right.false
        for _ in range(min(high, length) - min(low, length)):
            true = np.minimum(right.true, np.maximum(left.true, _ahead(true, 1, NEVER)))
            false = np.maximum(right.false, np.minimum(left.false, _ahead(false, 1, edge)))
    for _ in range(min(low, length)):
        true = np.maximum(left.true, _ahead(true, 1, NEVER))
        false = np.minimum(left.false, _ahead(false, 1, edge))
    return Decided(true, false)


def _at_least(arg: Decided, count: int, edge: int) -> Decided:
    length = len(arg.true)
    true, false = np.full(length, NEVER), np.full(length, edge)
    smallest: list[int] = []  # the steps of the first decisions from here on
    for i in range(length - 1, -1, -1):
        bisect.insort(smallest, int(arg.true[i]))
        del smallest[count:]
        if len(smallest) == count:
            true[i] = smallest[-1]
    if edge != NEVER:
        false = np.where(true == NEVER, length - 1, NEVER)
    return Decided(true, false)


def _extreme(extremum: np.ufunc, column: Steps, low: int, high: int | None, beyond: int) -> Steps:
    """The smallest or largest of the positions from `low` to `high` ahead, where those past the end count `beyond`."""
    length = len(column)
    low = min(low, length)
    if high is None or high >= 2 * length:
        high = None
    if high is None:
        column = np.append(column, beyond)
        return _ahead(extremum.accumulate(column[::-1])[::-1][:length], low, beyond)
    width, reach = high - low + 1, 1
    column = np.concatenate([_ahead(column, low, beyond), np.full(width, beyond)])
    while 2 * reach <= width:  # by doubling: each entry covers `reach` positions
        column = extremum(column, _ahead(column, reach, beyond))
        reach *= 2
    found: Steps = extremum(column, _ahead(column, width - reach, beyond))[:length]
    return found


def _known(truth: NDArray[np.bool_], here: Steps) -> Decided:
    return Decided(np.where(truth, here, NEVER), np.where(truth, NEVER, here))


def _ahead(column: Steps, steps: int, beyond: int) -> Steps:
    steps = min(steps, len(column))
    return np.concatenate([column[steps:], np.full(steps, beyond, dtype=np.int64)])


def _least(columns: Iterable[Steps]) -> Steps:
    return functools.reduce(np.minimum, columns)


def _greatest(columns: Iterable[Steps]) -> Steps:
    return functools.reduce(np.maximum, columns)
