"""Labels of one transition: calling the atoms' functions, and saying clearly when one misbehaves."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error, LabelError, shown
from rewardspec.machines.label_checks import TOLERANCE
from rewardspec.machines.program import Semantics
from rewardspec.spec.atoms.functions import NO_INFO, takes_info
from rewardspec.spec.sorts import LabelAxes, named_labels
from rewardspec.types import Action, Info, LabelFunction, Number, Observation

StepNumber: TypeAlias = int | NDArray[np.int64] | Callable[[], NDArray[np.int64]] | None
"""Number of a step, for error messages: of all environments, of each, or a function that returns these."""

_NUMBERS: frozenset[Any] = frozenset([float, int, bool, np.bool_, np.float32, np.float64, np.int64])  # the usual ones


def read_labels(
    atoms: Mapping[str, LabelFunction],
    obs: Observation,
    action: Action,
    next_obs: Observation,
    info: Info | None = None,
    *,
    step: StepNumber = None,
    clip: bool = False,
    semantics: Semantics = "degree",
    axes: LabelAxes | None = None,
) -> dict[str, Number]:
    """The label of each atom for one transition; `rewardspec.spec.atoms.batch_labeling` has the same for batches.

    A label is a float; while JAX traces, what stands for one, whose value nobody can check yet. The functions are as
    `with_info` makes them. The other arguments are those of `Spec.labels` and `Spec`; without `axes`, no atom is about
    things.

    Raises:
        LabelError: An atom raised, or gave a label that is no number, is NaN or out of range. Names the atom, the value
            and the step.
    """
    labels: dict[str, Number] = {}
    for name, function in atoms.items():
        try:
            found = function(obs, action, next_obs, info)
        except Exception as error:
            raise atom_raised(name, error, step, next_obs, info if takes_info(function) else None) from error
        if axes is not None and name in axes.named:
            if clip and isinstance(found, Mapping):
                found = {x: _label(f"{name}({x})", one, step, clip, semantics) for x, one in found.items()}
            labels[name] = named_labels(name, found, at_step(step))
        elif axes is not None and name in axes.sort_of:
            for each, one in _of_things(axes, name, found, step).items():
                labels[each] = _label(each, one, step, clip, semantics)
        else:
            labels[name] = _label(name, found, step, clip, semantics)
    return labels


def _of_things(axes: LabelAxes, name: str, found: Any, step: StepNumber) -> dict[str, Any]:
    try:
        return axes.of_things(name, found)
    except LabelError as error:
        raise LabelError(f"The atom {name!r} cannot be read{at_step(step)}: {error}") from error


def _label(name: str, found: Any, step: StepNumber, clip: bool, semantics: Semantics) -> Any:
    """One label, checked and perhaps clipped."""
    if found.__class__ in _NUMBERS:
        found = float(found)
    elif _is_traced_number(found):
        return found.clip(0.0, 1.0) if clip else found
    else:
        found = _as_float(name, found, step)
    if semantics == "robustness":
        if not math.isfinite(found):
            raise out_of_range(name, at_step(step), found, semantics)
    elif not 0.0 <= found <= 1.0:
        if clip or -TOLERANCE <= found <= 1.0 + TOLERANCE:
            found = 0.0 if found < 0.0 else 1.0 if found > 1.0 else found
        if not 0.0 <= found <= 1.0:
            raise out_of_range(name, at_step(step), found)
    return found


def _as_float(name: str, found: Number, step: StepNumber) -> float:
    try:
        if isinstance(found, str | bytes) or getattr(getattr(found, "dtype", None), "kind", "f") in "cOSTUmM":
            raise TypeError  # `float` would read a text, and throw an imaginary part away
        return float(found)
    except Exception as error:
        remedy = ""
        if found is None:
            remedy = " End it with `return` and a number."
        elif isinstance(found, list | tuple) or bool(getattr(found, "shape", None)):
            least = "jnp.min" if _is_traced(found) else "min"
            remedy = f" Join its numbers to one, as with {least}, or choose one of them."
        raise LabelError(
            f"The atom {name!r} gave {shown(found)}{at_step(step)}; an atom should give a number in [0, 1].{remedy}"
        ) from error


def _is_traced_number(value: Number) -> bool:
    """Return whether the value is a JAX tracer of a real number."""
    return _is_traced(value) and value.shape == () and value.dtype.kind != "c"


def _is_traced(value: Number) -> bool:
    """Return whether the value is a JAX tracer."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def atom_raised(name: str, error: Exception, step: StepNumber, next_obs: Observation, info: Info | None) -> LabelError:
    """The error for an atom whose function raised one; `info` is what it was given, if that."""
    if isinstance(error, Error):  # of ours, which says what to do
        where = at_step(step, getattr(error, "environment", None))
        return LabelError(f"The atom {name!r} cannot be read{where}: {error}")
    words = str(error)
    if _is_of_tracing(error):
        words = words.partition("\n")[0]  # the others tell of tracers, and where to read about them
    message = f"The atom {name!r} raised {type(error).__name__}{at_step(step)}: {words.rstrip('.')}."
    return LabelError(f"{message}{_remedy(error, step, next_obs, info)}")


def _remedy(error: Exception, step: StepNumber, next_obs: Observation, info: Info | None) -> str:
    """Suggest a remedy for an atom that raises such an error."""
    words = str(error)
    if _is_of_tracing(error):
        return (
            " JAX compiles atoms: write jnp.where for `if`, jnp.minimum for `min`, & for `and`, .astype(float) for "
            "`float`, and functions of jnp for those of NumPy and math."
        )
    if "argument: 'info'" in words:
        return f" It reads `info`, and {NO_INFO}"
    if "positional argument" in words:
        return " An atom is a function of (obs, action, next_obs), or of (obs, action, next_obs, info)."
    if isinstance(error, KeyError) and isinstance(info, Mapping) and error.args[0] not in info:
        other = f" {_described('next_obs', next_obs)}" if isinstance(next_obs, Mapping) else ""
        if at_step(step) == " at step 0":
            other += f" If only `reset` does not give it, write info.get({error.args[0]!r}, 0)."
        return f" {_described('info', info)}{other}"
    if "NoneType" in words and at_step(step) == " at step 0":
        return " At reset `action` is None: say what the label is then."
    if "truth value of an array" in words:
        return " It got a batch: use operations on arrays instead of `if`, `and`, `or` and `min`."
    if isinstance(error, IndexError):
        advice = " Written for the last axis, as next_obs[..., 2], an atom serves one environment and a batch of them."
        return f" {_described('next_obs', next_obs)}{advice if np.ndim(next_obs) > 1 else ''}"
    if isinstance(error, AttributeError | KeyError | TypeError):
        return f" {_described('next_obs', next_obs)}"
    return ""


def _is_of_tracing(error: Exception) -> bool:
    """Return whether JAX raised the error because a value is known only when compiled code runs."""
    errors = getattr(sys.modules.get("jax"), "errors", None)
    names = "ConcretizationTypeError", "TracerArrayConversionError", "TracerIntegerConversionError"
    return errors is not None and isinstance(error, tuple(getattr(errors, name) for name in names))


def _described(name: str, value: Number) -> str:
    """Describe an atom's arguments in a sentence.

    Example:
        >>> _described("next_obs", np.zeros(4)), _described("info", {"x": 1})
        ('next_obs is an array of shape (4,).', "info is a dict with the keys 'x'.")
    """
    if isinstance(value, Mapping):
        keys = f"the keys {', '.join(map(repr, value))}" if value else "no keys"
        return f"{name} is a {type(value).__name__} with {keys}."
    if isinstance(value, tuple | list):
        return f"{name} is a {type(value).__name__} of {len(value)}."
    if np.ndim(value):
        return f"{name} is an array of shape {tuple(value.shape)}."
    return f"{name} is {textwrap.shorten(str(value), 80)}, of type {type(value).__name__}."


OUT_OF_RANGE = "Scale it, for example with ramp, or have all labels clipped: Spec(…, clip=True), in a file clip = true."
"""What to do about a label that is not in [0, 1]."""


def out_of_range(name: str, where: str, value: float, semantics: Semantics = "degree") -> LabelError:
    """The error for a label that is not in [0, 1] or, as robustness, not finite."""
    hint = OUT_OF_RANGE
    if not math.isfinite(value) and (value != value or semantics == "robustness"):
        hint = (
            "A division by zero, or the root or logarithm of a negative number, gives that: keep them out of the atom."
        )
    bounds = "in [0, 1]" if semantics == "degree" else "finite"
    # Enough digits to tell it from the nearest label.
    return LabelError(f"The label of {name!r}{where} should be {bounds}. Received {value:.15g}. {hint}")


def at_step(step: StepNumber, index: int | None = None) -> str:
    """Name the step, for error messages; `index` is the environment that it is about, where they may differ."""
    step = step() if callable(step) else step
    if isinstance(step, np.ndarray) and step.ndim:
        same = step.size > 0 and bool((step == step[0]).all())
        step = int(step[index]) if index is not None else int(step[0]) if same else None
    return "" if step is None else f" at step {step}"
