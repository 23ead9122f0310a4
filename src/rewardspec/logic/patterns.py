"""Specification patterns: by name, what people most often want to say.

    >>> response("request", "grant")
    parse('G(request -> F grant)')

**Property patterns**, after Dwyer, Avrunin and Corbett (1999).  Each takes a scope, the steps it speaks of:

    (none)                every step
    before=r              the steps before the first r
    after=q               the steps from the first q on
    between=(q, r)        from each q to just before the next r
    after=q, until=r      the same, or to the end where no r follows

With `before` and `between`, nothing is asked where r does not come.

**Missions**, after Menghi and others (2019), are the ones to give a robot: reach, visit, patrol, avoid.

**Time**: deadlines, durations, counts and the recent past are in `timed_patterns`, and can be used from here too.

Every argument is a formula or its text.  The formulas are for finite traces: where the published one, written for
infinite traces, says something else on them or departs from its own description, the one here keeps the description.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict, Unpack

from rewardspec.errors import FormulaError, did_you_mean
from rewardspec.logic.formulas import (
    Always,
    And,
    Binary,
    Eventually,
    Formula,
    FormulaLike,
    Next,
    Until,
    WeakNext,
    WeakUntil,
    as_formula,
    whole_number,
)
from rewardspec.logic.formulas import now as now
from rewardspec.logic.timed_patterns import absence_for as absence_for
from rewardspec.logic.timed_patterns import all_but as all_but
from rewardspec.logic.timed_patterns import at_least as at_least
from rewardspec.logic.timed_patterns import at_most as at_most
from rewardspec.logic.timed_patterns import exactly as exactly
from rewardspec.logic.timed_patterns import for_the_last as for_the_last
from rewardspec.logic.timed_patterns import held_for as held_for
from rewardspec.logic.timed_patterns import holds_for as holds_for
from rewardspec.logic.timed_patterns import lasts as lasts
from rewardspec.logic.timed_patterns import maximum_duration as maximum_duration
from rewardspec.logic.timed_patterns import minimum_duration as minimum_duration
from rewardspec.logic.timed_patterns import nearly_always as nearly_always
from rewardspec.logic.timed_patterns import not_before as not_before
from rewardspec.logic.timed_patterns import precedence_within as precedence_within
from rewardspec.logic.timed_patterns import recently as recently
from rewardspec.logic.timed_patterns import recurrence_within as recurrence_within
from rewardspec.logic.timed_patterns import response_within as response_within
from rewardspec.logic.timed_patterns import soon as soon
from rewardspec.logic.timed_patterns import within as within

OneOrMore: TypeAlias = "FormulaLike | Sequence[FormulaLike]"


class Scope(TypedDict, total=False):
    """The keywords with which a property pattern is given its scope; the module lists what they mean together."""

    before: FormulaLike
    after: FormulaLike
    until: FormulaLike
    between: tuple[FormulaLike, FormulaLike]


# Property patterns: one event.


def absence(event: FormulaLike, **scope: Unpack[Scope]) -> Formula:
    """The event never happens.

    Example:
        >>> absence("crash"), absence("crash", before="landed")
        (parse('G !crash'), parse('F landed -> !crash U landed'))
    """
    not_now = ~as_formula(event)
    return _read(scope).place(Always(not_now), lambda r, up_to: up_to(not_now, r))


def existence(event: FormulaLike, **scope: Unpack[Scope]) -> Formula:
    """The event happens at least once.

    Example:
        >>> existence("goal"), existence("charged", before="leave")
        (parse('F goal'), parse('!leave W (charged & !leave)'))
    """
    event = as_formula(event)
    steps = _read(scope)
    q, r = steps.opens, steps.closes
    if r is None:
        return Eventually(event) if q is None else Always(~q) | Eventually(q & Eventually(event))
    # Where nothing is asked unless r comes, waiting for ever will do.
    found = (WeakUntil if steps.must_close else Until)(~r, event & ~r)
    return found if q is None else Always((q & ~r) >> found)


def bounded_existence(event: FormulaLike, at_most: int = 2, **scope: Unpack[Scope]) -> Formula:
    """The event happens at most `at_most` times; consecutive steps at which it holds count as one time.

    Example:
        >>> bounded_existence("retry", 1)
        parse('!retry W retry W G !retry')
    """
    event = as_formula(event)
    whole_number("at_most", at_most, smallest=0)

    def times(none_left: Formula, up_to: type[Binary]) -> Formula:
        for _ in range(at_most):
            none_left = up_to(~event, up_to(event, none_left))
        return none_left

    return _read(scope).place(times(Always(~event), WeakUntil), lambda r, up_to: times(up_to(~event, r), up_to))


def universality(condition: FormulaLike, **scope: Unpack[Scope]) -> Formula:
    """The condition holds at every step.

    Example:
        >>> universality("balanced"), universality("slow", after="warning", until="clear")
        (parse('G balanced'), parse('G(warning & !clear -> slow W clear)'))
    """
    condition = as_formula(condition)
    return _read(scope).place(Always(condition), lambda r, up_to: up_to(condition, r))


# Property patterns: causes and effects, named in the order in which they happen.


def precedence(cause: FormulaLike, effect: FormulaLike, **scope: Unpack[Scope]) -> Formula:
    """The effect does not happen before the cause has; both at one step will do.

    Example:
        >>> precedence("key", "open")
        parse('!open W key')
    """
    cause, effect = as_formula(cause), as_formula(effect)
    return _read(scope).place(WeakUntil(~effect, cause), lambda r, up_to: up_to(~effect, cause | r))


def response(cause: FormulaLike, effect: FormulaLike, **scope: Unpack[Scope]) -> Formula:
    """Whenever the cause happens, the effect happens at that step or a later one.

    Example:
        >>> response("request", "grant", after="start", until="stop")
        parse('G(start & !stop -> (request -> !stop U (grant & !stop)) W stop)')
    """
    return response_chain(as_formula(cause), as_formula(effect), **scope)


def precedence_chain(causes: OneOrMore, effects: OneOrMore, **scope: Unpack[Scope]) -> Formula:
    """The effects do not happen, one after another, before the causes have, one after another.

    Each event of a chain comes at a later step than the one before it; the last cause may share its step with the
    first effect.

    Args:
        causes: One event, or a list of them in order.
        effects: One event, or a list of them in order; they count as happening where all of them do.
        **scope: The steps spoken of; see the module.

    Example:
        >>> precedence_chain(["pick", "pay"], "leave")
        parse('F leave -> !leave U (pick & !leave & X(!leave U pay))')
        >>> precedence_chain("permit", ["dig", "build"])
        parse('F(dig & X F build) -> !dig U permit')
    """
    causes, effects = _events("causes", causes), _events("effects", effects)
    if len(causes) == len(effects) == 1:
        return precedence(causes[0], effects[0], **scope)
    *others, last = effects
    first = effects[0]

    def segment(r: Formula, up_to: type[Binary]) -> Formula:
        # Effects count before r only.  A single one needs no guard: the wait for it ends at r.
        begins = _chain([*others, last & ~r], [~r]) if others else last
        return up_to(~begins, r | _chain(causes, [~begins]))

    whole = Eventually(_chain(effects)) >> Until(~first, _chain(causes, [~first]))
    return _read(scope).place(whole, segment)


def response_chain(
    causes: OneOrMore, effects: OneOrMore, *, without: FormulaLike | None = None, **scope: Unpack[Scope]
) -> Formula:
    """Whenever the causes have happened, one after another, the effects follow, one after another.

    Each event of a chain comes at a later step than the one before it; the first effect may share its step with the
    last cause.  As published, the last of several effects may come at the very step that closes the scope.

    Args:
        causes: One event, or a list of them in order.
        effects: One event, or a list of them in order.
        without: What does not happen from the first effect until the last.
        **scope: The steps spoken of; see the module.

    Example:
        >>> response_chain("order", ["cook", "serve"])
        parse('G(order -> F(cook & X F serve))')
        >>> response_chain(["coin", "button"], "coffee")
        parse('G(coin -> WX G(button -> F coffee))')
        >>> response_chain("order", ["cook", "serve"], without="drop")
        parse('G(order -> F(cook & !drop & X(!drop U serve)))')
    """
    causes, effects = _events("causes", causes), _events("effects", effects)
    if without is not None and len(effects) == 1:
        raise FormulaError(
            f"`without` speaks of the steps between effects, and there is only one effect: {effects[0]}. "
            "Name a second one, or leave `without` out."
        )
    guards = [] if without is None else [~as_formula(without)]

    def reaction(answer: Formula, always: Callable[[Formula], Formula]) -> Formula:
        rule = causes[-1] >> answer
        for cause in reversed(causes[:-1]):
            rule = cause >> WeakNext(always(rule))
        return always(rule)

    def segment(r: Formula, up_to: type[Binary]) -> Formula:
        answer = _chain(effects, [~r, *guards]) if len(effects) > 1 else effects[0] & ~r
        return reaction(Until(~r, answer), lambda rule: up_to(rule, r))

    return _read(scope).place(reaction(Eventually(_chain(effects, guards)), Always), segment)


# Missions.


def reach(goal: FormulaLike) -> Formula:
    """The goal holds at some step.

    Example:
        >>> reach("goal")
        parse('F goal')
    """
    return Eventually(goal)


def stay(condition: FormulaLike) -> Formula:
    """The condition holds at every step.

    Example:
        >>> stay("on_road")
        parse('G on_road')
    """
    return Always(condition)


def avoid(*hazards: FormulaLike) -> Formula:
    """None of the hazards holds at any step.

    Example:
        >>> avoid("hole", "wall")
        parse('G !hole & G !wall')
    """
    return And(*(Always(~hazard) for hazard in _require("avoid", 1, "hazard", hazards)))


def until(condition: FormulaLike, event: FormulaLike) -> Formula:
    """The event happens, and the condition holds at every step before it.

    Example:
        >>> until("wait", "green")
        parse('wait U green')
    """
    return Until(condition, event)


def reach_avoid(goal: FormulaLike, *hazards: FormulaLike) -> Formula:
    """The goal holds at some step, and none of the hazards at any step before it.

    What happens from then on is left free; `reach(goal) & avoid(hazard)` binds that too.

    Example:
        >>> reach_avoid("goal", "lava"), reach_avoid("goal", "lava", "wall")
        (parse('!lava U goal'), parse('(!lava & !wall) U goal'))
    """
    return Until(And(*(~hazard for hazard in _require("reach_avoid", 1, "hazard", hazards))), goal)


def reach_and_stay(condition: FormulaLike) -> Formula:
    """From some step on, the condition holds to the end.

    A finite trace has a last step, and this is the value of the condition there: as a reward, its value now.

    Example:
        >>> reach_and_stay("upright")
        parse('F G upright')
    """
    return Eventually(Always(condition))


def visit(*goals: FormulaLike) -> Formula:
    """Each goal holds at some step, in any order.

    `Pair(visit(…), 1, progress=True)` pays for each of them.

    Example:
        >>> visit("a", "b")
        parse('F a & F b')
    """
    return And(*map(Eventually, _require("visit", 1, "goal", goals)))


def sequence(*goals: FormulaLike, strict: bool = False) -> Formula:
    """The goals hold in this order; whatever else happens, a later goal met early included, does not matter.

    Args:
        *goals: The goals, first to last.
        strict: Whether each goal needs a later step than the one before it; else one step may serve several.

    Its value says nothing before the last goal; `Pair(sequence(…), 1, progress=True)` pays for each of them.

    Example:
        >>> sequence("a", "b", "c"), sequence("a", "b", strict=True)
        (parse('F(a & F(b & F c))'), parse('F(a & X F b)'))
    """
    steps = _require("sequence", 1, "goal", goals)
    if strict:
        return Eventually(_chain(steps))
    rest = Eventually(steps[-1])
    for goal in reversed(steps[:-1]):
        rest = Eventually(goal & rest)
    return rest


def ordered_visit(*goals: FormulaLike) -> Formula:
    """Each goal holds at some step, and none of them before the goal listed ahead of it has.

    Example:
        >>> ordered_visit("a", "b", "c")
        parse('!b U a & !c U b & F c')
    """
    steps = _require("ordered_visit", 1, "goal", goals)
    return And(*(Until(~later, goal) for goal, later in itertools.pairwise(steps)), Eventually(steps[-1]))


def patrol(*places: FormulaLike, rounds: int = 2) -> Formula:
    """The places are visited in this order, `rounds` times, each visit at a later step than the one before.

    "For ever" has no direct counterpart on a finite trace: `G F a & G F b`, its form on infinite ones, asks here for a
    and b together at the last step (see `recurrence`).  Hence a number of rounds.

    Example:
        >>> patrol("a", "b")
        parse('F(a & X F(b & X F(a & X F b)))')
    """
    _require("patrol", 2, "places", places)
    whole_number("rounds", rounds, smallest=1)
    return sequence(*places * rounds, strict=True)


def recurrence(*conditions: FormulaLike) -> Formula:
    """From every step on, each condition still comes.

    A finite trace has a last step, and this asks for all of them there: as a reward, the smallest of their values now.
    It suits conditions that can hold together; for places that exclude one another, see `patrol`.

    Example:
        >>> recurrence("charged", "connected")
        parse('G(F charged & F connected)')
    """
    return Always(And(*map(Eventually, _require("recurrence", 1, "condition", conditions))))


# How a scope is read, and a pattern placed in it.


@dataclass(frozen=True)
class _Steps:
    """The steps that a pattern is about.

    Attributes:
        opens: What the first of them needs; None for the start of the trace.
        closes: What the step after the last of them needs; None for the end of the trace.
        must_close: Whether nothing is asked where `closes` does not come.
    """

    opens: Formula | None = None
    closes: Formula | None = None
    must_close: bool = False

    def place(self, whole: Formula, segment: Callable[[Formula, type[Binary]], Formula]) -> Formula:
        """A pattern in this scope.

        Args:
            whole: The pattern from here to the end of the trace.
            segment: `segment(r, up_to)` is the pattern from here to just before the next r, and true at r.  `up_to` is
                the until to use: strong where r is known to come, weak where it need not.
        """
        q, r = self.opens, self.closes
        if r is None:
            if q is None:
                return whole
            # What always holds from the first q on does so from each; anything else needs the first picked out.
            return Always(q >> whole) if isinstance(whole, Always) else WeakUntil(~q, q & whole)
        if q is None:
            return Eventually(r) >> segment(r, Until)
        if self.must_close:
            return Always((q & ~r & Eventually(r)) >> segment(r, Until))
        return Always((q & ~r) >> segment(r, WeakUntil))


def _read(scope: Scope) -> _Steps:
    keywords = sorted(name for name, value in scope.items() if value is not None)
    for name in keywords:
        if name not in Scope.__annotations__:
            remedy = did_you_mean(name, Scope.__annotations__) or " A scope takes before, after, until and between."
            raise FormulaError(f"Unknown keyword {name!r}.{remedy}")
    match keywords:
        case []:
            return _Steps()
        case ["before"]:
            return _Steps(closes=as_formula(scope["before"]), must_close=True)
        case ["after"]:
            return _Steps(opens=as_formula(scope["after"]))
        case ["after", "until"]:
            return _Steps(opens=as_formula(scope["after"]), closes=as_formula(scope["until"]))
        case ["between"]:
            pair = scope["between"]
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise FormulaError(f"`between` should be a pair, as in between=('start', 'stop'). Received {pair!r}.")
            return _Steps(opens=as_formula(pair[0]), closes=as_formula(pair[1]), must_close=True)
        case ["until"]:
            remedy = "`until` goes with `after`; for the steps before the first such event, use `before`."
        case ["after", "before"]:
            remedy = "Use between=(q, r), or after=q with until=r where r need not come."
        case _:
            remedy = "Use `before`, `after`, `after` with `until`, or `between`."
    given = " with ".join(f"`{name}`" for name in keywords)
    raise FormulaError(f"{given} is not a scope. {remedy}")


def _chain(events: Sequence[Formula], guards: Sequence[Formula] = ()) -> Formula:
    """The first event now, each other at a later step than the one before it, and the guards until the last."""
    rest = events[-1]
    for event in reversed(events[:-1]):
        rest = And(event, *guards, Next(Until(And(*guards), rest) if guards else Eventually(rest)))
    return rest


def _events(name: str, value: OneOrMore) -> list[Formula]:
    if isinstance(value, Formula | str | bool):
        return [as_formula(value)]
    if not isinstance(value, tuple | list) or not value:
        raise FormulaError(f"`{name}` should be a formula, or a list of formulas in order. Received {value!r}.")
    return [as_formula(event) for event in value]


def _require(pattern: str, fewest: int, what: str, values: Sequence[FormulaLike]) -> list[Formula]:
    if len(values) < fewest:
        raise FormulaError(f"{pattern} takes at least {fewest} {what}. Received {len(values)}.")
    return [as_formula(value) for value in values]
