"""The definition of the logic, transcribed literally: nested max and min over ranges of positions.

Slow and plain on purpose: it shares nothing with the library but the classes of formulas.  Labels may be arrays with
one column for each of many traces of one length, so that a whole batch is evaluated at once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardspec.logic.formulas import (
    Affine,
    AllButTimes,
    Always,
    And,
    AtLeastTimes,
    Atom,
    Constant,
    Eventually,
    Formula,
    Historically,
    Iff,
    Implies,
    Next,
    Not,
    Once,
    Or,
    Previous,
    Release,
    Since,
    StrongRelease,
    Trigger,
    Until,
    WeakNext,
    WeakPrevious,
    WeakUntil,
    Xor,
)

Value = NDArray[np.floating]


def values_by_definition(formula: Formula, trace: Mapping[str, ArrayLike], semantics: str = "degree") -> Value:
    """The value at every position, first axis, of a trace or of a batch of traces, second axis."""
    labels = {name: np.asarray(values, dtype=float) for name, values in trace.items()}
    shape = next(iter(labels.values())).shape
    n = shape[0] - 1
    lowest, highest, total = (0.0, 1.0, 1.0) if semantics == "degree" else (-np.inf, np.inf, 0.0)
    true = np.full(shape[1:], highest)
    false = np.full(shape[1:], lowest)

    def largest(values: Iterable[Value]) -> Value:
        return functools.reduce(np.maximum, values, false)

    def smallest(values: Iterable[Value]) -> Value:
        return functools.reduce(np.minimum, values, true)

    def ahead(i: int, low: int, high: int | None) -> range:
        """The positions j with i + low ≤ j ≤ i + high and j ≤ n."""
        return range(i + low, min(n, n if high is None else i + high) + 1)

    def back(i: int, low: int, high: int | None) -> range:
        """The positions j with i - high ≤ j ≤ i - low and j ≥ 0."""
        return range(max(0, 0 if high is None else i - high), i - low + 1)

    def w(discount: float, distance: int, value: Value) -> Value:
        return value if discount == 1 else discount**distance * value

    def not_w_not(discount: float, distance: int, value: Value) -> Value:
        return value if discount == 1 else total - discount**distance * (total - value)

    def ranked(rank: int, a: Formula, i: int, missing: Value) -> Value:
        """The value at the given place, from 0, of all values from i on in increasing order; counted back if below."""
        values = np.sort([v(a, j) for j in range(i, n + 1)], axis=0)
        return values[rank] if -len(values) <= rank < len(values) else missing

    @functools.cache
    def v(f: Formula, i: int) -> Value:
        match f:
            case Constant(value=value):
                return true if value == 1 else false if value == 0 else np.full(shape[1:], value)
            case Atom(name=name):
                return labels[name][i]
            case Not(args=(a,)):
                return total - v(a, i)
            case And(args=args):
                return smallest(v(a, i) for a in args)
            case Or(args=args):
                return largest(v(a, i) for a in args)
            case Implies(args=(a, b)):
                return v(Or(Not(a), b), i)
            case Iff(args=(a, b)):
                return v(And(Implies(a, b), Implies(b, a)), i)
            case Xor(args=(a, b)):
                return v(Not(Iff(a, b)), i)
            case Affine(args=(a,), scale=scale, offset=offset):
                return scale * v(a, i) + offset

            case Next(args=(a,), steps=k):
                return v(a, i + k) if i + k <= n else false
            case WeakNext(args=(a,), steps=k):
                return v(a, i + k) if i + k <= n else true
            case Eventually(args=(a,), low=low, high=high, discount=g):
                return largest(w(g, j - i, v(a, j)) for j in ahead(i, low, high))
            case Until(args=(a, b), low=low, high=high, discount=g):
                return largest(
                    np.minimum(w(g, j - i, v(b, j)), smallest(w(g, k - i, v(a, k)) for k in range(i, j)))
                    for j in ahead(i, low, high)
                )
            case Always(args=(a,), low=low, high=high, discount=g):
                return smallest(not_w_not(g, j - i, v(a, j)) for j in ahead(i, low, high))
            case Release(args=(a, b), low=low, high=high, discount=g):
                return smallest(
                    np.maximum(not_w_not(g, j - i, v(b, j)), largest(not_w_not(g, k - i, v(a, k)) for k in range(i, j)))
                    for j in ahead(i, low, high)
                )
            case WeakUntil(args=(a, b)):
                return v(Or(Until(a, b), Always(a)), i)
            case StrongRelease(args=(a, b)):
                return v(Not(WeakUntil(Not(a), Not(b))), i)
            case AtLeastTimes(args=(a,), count=k):
                return ranked(-k, a, i, missing=false)
            case AllButTimes(args=(a,), count=k):
                return ranked(k, a, i, missing=true)

            case Previous(args=(a,), steps=k):
                return v(a, i - k) if i - k >= 0 else false
            case WeakPrevious(args=(a,), steps=k):
                return v(a, i - k) if i - k >= 0 else true
            case Once(args=(a,), low=low, high=high, discount=g):
                return largest(w(g, i - j, v(a, j)) for j in back(i, low, high))
            case Since(args=(a, b), low=low, high=high, discount=g):
                return largest(
                    np.minimum(w(g, i - j, v(b, j)), smallest(w(g, i - k, v(a, k)) for k in range(j + 1, i + 1)))
                    for j in back(i, low, high)
                )
            case Historically(args=(a,), low=low, high=high, discount=g):
                return smallest(not_w_not(g, i - j, v(a, j)) for j in back(i, low, high))
            case Trigger(args=(a, b), low=low, high=high, discount=g):
                return smallest(
                    np.maximum(
                        not_w_not(g, i - j, v(b, j)), largest(not_w_not(g, i - k, v(a, k)) for k in range(j + 1, i + 1))
                    )
                    for j in back(i, low, high)
                )
        raise AssertionError(f"the definition does not know {f!r}")

    return np.array([v(formula, i) for i in range(n + 1)])


def value_by_definition(formula: Formula, trace: Mapping[str, ArrayLike], semantics: str = "degree") -> Value:
    """The value of the formula on the trace: the one at position 0."""
    return values_by_definition(formula, trace, semantics)[0]


def bound(trace: Mapping[str, ArrayLike], variable: str, thing: str) -> dict[str, ArrayLike]:
    """The trace of one thing: the labels `p(3)` of the thing 3 are those of `p(x)`; other atoms keep their labels."""
    own = {f"{name.removesuffix(f'({thing})')}({variable})": name for name in trace if name.endswith(f"({thing})")}
    return {**trace, **{name: trace[source] for name, source in own.items()}}


def over_things(formula: Any, values: Sequence[Value]) -> Value:
    """The value of a quantified formula, from those for its things: the smallest, the largest, or the mean."""
    if formula.quantifier == "mean":
        return functools.reduce(np.add, values) / len(values)
    return functools.reduce(np.minimum if formula.quantifier == "forall" else np.maximum, values)
