"""Quantitative monitors: after every step, exactly the value of a formula on the trace so far."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from rewardspec.errors import LabelError, MonitorFileError
from rewardspec.logic.formulas import Formula
from rewardspec.machines.bounds import Bounds
from rewardspec.machines.drawable import Drawable
from rewardspec.machines.effort_limit import DEFAULT_REGISTERS
from rewardspec.machines.expressions import Expression
from rewardspec.machines.heads import VALUE_HEAD, Head
from rewardspec.machines.machine import Machine, compiled
from rewardspec.machines.program import Program, Semantics
from rewardspec.machines.readings import evaluate_tables, parts_of
from rewardspec.machines.whole_traces import run_trace
from rewardspec.renamed import warn_renamed
from rewardspec.types import Array, ArrayNamespace, Device, DType, Labels, MachineState, Number

if TYPE_CHECKING:
    from rewardspec.machines.verdicts import Verdict


class Monitor(Drawable):
    """A finite-state machine with registers: the paper's tuple, and pure functions that run it.

    Make one with `synthesize` or `Monitor.from_json`.

    Attributes:
        formula: What it monitors.
        program: The machine as data.
    """

    def __init__(self, formula: Formula, program: Program) -> None:
        self.formula = formula
        self.program = program

    # The paper's tuple.

    @property
    def atoms(self) -> tuple[str, ...]:
        """The atoms that every step needs labels for."""
        return self.program.atoms

    @property
    def semantics(self) -> Semantics:
        """The domain of labels and values: degrees in [0, 1], or robustness."""
        return self.program.semantics

    @property
    def states(self) -> range:
        """The control states."""
        return range(len(self.program.steps))

    @property
    def initial(self) -> int:
        """The control state at the start."""
        return 0

    @property
    def successors(self) -> tuple[int, ...]:
        """For each control state, the next one."""
        return tuple(self.program.successor(control) for control in self.states)

    @property
    def transitions(self) -> tuple[int, ...]:
        """Deprecated alias of `successors`."""
        warn_renamed("Monitor.transitions", "Monitor.successors")
        return self.successors

    @property
    def registers(self) -> tuple[str, ...]:
        """The registers' names."""
        return self.program.registers

    @property
    def initial_registers(self) -> Mapping[str, float]:
        """The registers' first values."""
        return MappingProxyType(dict(zip(self.registers, map(self.program.number, self.program.initial), strict=True)))

    @property
    def updates(self) -> tuple[Mapping[str, Expression], ...]:
        """For each control state, the new value of each register, in terms of old values and labels.

        Negations, and the least and the largest value, are printed as `!a`, `false` and `true`: for degrees these are
        1 - a, 0 and 1, for robustness -a and the infinities.

        Example:
            >>> from rewardspec import synthesize
            >>> synthesize("G(a -> F b)", semantics="robustness").updates[0]["value"]
            max(b, min(r0, !a))
        """
        return tuple(
            MappingProxyType({name: e for name, e in zip(self.registers, step.updates, strict=True) if e is not None})
            for step in self.program.steps
        )

    @property
    def outputs(self) -> tuple[Expression, ...]:
        """For each control state, the value after the step: the paper's reward register."""
        return tuple(step.outputs[0] for step in self.program.steps)

    # Running.

    @functools.cached_property
    def machine(self) -> Machine[Head]:
        """The program with its head, which gives the value."""
        return Machine(self.program, VALUE_HEAD)

    def initial_state(
        self,
        batch: int | Sequence[int] | None = None,
        xp: ArrayNamespace = None,
        dtype: DType = None,
        device: Device = None,
    ) -> MachineState:
        """Return the state before the first step.

        Args:
            batch: The number (or shape) of traces to run at once; None for one trace with Python floats.
            xp: The array library: `numpy` (the default), `jax.numpy`, `torch` or another array-API namespace.
            dtype: The arrays' type; the library's default where None.
            device: Where the arrays live; the library's default where None.

        Example:
            >>> import numpy as np
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("F goal")
            >>> state = monitor.initial_state(batch=3)
            >>> state, value = monitor.step(state, {"goal": np.array([0.0, 0.5, 1.0])})
            >>> value
            array([0. , 0.5, 1. ])
        """
        return self.machine.initial_state(batch, xp, dtype, device)

    @compiled
    def step(self, state: MachineState, labels: Labels) -> tuple[MachineState, Array]:
        """Read the labels of one step, and return the new state and value.

        States are not changed: each call returns a new one.

        Args:
            state: What `initial_state` or the step before gave.
            labels: For each atom a number, or an array for a batch.

        Returns:
            The new state, and the formula's value on the trace so far, these labels included. NumPy values are
            read-only, since state and value share memory.

        Raises:
            LabelError: An atom is missing, or a number or NumPy label is out of range: not within 1e-6 of [0, 1], or
                not finite as robustness. Labels of other libraries are not checked, since that could not be done
                inside `jax.jit` and would stall a GPU.

        Example:
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("G safe")
            >>> state, value = monitor.step(monitor.initial_state(), {"safe": 0.75})
            >>> value
            0.75
        """
        return self.machine.step(state, labels)

    def reset(self, state: MachineState, mask: Array = None) -> MachineState:
        """Restart the elements of a batch where `mask` is true; without a mask, all of them.

        Example:
            >>> import numpy as np
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("F goal")
            >>> state, _ = monitor.step(monitor.initial_state(batch=2), {"goal": np.array([0.5, 0.5])})
            >>> state = monitor.reset(state, np.array([True, False]))
            >>> monitor.step(state, {"goal": np.array([0.25, 0.25])})[1]
            array([0.25, 0.5 ])
        """
        if type(state) is tuple:
            return self.initial_state()
        return self.machine.begin(state, state.value * 0.0 == state.value * 0.0 if mask is None else mask)

    def run(self, trace: Mapping[str, Array]) -> Array:
        """Return the value after every step of a trace, or of a batch of traces.

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

    def progress(self, state: MachineState) -> Number:
        """Return the progress: the part of the formula's task that has been done, between the value and 1.

        It is 1 minus the share of the formula's literals that are still to be met on the shortest way to its holding;
        with labels between 0 and 1, never more than what was met is true. See the guide on progress, and
        `rewardspec.synthesis.quantitative.progress` for the definition.

        Args:
            state: The state of one trace, or of a batch.

        Raises:
            SynthesisError: Progress needs registers that this monitor does not have, since the value does not need
                them: make it with `synthesize(formula, progress=True)`.

        Example:
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("F(key & F(door & F goal))")
            >>> state, value = monitor.step(monitor.initial_state(), {"key": 0.0, "door": 0.0, "goal": 0.0})
            >>> value, monitor.progress(state)
            (0.0, 0.0)
            >>> state, value = monitor.step(state, {"key": 1.0, "door": 0.0, "goal": 0.0})
            >>> value, round(monitor.progress(state), 3)
            (0.0, 0.333)
        """
        parts, xp = parts_of(self.program, state)
        (value,) = parts.memory
        (found,) = evaluate_tables(self.program, parts, xp, (self.progress_expressions,))
        return max(value, found) if xp is None else xp.maximum(value, found)  # NaN before the first letter

    @functools.cached_property
    def progress_expressions(self) -> tuple[Expression, ...]:
        """For each control state the progress, where it is more than the value, in terms of registers and windows."""
        from rewardspec.synthesis.quantitative.synthesize import progress_from_value

        return progress_from_value(self.formula, self.program)

    def bounds(self, state: MachineState) -> tuple[Number, Number]:
        """Return the smallest and the largest value that the trace can still end with, over all continuations.

        The empty continuation counts, except before the first letter. `has_exact_bounds` says whether some continuation
        always reaches them; if not, none passes them.

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

    @property
    def has_exact_bounds(self) -> bool:
        """Whether the bounds are always attained: true without scales, discounts and windows of many values.

        In JAX, bounds of a monitor with windows are sound ones, which need not be reached.
        """
        return self._bounds.exact

    @functools.cached_property
    def _bounds(self) -> Bounds:
        return Bounds(self.program)

    def verdict(self, state: MachineState) -> Verdict:
        """Return whether the formula holds, and whether this can still change, for labels that are 0 or 1.

        Raises:
            LabelError: The state is of a batch, or its value is neither 0 nor 1: then `bounds` says more.
        """
        from rewardspec.machines.verdicts import verdict_of

        if type(state) is not tuple:
            raise LabelError("A verdict is about one trace, and this is the state of a batch. Use `bounds`.")
        if state[-1] not in (0.0, 1.0):
            raise LabelError(
                f"A verdict is about labels that are 0 or 1, and the value is {state[-1]:g}. Use `bounds`: they say "
                "which values can still be reached."
            )
        lower, upper = self.bounds(state)
        return verdict_of(state[-1], lower, upper)

    def describe(self, state: MachineState) -> dict[str, Number]:
        """Describe a state: its control state, each register by name, each window's output, and the value.

        Example:
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("F goal")
            >>> monitor.describe(monitor.step(monitor.initial_state(), {"goal": 0.5})[0])
            {'control': 0, 'max[goal]': 0.5, 'value': 0.5}
        """
        control, registers, windows, (value,) = self.machine.parts(state)
        names = (*self.registers, *(window.name for window in self.program.windows))
        found = zip(names, (*registers, *windows), strict=True)
        return {"control": 0 if control is None else control, **dict(found), "value": value}

    # Saving and showing.

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the monitor as JSON text, for `Monitor.from_json`."""
        from rewardspec.machines.monitor_json import to_json

        return to_json(self.formula, self.program, indent=indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> Monitor:
        """Synthesize the monitor that `to_json` wrote again, from its formula.

        Raises:
            MonitorFileError: The text is damaged, is something else, or is of an unknown version.
            SynthesisError: The formula needs more registers than the saved machine and the default budget have.

        Example:
            >>> from rewardspec import synthesize
            >>> monitor = synthesize("F goal")
            >>> Monitor.from_json(monitor.to_json()) == monitor
            True
        """
        from rewardspec.machines.monitor_json import FORMAT, VERSION, read_document
        from rewardspec.synthesis.quantitative.synthesize import synthesize

        document, formula = read_document(text, FORMAT, VERSION, ("semantics", "registers", "states"))
        semantics, registers, states = document["semantics"], document["registers"], document["states"]
        if semantics not in ("degree", "robustness") or not isinstance(registers, list) or not isinstance(states, list):
            raise MonitorFileError("The saved monitor is damaged: `semantics`, `registers` or `states` cannot be read.")
        return synthesize(
            formula,
            semantics=semantics,
            max_registers=max(DEFAULT_REGISTERS, len(registers)),
            progress=any(isinstance(state, dict) and "progress" in state for state in states),
        )

    def to_c(self, name: str = "m") -> str:
        """Return the monitor as one C99 file that needs only `math.h`; see `rewardspec.export.c_code`.

        Args:
            name: What its identifiers start with: `m_state`, `m_reset`, `m_step` and so on.

        Example:
            >>> from rewardspec import synthesize
            >>> "double m_step(m_state *s, const double *labels);" in synthesize("F goal").to_c()
            True
        """
        from rewardspec.export.c_code import to_c
        from rewardspec.export.sources import source_of_monitor

        return to_c(source_of_monitor(self, name))

    def to_js(self, name: str = "m") -> str:
        """Return the monitor as one ES module with the pure functions `reset()` and `step(state, labels)`.

        Args:
            name: What its default export is called.
        """
        from rewardspec.export.js_code import to_js
        from rewardspec.export.sources import source_of_monitor

        return to_js(source_of_monitor(self, name))

    # Values.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Monitor):
            return NotImplemented
        return (self.formula, self.program) == (other.formula, other.program)

    def __hash__(self) -> int:
        return hash((self.formula, self.program.loop, self.registers))

    def __reduce__(self) -> tuple[object, ...]:
        return Monitor, (self.formula, self.program)

    def __repr__(self) -> str:
        registers, states = len(self.registers), len(self.states)
        windows = f", {len(self.program.windows)} window{'s' * (len(self.program.windows) != 1)}"
        return (
            f"<Monitor of {self.formula}: {registers} register{'s' * (registers != 1)}"
            f"{windows * bool(self.program.windows)}, {states} control state{'s' * (states != 1)}>"
        )
