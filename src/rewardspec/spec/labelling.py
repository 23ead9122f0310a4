"""Labels from observations: calling the atoms' functions, and saying clearly when one misbehaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from rewardspec.backends.labels import CheckedLabels, inside_unit_interval
from rewardspec.errors import LabelError

AtomFunction: TypeAlias = Callable[[Any, Any, Any], Any]


class Thresholded:
    """An atom's function turned Boolean: its label is 1 from the threshold on, else 0.

    A class and not a closure, so that specs with it can be copied, pickled and saved.
    """

    def __init__(self, function: AtomFunction, threshold: float) -> None:
        self.function = function
        self.threshold = threshold

    def __call__(self, obs: Any, action: Any, next_obs: Any) -> Any:
        """The Boolean label of one transition, or of a batch."""
        return (self.function(obs, action, next_obs) >= self.threshold) * 1.0


class Clipped:
    """An atom's function for one environment, its label clipped into [0, 1]; NaN stays NaN."""

    def __init__(self, function: AtomFunction) -> None:
        self.function = function

    def __call__(self, obs: Any, action: Any, next_obs: Any) -> float:
        """The clipped label of one transition."""
        label = float(self.function(obs, action, next_obs))
        return 0.0 if label < 0.0 else 1.0 if label > 1.0 else label


def read_labels(
    atoms: Mapping[str, AtomFunction],
    obs: Any,
    action: Any,
    next_obs: Any,
    *,
    step: Any = None,
    batch: int | None = None,
    envs: Any = None,
    clip: bool = False,
) -> dict[str, Any]:
    """The label of each atom for one transition, or for a batch of them.

    Args:
        atoms: The functions of `(obs, action, next_obs)`.
        obs: The observation before the action; at reset the first observation.
        action: The action; None at reset.
        next_obs: The observation after it.
        step: The step's number, for error messages; for a batch, one number or one for each element.
        batch: The number of environments, or None for one.
        envs: The number of each element's environment, for error messages, where it is not its place in the batch.
        clip: Whether to clip labels into [0, 1].

    Raises:
        LabelError: An atom raised, or gave a label that is no number, is NaN, lies outside [0, 1], or has the wrong
            shape. Names the atom, the value, the step and the environment.
    """
    labels: dict[str, Any] = {} if batch is None else CheckedLabels()
    for name, function in atoms.items():
        try:
            value = function(obs, action, next_obs)
            if batch is None:
                value = float(value)
                if 0.0 <= value <= 1.0:
                    labels[name] = value
                    continue
        except Exception as error:
            raise _raised(name, error, step) from error
        if batch is None:
            if clip and value == value:
                labels[name] = 0.0 if value < 0.0 else 1.0
                continue
            raise LabelError(f"The label of {name!r}{_at(step)} should be in [0, 1]. Received {value:g}.{_hint(value)}")
        labels[name] = _batch(name, value, step, batch, envs, clip)
    return labels


def _batch(name: str, value: Any, step: Any, batch: int, envs: Any, clip: bool) -> np.ndarray:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.asarray(None)
    if array.dtype.kind not in "biuf":
        raise LabelError(f"The labels of {name!r}{_at(step)} are not an array of numbers: {value!r}.")
    if array.dtype != np.float64:
        array = array.astype(np.float64)
    if array.shape == ():
        array = np.broadcast_to(array, (batch,))
    if array.shape != (batch,):
        raise LabelError(
            f"The labels of {name!r}{_at(step)} should have shape ({batch},), one for each environment. "
            f"Received shape {array.shape}. Write atoms with array operations on the last axis, such as `obs[..., 0]`."
        )
    if clip:
        array = np.clip(array, 0.0, 1.0)
    if not inside_unit_interval(array):
        index = int(np.argmin((array >= 0.0) & (array <= 1.0)))
        received = float(array[index])
        where = f"{_at(step, index)} in environment {index if envs is None else int(envs[index])}"
        raise LabelError(f"The label of {name!r}{where} should be in [0, 1]. Received {received:g}.{_hint(received)}")
    return array


def _raised(name: str, error: Exception, step: Any) -> LabelError:
    return LabelError(f"The atom {name!r} raised {type(error).__name__}{_at(step)}: {error}.")


def _at(step: Any, index: int | None = None) -> str:
    if step is None or (np.ndim(step) and index is None):
        return ""
    return f" at step {int(step[index]) if np.ndim(step) else step}"


def _hint(value: float) -> str:
    return "" if value != value else " Scale it, or pass clip=True to the spec."
