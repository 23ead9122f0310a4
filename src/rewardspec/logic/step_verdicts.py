"""Verdicts about each step, some steps later: a rule `G φ` as a formula of the past that a monitor can repeat.

The value of `G φ` stays 0 after the first violation. If φ looks at most d steps ahead, its value at a step is known d
steps later, and a formula of the past tells it there: `a -> F[0,2] b` becomes `Y[2] a -> O[0,2] b`.
"""

from __future__ import annotations

from typing import NamedTuple

from rewardspec.errors import FormulaError
from rewardspec.logic import formulas as fm
from rewardspec.logic.decided_steps import reach
from rewardspec.logic.formulas import Formula, FormulaLike, as_formula, now
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.operators import PAST


class Verdicts(NamedTuple):
    """A formula whose value after each step is that of a rule at an earlier step.

    Attributes:
        formula: The formula. In the first `delay` steps it is true.
        delay: How many steps earlier.
    """

    formula: Formula
    delay: int


def verdicts(rule: FormulaLike) -> Verdicts:
    """The verdicts of a rule `G φ` about single steps.

    Raises:
        FormulaError: The rule is no `G φ`, or φ has an `F`, `G` or `U` without an end, a discount, or `U` and its like.

    Example:
        >>> print(*verdicts("G(a -> F[0,2] b)"))
        now(!Y[2] true | Y[2] !a | O[0,2] b) 2
    """
    formula = to_nnf(as_formula(rule))
    if not isinstance(formula, fm.Always) or (formula.low, formula.high, formula.discount) != (0, None, 1.0):
        raise FormulaError(f"Verdicts about each step need a rule `G φ`. Received `{rule}`.")
    inner = formula.args[0]
    delay = reach(inner).ahead
    if delay is None:
        raise FormulaError(
            f"`{inner}` looks ahead without an end, so that a verdict may never come. Give each F, G and U inside the "
            "rule an end, as in F[0,30]."
        )
    past = _earlier(inner, delay)
    return Verdicts(now(past if delay == 0 else fm.Or(fm.Not(fm.Previous(fm.TRUE, delay)), past)), delay)


def _earlier(part: Formula, delay: int) -> Formula:
    """A formula of the past that is at each step what `part` is `delay` steps earlier, from step `delay` on."""
    match part:
        case fm.Atom() | fm.Constant() | fm.Not():
            return _shifted(part, delay)
        case fm.And() | fm.Or():
            return part.rebuild(*(_earlier(arg, delay) for arg in part.args))
        case fm.Next(args=(arg,), steps=steps) | fm.WeakNext(args=(arg,), steps=steps):
            return _earlier(arg, delay - steps)
        case fm.Eventually(args=(arg,), low=low, high=int(high), discount=1.0):
            return _window(fm.Once, arg, low, high, delay)
        case fm.Always(args=(arg,), low=low, high=int(high), discount=1.0):
            return _window(fm.Historically, arg, low, high, delay)
    if isinstance(part, PAST) and reach(part).ahead == 0 and not (isinstance(part, fm.Timed) and part.discount != 1.0):
        return _shifted(part, delay)
    raise FormulaError(f"Verdicts about each step know F, G and X inside a rule, and the past. Received `{part}`.")


def _window(kind: type[fm.Once] | type[fm.Historically], arg: Formula, low: int, high: int, delay: int) -> Formula:
    """An interval from `low` to `high` after the step that is `delay` ago."""
    ahead = reach(arg).ahead
    assert ahead is not None, "part of a formula whose reach has an end"
    # The operand is shifted as far as it has to be, and the window the rest of the way.
    rest = delay - high - ahead
    return kind(_earlier(arg, ahead), rest, rest + high - low)


def _shifted(part: Formula, delay: int) -> Formula:
    return fm.Previous(part, delay) if delay else part
