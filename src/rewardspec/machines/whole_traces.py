"""Running a machine over whole traces, and over batches of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rewardspec.errors import LabelError
from rewardspec.machines.label_checks import require_atoms
from rewardspec.machines.namespaces import namespace_of
from rewardspec.types import Array, ArrayNamespace, Labels, MachineState

if TYPE_CHECKING:
    from rewardspec.machines.monitor import Monitor
    from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor


Runnable: TypeAlias = "Monitor | BooleanMonitor"


def run_trace(machine: Runnable, trace: Mapping[str, Array]) -> Array:
    """The value after every prefix; see `Monitor.run`."""
    require_atoms(trace, machine.atoms)
    if not trace:
        raise LabelError("The trace is empty: a formula without atoms still needs one labeled atom to tell its length.")
    names = machine.atoms or (next(iter(trace)),)
    labels = {name: _as_array(name, trace[name]) for name in names}
    shapes = {name: tuple(values.shape) for name, values in labels.items()}
    shape = next(iter(shapes.values()))
    if len(set(shapes.values())) > 1:
        raise LabelError(f"Every atom needs labels of the same shape, time first. Received {shapes}.")
    if not shape or shape[0] == 0:
        raise LabelError("The trace is empty. A trace holds at least the labels of the state after reset.")
    xp: ArrayNamespace = namespace_of(next(iter(labels.values())))
    if xp is np:
        return _run_one(machine, labels) if len(shape) == 1 else _run_batch(machine, labels, shape, np)
    if xp.__name__ == "jax.numpy":
        return _scan(machine, labels, shape)
    return _run_batch(machine, labels, shape, xp)


def _as_array(name: str, values: Array) -> Array:
    if namespace_of(values) is not None:
        return values
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise LabelError(f"The labels of {name!r} are not an array of numbers: {values!r}.") from None


def _run_one(machine: Runnable, labels: Labels) -> np.ndarray:
    columns = [values.tolist() for values in labels.values()]
    letters = (dict(zip(labels, row, strict=True)) for row in zip(*columns, strict=True))
    return np.asarray(_values(machine, machine.initial_state(), letters), dtype=np.float64)


def _run_batch(machine: Runnable, labels: Labels, shape: tuple[int, ...], xp: ArrayNamespace) -> Array:
    first = next(iter(labels.values()))
    floating = str(first.dtype).rpartition(".")[2].startswith(("float", "bfloat"))
    options = {"dtype": first.dtype} if floating else {}
    state = machine.initial_state(batch=shape[1:], xp=xp, device=getattr(first, "device", None), **options)
    letters = ({name: column[number] for name, column in labels.items()} for number in range(shape[0]))
    return xp.stack(_values(machine, state, letters))


def _values(machine: Runnable, state: MachineState, letters: Iterable[Labels]) -> list[Array]:
    values, step = [], machine.step
    for number, letter in enumerate(letters):
        try:
            state, value = step(state, letter)
        except LabelError as error:
            raise LabelError(f"At step {number}: {error}") from None
        values.append(value)
    return values


def _scan(machine: Runnable, labels: Labels, shape: tuple[int, ...]) -> Array:
    import jax

    dtype = jax.numpy.result_type(*labels.values(), jax.numpy.float32)
    ready = {name: values.astype(dtype) for name, values in labels.items()}
    state = machine.initial_state(batch=shape[1:], xp=jax.numpy, dtype=dtype)
    return jax.lax.scan(machine.step, state, ready)[1]
