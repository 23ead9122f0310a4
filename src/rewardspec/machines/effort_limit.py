"""Budgets of synthesis: registers, and work.

Work is counted in elementary operations rather than seconds, so that it is the same on every machine.
"""

from __future__ import annotations

import sys

from rewardspec.errors import SynthesisError

DEFAULT_REGISTERS = 256  # that the machine of a formula may have


class Effort:
    """Work that may still be done; several computations can share it.

    Args:
        limit: How much may be spent.
        within: A larger budget that whatever is spent here is spent from, too.
        excess: The error message when there was too much work.
    """

    def __init__(
        self,
        limit: int = sys.maxsize,
        within: Effort | None = None,
        excess: str = "the search for a small machine takes too long",
    ) -> None:
        self._left = limit
        self._within = within
        self._excess = excess

    def spend(self, amount: int) -> None:
        """Count some work.

        Raises:
            SynthesisError: There was too much of it.
        """
        self._left -= amount
        if self._left < 0:
            raise SynthesisError(self._excess)
        if self._within is not None:
            self._within.spend(amount)
