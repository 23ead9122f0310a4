"""Labels from observations: calling the atoms' functions, and saying clearly when one misbehaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from rewardspec.errors import LabelError
from rewardspec.spec.atom_arguments import reads_only_the_state

AtomFunction: TypeAlias = Callable[[Any, Any, Any], Any]


class Thresholded:
    """An atom's function turned Boolean: its label is 1 from the threshold on, else 0.

    A class and not a closure, so that specs with it can be copied, pickled and saved.
    """

    def __init__(self, function: AtomFunction, threshold: float) -> None:
        self.function = function
        self.threshold = threshold

    @property
    def reads_only_the_state(self) -> bool:
        """Whether the label surely depends on `next_obs` alone."""
        return reads_only_the_state(self.function)

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
    atoms: Mapping[str, AtomFunction], obs: Any, action: Any, next_obs: Any, *, step: Any = None, clip: bool = False
) -> dict[str, float]:
    """The label of each atom for one transition; `rewardspec.spec.batch_labelling` has the same for batches.

    Args:
        atoms: The functions of `(obs, action, next_obs)`.
        obs: The observation before the action; at reset the first observation.
        action: The action; None at reset.
        next_obs: The observation after it.
        step: The step's number, for error messages.
        clip: Whether to clip labels into [0, 1].

    Raises:
        LabelError: An atom raised, or gave a label that is no number, is NaN or lies outside [0, 1]. Names the atom,
            the value and the step.
    """
    labels = {}
    for name, function in atoms.items():
        try:
            label = float(function(obs, action, next_obs))
        except Exception as error:
            raise atom_raised(name, error, step) from error
        if clip and not 0.0 <= label <= 1.0 and label == label:
            label = 0.0 if label < 0.0 else 1.0
        if not 0.0 <= label <= 1.0:
            raise outside(name, at_step(step), label)
        labels[name] = label
    return labels


def atom_raised(name: str, error: Exception, step: Any) -> LabelError:
    """The error for an atom whose function raised one."""
    message = f"The atom {name!r} raised {type(error).__name__}{at_step(step)}: {str(error).rstrip('.')}."
    return LabelError(f"{message}{_remedy(error, step)}")


def _remedy(error: Exception, step: Any) -> str:
    """What is usually wrong with an atom that raises such an error."""
    words = str(error)
    if "positional argument" in words:
        return " An atom is a function of (obs, action, next_obs)."
    if "float() argument" in words and "NoneType" in words:
        return " It gave None: end it with `return` and a number."
    if "NoneType" in words and np.ndim(step) == 0 and step == 0:
        return " At reset `action` is None: say what the label is then."
    if "truth value of an array" in words:
        return " It got a batch: use operations on arrays instead of `if`, `and`, `or` and `min`."
    if isinstance(error, IndexError):
        return " Written for the last axis, as next_obs[..., 2], an atom serves one environment and a batch of them."
    if isinstance(error, TypeError) and "array" in words:
        return " It should give one number for each environment."
    return ""


def outside(name: str, where: str, value: float) -> LabelError:
    """The error for a label that is not in [0, 1]."""
    hint = "" if value != value else " Scale it, or pass clip=True to the spec."
    return LabelError(f"The label of {name!r}{where} should be in [0, 1]. Received {value:g}.{hint}")


def at_step(step: Any, index: int | None = None) -> str:
    """Which step it was, for error messages; of steps that differ between environments, that of the given one."""
    if step is None or (np.ndim(step) and index is None):
        return ""
    return f" at step {int(step[index]) if np.ndim(step) else step}"
