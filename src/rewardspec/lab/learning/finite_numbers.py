"""Checks that what is learned from, and what is learned, are finite numbers: a single NaN makes a whole policy NaN."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rewardspec.errors import Error


def require_finite(numbers: Any, what: str, where: Callable[[int], str]) -> None:
    """Check what environments gave in one step.

    Args:
        numbers: An array whose first axis is the environments.
        what: What it is, such as `"The reward of CartPole-v1"`.
        where: Which environment and step a row is of, in words; called where a number is not finite.

    Raises:
        Error: A number is NaN or infinite. Names the first.

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


def require_finite_policy(parameters: Mapping[str, Any], learner: str, when: str) -> None:
    """Check what was learned.

    Args:
        parameters: Arrays by name.
        learner: Who learned it.
        when: After how much training, in words.

    Raises:
        Error: A number is NaN or infinite, as after a step that was too long.
    """
    for name, array in parameters.items():
        if not np.isfinite(array).all():
            raise Error(
                f"{learner} diverged: {when}, its parameters {name!r} are not finite any more. Lower the learning "
                "rate, or the size of the rewards."
            )
