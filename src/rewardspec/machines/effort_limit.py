"""A bound on work, counted in elementary operations rather than seconds, so that it is the same on every machine."""

from __future__ import annotations

from rewardspec.errors import SynthesisError


class Effort:
    """Work that may still be done.

    Args:
        limit: How much may be spent.
        within: A larger budget that whatever is spent here is spent from, too.
    """

    def __init__(self, limit: int, within: Effort | None = None) -> None:
        self._left = limit
        self._within = within

    def spend(self, amount: int) -> None:
        """Count some work; raises a SynthesisError when there was too much of it."""
        self._left -= amount
        if self._left < 0:
            raise SynthesisError("the search for a small machine takes too long")
        if self._within is not None:
            self._within.spend(amount)
