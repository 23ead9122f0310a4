"""Durations in seconds: `F[0s,30s] a` for records whose rows have times."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from rewardspec.errors import FormulaError

UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(
    r"(?<!\d)(?<!\d\.)(\d+(?:\.\d*)?|\.\d+)\s*([^\W\d_]+)(?![-+\d])"
)  # but not the exponent of a discount
_QUOTED_OR_INTERVAL = re.compile(r'"(?:\\.|[^"\\])+"|\[[^\[\]]*\]', flags=re.DOTALL)
_EXACT = 1e-6  # a part of a row; less is rounding


class Pace(NamedTuple):
    """How far apart the rows of a record are.

    Attributes:
        period: The seconds from one row to the next.
        slack: The part of a row by which a duration may miss a whole number of rows and still count as that number,
            since times are rounded.
    """

    period: float
    slack: float = _EXACT

    def rows(self, time: float) -> float:
        """The number of rows of a time in seconds, exactly whole where it is nearly so.

        Example:
            >>> Pace(1 / 3, 0.01).rows(0.333), Pace(1 / 3).rows(0.5)
            (1, 1.5)
        """
        rows = time / self.period
        if not math.isfinite(rows):
            return rows
        nearest = max(round(rows), 1) if time else 0  # no time but 0 is 0 rows
        return nearest if abs(rows - nearest) <= max(self.slack, _EXACT) else rows


def seconds(amount: float, unit: str) -> float:
    """The seconds of an amount in ms, s, min or h.

    Example:
        >>> seconds(1.5, "min")
        90.0
    """
    return amount * UNITS[unit]


def has_durations(text: str) -> bool:
    """Return whether an interval of a formula's text is in seconds or other units of time.

    Example:
        >>> has_durations("F[0s,30s] a"), has_durations("F[0,30] a")
        (True, False)
    """
    return any(_TIME.search(found[0]) for found in _QUOTED_OR_INTERVAL.finditer(text) if found[0][0] == "[")


def in_steps(text: str, pace: Pace) -> str:
    """A formula's text with steps in place of durations; atoms in quotes are kept.

    An interval `[a,b]` becomes that of the steps whose distance in time lies in it.

    Raises:
        FormulaError: No step lies in an interval, or no later one in an interval that ends later; a single duration is
            no whole number of steps; or a unit is unknown.

    Example:
        >>> in_steps("G(a -> F[5s,1min] b)", Pace(2.0))
        'G(a -> F[3,30] b)'
    """

    def replaced(found: re.Match[str]) -> str:
        interval = found[0]
        if interval[0] == '"' or not _TIME.search(interval):
            return interval
        low, between, high = (*re.split(r"(,|:|\.\.)", interval[1:-1], maxsplit=1), "", "")[:3]
        if not between:
            sign = re.match(r"\s*(<=|<|>=|>)", low)
            return f"[{_in_rows(low, sign[1] if sign else '=', pace, interval)}]"
        low, high = _in_rows(low, ">=", pace, interval), _in_rows(high, "<=", pace, interval)
        ends = re.match(r"\s*(\d+)\s*$", low), re.match(r"\s*(\d+)\s*(?:;|$)", high)
        if ends[0] and ends[1] and int(ends[0][1]) > int(ends[1][1]):
            raise FormulaError(f"No row lies in the interval {interval}: {_apart(pace)} Widen it.")
        return f"[{low}{between}{high}]"

    return _QUOTED_OR_INTERVAL.sub(replaced, text)


def _in_rows(text: str, sign: str, pace: Pace, interval: str) -> str:
    """Replace the duration in one end of an interval by a number of rows.

    `sign` is ">=" for the lower end, "<=" for the upper end, "<" or ">" where the text has that sign, and "=" for a
    single number.
    """

    def replaced(match: re.Match[str]) -> str:
        rows = _rows(match, pace, interval)
        if not math.isfinite(rows):
            raise FormulaError(f"{match[1][:20]}… in an interval is too large. Write fewer {match[2]}.")
        if sign == "=" and rows != round(rows):
            raise FormulaError(f"{match[0]} in {interval} is {rows:g} rows: {_apart(pace)} Write a multiple of that.")
        if (sign in ("<=", "<") and 0 < rows < 1) or (sign == "<" and rows == 1):
            length = "not longer" if rows == 1 else "shorter"
            raise FormulaError(
                f"{match[0]} in the interval {interval} is {length} than a row: {_apart(pace)} Write a longer time or, "
                "if the times of the rows are not in seconds, give their unit with --time-unit."
            )
        return str(math.floor(rows) if sign in ("<=", ">") else math.ceil(rows))

    return _TIME.sub(replaced, text)


def _rows(match: re.Match[str], pace: Pace, interval: str) -> float:
    """The number of rows of a duration."""
    if match[2] not in UNITS:
        raise FormulaError(
            f"Unknown unit {match[2]!r} in the interval {interval}. The units are {', '.join(UNITS)}. Write, for "
            f"example, {match[1]}{'min' if match[2] in ('m', 'mins', 'minutes') else 's'}."
        )
    return pace.rows(seconds(float(match[1]), match[2]))


def _apart(pace: Pace) -> str:
    return f"rows are {pace.period:g} seconds apart."
