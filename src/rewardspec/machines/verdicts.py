"""The four verdicts of runtime verification about an episode that may go on."""

from __future__ import annotations

import enum


class Verdict(enum.Enum):
    """A verdict: the formula's truth on the trace so far, and whether a continuation can change it.

    Example:
        >>> Verdict.CURRENTLY_SATISFIED.is_satisfied, Verdict.CURRENTLY_SATISFIED.is_final
        (True, False)
    """

    PERMANENTLY_SATISFIED = "permanently satisfied"
    CURRENTLY_SATISFIED = "currently satisfied"
    CURRENTLY_VIOLATED = "currently violated"
    PERMANENTLY_VIOLATED = "permanently violated"

    @property
    def is_final(self) -> bool:
        """True if no continuation can change the verdict."""
        return self in (Verdict.PERMANENTLY_SATISFIED, Verdict.PERMANENTLY_VIOLATED)

    @property
    def is_satisfied(self) -> bool:
        """True if the formula holds on the trace so far."""
        return self in (Verdict.PERMANENTLY_SATISFIED, Verdict.CURRENTLY_SATISFIED)


def verdict_of(value: float, lower: float, upper: float) -> Verdict:
    """The verdict for a value now, 0 or 1, and the bounds on what continuations can still make of it.

    Example:
        >>> verdict_of(0.0, lower=0.0, upper=1.0)
        <Verdict.CURRENTLY_VIOLATED: 'currently violated'>
    """
    if lower == 1.0:
        return Verdict.PERMANENTLY_SATISFIED
    if upper == 0.0:
        return Verdict.PERMANENTLY_VIOLATED
    return Verdict.CURRENTLY_SATISFIED if value == 1.0 else Verdict.CURRENTLY_VIOLATED
