"""The range of labels: degrees in [0, 1], or finite robustness."""

from __future__ import annotations

import math

from rewardspec.errors import LabelError
from rewardspec.types import Number, Semantics

TOLERANCE = 1e-6
"""A degree that is this near to [0, 1] is taken as 0 or 1."""


def checked_number(atom: str, value: Number, semantics: Semantics = "degree", where: str = "") -> float:
    """The label of an atom as a float; `where` says in error messages which step and environment it is of.

    Raises:
        LabelError: It is no number, or out of range.

    Example:
        >>> checked_number("p", 1.0000001)
        1.0
    """
    if semantics == "degree":
        kind, bounds, low, high = "a number in [0, 1]", "in [0, 1]", 0.0, 1.0
    else:
        kind, bounds, low, high = "a finite number", "finite", -math.inf, math.inf
    try:
        if isinstance(value, str | bytes) or bool(getattr(value, "ndim", False)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise LabelError(f"The label of {atom!r}{where} should be {kind}. Received {value!r}.") from None
    if low <= number <= high and math.isfinite(number):
        return number
    if semantics == "degree" and -TOLERANCE <= number <= 1.0 + TOLERANCE:
        return 0.0 if number < 0.0 else 1.0
    received = "NaN" if math.isnan(number) else repr(number)
    raise LabelError(f"The label of {atom!r}{where} should be {bounds}. Received {received}.")
