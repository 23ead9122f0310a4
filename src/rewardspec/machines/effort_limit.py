"""Budgets of synthesis: registers, and work.

Work is counted in elementary operations rather than seconds, so that it is the same on every machine.
"""

from __future__ import annotations

import sys

from rewardspec.errors import SynthesisError

DEFAULT_REGISTERS = 256  # that the machine of a formula may have


class Effort:
    """Work that may still be done; several computations can share it.

    What is spent here is spent from the larger budget `within`, too. `excess` is the error message.
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
        """Count some work; a SynthesisError where there was too much of it."""
        self._left -= amount
        if self._left < 0:
            raise SynthesisError(self._excess)
        if self._within is not None:
            self._within.spend(amount)
