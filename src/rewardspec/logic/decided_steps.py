"""The steps at which a record decides formulas: for each position, when the rows so far make it true or false.

A formula at a position is *decided* at a step if the rows up to there determine its truth, whatever rows follow or
whether any do. Decisions are found operator by operator, as in Kleene's logic with an unknown future. So a formula
that only its parts together contradict, such as `F a & G !a`, counts as undecided for as long as each part is.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardspec.errors import FormulaError
from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula
from rewardspec.logic.normal_form import negate, to_nnf
from rewardspec.logic.operators import PAST, TEMPORAL

Steps: TypeAlias = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
"""The step of a decision that the record does not make."""
_ALWAYS_KNOWN = -1

# Operators that are false past the end, or before the start.
_STRONG = (fm.Next, fm.Eventually, fm.Until, fm.StrongRelease, fm.AtLeastTimes, fm.Previous, fm.Once, fm.Since)


class Decided(NamedTuple):
    """Decisions about a formula.

    Attributes:
        true: For each position the first step at which the formula is known to be true there, or `NEVER`; an integer
            array of shape (positions,).
        false: Likewise known to be false.
    """

    true: Steps
    false: Steps


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
    normal = to_nnf(formula)
    for part in normal.subformulas():
        fraction = isinstance(part, fm.Constant) and part.value not in (0.0, 1.0)
        if fraction or isinstance(part, fm.Affine) or (isinstance(part, fm.Timed) and part.discount != 1.0):
            raise FormulaError(
                f"`{part}` is neither true nor false, but a degree. Leave scales and discounts out of rules "
                "whose violations are listed."
            )
    return Decided(_true_steps(normal, truths, ended), _true_steps(negate(formula), truths, ended))


class Reach(NamedTuple):
    """The rows before and after a position that its truth depends on, counted; None for all of them."""

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
        back = _farthest([found[arg].back for arg in part.args])
        ahead = _farthest([found[arg].ahead for arg in part.args])
        far: int | None = 0
        if isinstance(part, fm.Shift):
            far = part.steps
        elif isinstance(part, fm.Timed):
            far = part.high
        elif isinstance(part, TEMPORAL):
            far = None
        if isinstance(part, PAST):
            back = None if back is None or far is None else back + far
        else:
            ahead = None if ahead is None or far is None else ahead + far
        found[part] = Reach(back, ahead)
    return found[formula]


def _farthest(steps: Sequence[int | None]) -> int | None:
    return max((far for far in steps if far is not None), default=0) if None not in steps else None


def _true_steps(formula: Formula, truths: Mapping[str, NDArray[np.bool_]], ended: bool) -> Steps:
    """For each position the first step at which a formula in normal form is known to be true there."""
    here: Steps = np.arange(len(next(iter(truths.values()))))
    found: dict[Formula, Steps] = {}
    for part in formula.subformulas():  # operands first
        args = [found[arg] for arg in part.args]
        match part:
            case fm.Atom(name=name):
                found[part] = np.where(truths[name], here, NEVER)
            case fm.Not(args=(fm.Atom(name=name),)):
                found[part] = np.where(truths[name], NEVER, here)
            case fm.Constant():
                found[part] = here if part.value else np.full(len(here), NEVER)
            case fm.And():
                found[part] = functools.reduce(np.maximum, args)
            case fm.Or():
                found[part] = functools.reduce(np.minimum, args)
            case _ if isinstance(part, PAST):  # as an operator of the future, backwards; nothing is before the start
                backwards = _of_the_future(part, [arg[::-1] for arg in args], ended=True)
                found[part] = np.maximum(backwards[::-1], here)
            case _:
                found[part] = np.maximum(_of_the_future(part, args, ended), here)
    return found[formula]


def _of_the_future(part: Formula, args: Sequence[Steps], ended: bool) -> Steps:
    """An operator of time. Past the end a strong one is false, and a weak one true, if the end is known."""
    strong = isinstance(part, _STRONG)
    beyond = NEVER if strong else _ALWAYS_KNOWN if ended else NEVER
    best, worst = (np.minimum, np.maximum) if strong else (np.maximum, np.minimum)
    match part:
        case fm.Shift():  # the next row has to be there, even where its label does not matter
            return _ahead(args[0], part.steps, beyond)
        case fm.TimedUnary():
            return _extreme(best, args[0], part.low, part.high, beyond)
        case fm.TimedBinary():
            return _until(best, worst, args[0], args[1], part.low, part.high, beyond)
        case fm.WeakUntil() | fm.StrongRelease():  # a W b is b R (a | b), and a M b is b U (a & b)
            return _until(best, worst, args[1], worst(*args), 0, None, beyond)
        case fm.AtLeastTimes():
            return _at_least(args[0], part.count)
    assert isinstance(part, fm.AllButTimes)
    failures = np.cumsum(args[0][::-1] == NEVER)[::-1]
    return np.where(ended & (failures <= part.count), len(failures) - 1, NEVER)


def _until(
    best: np.ufunc, worst: np.ufunc, left: Steps, right: Steps, low: int, high: int | None, beyond: int
) -> Steps:
    length = len(left)
    if high is None:
        pick, other = (min, max) if best is np.minimum else (max, min)
        after, steps = beyond, []
        for now_left, now_right in zip(left[::-1].tolist(), right[::-1].tolist(), strict=True):
            after = pick(now_right, other(now_left, after))
            steps.append(after)
        found = np.array(steps[::-1], dtype=np.int64)
    else:
        found = right
        for _ in range(min(high, length) - min(low, length)):
            found = best(right, worst(left, _ahead(found, 1, beyond)))
    for _ in range(min(low, length)):
        found = worst(left, _ahead(found, 1, beyond))
    return found


def _at_least(column: Steps, count: int) -> Steps:
    found = np.full(len(column), NEVER)
    smallest: list[int] = []  # the steps of the first decisions from here on
    for i in range(len(column) - 1, -1, -1):
        bisect.insort(smallest, int(column[i]))
        del smallest[count:]
        if len(smallest) == count:
            found[i] = smallest[-1]
    return found


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


def _ahead(column: Steps, steps: int, beyond: int) -> Steps:
    steps = min(steps, len(column))
    return np.concatenate([column[steps:], np.full(steps, beyond, dtype=np.int64)])
