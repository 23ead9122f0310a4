"""Durations in seconds: `F[0s,30s] a` for records whose rows have times."""

from __future__ import annotations

import math
import re

from rewardspec.errors import FormulaError

_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_TIME = r"(\d+\.?\d*|\.\d+)\s*(ms|min|s|h)"
_QUOTED_OR_INTERVAL = re.compile(r'"(?:\\.|[^"\\])+"|\[[^\[\]]*\]', flags=re.DOTALL)
_EXACT = 1e-6  # a part of a step; less is rounding


def seconds(amount: float, unit: str) -> float:
    """The seconds of an amount in ms, s, min or h.

    Example:
        >>> seconds(1.5, "min")
        90.0
    """
    return amount * _UNITS[unit]


def has_durations(text: str) -> bool:
    """Return whether an interval of a formula's text is in seconds or other units of time.

    Example:
        >>> has_durations("F[0s,30s] a"), has_durations("F[0,30] a")
        (True, False)
    """
    return any(re.search(_TIME, found[0]) for found in _QUOTED_OR_INTERVAL.finditer(text) if found[0][0] == "[")


def in_steps(text: str, period: float) -> str:
    """A formula's text with steps in place of durations; atoms in quotes are kept.

    An interval `[a,b]` becomes that of the steps whose distance in time lies in it.

    Args:
        text: The formula.
        period: The seconds from one step to the next.

    Raises:
        FormulaError: No step lies in an interval, or a single duration is no whole number of steps.

    Example:
        >>> in_steps("G(a -> F[5s,1min] b)", 2.0)
        'G(a -> F[3,30] b)'
    """

    def replaced(found: re.Match[str]) -> str:
        interval = found[0]
        if interval[0] == '"' or not re.search(_TIME, interval):
            return interval
        low_text, comma, high_text = interval[1:-1].partition(",")
        if not comma:
            return re.sub(_TIME, lambda match: str(_whole(match, period, interval)), interval)
        low = re.sub(_TIME, lambda match: str(math.ceil(_steps(match, period) - _EXACT)), low_text)
        high = re.sub(_TIME, lambda match: str(math.floor(_steps(match, period) + _EXACT)), high_text)
        ends = re.match(r"\s*(\d+)\s*$", low), re.match(r"\s*(\d+)\s*(?:;|$)", high)
        if ends[0] and ends[1] and int(ends[0][1]) > int(ends[1][1]):
            raise FormulaError(f"No step lies in the interval {interval}: rows are {period:g} seconds apart. Widen it.")
        return f"[{low},{high}]"

    return _QUOTED_OR_INTERVAL.sub(replaced, text)


def _steps(match: re.Match[str], period: float) -> float:
    return seconds(float(match[1]), match[2]) / period


def _whole(match: re.Match[str], period: float, interval: str) -> int:
    steps = _steps(match, period)
    if abs(steps - round(steps)) > _EXACT:
        raise FormulaError(
            f"{match[0]} in {interval} is {steps:g} steps: rows are {period:g} seconds apart. Write a multiple of that."
        )
    return round(steps)
