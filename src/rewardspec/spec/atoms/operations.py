"""The functions of the atoms' expression language: on floats, and on the arrays of any library.

Both give the same numbers to the last bit for NumPy: arithmetic is the same by IEEE 754, and functions that are not
exact by nature are NumPy's in both.  As in NumPy, and unlike in Python, nothing raises: a division by zero gives an
infinity or NaN, which the label check reports.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from rewardspec.errors import SpecError
from rewardspec.spec.atoms import shapes
from rewardspec.types import ArrayNamespace, Number

Function: TypeAlias = Callable[..., Number]

# The number of arguments of each function that can be called by name, from least to most.
ARITIES: Mapping[str, tuple[int, int | None]] = {
    "abs": (1, 1),
    "all": (1, 1),
    "any": (1, 1),
    "at_least": (2, 3),
    "at_most": (2, 3),
    "atan2": (2, 2),
    "clip": (3, 3),
    "cos": (1, 1),
    "exp": (1, 1),
    "floor": (1, 1),
    "hypot": (2, 2),
    "inside": (3, 4),
    "log": (1, 1),
    "max": (1, None),
    "min": (1, None),
    "mean": (1, 1),
    "norm": (1, 1),
    "proximity": (3, 3),
    "ramp": (3, 3),
    "sin": (1, 1),
    "sqrt": (1, 1),
    "sum": (1, 1),
    "tan": (1, 1),
    "tanh": (1, 1),
    "where": (3, 3),
}
REDUCTIONS: Mapping[str, str] = {
    "all": "amin",
    "any": "amax",
    "max": "amax",
    "mean": "mean",
    "min": "amin",
    "norm": "sum",
    "sum": "sum",
}
"""Functions of one argument that make one number of several, and what array libraries call them. `any` and `all` are
the largest and the smallest, as `or` and `and` are."""
MARGINS = {"at_least": 2, "at_most": 2, "inside": 3}  # which argument is a margin, and so has to be a number

_COMPARISONS: Mapping[str, Function] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_UFUNCS = {
    "atan2": "arctan2",
    **{name: name for name in ("cos", "exp", "hypot", "log", "sin", "tan", "tanh")},
    "**": "power",
}
SHAPES: Mapping[str, Function] = {
    name: getattr(shapes, name) for name in ("at_least", "at_most", "inside", "proximity", "ramp")
}


def _minimum(a: float, b: float) -> float:
    return a if a <= b or a != a else b  # NaN wins, as in NumPy


def _maximum(a: float, b: float) -> float:
    return a if a >= b or a != a else b


# Of zeros with different signs NumPy's own minimum takes either, and these the one that is taken of floats.
def _minimum_of_arrays(a: Number, b: Number) -> Number:
    return np.where((a <= b) | (a != a), a, b)


def _maximum_of_arrays(a: Number, b: Number) -> Number:
    return np.where((a >= b) | (a != a), a, b)


def _by_numpy(function: Function) -> Function:
    def call(*args: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*args))

    return call


def _or_by_numpy(quick: Function, function: Function) -> Function:
    """Python's operator, and NumPy's where Python's raises."""
    fallback = _by_numpy(function)

    def call(a: float, b: float) -> Number:
        try:
            return quick(a, b)
        except ZeroDivisionError:
            return fallback(a, b)

    return call


def _sqrt(x: float) -> float:
    return math.sqrt(x) if x >= 0.0 else math.nan


def _truth(compare: Function) -> Function:
    return lambda a, b: 1.0 if compare(a, b) else 0.0


def _truths(compare: Function) -> Function:
    return lambda a, b: compare(a, b) * 1.0


def _complete(operations: dict[str, Function]) -> Mapping[str, Function]:
    """Operations with those added that can be made of others."""
    smallest, largest = operations["min"], operations["max"]
    return {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "//": operator.floordiv,
        "%": operator.mod,
        "abs": abs,
        **SHAPES,
        **operations,
        "clip": lambda x, low, high: smallest(largest(x, low), high),
    }


ON_FLOATS: Mapping[str, Function] = _complete(
    {
        "/": _or_by_numpy(operator.truediv, np.divide),
        "//": _or_by_numpy(operator.floordiv, np.floor_divide),
        "%": _or_by_numpy(operator.mod, np.mod),
        "min": _minimum,
        "max": _maximum,
        "sqrt": _sqrt,
        "floor": _by_numpy(np.floor),
        "where": lambda condition, then, otherwise: then if condition else otherwise,
        **{name: _by_numpy(getattr(np, function)) for name, function in _UFUNCS.items()},
        **{name: _truth(compare) for name, compare in _COMPARISONS.items()},
    }
)


@functools.cache
def on_arrays(xp: ArrayNamespace) -> Mapping[str, Function]:
    """The functions on arrays of one library; at least one argument of each is an array."""
    adapt = _with_tensors if xp.__name__ == "torch" else lambda function: function
    names = {"min": "minimum", "max": "maximum", "sqrt": "sqrt", "floor": "floor", **_UFUNCS}
    names["**"] = "power" if hasattr(xp, "power") else "pow"
    exact = {"min": _minimum_of_arrays, "max": _maximum_of_arrays} if xp is np else {}
    return _complete(
        {
            "where": adapt(lambda condition, then, otherwise: xp.where(condition != 0, then, otherwise)),
            **{name: adapt(getattr(xp, function)) for name, function in names.items()},
            **{name: _truths(compare) for name, compare in _COMPARISONS.items()},
            **exact,
        }
    )


def reduction(xp: ArrayNamespace, name: str, rank: int, axis: int | None) -> Function:
    """The function that reduces the last `rank` axes of an array, or one of them, to one number.

    A batch gives just what each of its elements alone gives: the reduced numbers always lie one beside the other.

    Example:
        >>> reduction(np, "max", 1, None)(np.array([[1.0, 3.0], [4.0, 2.0]]))
        array([3., 4.])
    """
    reduce = getattr(xp, REDUCTIONS[name])

    def call(values: Number) -> Number:
        values = xp.asarray(values)
        if axis is None:
            values = values.reshape((*values.shape[: values.ndim - rank], -1)) if rank > 1 else values
        else:
            values = xp.moveaxis(values, axis if axis < 0 else axis - rank, -1)
        if not values.shape[-1]:
            raise SpecError(f"The slice in {name}(…) holds no numbers. Does the observation have other axes?")
        if xp is np:
            values = np.ascontiguousarray(values)
        return xp.sqrt(reduce(values * values, -1)) if name == "norm" else reduce(values, -1)

    return call


def _with_tensors(function: Function) -> Function:
    """A torch function that also takes numbers, beside at least one tensor."""

    def call(*args: Number) -> Number:
        like = next(arg for arg in args if hasattr(arg, "dtype"))
        return function(*(arg if hasattr(arg, "dtype") else like.new_tensor(arg) for arg in args))

    return call
