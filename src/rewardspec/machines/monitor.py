"""Quantitative monitors: after every step, exactly the value of a formula on the trace so far."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rewardspec.errors import Error, LabelError
from rewardspec.logic.formulas import Formula
from rewardspec.machines import array_code as arrays
from rewardspec.machines import monitor_json
from rewardspec.machines import scalar_code as scalar
from rewardspec.machines.array_code import State
from rewardspec.machines.bounds import Bounds
from rewardspec.machines.drawable import Drawable
from rewardspec.machines.expressions import Expression
from rewardspec.machines.label_checks import as_labels, check_numpy, numpy_labels, raise_bad_label, require_atoms
from rewardspec.machines.namespaces import namespace_of
from rewardspec.machines.program import Program
from rewardspec.machines.traces import run_trace

if TYPE_CHECKING:
    from rewardspec.machines.verdicts import Verdict


class Monitor(Drawable):
    """A finite-state machine with registers: the paper's tuple, and pure functions that run it.

    Make one with `synthesize` or `Monitor.from_json`.

    Attributes:
        formula: What it monitors.
        program: The machine as data, with numbered registers.
        registers: The registers' names.
    """

    def __init__(self, formula: Formula, program: Program, registers: Sequence[str]) -> None:
        self.formula = formula
        self.program = program
        self.registers = tuple(registers)

    # The paper's tuple.

    @property
    def atoms(self) -> tuple[str, ...]:
        """The atoms that every step needs labels for."""
        return self.program.atoms

    @property
    def states(self) -> range:
        """The control states."""
        return range(len(self.program.steps))

    @property
    def initial(self) -> int:
        """The control state at the start."""
        return 0

    @property
    def transitions(self) -> tuple[int, ...]:
        """For each control state, the next one."""
        return tuple(self.program.successor(control) for control in self.states)

    @property
    def initial_registers(self) -> Mapping[str, float]:
        """The registers' first values."""
        return MappingProxyType(dict(zip(self.registers, self.program.initial, strict=True)))

    @property
    def updates(self) -> tuple[Mapping[str, Expression], ...]:
        """For each control state, the new value of each register, in terms of old values and labels."""
        return tuple(
            MappingProxyType({name: e for name, e in zip(self.registers, step.updates, strict=True) if e is not None})
            for step in self.program.steps
        )

    @property
    def outputs(self) -> tuple[Expression, ...]:
        """For each control state, the value after the step: the paper's reward register."""
        return tuple(step.output for step in self.program.steps)

    # Running.

    def initial_state(
        self, batch: int | tuple[int, ...] | None = None, xp: Any = None, dtype: Any = None, device: Any = None
    ) -> Any:
        """The state before the first letter.

        Args:
            batch: The number (or shape) of traces to run at once; None for one trace with Python floats.
            xp: The array library: `numpy` (the default), `jax.numpy`, `torch` or another array-API namespace.
            dtype: The arrays' type; the library's default where None.
            device: Where the arrays live; the library's default where None.

        Example:
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("F goal")
            >>> state = monitor.initial_state(batch=3)
            >>> state, value = monitor.step(state, {"goal": np.array([0.0, 0.5, 1.0])})
            >>> value
            array([0. , 0.5, 1. ])
        """
        if batch is None and xp is None:
            return scalar.initial_state(self.program)
        shape = () if batch is None else (batch,) if isinstance(batch, int | np.integer) else tuple(batch)
        options = {"dtype": dtype, "device": device}
        given = {name: option for name, option in options.items() if option is not None}
        return arrays.initial_state(self.program, shape, np if xp is None else xp, **given)

    @functools.cached_property
    def step(self) -> Any:
        """`step(state, labels) -> (state, value)`: read the labels of one more state.

        `labels` maps each atom to a number, or to an array for a batch; the value is the formula's value on the trace
        so far, this letter included.  States are not changed: each call returns a new one.  NumPy results are
        read-only, since state and value share memory.

        A missing atom, and a number or NumPy label outside [0, 1], is a `LabelError`.  Labels of other libraries are
        not checked, since that could not be done inside `jax.jit` and would stall a GPU.
        """
        return scalar.compile_step(self.program, self._step_arrays)

    @functools.cached_property
    def _compiled(self) -> arrays.ArrayStep:
        return arrays.compile_step(self.program)

    @functools.cached_property
    def _compiled_for_numpy(self) -> arrays.ArrayStep:
        return arrays.compile_step(self.program, reuse=True)

    def _step_arrays(self, state: Any, labels: Any) -> tuple[Any, Any]:
        """A step on arrays; also where a scalar step's odd labels end up, to be used as arrays or refused."""
        if type(state) is tuple:
            state = self._as_batch(state, labels)
        try:
            value = state.value
        except AttributeError:
            raise Error(
                f"A step starts from what `initial_state` or the step before gave. Received {state!r}."
            ) from None
        if type(value) is np.ndarray and value.shape:
            return self._step_numpy(state, labels)
        require_atoms(labels, self.atoms)
        xp = namespace_of(value) or np
        ready = {atom: as_labels(atom, labels[atom], value, xp) for atom in self.atoms}
        if xp is np:  # a batch of shape (), whose results NumPy turns into numbers
            check_numpy(ready)
        new = self._compiled(state, ready, xp)
        # In torch a caller may well write into the value, which would reach the registers.
        return new, new.value.clone() if xp.__name__ == "torch" else new.value

    def _step_numpy(self, state: State, labels: Mapping[str, Any]) -> tuple[State, Any]:
        ready = numpy_labels(labels, self.program.atoms, state.value)
        new = self._compiled_for_numpy(state, ready, np)
        value = new.value
        value.setflags(write=False)
        for array in new.registers:
            if array is not value:
                array.setflags(write=False)
        return new, value

    def _as_batch(self, state: scalar.ScalarState, labels: Any) -> State:
        """A single trace's state as that of a batch, for labels that are arrays."""
        spaces = [namespace_of(labels[atom]) for atom in self.atoms if isinstance(labels, Mapping) and atom in labels]
        xp = next((space for space in spaces if space is not None), None)
        if xp is None or len(spaces) < len(self.atoms):
            raise_bad_label(labels, self.atoms)
        try:  # a sum of all labels has the shape and type that the step's results will have
            like = sum(labels[atom] for atom in self.atoms) * 0.0
        except (TypeError, ValueError, RuntimeError):
            shapes = {atom: tuple(getattr(labels[atom], "shape", ())) for atom in self.atoms}
            raise LabelError(f"The labels' shapes do not fit together: {shapes}.") from None
        control, *registers, value = state
        return State(
            xp.zeros_like(like, dtype=xp.int32) + control if len(self.states) > 1 else None,
            tuple(xp.full_like(like, number) for number in registers),
            xp.full_like(like, value),
        )

    def reset(self, state: Any, mask: Any = None) -> Any:
        """The state with the elements of a batch where `mask` is true back at the start; without a mask, all of them.

        Example:
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("F goal")
            >>> state, _ = monitor.step(monitor.initial_state(batch=2), {"goal": np.array([0.5, 0.5])})
            >>> state = monitor.reset(state, np.array([True, False]))
            >>> monitor.step(state, {"goal": np.array([0.25, 0.25])})[1]
            array([0.25, 0.5 ])
        """
        if type(state) is tuple:
            return scalar.initial_state(self.program)
        xp = namespace_of(state.value) or np
        if mask is None:
            mask = xp.full_like(state.value, 1.0) > 0.0
        return arrays.reset(self.program, state, mask, xp)

    def run(self, trace: Mapping[str, Any]) -> Any:
        """The value after every prefix of a trace, or of a batch of traces.

        Args:
            trace: For each atom its labels, time first: a sequence, or an array of shape `(steps, …)` for a batch.

        Returns:
            An array of the same shape.

        Example:
            >>> from rewardspec import synthesize
            >>> synthesize("G safe").run({"safe": [1.0, 0.5, 0.75]})
            array([1. , 0.5, 0.5])
        """
        return run_trace(self, trace)

    def bounds(self, state: Any) -> tuple[Any, Any]:
        """The smallest and the largest value that the trace so far can still end with, over every continuation.

        The empty continuation counts, except before the first letter.

        Example:
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("G(a -> X b)")
            >>> state, value = monitor.step(monitor.initial_state(), {"a": 0.75, "b": 0.0})
            >>> value, monitor.bounds(state)
            (0.25, (0.0, 1.0))
            >>> state, value = monitor.step(state, {"a": 0.0, "b": 0.5})
            >>> value, monitor.bounds(state)
            (0.5, (0.0, 0.5))
        """
        return self._bounds(state)

    @functools.cached_property
    def _bounds(self) -> Bounds:
        return Bounds(self.program)

    def verdict(self, state: Any) -> Verdict:
        """For labels that are all 0 or 1: whether the formula holds, and whether that can still change."""
        from rewardspec.machines.verdicts import verdict_of

        *_, value = state
        lower, upper = self.bounds(state)
        return verdict_of(float(value), float(lower), float(upper))

    def describe(self, state: Any) -> dict[str, Any]:
        """What a state holds: the control state, each register by name, and the value.

        Example:
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("F goal")
            >>> monitor.describe(monitor.step(monitor.initial_state(), {"goal": 0.5})[0])
            {'control': 0, 'max[goal]': 0.5, 'value': 0.5}
        """
        control, *registers, value = state if type(state) is tuple else (state.control, *state.registers, state.value)
        return {"control": 0 if control is None else control, **dict(zip(self.registers, registers, strict=True))} | (
            {"value": value}
        )

    # Saving and showing.

    def to_json(self, *, indent: int | None = None) -> str:
        """The machine as JSON text, for `Monitor.from_json`."""
        return monitor_json.to_json(self.formula, self.program, self.registers, indent=indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Monitor:
        """A monitor from what `to_json` wrote.

        Raises:
            MonitorFileError: The text is damaged, is something else, or is of an unknown version.

        Example:
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("F goal")
            >>> Monitor.from_json(monitor.to_json()) == monitor
            True
        """
        return cls(*monitor_json.from_json(text))

    # Values.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Monitor):
            return NotImplemented
        return (self.formula, self.program, self.registers) == (other.formula, other.program, other.registers)

    def __hash__(self) -> int:
        return hash((self.formula, self.program.loop, self.registers))

    def __reduce__(self) -> tuple[Any, ...]:
        return Monitor, (self.formula, self.program, self.registers)

    def __repr__(self) -> str:
        registers, states = len(self.registers), len(self.states)
        return (
            f"<Monitor of {self.formula}: {registers} register{'s' * (registers != 1)}, "
            f"{states} control state{'s' * (states != 1)}>"
        )
