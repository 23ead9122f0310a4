"""The definition of each operator on whole columns: its values at every position, from those of its operands.

A column is a list with one value for each position of a trace.  Every function takes the domain of values first, then
the formula, for its parameters, then the columns of its operands.  All of them are linear in the length of the trace,
or nearly so, whatever the interval: the largest of a sliding window comes from a queue of candidates.

Operators of the past are those of the future on the trace read backwards.
"""

from __future__ import annotations

import heapq
import operator
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from rewardspec.logic.formulas import Affine, Counted, Shift, Timed

Column: TypeAlias = list[float]
Definition: TypeAlias = Callable[..., Column]  # (domain, formula, *columns of the operands)


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain of values: degrees in [0, 1], or robustness in the extended reals.

    Attributes:
        bottom: The least value, that of `false`.
        top: The greatest value, that of `true`.
        total: What a value and that of its negation add up to.
    """

    bottom: float
    top: float
    total: float

    def complement(self, column: Column) -> Column:
        """The values of the negation."""
        return [self.total - value for value in column]


DEGREE = Domain(bottom=0.0, top=1.0, total=1.0)
ROBUSTNESS = Domain(bottom=float("-inf"), top=float("inf"), total=0.0)


# Without time.


def negation(domain: Domain, formula: object, a: Column) -> Column:
    """`!φ`."""
    return domain.complement(a)


def conjunction(domain: Domain, formula: object, *columns: Column) -> Column:
    """`φ & ψ`."""
    return list(map(min, zip(*columns, strict=True)))


def disjunction(domain: Domain, formula: object, *columns: Column) -> Column:
    """`φ | ψ`."""
    return list(map(max, zip(*columns, strict=True)))


def implication(domain: Domain, formula: object, a: Column, b: Column) -> Column:
    """`φ -> ψ`."""
    return list(map(max, domain.complement(a), b))


def equivalence(domain: Domain, formula: object, a: Column, b: Column) -> Column:
    """`φ <-> ψ`."""
    return list(map(min, implication(domain, formula, a, b), implication(domain, formula, b, a)))


def exclusive_or(domain: Domain, formula: object, a: Column, b: Column) -> Column:
    """`φ ^ ψ`."""
    not_a, not_b = domain.complement(a), domain.complement(b)
    return list(map(max, map(min, a, not_b), map(min, b, not_a)))


def affine(domain: Domain, formula: Affine, a: Column) -> Column:
    """`0.8 * φ + 0.1`."""
    return [formula.scale * value + formula.offset for value in a]


# Future.


def next_(domain: Domain, formula: Shift, a: Column) -> Column:
    """`X[k] φ`."""
    return _shifted(a, formula.steps, domain.bottom)


def weak_next(domain: Domain, formula: Shift, a: Column) -> Column:
    """`WX[k] φ`."""
    return _shifted(a, formula.steps, domain.top)


def eventually(domain: Domain, formula: Timed, a: Column) -> Column:
    """`F[a,b;γ] φ`."""
    return _extreme(max, a, *formula.params, empty=domain.bottom)


def always(domain: Domain, formula: Timed, a: Column) -> Column:
    """`G[a,b;γ] φ`."""
    if formula.discount != 1.0:
        return domain.complement(eventually(domain, formula, domain.complement(a)))
    return _extreme(min, a, *formula.params, empty=domain.top)


def until(domain: Domain, formula: Timed, a: Column, b: Column) -> Column:
    """`φ U[a,b;γ] ψ`."""
    return _until(max, min, domain.bottom, formula, a, b)


def release(domain: Domain, formula: Timed, a: Column, b: Column) -> Column:
    """`φ R[a,b;γ] ψ`."""
    if formula.discount != 1.0:
        return domain.complement(until(domain, formula, domain.complement(a), domain.complement(b)))
    return _until(min, max, domain.top, formula, a, b)


def weak_until(domain: Domain, formula: object, a: Column, b: Column) -> Column:
    """`φ W ψ`."""
    return _unbounded_until(max, min, domain.top, 1.0, a, b)


def strong_release(domain: Domain, formula: object, a: Column, b: Column) -> Column:
    """`φ M ψ`."""
    return _unbounded_until(min, max, domain.bottom, 1.0, a, b)


def at_least_times(domain: Domain, formula: Counted, a: Column) -> Column:
    """`F{k} φ`."""
    return _kth_largest(a, formula.count, missing=domain.bottom)


def all_but_times(domain: Domain, formula: Counted, a: Column) -> Column:
    """`G{k} φ`, with minus values, which unlike one minus values are exact."""
    negated = _kth_largest([-value for value in a], formula.count + 1, missing=-domain.top)
    return [-value for value in negated]


def past(definition: Definition) -> Definition:
    """The operator of the past that is the given one of the future on the trace read backwards."""

    def mirrored(domain: Domain, formula: Any, *columns: Column) -> Column:
        return definition(domain, formula, *(column[::-1] for column in columns))[::-1]

    return mirrored


# Sliding windows.


def _shifted(column: Column, steps: int, beyond: float) -> Column:
    return column[steps:] + [beyond] * min(steps, len(column))


def _extreme(
    better: Callable[[float, float], float],
    column: Column,
    low: int,
    high: int | None,
    discount: float,
    *,
    empty: float,
) -> Column:
    """At every position i, the best γ^(j-i)·v(j) with i + low ≤ j ≤ i + high.

    Positions are taken last first.  `candidates` holds those of the window that nothing nearer makes useless, nearest
    first and so the best last: a farther one must be better than all nearer ones, since it will leave sooner.
    """
    useless = operator.le if better is max else operator.ge
    candidates: deque[int] = deque()
    values = [empty] * len(column)
    for i in range(len(column) - 1 - low, -1, -1):
        new = i + low
        while candidates and useless(discount ** (candidates[0] - new) * column[candidates[0]], column[new]):
            candidates.popleft()
        candidates.appendleft(new)
        if high is not None and candidates[-1] > i + high:
            candidates.pop()
        values[i] = discount ** (candidates[-1] - i) * column[candidates[-1]]
    return values


def _until(
    best: Callable[..., float], worst: Callable[..., float], empty: float, formula: Timed, a: Column, b: Column
) -> Column:
    """`U[a,b;γ]` with max and min, `R[a,b]` with min and max.

    Seen from one position, "b within the window, a until then" is "b within the window" and "a until b, whenever":
    if the best b comes too late, a holds at least up to any b that does come in time.
    """
    low, high, discount = formula.params
    values = _unbounded_until(best, worst, empty, discount, a, b)
    if high is not None:
        values = list(map(worst, values, _extreme(best, b, 0, high - low, discount, empty=empty)))
    if low == 0:
        return values
    before = _extreme(worst, a, 0, low - 1, discount, empty=empty)
    later = [discount**low * value for value in values[low:]]
    return list(map(worst, before, later)) + [empty] * min(low, len(a))


def _unbounded_until(
    best: Callable[..., float], worst: Callable[..., float], beyond: float, discount: float, a: Column, b: Column
) -> Column:
    later, values = beyond, []
    for now_a, now_b in zip(reversed(a), reversed(b), strict=True):
        later = best(now_b, worst(now_a, discount * later))
        values.append(later)
    return values[::-1]


def _kth_largest(column: Column, k: int, *, missing: float) -> Column:
    """At every position, the k-th largest value from there on; the k largest are kept in a heap, smallest on top."""
    largest: Column = []
    values = []
    for value in reversed(column):
        if len(largest) < k:
            heapq.heappush(largest, value)
        else:
            heapq.heappushpop(largest, value)
        values.append(largest[0] if len(largest) == k else missing)
    return values[::-1]
