"""Checks for NaN and infinity in training data and parameters: a single NaN makes a whole policy NaN."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rewardspec.errors import Error
from rewardspec.types import Array


def require_finite(numbers: Array, what: str, where: Callable[[int], str]) -> None:
    """Check the observations or rewards of one step, an array of shape (environments, …).

    `what` describes the numbers, and `where` the environment and step of a row. The error names the first bad number.

    Example:
        >>> require_finite(np.array([0.5, np.nan]), "The reward", lambda k: f"in environment {k}")
        Traceback (most recent call last):
          ...
        rewardspec.errors.Error: The reward in environment 1 should be finite. Received nan. Training stopped, because \
a policy that learns from it is NaN as a whole. Mend the environment, or wrap it so that every number is finite.
    """
    good = np.isfinite(numbers)
    if good.all():
        return
    row, *place = np.argwhere(~good)[0].tolist()
    value = float(np.asarray(numbers)[(row, *place)])
    number = f" (number {place[0] if len(place) == 1 else tuple(place)})" if place else ""
    raise Error(
        f"{what} {where(row)} should be finite. Received {value}{number}. Training stopped, because a policy that "
        "learns from it is NaN as a whole. Mend the environment, or wrap it so that every number is finite."
    )


def require_finite_policy(parameters: Mapping[str, Array], learner: str, when: str) -> None:
    """Check learned parameters; `when` is the amount of training, such as `"after 2,048 steps"`."""
    for name, array in parameters.items():
        if not np.isfinite(array).all():
            raise Error(
                f"{learner} diverged: {when}, its parameters {name!r} are not finite any more. Lower the learning "
                "rate, or the size of the rewards."
            )
