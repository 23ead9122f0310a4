"""From polynomials to expressions that cost little to compute and read well."""

from __future__ import annotations

import functools
from collections.abc import Callable

from rewardspec.logic.bottom_up import bottom_up
from rewardspec.machines.expressions import ONE, ZERO, Expression, maximum, minimum
from rewardspec.machines.polynomials import Polynomial, bits


class Factoring:
    """Factors polynomials, sharing equal parts between all that one instance is given.

    The variable in most terms is drawn out first, and then what is left of its terms is factored, and so on.  In a
    chain such as `F(a & F(b & F c))` what is left is the polynomial of the register before, which is not computed
    twice.
    """

    def __init__(self, leaf: Callable[[int], Expression]) -> None:
        self._leaf = leaf
        self._done: dict[Polynomial, Expression] = {}
        self._plan = functools.cache(_plan)

    def expression(self, polynomial: Polynomial) -> Expression:
        """An expression with the polynomial's value."""
        return bottom_up(polynomial, lambda current: [part for _, part in self._plan(current)], self._build, self._done)

    def _build(self, polynomial: Polynomial) -> Expression:
        plan = self._plan(polynomial)
        if not polynomial:
            return ZERO
        if 0 in polynomial:
            return ONE
        if not plan:
            return minimum(*(self._leaf(variable) for variable in bits(next(iter(polynomial)))))
        return maximum(
            *(minimum(*(self._leaf(variable) for variable in bits(factor)), self._done[part]) for factor, part in plan)
        )


def _plan(polynomial: Polynomial) -> list[tuple[int, Polynomial]]:
    """The polynomial as a maximum of (factor, quotient) pairs; none for a constant or a single term."""
    if len(polynomial) <= 1:
        return []
    counts: dict[int, int] = {}
    for term in polynomial:
        for variable in bits(term):
            counts[variable] = counts.get(variable, 0) + 1
    most = max(counts.values())
    if most == 1:
        return [(0, frozenset({term})) for term in sorted(polynomial, key=lambda t: (t.bit_count(), t))]
    variable = max(v for v, count in counts.items() if count == most)
    chosen = [term for term in polynomial if term >> variable & 1]
    common = chosen[0]
    for term in chosen:
        common &= term
    rest = polynomial.difference(chosen)
    pairs = [(common, frozenset(term & ~common for term in chosen))]
    return [(0, rest), *pairs] if rest else pairs
