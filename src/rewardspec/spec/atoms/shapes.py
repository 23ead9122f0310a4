"""Ready-made label shapes: from a measured quantity to a label in [0, 1].

Each takes a number or an array of NumPy, JAX or torch, and gives a label of the same kind.  Integers of any type are
read as floats, so that no difference wraps around.  NaN stays NaN, so that the label check can report it instead of a
shape hiding it.  Limits may be arrays too; where they make no sense is an error, and in compiled code, which cannot
raise one, NaN:

    >>> ramp(0.75, zero_at=0.5, one_at=1.5)
    0.25
    >>> import numpy as np
    >>> proximity(np.array([2.0, 3.0, 9.0]), target=2.0, tolerance=4.0)
    array([1.  , 0.75, 0.  ])
"""

from __future__ import annotations

import math

import numpy as np

from rewardspec.errors import SpecError
from rewardspec.machines.namespaces import namespace_of
from rewardspec.types import Array, ArrayNamespace, Number


def ramp(x: Array, zero_at: Array, one_at: Array) -> Number:
    """0 at `zero_at`, 1 at `one_at`, linear between them and flat beyond; the two may be in either order.

    Example:
        >>> ramp(3.0, 0.0, 4.0), ramp(3.0, 4.0, 0.0), ramp(-1.0, 0.0, 4.0)
        (0.75, 0.25, 0.0)
    """
    if type(x) is not float or type(one_at) is not float:
        x, zero_at, one_at = _real(x), _real(zero_at), _real(one_at)
    rises = _require(
        zero_at != one_at,
        "A ramp rises between two different numbers. Received {} for both. For a step at one number use at_least or "
        "at_most.",
        zero_at,
    )
    return unit((x - zero_at) / (one_at - zero_at)) * rises


def proximity(x: Array, target: Array, tolerance: Array) -> Number:
    """1 at the target, falling linearly to 0 at the distance `tolerance` from it.

    Example:
        >>> proximity(0.5, target=0.0, tolerance=2.0), proximity(-3.0, target=0.0, tolerance=2.0)
        (0.75, 0.0)
    """
    if type(x) is not float:
        x, target, tolerance = _real(x), _real(target), _real(tolerance)
    positive = _require_positive(tolerance, "tolerance", "proximity")
    return unit(1.0 - abs(x - target) / tolerance) * positive


def at_least(x: Array, bound: Array, margin: float = 0.0) -> Number:
    """1 from `bound` upwards, falling linearly to 0 over `margin` below it; without a margin, a step.

    Example:
        >>> at_least(0.5, 0.5), at_least(0.25, 0.5), at_least(0.25, 0.5, margin=1.0)
        (1.0, 0.0, 0.75)
    """
    _require_margin(margin, "at_least")
    if type(x) is not float:
        x, bound = _real(x), _real(bound)
    return unit(1.0 - (bound - x) / margin) if margin else _step(x - bound)


def at_most(x: Array, bound: Array, margin: float = 0.0) -> Number:
    """1 from `bound` downwards, falling linearly to 0 over `margin` above it; without a margin, a step.

    Example:
        >>> at_most(0.5, 0.5), at_most(0.75, 0.5), at_most(0.75, 0.5, margin=1.0)
        (1.0, 0.0, 0.75)
    """
    _require_margin(margin, "at_most")
    if type(x) is not float:
        x, bound = _real(x), _real(bound)
    return unit(1.0 - (x - bound) / margin) if margin else _step(bound - x)


def inside(x: Array, low: Array, high: Array, margin: float = 0.0) -> Number:
    """1 from `low` to `high`, falling linearly to 0 over `margin` on either side; without a margin, a step.

    Example:
        >>> inside(0.0, -1.0, 1.0), inside(1.5, -1.0, 1.0), inside(1.5, -1.0, 1.0, margin=2.0)
        (1.0, 0.0, 0.75)
    """
    _require_margin(margin, "inside")
    if type(x) is not float:
        x, low, high = _real(x), _real(low), _real(high)
    ordered = _require(low <= high, "inside takes the low end first. Received {} and {}. Exchange them.", low, high)
    # One of the two is 1 everywhere, so the product is the other, exactly.
    return at_least(x, low, margin) * at_most(x, high, margin) * ordered


def normalized_distance(point: Array, target: Array, farthest: Array) -> Number:
    """The Euclidean distance to the target as a share of `farthest`: 0 at the target, 1 from `farthest` on.

    Args:
        point: Coordinates on the last axis, for example `obs[..., :2]`.
        target: The target's coordinates.
        farthest: The distance that counts as 1.

    Example:
        >>> normalized_distance(np.array([3.0, 4.0]), [0.0, 0.0], farthest=10.0)
        0.5
        >>> 1.0 - normalized_distance(np.array([[0.0, 0.0], [0.0, 20.0]]), [0.0, 0.0], farthest=10.0)
        array([1., 0.])
    """
    positive = _require_positive(farthest, "farthest", "normalized_distance")
    xp = namespace_of(point)
    if xp is None:
        point, xp = np.asarray(point, dtype=np.float64), np
    target = xp.as_tensor(target, device=point.device) if _is_torch(xp) else xp.asarray(target)
    differences = _real(point) - _real(target)
    distance = xp.sqrt((differences * differences).sum(-1))
    return unit((distance if distance.ndim else _as_number(distance)) / farthest) * positive


def unit(x: Array) -> Number:
    """The number or array clipped into [0, 1]; NaN stays NaN.

    Example:
        >>> unit(1.5), unit(float("nan"))
        (1.0, nan)
    """
    xp = namespace_of(x)
    if xp is None:
        return x if 0.0 <= x <= 1.0 or x != x else 0.0 if x < 0.0 else 1.0
    return xp.clamp(x, 0.0, 1.0) if _is_torch(xp) else xp.clip(x, 0.0, 1.0)


def _real(x: Array) -> Number:
    """Integers of NumPy, JAX and torch as floats, whose differences do not wrap around; other numbers as they are.

    The shapes do without where they can: the difference of a float and any number is a float.
    """
    if isinstance(x, (float, np.floating, int)):  # faster than a union
        return x
    dtype = getattr(x, "dtype", None)
    is_float = getattr(dtype, "kind", "") == "f" or getattr(dtype, "is_floating_point", False)  # the latter in torch
    return x if is_float else x * 1.0


def _step(surplus: Array) -> Number:
    """1 where the surplus is not negative, 0 where it is, NaN where it is NaN."""
    xp = namespace_of(surplus)
    if xp is None:
        return surplus if surplus != surplus else 1.0 if surplus >= 0.0 else 0.0
    return xp.where(surplus != surplus, surplus, (surplus >= 0.0) * 1.0)


def _as_number(x: Array) -> Number:
    """A NumPy number as a float; arrays of other libraries, which may be traced, as they are."""
    return float(x) if isinstance(x, np.generic | np.ndarray) else x


def _is_torch(xp: ArrayNamespace) -> bool:
    return bool(xp.__name__ == "torch")


def _require(sensible: Array, message: str, *limits: Number) -> Number:
    """1 where the limits of a shape make sense, and NaN where they do not and nothing can be raised.

    Raises:
        SpecError: The limits are numbers, or arrays of NumPy, and make no sense somewhere.
    """
    if sensible is True or sensible is np.True_:
        return 1.0
    xp = namespace_of(sensible)
    if xp not in (None, np):
        return xp.where(sensible, 1.0, math.nan)
    if not np.all(sensible):
        first = np.unravel_index(np.argmin(sensible), np.shape(sensible))
        raise SpecError(message.format(*(f"{np.broadcast_to(x, np.shape(sensible))[first]:g}" for x in limits)))
    return 1.0


def _require_positive(x: Array, what: str, shape: str) -> Number:
    # Infinity is not positive enough: everything would be at the same distance from it.
    message = f"The {what} of {shape} should be a positive number. Received {{}}."
    return _require((x > 0.0) & (x < math.inf), message, x)


def _require_margin(x: float, shape: str) -> None:
    _require(
        0.0 <= x < math.inf, f"The margin of {shape} should be 0, for a step, or a positive number. Received {{}}.", x
    )
