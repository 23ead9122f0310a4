"""Machines that run: a program and its head, on one trace or on batches of any array library."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error, LabelError
from rewardspec.machines import array_code, scalar_code
from rewardspec.machines.array_code import ArrayStep, State, chosen, everywhere
from rewardspec.machines.heads import Head
from rewardspec.machines.label_checks import (
    CheckedLabels,
    as_labels,
    checked_array,
    checked_numbers,
    is_noted,
    numpy_labels,
    require_atoms,
)
from rewardspec.machines.namespaces import namespace_of
from rewardspec.machines.program import Program
from rewardspec.machines.readings import leaves, like_of, parts_of
from rewardspec.machines.window_code import BatchWindows, has_begun
from rewardspec.types import Array, ArrayNamespace, Device, DType, Labels, MachineState, Number

Places: TypeAlias = NDArray[np.intp]
F = TypeVar("F", bound=Callable[..., Any])
H = TypeVar("H", bound=Head)


class _Compiled:
    """A method that gives way to a compiled function, kept by the instance: a call costs nothing more than its code."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        functools.update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self._method
        function = instance.machine.step
        with contextlib.suppress(AttributeError):
            function.__doc__ = self._method.__doc__
        instance.__dict__[self._method.__name__] = function
        return function


def compiled(method: F) -> F:
    """Document the step of something that has a `machine`, whose own step takes the method's place."""
    return cast(F, _Compiled(method))


class Machine(Generic[H]):
    """A program with its head: pure functions from states and labels to states and results.

    `split` makes labels as a user gives them those that the program reads; None where they are the same.
    """

    def __init__(self, program: Program, head: H, split: Callable[[Labels], Labels] | None = None) -> None:
        self.program = program
        self.head = head
        self._split = split
        self._windows = BatchWindows(program)

    @functools.cached_property
    def step(self) -> scalar_code.ScalarStep:
        """The function `(state, labels, …) -> (state, result)`, for whatever the state and labels are."""
        step, split = scalar_code.compile_step(self.program, self.head, self._step_arrays), self._split
        if split is None:
            return step
        return lambda state, labels, *given, **named: step(state, split(labels), *given, **named)

    @functools.cached_property
    def _for_arrays(self) -> ArrayStep:
        return array_code.compile_step(self.program, self.head)

    @functools.cached_property
    def _initial_registers(self) -> tuple[float, ...]:
        return tuple(map(self.program.number, self.program.initial))

    @functools.cached_property
    def _for_numpy(self) -> ArrayStep:
        return array_code.compile_step(self.program, self.head, reuse=True)

    def initial_state(
        self,
        batch: int | Sequence[int] | None = None,
        xp: ArrayNamespace = None,
        dtype: DType = None,
        device: Device = None,
        check_labels: bool = False,
    ) -> MachineState:
        """The state before the first letter; see `Monitor.initial_state`."""
        start = scalar_code.initial_state(self.program, self.head)
        if batch is None and xp is None:
            return start
        xp = np if xp is None else xp
        shape = () if batch is None else (int(batch),) if isinstance(batch, int | np.integer) else tuple(batch)
        options = {name: option for name, option in (("dtype", dtype), ("device", device)) if option is not None}
        like = xp.zeros(shape, **options)
        if like.dtype.itemsize < _LEAST_BYTES:
            raise Error(
                f"`dtype` should be float32 or float64. Received {dtype}, which would round values and rewards. "
                "Labels may have any type: they are converted to that of the state."
            )
        return everywhere(self.program, start, like, xp, check_labels and xp is not np)

    def step_checked(self, state: State, labels: CheckedLabels, *given: Any) -> tuple[State, Array]:
        """`step` of a NumPy batch on labels that have been checked, and quicker.

        The result may be an array of the state's, which callers copy before they return it.
        """
        return self._for_numpy(state, labels, np, *given)

    def _step_arrays(
        self, state: MachineState, labels: Labels, *given: Any, **named: Any
    ) -> tuple[MachineState, Array]:
        """A step on arrays; also where a scalar step's odd labels end up, to be used as arrays or refused."""
        if state.__class__ is State and not named:
            first = state.registers[0] if state.registers else leaves(state.memory)[0]
            # The usual case first and in place: in a small batch, calls cost more than the arithmetic.
            if first.__class__ is np.ndarray and first.shape and self._is_plain(given, first):
                return self._step_numpy(state, labels, first, given)
        arguments = self._arguments(given, named)
        program = self.program
        if type(state) is tuple:
            spaces = [namespace_of(labels[a]) for a in program.atoms if isinstance(labels, Mapping) and a in labels]
            if len(spaces) < len(program.atoms) or not any(space is not None for space in spaces):
                return self.step(state, checked_numbers(labels, program.atoms, program.semantics), *arguments)
            if program.windows and has_begun(state[1 + len(program.registers)]):
                raise LabelError("The labels of a trace that has begun with numbers should be numbers.")
            state = everywhere(program, state, *batch_of(labels, program.atoms))
        if not isinstance(state, State):
            raise Error(f"A step starts from what `initial_state` or the step before gave. Received {state!r}.")
        like = like_of(state)
        xp = namespace_of(like) or np
        given = tuple(
            as_column(name, value, like, xp) for (name, _), value in zip(self.head.inputs, arguments, strict=True)
        )
        if type(like) is np.ndarray and like.shape:
            return self._step_numpy(state, labels, like, given)
        require_atoms(labels, program.atoms)
        ready = {atom: as_labels(atom, labels[atom], like, xp) for atom in program.atoms}
        if xp is np:  # a batch of shape (), whose results NumPy turns into numbers
            ready = {atom: checked_array(atom, values, program.semantics) for atom, values in ready.items()}
        new, result = self._for_arrays(state, ready, xp, *given)
        # In torch a caller may well write into the result, which would reach the state.
        return new, result.clone() if xp.__name__ == "torch" else result

    def _is_plain(self, given: Sequence[Array], like: Array) -> bool:
        """Return whether the head's arguments are all there, and numbers or arrays of the batch's shape."""
        if len(given) != len(self.head.inputs):
            return False
        for value in given:
            if value.__class__ not in _PLAIN and (value.__class__ is not np.ndarray or value.shape != like.shape):
                return False
        return True

    def _step_numpy(self, state: State, labels: Labels, like: Array, given: Sequence[Array]) -> tuple[State, Array]:
        ready = numpy_labels(labels, self.program.atoms, like, self.program.semantics)
        new, result = self._for_numpy(state, ready, np, *given)
        # A learner that scales its rewards in place must not reach the state.
        result.setflags(write=False)
        for array in new.registers:
            if array is not result:
                array.setflags(write=False)
        if len(new.memory) > 1:
            for array in leaves(new.memory):
                array.setflags(write=False)
        return new, result

    def _arguments(self, given: Sequence[Array], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The head's inputs in order, the defaults filled in."""
        return (*given, *(named.get(name, default) for name, default in self.head.inputs[len(given) :]))

    def parts(self, state: MachineState) -> tuple[Any, tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
        """Control state, registers, what each window gives, and the head's memory, of one trace or of a batch."""
        parts, xp = parts_of(self.program, state)
        given = tuple(self._windows.read(parts.windows, k, xp) for k in range(len(self.program.windows)))
        return parts.control, parts.registers, given, parts.memory

    def lasting(self, state: MachineState) -> tuple[Number, ...]:
        """For each window of an extremum, in which share of its length the extremum will be gone.

        Of one trace, or of a batch: 1 for an extremum that has just come, 0 where there is none.
        """
        parts, xp = parts_of(self.program, state)
        windows = [window for window in self.program.windows if window.op != "last"]
        found = self._windows.lasting(parts.windows, xp)
        return tuple(steps / window.length for steps, window in zip(found, windows, strict=True))

    def invalid_labels(self, state: MachineState) -> dict[str, Number]:
        """Masks, by atom, of labels that have been out of range since the batch was started, of the batch's shape.

        Raises:
            LabelError: The state does not keep this: it is of one trace or in NumPy, where such a label is an error at
                once, or was made without `check_labels`.
        """
        invalid = getattr(state, "invalid", None)
        if invalid is None:
            raise LabelError(
                "This state does not note which labels were out of range. In NumPy such a label raises an error at "
                "once; in JAX and torch, pass check_labels=True to `start` or `initial_state`."
            )
        return {atom: is_noted(invalid, k) for k, atom in enumerate(self.program.atoms)}

    def columns(self, state: State) -> list[np.ndarray]:
        """All that the program remembers of a NumPy batch: control state, registers, and what each window holds."""
        windows = range(len(self.program.windows))
        held = [column for k in windows for column in self._windows.contents(state.windows, k, np)]
        control = np.zeros(like_of(state).shape) if state.control is None else state.control
        return [control, *state.registers, *held]

    def of_columns(self, columns: Sequence[np.ndarray], memory: tuple[Array, ...]) -> State:
        """The state of a NumPy batch from its columns, and what the head remembers."""
        control, *rest = columns
        count = len(self.program.registers)
        return State(
            control.astype(np.int32) if len(self.program.steps) > 1 else None,
            tuple(rest[:count]),
            self._windows.of_contents(rest[count:]),
            memory,
        )

    def begin(self, state: State, mask: Array) -> State:
        """A batch's state in which the masked elements have read nothing yet; a step starts them."""
        like = like_of(state)
        xp = namespace_of(like) or np
        initial = everywhere(self.program, scalar_code.initial_state(self.program, self.head), xp.zeros_like(like), xp)
        windows = self._windows.begin(mask, initial.windows, state.windows, xp)
        return chosen(mask, initial, state, windows, xp)

    def restart(self, state: State, started: State, mask: Array) -> State:
        """A batch's state in which the masked elements have read their first letter alone, as all of `started` have."""
        xp = namespace_of(like_of(state)) or np
        return chosen(mask, started, state, self._windows.restart(mask, started.windows, state.windows, xp), xp)

    # In NumPy, where a few elements are quicker to write than all to choose.

    def begin_at(self, state: State, where: Places) -> State:
        """A NumPy batch's state in which some elements, by their indices, have read nothing yet.

        What a step writes without reading it is left as it is.
        """
        windows = state.windows
        if windows:
            windows = self._windows.begin(_mask(state, where), (), windows, np)
        return State(
            None if state.control is None else changed(state.control, where, 0),
            tuple(
                [changed(old, where, new) for old, new in zip(state.registers, self._initial_registers, strict=True)]
            ),
            windows,
            (changed(state.memory[0], where, self.head.fields[0].initial), *state.memory[1:]),
        )

    def restart_at(self, state: State, started: State, where: Places) -> State:
        """A NumPy batch's state in which some elements, by their indices, have read their first letter alone.

        `started` is the state of those elements, without the others.
        """
        windows = state.windows
        if windows:
            windows = self._windows.restart_at(where, _mask(state, where), started.windows, windows)
        return State(
            None if state.control is None else changed(state.control, where, started.control),
            tuple([changed(old, where, new) for old, new in zip(state.registers, started.registers, strict=True)]),
            windows,
            _changed(state.memory, where, started.memory),
        )

    def first(self, state: State, count: int) -> State:
        """The state of as many elements of a NumPy batch, the first ones."""
        return State(
            None if state.control is None else state.control[:count],
            tuple([values[:count] for values in state.registers]),
            self._windows.first(state.windows, count),
            _first(state.memory, count),
        )


def changed(array: Array, where: Array, values: Array) -> Array:
    """A copy of a NumPy array with other values in some places.

    Example:
        >>> changed(np.array([1, 2, 3]), np.array([2]), 7)
        array([1, 2, 7])
    """
    copy = array.copy()
    copy[where] = values
    return copy


def _changed(old: Array, where: Array, new: Array) -> Array:
    if isinstance(old, tuple):
        return tuple([_changed(a, where, b) for a, b in zip(old, new, strict=True)])
    return changed(old, where, new)


def _first(memory: Array, count: int) -> Array:
    return tuple([_first(part, count) for part in memory]) if isinstance(memory, tuple) else memory[:count]


_PLAIN = (float, bool, int)
_LEAST_BYTES = 4  # of a number, in the arrays that a machine computes with


def _mask(state: State, where: Places) -> NDArray[np.bool_]:
    mask = np.zeros(like_of(state).shape, dtype=np.bool_)
    mask[where] = True
    return mask


def batch_of(labels: Labels, atoms: Sequence[str]) -> tuple[Number, Number]:
    """An array of the shape and type that labels have together, at least float32, and its library."""
    xp = next(space for space in map(namespace_of, (labels[atom] for atom in atoms)) if space is not None)
    try:  # a sum of all labels has the shape and type that the step's results will have
        like = sum(labels[atom] for atom in atoms) * 0.0
        # Half precision would round values and rewards: labels in it are read as float32.
        return like if like.dtype.itemsize >= _LEAST_BYTES else xp.asarray(like, dtype=xp.float32), xp
    except (TypeError, ValueError, RuntimeError):
        shapes = {atom: tuple(getattr(labels[atom], "shape", ())) for atom in atoms}
        raise LabelError(f"The labels' shapes do not fit together: {shapes}.") from None


def as_column(name: str, value: Number, like: Array, xp: ArrayNamespace) -> Array:
    """A further argument of a step on a batch: one for all elements, or one for each.

    Another shape is refused: it would be stretched into a matrix of rewards.
    """
    if value.__class__ in _PLAIN:
        return value
    shape = tuple(np.shape(value)) if xp is np else tuple(xp.asarray(value).shape)
    if shape not in ((), tuple(like.shape)):
        raise LabelError(f"`{name}` should have shape {tuple(like.shape)}, the batch's. Received shape {shape}.")
    return xp.asarray(value)
