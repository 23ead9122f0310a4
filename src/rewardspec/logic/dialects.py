"""Dialects: operators, intervals and atoms as written by rewardspec, Spot, RTAMT and reelay.

RTAMT and reelay judge a formula of the past at every step anew, where the value of a formula here is the one at the
first step.  So their formulas of the past are read as `now φ`, that is `F(last & φ)`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import lark

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula, now
from rewardspec.logic.operators import FUTURE, OPERATORS, PREFIX
from rewardspec.logic.syntax_errors import MisuseError, checked, shown

Syntax: TypeAlias = Literal["rewardspec", "spot", "rtamt", "reelay"]

_KINDS = {
    text: row.kind for row in OPERATORS.values() for text in row.spellings if not issubclass(row.kind, fm.Counted)
}
_COUNTED = {text: row.kind for row in OPERATORS.values() for text in row.spellings if issubclass(row.kind, fm.Counted)}
_ENDLESS = ("", "inf", "oo", "∞", "$")
_WITHOUT_BOUNDS: dict[type[Formula], str] = {
    fm.WeakUntil: "Write 'a U[0,5] b | G[0,5] a' for what 'a W[0,5] b' would say.",
    fm.StrongRelease: "Write 'a R[0,5] b & F[0,5] a' for what 'a M[0,5] b' would say.",
}


class Interval(NamedTuple):
    """The contents of the brackets after an operator.

    Attributes:
        low: The nearest step.
        high: The farthest step; None where there is no end.
        discount: The factor for each step.
        single: Whether one number was written, which is then both `low` and `high`.
        strong: Whether it ends in `!`, as in Spot's `X[3!]`.
    """

    low: int
    high: int | None
    discount: float
    single: bool = False
    strong: bool = False


@dataclass(frozen=True)
class Dialect:
    """A way to write formulas.

    Attributes:
        name: What `parse` calls it.
        own: Spellings with a meaning of their own, or that only this dialect has.
        short_forms: Words that stand before a formula and are short for something else.
        judged_now: Whether a formula of the past is meant at the last step, rather than at the first.
        proposition: A regular expression for propositions that are written without quotes.
        read_proposition: The formula of such a proposition.
        grouped_otherwise: Pairs of rules, the outer and the inner, that the tool groups differently where there are no
            parentheses.
    """

    name: Syntax
    own: Mapping[str, type[Formula]] = field(default_factory=dict)
    short_forms: Mapping[str, Callable[[Formula], Formula]] = field(default_factory=lambda: {"now": now})
    judged_now: bool = False
    proposition: str | None = None
    read_proposition: Callable[[str], Formula] = fm.Atom
    grouped_otherwise: frozenset[tuple[str, str]] = frozenset()

    @functools.cached_property
    def kinds(self) -> dict[str, type[Formula]]:
        """The operator of each spelling."""
        return {**_KINDS, **self.own}

    def spellings(self, binding: int) -> Iterable[str]:
        """Every spelling of the operators that bind as tightly as given."""
        found = [text for text, kind in self.kinds.items() if OPERATORS[kind].binding == binding]
        return [*found, *self.short_forms] if binding == PREFIX else found

    def operator(self, symbol: lark.Token, annotation: lark.Token | None, operands: list[Formula]) -> Formula:
        """An operator with its interval or count, applied to its operands."""
        kind = self.kinds.get(str(symbol))
        if annotation is None:
            if symbol == "within":
                raise MisuseError(symbol, "'within' needs an interval", "an interval", "Write 'within[5] a', or 'F a'.")
            return self.short_forms[str(symbol)](operands[0]) if kind is None else kind(*operands)
        if annotation.type == "COUNT":
            counted = _COUNTED.get(str(symbol))
            if counted is None:
                remedy = "Counts go with F and G: 'F{3} a' is 'a at 3 steps or more', 'G{3} a' 'at all but 3 steps'."
                raise MisuseError(annotation, f"{str(symbol)!r} takes no count", "a formula", remedy)
            return checked(annotation, "a count such as '{3}'", counted, *operands, int(annotation[1:-1]))
        if kind is None or not issubclass(kind, fm.Shift | fm.Timed):
            remedy = _WITHOUT_BOUNDS.get(kind, "") if kind is not None else ""
            raise MisuseError(annotation, f"{str(symbol)!r} takes no interval", "a formula", remedy)
        interval = _read_interval(annotation, spot=self.name == "spot")
        if (
            self.name == "spot"
            and interval.single == (kind is fm.WeakNext)
            and interval.discount == 1.0
            and kind in _SPOT
        ):
            return _SPOT[kind](operands[0], interval)
        return _timed(kind, symbol, annotation, interval, operands)

    def judged(self, formula: Formula) -> Formula:
        """The whole formula, at the step at which this dialect's users mean it."""
        is_past = self.judged_now and not any(isinstance(part, FUTURE) for part in formula.subformulas())
        return now(formula) if is_past else formula


def _timed(
    kind: type[Formula], symbol: lark.Token, annotation: lark.Token, interval: Interval, operands: list[Formula]
) -> Formula:
    low, high, discount, single, _ = interval
    if issubclass(kind, fm.Shift):
        if not single or discount != 1.0:
            remedy = f"'{symbol}[3]' looks 3 steps away; a range of steps goes with F, G, O and H."
            raise MisuseError(annotation, f"{str(symbol)!r} takes one number of steps", "a number in brackets", remedy)
        return checked(annotation, "a number of steps such as '[3]'", kind, *operands, low)
    if single:
        if symbol != "within":
            remedy = f"Write '[0,{low}]' for the steps up to there, '[{low},{low}]' for that step alone."
            raise MisuseError(annotation, f"{shown(annotation)} is no interval", "an interval such as '[0,5]'", remedy)
        low = 0
    return checked(annotation, "an interval such as '[0,5]'", kind, *operands, low, high, discount)


def _read_interval(token: lark.Token, *, spot: bool = False) -> Interval:
    steps, semicolon, factor = token[1:-1].partition(";")
    strong = spot and steps.endswith("!")
    steps = steps.removesuffix("!") if strong else steps
    discount = _factor(token, factor.strip()) if semicolon else 1.0
    compared = re.fullmatch(r"\s*(<=|<|>=|>)\s*(\S+)\s*", steps)
    pair = re.fullmatch(r"\s*([^\s,:.]*)\s*(?:,|:|\.\.)\s*([^\s,:.]*)\s*", steps)
    if compared is not None:
        bound = _whole(token, compared[2])
        match compared[1]:
            case "<=":
                return Interval(0, bound, discount)
            case "<":
                return Interval(0, bound - 1, discount)
            case ">=":
                return Interval(bound, None, discount)
        return Interval(bound + 1, None, discount)
    if pair is not None:
        low = _whole(token, pair[1]) if pair[1] else 0
        return Interval(low, None if pair[2] in _ENDLESS else _whole(token, pair[2]), discount, strong=strong)
    if not steps.strip() and semicolon:
        return Interval(0, None, discount)
    number = _whole(token, steps.strip())
    return Interval(number, number, discount, single=True, strong=strong)


def _whole(token: lark.Token, text: str) -> int:
    if re.fullmatch(r"[0-9]+", text):
        return int(text[:20])  # longer ones are refused as too large, whatever their other digits
    if re.fullmatch(r"[\d.]+\s*(ms|s|min|h)", text):
        remedy = "Seconds are for commands that read records, and `rewardspec check --period`. Write steps here."
        raise MisuseError(token, f"{shown(token)} has durations", "an interval such as '[0,5]'", remedy)
    remedy = "Bounds are whole numbers of steps, 0 or more, as in '[0,5]', '[<=5]', '[3,]' or, discounted, '[0,5;0.9]'."
    raise MisuseError(token, f"{shown(token)} is no interval", "an interval such as '[0,5]'", remedy)


def _factor(token: lark.Token, text: str) -> float:
    if re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", text, flags=re.ASCII):
        return float(text)
    remedy = "A discount is a number above 0 and at most 1, as in '[0,20;0.9]'."
    raise MisuseError(token, f"{shown(text)} is no discount", "an interval such as '[0,20;0.9]'", remedy)


# Spot's bounded operators are short for nested X, which is weak unless the interval ends in "!".


def _spot_next(a: Formula, interval: Interval) -> Formula:
    kind = fm.Next if interval.strong else fm.WeakNext
    return kind(a, interval.low) if interval.low else a


def _spot_eventually(a: Formula, interval: Interval) -> Formula:
    low, high = interval.low, interval.high
    if high is None:
        return _spot_next(fm.Eventually(a), interval)
    within = fm.Eventually(a, low, high)
    return within if interval.strong or high == 0 else within | fm.WeakNext(False, high)


def _spot_always(a: Formula, interval: Interval) -> Formula:
    low, high = interval.low, interval.high
    if high is None:
        return _spot_next(fm.Always(a), interval)
    during = fm.Always(a, low, high)
    return during & fm.Next(True, high) if interval.strong and high else during


_SPOT = {fm.WeakNext: _spot_next, fm.Eventually: _spot_eventually, fm.Always: _spot_always}

# RTAMT's predicates compare arithmetic expressions.
_TERM = r"(?:(?:abs|sqrt|exp|pow)\([^()]*\)|[\w.]+)"
_ARITHMETIC = rf"[-+]?\s*{_TERM}(?:\s*[-+*\/]\s*[-+]?\s*{_TERM})*"


def _record(text: str) -> Formula:
    """A record of reelay's, `{moving, door: false, speed > 10}`: all of what is listed."""
    return fm.And(*(_field(entry.strip()) for entry in text[1:-1].split(",")))


def _field(entry: str) -> Formula:
    key, colon, value = (part.strip() for part in entry.partition(":"))
    name = " ".join(key.strip("'\"").split())
    if not colon or value == "true":
        return fm.Atom(name)
    return ~fm.Atom(name) if value == "false" else fm.Atom(f"{name} == {value}")


DIALECTS: dict[Syntax, Dialect] = {
    "rewardspec": Dialect("rewardspec"),
    "spot": Dialect("spot", {"X": fm.WeakNext, "○": fm.WeakNext, "next": fm.WeakNext}),
    "rtamt": Dialect(
        "rtamt",
        {
            **dict.fromkeys(("X", "next"), fm.WeakNext),
            **dict.fromkeys(("sX", "s_next"), fm.Next),
            **dict.fromkeys(("Y", "prev", "previous"), fm.WeakPrevious),
            **dict.fromkeys(("sY", "s_prev"), fm.Previous),
        },
        {"now": now, "rise": lambda a: a & ~fm.Previous(a), "fall": lambda a: ~a & fm.WeakPrevious(a)},
        judged_now=True,
        proposition=rf"{_ARITHMETIC}\s*(?:<=|>=|==|!==?|<(?!-)|>)\s*{_ARITHMETIC}",
        read_proposition=lambda text: fm.Atom(" ".join(text.split())),
        grouped_otherwise=frozenset(
            [("implies", "implies"), ("between", "between"), ("or", "xor"), ("implies", "xor"), ("iff", "xor")]
        ),
    ),
    "reelay": Dialect(
        "reelay",
        {"P": fm.Once, "pre": fm.Previous},
        judged_now=True,
        proposition=r"\{[^{}]+\}",
        read_proposition=_record,
    ),
}
