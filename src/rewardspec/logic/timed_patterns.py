"""Patterns about time: deadlines, durations, counts and the recent past, with soft versions of each.

Steps are counted from the current one, which is step 0: within 5 steps is now, or at one of the next five.  A soft
pattern gives part of the value where it is missed by a little, as Frigeri, Pasquale and Spoletini (2012) propose; the
bounded ones follow the real-time patterns of Konrad and Cheng (2005).

A pattern of the recent past (`recently`, `for_the_last`) says something of each step, so it stands inside others:
`G(open -> O[0,5] key)`.  `now` makes it a formula for the current step of an episode.
"""

from __future__ import annotations

from rewardspec.errors import FormulaError
from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula, FormulaLike, as_formula, whole_number

# Deadlines.


def within(event: FormulaLike, steps: int, late: int = 0, discount: float = 0.8) -> Formula:
    """The event happens within `steps` steps.

    Args:
        event: What should happen.
        steps: The deadline.
        late: How many steps after the deadline still count for something.
        discount: What each step after the deadline multiplies the value by.

    Example:
        >>> within("goal", 20), within("goal", 20, late=5, discount=0.9)
        (parse('F[0,20] goal'), parse('F[0,20] goal | X[20] F[0,5;0.9] goal'))
    """
    in_time = fm.Eventually(event, 0, steps)
    if whole_number("late", late, smallest=0) == 0:
        return in_time
    overdue = fm.Eventually(event, 0, late, discount)
    return in_time | (fm.Next(overdue, steps) if steps else overdue)


def soon(event: FormulaLike, steps: int | None = None, discount: float = 0.9) -> Formula:
    """The event happens, and is worth less with each step that passes before it.

    Args:
        event: What should happen.
        steps: The last step at which it counts; None for any. Without a bound, such a formula is monitored at the top
            of a formula or in a conjunction there.
        discount: What each step multiplies the value by.

    Example:
        >>> soon("goal"), soon("goal", 50, 0.95)
        (parse('F[;0.9] goal'), parse('F[0,50;0.95] goal'))
    """
    return fm.Eventually(event, 0, steps, discount)


def not_before(event: FormulaLike, steps: int) -> Formula:
    """The event does not happen before `steps` steps have passed.

    Example:
        >>> not_before("leave", 10)
        parse('G[0,9] !leave')
    """
    return fm.Always(~as_formula(event), 0, whole_number("steps", steps, smallest=1) - 1)


def response_within(cause: FormulaLike, effect: FormulaLike, steps: int, discount: float = 1.0) -> Formula:
    """Whenever the cause happens, the effect happens within `steps` steps.

    An effect that is still due when the episode ends counts as missed; `G(cause -> F[0,20] effect | WX[20] false)`
    forgives it.

    Args:
        cause: What asks for the effect.
        effect: What should follow.
        steps: The deadline, from each cause on.
        discount: What each step of waiting multiplies the value by.

    Example:
        >>> response_within("request", "grant", 20)
        parse('G(request -> F[0,20] grant)')
    """
    return fm.Always(as_formula(cause) >> fm.Eventually(effect, 0, steps, discount))


def precedence_within(cause: FormulaLike, effect: FormulaLike, steps: int) -> Formula:
    """The effect happens only if the cause happened at that step or at most `steps` steps before.

    Example:
        >>> precedence_within("key", "open", 5)
        parse('G(open -> O[0,5] key)')
    """
    return fm.Always(as_formula(effect) >> fm.Once(cause, 0, steps))


def recurrence_within(event: FormulaLike, steps: int) -> Formula:
    """The event happens again and again: at most `steps` steps pass without it.

    Example:
        >>> recurrence_within("charged", 100)
        parse('G(O[0,100] charged | WY[100] false)')
    """
    return fm.Always(fm.Once(event, 0, steps) | _too_early(steps))


# Durations.


def lasts(condition: FormulaLike, steps: int, short_by: int = 0, discount: float = 0.8) -> Formula:
    """The condition holds now and at the next `steps` steps, or up to the end of the episode.

    Args:
        condition: What should hold.
        steps: For how many steps after the current one.
        short_by: How many of the last steps may be missing.
        discount: What each missing step multiplies the value by.

    Example:
        >>> lasts("upright", 5), lasts("upright", 5, short_by=1, discount=0.5)
        (parse('G[0,5] upright'), parse('G[0,5] upright | 0.5 * G[0,4] upright'))
    """
    condition = as_formula(condition)
    if whole_number("short_by", short_by, smallest=0) > whole_number("steps", steps, smallest=0):
        raise FormulaError(f"`short_by` should be at most `steps`, which is {steps}. Received {short_by}.")
    return _at_a_price([fm.Always(condition, 0, steps - missing) for missing in range(short_by + 1)], discount)


def held_for(condition: FormulaLike, steps: int) -> Formula:
    """At some step, the condition holds and has held at each of the `steps` steps before, all in the episode.

    `lasts` is kept where the episode ends early, so that `reach(lasts(…))` pays for any step at which the condition
    holds.

    Example:
        >>> held_for("at_place", 20)
        parse('F(H[0,20] at_place & Y[20] true)')
    """
    whole_number("steps", steps, smallest=1)
    return fm.Eventually(fm.Historically(condition, 0, steps) & fm.Previous(fm.TRUE, steps))


def holds_for(cause: FormulaLike, condition: FormulaLike, steps: int) -> Formula:
    """Whenever the cause happens, the condition holds at that step and at the next `steps` steps.

    Example:
        >>> holds_for("alarm", "doors_open", 30)
        parse('G(alarm -> G[0,30] doors_open)')
    """
    return fm.Always(as_formula(cause) >> fm.Always(condition, 0, steps))


def absence_for(event: FormulaLike, steps: int, after: FormulaLike | None = None) -> Formula:
    """The event does not happen for `steps` steps, from the first step on or from each step where `after` happens.

    Example:
        >>> absence_for("move", 5), absence_for("move", 5, after="red_light")
        (parse('G[0,5] !move'), parse('G(red_light -> G[0,5] !move)'))
    """
    absent = fm.Always(~as_formula(event), 0, steps)
    return absent if after is None else fm.Always(as_formula(after) >> absent)


def minimum_duration(condition: FormulaLike, steps: int) -> Formula:
    """Whenever the condition begins to hold, it also holds at the next `steps` steps.

    Example:
        >>> minimum_duration("green", 10)
        parse('G(green & WY !green -> G[0,10] green)')
    """
    condition = as_formula(condition)
    return fm.Always((condition & fm.WeakPrevious(~condition)) >> fm.Always(condition, 0, steps))


def maximum_duration(condition: FormulaLike, steps: int) -> Formula:
    """The condition holds for at most `steps` steps in a row.

    Example:
        >>> maximum_duration("hot", 10)
        parse('G(O[0,10] !hot | WY[10] false)')
    """
    return fm.Always(fm.Once(~as_formula(condition), 0, steps) | _too_early(steps))


# Counts.


def at_least(event: FormulaLike, times: int) -> Formula:
    """The event happens at `times` steps or more.

    Example:
        >>> at_least("delivery", 3)
        parse('F{3} delivery')
    """
    return fm.AtLeastTimes(event, times)


def at_most(event: FormulaLike, times: int) -> Formula:
    """The event happens at `times` steps or fewer.

    Example:
        >>> at_most("retry", 2)
        parse('G{2} !retry')
    """
    return fm.AllButTimes(~as_formula(event), times)


def exactly(event: FormulaLike, times: int) -> Formula:
    """The event happens at exactly `times` steps.

    Example:
        >>> exactly("press", 2)
        parse('F{2} press & G{2} !press')
    """
    return at_least(event, times) & at_most(event, times)


def all_but(condition: FormulaLike, exceptions: int) -> Formula:
    """The condition holds at all steps except at most `exceptions`.

    Example:
        >>> all_but("on_road", 3)
        parse('G{3} on_road')
    """
    return fm.AllButTimes(condition, exceptions)


def nearly_always(condition: FormulaLike, exceptions: int = 3, discount: float = 0.8) -> Formula:
    """The condition holds at every step but a few, each of which costs part of the value.

    Args:
        condition: What should hold.
        exceptions: At how many steps it may fail.
        discount: What each such step multiplies the value by.

    Example:
        >>> nearly_always("on_road", 2, 0.5)
        parse('G on_road | 0.5 * G{1} on_road | 0.25 * G{2} on_road')
    """
    condition = as_formula(condition)
    most = whole_number("exceptions", exceptions, smallest=0)
    fewer = (fm.AllButTimes(condition, count) for count in range(1, most + 1))
    return _at_a_price([fm.Always(condition), *fewer], discount)


# The recent past.


def recently(event: FormulaLike, steps: int, discount: float = 1.0) -> Formula:
    """The event happened at the current step or at most `steps` steps before.

    Args:
        event: What should have happened.
        steps: How many steps back to look.
        discount: What each step back multiplies the value by.

    Example:
        >>> recently("key", 5), recently("key", 20, 0.9)
        (parse('O[0,5] key'), parse('O[0,20;0.9] key'))
    """
    return fm.Once(event, 0, steps, discount)


def for_the_last(condition: FormulaLike, steps: int) -> Formula:
    """The condition has held at the current step and the `steps` steps before, or from the start.

    Example:
        >>> for_the_last("quiet", 5)
        parse('H[0,5] quiet')
    """
    return fm.Historically(condition, 0, steps)


def _too_early(steps: int) -> Formula:
    """Fewer than so many steps have passed."""
    return fm.WeakPrevious(fm.FALSE, steps)


def _at_a_price(choices: list[Formula], discount: float) -> Formula:
    """The best of the choices, each after the first worth a factor less than the one before."""
    first, *others = choices
    # Rounded, so that 0.8 * 0.8 reads as 0.64.
    prices = (float(f"{discount**place:.12g}") for place in range(1, len(choices)))
    return fm.Or(first, *(fm.Affine(choice, price) for choice, price in zip(others, prices, strict=True)))
