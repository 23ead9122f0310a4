"""Lattice polynomials: the maximum of minima, in their one shortest form.

A *term* is a set of variables, held as a bit mask, and stands for the minimum of their values; the empty term is 1.
A *polynomial* is a set of terms and stands for their maximum; the empty polynomial is 0.  A term that contains another
is redundant, so a polynomial without such terms is unique for the function it computes: equal functions are equal sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

Term: TypeAlias = int
Polynomial: TypeAlias = frozenset[Term]

ZERO: Polynomial = frozenset()
ONE: Polynomial = frozenset({0})


def bits(mask: int) -> Iterator[int]:
    """The variables of a term, in order.

    Example:
        >>> list(bits(0b1011))
        [0, 1, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def absorb(terms: Iterable[Term]) -> Polynomial:
    """The polynomial with these terms: those that contain another are dropped.

    Example:
        >>> sorted(absorb([0b001, 0b011, 0b110]))
        [1, 6]
    """
    kept: list[Term] = []
    for term in sorted(set(terms), key=int.bit_count):
        if not any(small & term == small for small in kept):
            kept.append(term)
    return frozenset(kept)


def maximum(left: Polynomial, right: Polynomial) -> Polynomial:
    """The larger of two polynomials.  Each is free of redundant terms already, so only pairs across are compared."""
    if len(left) < len(right):
        left, right = right, left
    if not right or left == ONE:
        return left
    if right == ONE:
        return ONE
    fresh = {term for term in right - left if not any(other & term == other for other in left)}
    if not fresh:
        return left
    return frozenset(fresh | {term for term in left if not any(other & term == other for other in fresh)})


def minimum(left: Polynomial, right: Polynomial) -> Polynomial:
    """The smaller of two polynomials."""
    if len(left) < len(right):
        left, right = right, left
    if len(right) == 1:
        (factor,) = right
        if factor == 0:
            return left
        if not any(factor & term for term in left):
            return frozenset(factor | term for term in left)  # a new factor makes no two terms comparable
    return absorb(x | y for x in left for y in right)


def substitute(polynomial: Polynomial, zeros: int, ones: int) -> Polynomial:
    """The polynomial with some variables set to 0 and some to 1."""
    terms = [term & ~ones for term in polynomial if not term & zeros]
    if 0 in terms:
        return ONE
    if len(terms) == len(polynomial) and not any(term & ones for term in polynomial):
        return polynomial
    return absorb(terms)


def variables(polynomial: Polynomial) -> int:
    """The variables that occur, as a mask."""
    mask = 0
    for term in polynomial:
        mask |= term
    return mask


def comparisons(polynomial: Polynomial) -> int:
    """Cost of comparing all terms with each other, in the units of an effort."""
    return len(polynomial) + len(polynomial) ** 2 // 32
