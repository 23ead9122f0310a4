"""Checking a learner's settings."""

from __future__ import annotations

import math
import numbers
from typing import Any

from rewardspec.errors import Error


def check_counts(settings: Any, *names: str) -> None:
    """Raise an Error unless these settings are whole numbers from 1 on."""
    for name in names:
        value: Any = getattr(settings, name)
        if type(value) is bool or not isinstance(value, numbers.Integral):
            raise Error(f"`{name}` should be a whole number. Received {value!r}. Give it as an int.")
        if int(value) < 1:
            raise Error(f"`{name}` should be at least 1. Received {value!r}.")


def check_shares(settings: Any, *names: str) -> None:
    """Raise an Error unless these settings are numbers in [0, 1]."""
    for name in names:
        if not 0.0 <= _number(settings, name) <= 1.0:
            raise Error(f"`{name}` should be in the interval [0, 1]. Received {getattr(settings, name)!r}.")


def check_not_negative(settings: Any, *names: str) -> None:
    """Raise an Error unless these settings are finite numbers from 0 on."""
    for name in names:
        if not 0.0 <= _number(settings, name) < math.inf:
            raise Error(f"`{name}` should be a finite number of at least 0. Received {getattr(settings, name)!r}.")


def check_positive(settings: Any, *names: str) -> None:
    """Raise an Error unless these settings are numbers above 0; infinity is one of them, for a limit that is none."""
    for name in names:
        if not _number(settings, name) > 0.0:
            raise Error(f"`{name}` should be a number above 0. Received {getattr(settings, name)!r}.")


def _number(settings: Any, name: str) -> float:
    """A setting; NaN, which lies within no limits, where it is no number."""
    value = getattr(settings, name)
    return float(value) if isinstance(value, numbers.Real) else math.nan
