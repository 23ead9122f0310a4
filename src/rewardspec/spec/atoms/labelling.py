"""Labels from observations: calling the atoms' functions, and saying clearly when one misbehaves."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from rewardspec.errors import Error, LabelError
from rewardspec.spec.atoms.arguments import reads_only_the_state

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
) -> dict[str, Any]:
    """The label of each atom for one transition; `rewardspec.spec.atoms.batch_labelling` has the same for batches.

    A label is a float; while JAX traces, what stands for one, whose value nobody can check yet.

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
    labels: dict[str, Any] = {}
    for name, function in atoms.items():
        try:
            found = function(obs, action, next_obs)
        except Exception as error:
            raise atom_raised(name, error, step, next_obs) from error
        try:
            label = float(found)
        except Exception as error:
            if _is_traced_number(found):
                labels[name] = found.clip(0.0, 1.0) if clip else found
                continue
            raise no_number(name, found, step) from error
        if clip and not 0.0 <= label <= 1.0 and label == label:
            label = 0.0 if label < 0.0 else 1.0
        if not 0.0 <= label <= 1.0:
            raise outside(name, at_step(step), label)
        labels[name] = label
    return labels


def _is_traced_number(value: Any) -> bool:
    """Whether JAX is tracing, so that this stands for a number that is not known yet."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer) and value.shape == ()


def atom_raised(name: str, error: Exception, step: Any, next_obs: Any) -> LabelError:
    """The error for an atom whose function raised one."""
    if isinstance(error, Error):  # of ours, which says what to do
        return LabelError(f"The atom {name!r} cannot be read{at_step(step)}: {error}")
    message = f"The atom {name!r} raised {type(error).__name__}{at_step(step)}: {str(error).rstrip('.')}."
    return LabelError(f"{message}{_remedy(error, step, next_obs)}")


def _remedy(error: Exception, step: Any, next_obs: Any) -> str:
    """What is usually wrong with an atom that raises such an error."""
    words = str(error)
    if "positional argument" in words:
        return " An atom is a function of (obs, action, next_obs)."
    if "NoneType" in words and np.ndim(step) == 0 and step == 0:
        return " At reset `action` is None: say what the label is then."
    if "truth value of an array" in words:
        return " It got a batch: use operations on arrays instead of `if`, `and`, `or` and `min`."
    if isinstance(error, IndexError):
        advice = " Written for the last axis, as next_obs[..., 2], an atom serves one environment and a batch of them."
        return f" {_described(next_obs)}{advice if np.ndim(next_obs) > 1 else ''}"
    if isinstance(error, AttributeError | KeyError | TypeError):
        return f" {_described(next_obs)}"
    return ""


def _described(next_obs: Any) -> str:
    """What an atom was given, in a sentence.

    Example:
        >>> _described(np.zeros(4)), _described({"x": 1})
        ('next_obs is an array of shape (4,).', "next_obs is a dict with the keys 'x'.")
    """
    if isinstance(next_obs, Mapping):
        return f"next_obs is a {type(next_obs).__name__} with the keys {', '.join(map(repr, next_obs))}."
    if isinstance(next_obs, tuple | list):
        return f"next_obs is a {type(next_obs).__name__} of {len(next_obs)}."
    if np.ndim(next_obs):
        return f"next_obs is an array of shape {tuple(next_obs.shape)}."
    return f"next_obs is {textwrap.shorten(str(next_obs), 80)}, of type {type(next_obs).__name__}."


def no_number(name: str, found: Any, step: Any) -> LabelError:
    """The error for an atom that gave what is no number."""
    remedy = ""
    if found is None:
        remedy = " End it with `return` and a number."
    elif isinstance(found, list | tuple) or bool(getattr(found, "shape", None)):
        remedy = " Join its numbers to one, as with min, or choose one of them."
    return LabelError(
        f"The atom {name!r} gave {shown(found)}{at_step(step)}; an atom should give a number in [0, 1].{remedy}"
    )


def shown(value: Any) -> str:
    """A value on one line that is not too long.

    Example:
        >>> shown("yes"), shown(np.arange(6).reshape(2, 3))
        ("'yes'", 'array([[0, 1, 2], [3, 4, 5]])')
    """
    return textwrap.shorten(repr(value), 80, placeholder=" …")


def outside(name: str, where: str, value: float) -> LabelError:
    """The error for a label that is not in [0, 1]."""
    hint = (
        "A division by zero, or the root or logarithm of a negative number, gives that: keep them out of the atom."
        if value != value
        else "Scale it, or pass clip=True to the spec."
    )
    return LabelError(f"The label of {name!r}{where} should be in [0, 1]. Received {value:g}. {hint}")


def at_step(step: Any, index: int | None = None) -> str:
    """Which step it was, for error messages; of steps that differ between environments, that of the given one."""
    if step is None or (np.ndim(step) and index is None):
        return ""
    return f" at step {int(step[index]) if np.ndim(step) else step}"
