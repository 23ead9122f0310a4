"""The definition of the logic, transcribed literally: nested max and min over ranges of positions.

Slow and plain on purpose: it shares nothing with the library but the classes of formulas.  Labels may be arrays with
one column for each of many traces of one length, so that a whole batch is evaluated at once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rewardspec.logic.formulas import (
    Always,
    And,
    Atom,
    Constant,
    Eventually,
    Formula,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Release,
    StrongRelease,
    Until,
    WeakNext,
    WeakUntil,
    Xor,
)

Value = NDArray[np.floating]


def values_by_definition(formula: Formula, trace: Mapping[str, ArrayLike]) -> Value:
    """The value at every position, first axis, of a trace or of a batch of traces, second axis."""
    labels = {name: np.asarray(values, dtype=float) for name, values in trace.items()}
    shape = next(iter(labels.values())).shape
    n = shape[0] - 1
    one = np.ones(shape[1:])
    zero = np.zeros(shape[1:])

    def largest(values: Iterable[Value]) -> Value:
        return functools.reduce(np.maximum, values, zero)

    def smallest(values: Iterable[Value]) -> Value:
        return functools.reduce(np.minimum, values, one)

    @functools.cache
    def v(f: Formula, i: int) -> Value:
        match f:
            case Constant(value=value):
                return one if value else zero
            case Atom(name=name):
                return labels[name][i]
            case Not(args=(a,)):
                return 1 - v(a, i)
            case And(args=args):
                return smallest(v(a, i) for a in args)
            case Or(args=args):
                return largest(v(a, i) for a in args)
            case Next(args=(a,)):
                return zero if i == n else v(a, i + 1)
            case WeakNext(args=(a,)):
                return one if i == n else v(a, i + 1)
            case Eventually(args=(a,)):
                return largest(v(a, j) for j in range(i, n + 1))
            case Always(args=(a,)):
                return smallest(v(a, j) for j in range(i, n + 1))
            case Until(args=(a, b)):
                return largest(np.minimum(v(b, j), smallest(v(a, k) for k in range(i, j))) for j in range(i, n + 1))
            case Release(args=(a, b)):
                return smallest(np.maximum(v(b, j), largest(v(a, k) for k in range(i, j))) for j in range(i, n + 1))
            case Implies(args=(a, b)):
                return v(Or(Not(a), b), i)
            case Iff(args=(a, b)):
                return v(And(Implies(a, b), Implies(b, a)), i)
            case Xor(args=(a, b)):
                return v(Not(Iff(a, b)), i)
            case WeakUntil(args=(a, b)):
                return v(Or(Until(a, b), Always(a)), i)
            case StrongRelease(args=(a, b)):
                return v(Not(WeakUntil(Not(a), Not(b))), i)
        raise AssertionError(f"the definition does not know {f!r}")

    return np.array([v(formula, i) for i in range(n + 1)])


def value_by_definition(formula: Formula, trace: Mapping[str, ArrayLike]) -> Value:
    """The value of the formula on the trace: the one at position 0."""
    return values_by_definition(formula, trace)[0]
