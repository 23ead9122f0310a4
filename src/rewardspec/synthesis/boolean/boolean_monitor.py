"""Boolean monitors: the minimal deterministic automaton of a formula, run on labels that are 0 or 1."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rewardspec.errors import Error, MonitorFileError
from rewardspec.logic.formulas import Formula, FormulaLike, as_formula
from rewardspec.logic.quantifiers import with_plain_atoms
from rewardspec.machines.drawable import Drawable
from rewardspec.machines.monitor_json import read_document
from rewardspec.machines.namespaces import namespace_of
from rewardspec.machines.verdicts import Verdict, verdict_of
from rewardspec.machines.whole_traces import run_trace
from rewardspec.synthesis.boolean.automata import minimal_automaton
from rewardspec.synthesis.boolean.batch_runner import BatchRunner, common_namespace, not_boolean, read_arrays
from rewardspec.synthesis.boolean.decision_diagrams import DecisionTable
from rewardspec.synthesis.boolean.guards import Transitions
from rewardspec.synthesis.diagnosis import require_unquantified
from rewardspec.types import Array, ArrayNamespace, Device, DType, Labels, MachineState, Number

DEFAULT_STATES = 10_000
_FORMAT, _VERSION = "rewardspec.boolean", 1  # of saved monitors
_INTEGERS = (int, np.integer)
_NUMBERS = frozenset({bool, int, float, np.bool_, np.float64, np.float32, np.int64, np.int32, np.uint8, np.int8})


def synthesize_boolean(formula: FormulaLike, *, max_states: int = DEFAULT_STATES) -> BooleanMonitor:
    """Synthesize the Boolean monitor of a formula: its minimal complete deterministic automaton.

    Intervals, counts and operators of the past are allowed: an interval becomes a counter, and what happened becomes
    part of the state.

    Args:
        formula: The formula or its text.
        max_states: The largest number of states that the monitor may have.

    Raises:
        SynthesisError: It would have more states, or the formula has no automaton: it has scales, discounts or numbers
            between 0 and 1, or an operator of the future under one of the past.  The message names the part.

    Example:
        >>> monitor = synthesize_boolean("G(request -> F grant)")
        >>> monitor
        <BooleanMonitor of G(request -> F grant): 2 states, 1 accepting, atoms request, grant>
        >>> state, value = monitor.step(monitor.initial_state(), {"request": 1, "grant": 0})
        >>> value, monitor.verdict(state).value
        (0.0, 'currently violated')
        >>> synthesize_boolean("G(request -> F[0,20] grant)")
        <BooleanMonitor of G(request -> F[0,20] grant): 22 states, 1 accepting, atoms request, grant>
    """
    formula = as_formula(formula)
    require_unquantified(formula)
    return BooleanMonitor(formula, *minimal_automaton(formula, max_states))


@dataclass(frozen=True, repr=False)
class BooleanMonitor(Drawable):
    """A complete deterministic automaton that says, after every step, whether the formula holds on the trace so far.

    A monitor is a value: it never changes, compares by structure, and keeps no trace.  `step` is a pure function from
    a state and labels to a state and a value.  A state is an integer, or an integer array for a batch.

    States are numbered breadth-first from the initial state, which is 0, following the all-false letter first and
    the first atom as the most significant digit.  Traces are never empty, so whether the initial state accepts means
    nothing in itself: it is chosen to make the machine small.

    Attributes:
        formula: The formula.
        accepting: The states whose traces satisfy the formula; a Boolean reward pays there.
        table: What each letter does in each state, as decision diagrams.
    """

    formula: Formula
    accepting: frozenset[int]
    table: DecisionTable

    @functools.cached_property
    def atoms(self) -> tuple[str, ...]:
        """The atoms that labels are needed for: those of the formula, in the order in which its text mentions them."""
        return self.formula.atoms

    @property
    def states(self) -> range:
        """The states."""
        return range(len(self.table.roots))

    @property
    def initial(self) -> int:
        """The state before the first step."""
        return 0

    @functools.cached_property
    def transitions(self) -> Transitions:
        """For each state its edges, as pairs of a guard and the state it leads to.

        Computed when asked for, state by state: a machine of a thousand states can have a million edges.

        Example:
            >>> for guard, target in synthesize_boolean("a U b").transitions[0]:
            ...     print(guard, "leads to", target)
            !a & !b leads to 1
            b leads to 2
            a & !b leads to 0
        """
        return Transitions(self.table, self.atoms)

    # Running.

    def initial_state(
        self,
        batch: int | tuple[int, ...] | None = None,
        xp: ArrayNamespace = None,
        dtype: DType = None,
        device: Device = None,
    ) -> MachineState:
        """Return the state before the first step: an int, or an int32 array for a batch.

        The arguments are those of `Monitor.initial_state`; `dtype` is not used.
        """
        if batch is None and xp is None:
            return self.initial
        shape = () if batch is None else (batch,) if isinstance(batch, _INTEGERS) else tuple(batch)
        return self._everywhere(self.initial, shape, np if xp is None else xp, device)

    def step(self, state: MachineState, labels: Labels) -> tuple[MachineState, Array]:
        """Read the labels of one step, and return the new state and value.

        Args:
            state: A state from `initial_state` or an earlier step.
            labels: For each atom 0 or 1 (or False or True), or for a batch an array of these in the state's shape.

        Returns:
            The next state, and the value: 1.0 where the formula holds on the trace so far, otherwise 0.0.  Inside
            functions that JAX or torch compiles, a label that is neither 0 nor 1 cannot raise an error; there the
            value is NaN, and stays so.

        Raises:
            LabelError: A label is missing, or is neither 0 nor 1.

        Example:
            >>> monitor = synthesize_boolean("F a")
            >>> state = monitor.initial_state(batch=3)
            >>> monitor.step(state, {"a": np.array([1.0, 0.0, 1.0])})
            (array([1, 0, 1], dtype=int32), array([1., 0., 1.]))
        """
        if state.__class__ is int:
            try:
                letter = 0
                for atom, weight in self._weights:
                    label = labels[atom]
                    if label.__class__ not in _NUMBERS:
                        break
                    if label == 1:
                        letter += weight
                    elif label != 0:
                        raise not_boolean(atom, label)
                else:
                    return self._after(state, letter)
            except (KeyError, TypeError):
                pass  # what follows finds out what is wrong
        return self._step_batch(state, labels)

    def reset(self, state: MachineState, mask: Array = None) -> MachineState:
        """Restart the elements of a batch where `mask` is true; without a mask, all of them.

        Example:
            >>> monitor = synthesize_boolean("F a")
            >>> monitor.reset(np.array([1, 1, 0], dtype=np.int32), np.array([True, False, False]))
            array([0, 1, 0], dtype=int32)
        """
        if isinstance(state, _INTEGERS):
            return self.initial
        xp = common_namespace([state])
        start = xp.full_like(state, self.initial)
        return start if mask is None else xp.where(mask, start, state)

    def run(self, trace: Mapping[str, Array]) -> Array:
        """Return the value after every step of a trace, or of a batch of traces.

        Arguments and result are those of `Monitor.run`.

        Example:
            >>> synthesize_boolean("F(a & F b)").run({"a": [0, 1, 0], "b": [1, 0, 1]})
            array([0., 0., 1.])
        """
        return run_trace(self, trace)

    # What can still come.

    def bounds(self, state: MachineState) -> tuple[Number, Number]:
        """Return the smallest and the largest value that the trace can still end with, over all continuations."""
        lower, upper = self._bounds
        if isinstance(state, _INTEGERS):
            self._check_state(int(state))
            return float(lower[state]), float(upper[state])
        xp = common_namespace([state])
        return xp.asarray(lower)[state], xp.asarray(upper)[state]

    def verdict(self, state: int) -> Verdict:
        """Return the verdict: the truth on the trace so far, and whether a continuation can change it.

        Example:
            >>> monitor = synthesize_boolean("G !crash")
            >>> monitor.verdict(monitor.initial_state())
            <Verdict.CURRENTLY_SATISFIED: 'currently satisfied'>
        """
        lower, upper = self.bounds(int(state))
        return verdict_of(float(state in self.accepting), lower, upper)

    # Showing and saving.

    def __reduce__(self) -> tuple[type[BooleanMonitor], tuple[Formula, frozenset[int], DecisionTable]]:
        # Without what is prepared for running, which holds functions that cannot be pickled.
        return BooleanMonitor, (self.formula, self.accepting, self.table)

    def __repr__(self) -> str:
        text = str(self.formula)
        shown = text if len(text) <= 80 else f"{text[:76]} …"
        count = len(self.states)
        return (
            f"<BooleanMonitor of {shown}: {count} state{'s' if count != 1 else ''}, {len(self.accepting)} accepting, "
            f"atoms {', '.join(self.atoms) or 'none'}>"
        )

    def to_hoa(self) -> str:
        """Return the automaton in the Hanoi Omega-Automata format; see `rewardspec.synthesis.boolean.hoa`."""
        from rewardspec.synthesis.boolean.hoa import to_hoa

        return to_hoa(self)

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the monitor as JSON text, for `BooleanMonitor.from_json`. Equal monitors give equal texts.

            {"format": "rewardspec.boolean", "version": 1,
             "formula": "F goal",          what is monitored; its atoms, in order, are numbered from 0
             "atoms": ["goal"],            those atoms
             "accepting": [1],             the accepting states
             "roots": [2, 1],              for each state the place where its decision diagram starts
             "nodes": [[0, 0, 1]]}         an atom, the place to go to where it is false, and where it is true

        With n states, place p below n is the state p, and place n + k is node k. State 0 is initial. On every path
        atoms increase, so reading a letter always ends in a state.
        """
        data = {
            "format": _FORMAT,
            "version": _VERSION,
            "formula": str(with_plain_atoms(self.formula)),
            "atoms": self.atoms,
            "accepting": sorted(self.accepting),
            "roots": self.table.roots,
            "nodes": list(zip(self.table.variables, self.table.lows, self.table.highs, strict=True)),
        }
        return json.dumps(data, ensure_ascii=False, indent=indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> BooleanMonitor:
        """Build the monitor that `to_json` wrote again, from its formula.

        Raises:
            MonitorFileError: The text is damaged, is something else, or is of an unknown version.
        """
        document, formula = read_document(text, _FORMAT, _VERSION, ("roots",))
        if not isinstance(document["roots"], list):
            raise MonitorFileError(f"The saved monitor's `roots` should be a list. Received {document['roots']!r}.")
        return synthesize_boolean(formula, max_states=max(DEFAULT_STATES, len(document["roots"])))

    # What is prepared once.

    @functools.cached_property
    def _runner(self) -> BatchRunner:
        return BatchRunner(self.table, self.accepting)

    @functools.cached_property
    def _weights(self) -> tuple[tuple[str, int], ...]:
        """For each atom what it adds to a letter's number, as the dense table or else the diagrams count letters."""
        if self._runner.dense is None:
            return tuple((atom, 1 << variable) for variable, atom in enumerate(self.atoms))
        weight = {variable: 1 << k for k, variable in enumerate(reversed(self.table.used))}
        return tuple((atom, weight.get(variable, 0)) for variable, atom in enumerate(self.atoms))

    @functools.cached_property
    def _after(self) -> Callable[[int, int], tuple[int, float]]:
        """The function from a state and a letter's number to the next state and its value.

        It raises KeyError for a state that the monitor does not have.
        """
        outcomes = {state: (state, 1.0 if state in self.accepting else 0.0) for state in self.states}
        dense = self._runner.dense
        if dense is None:
            successor = self.table.successor
            return lambda state, letter: outcomes[successor(outcomes[state][0], letter)]
        letters = 1 << len(self.table.used)
        rows = {s: [outcomes[t] for t in dense[s * letters : (s + 1) * letters].tolist()] for s in self.states}
        return lambda state, letter: rows[state][letter]

    @functools.cached_property
    def _bounds(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        rejecting = frozenset(self.states) - self.accepting
        lower, upper = np.ones(len(self.states)), np.zeros(len(self.states))
        lower[list(self.table.reaching(rejecting))] = 0.0
        upper[list(self.table.reaching(self.accepting))] = 1.0
        return lower, upper

    def _step_batch(self, state: MachineState, labels: Labels) -> tuple[MachineState, Array]:
        xp = common_namespace([state, *(labels.values() if isinstance(labels, Mapping) else ())])
        states = None
        if isinstance(state, _INTEGERS):
            self._check_state(int(state))
        else:
            states = self._as_states(state, xp)
        letters = read_arrays(labels, self.atoms, None if states is None else tuple(states.shape), xp)
        if states is not None:
            return self._runner.step(states, letters, xp)
        # One state, for a batch of labels or for single ones of an uncommon type.
        states, values = self._runner.step(self._everywhere(int(state), letters.shape, xp), letters, xp)
        return (int(states), float(values)) if xp is np and letters.shape == () else (states, values)

    @staticmethod
    def _everywhere(state: int, shape: tuple[int, ...], xp: ArrayNamespace, device: Device = None) -> MachineState:
        options = {} if device is None else {"device": device}
        return xp.full(shape, state, dtype=xp.int32, **options)

    def _check_state(self, state: int) -> None:
        if state not in self.states:
            raise Error(
                f"A state of this monitor should be one of 0 … {len(self.states) - 1}. Received {state}. "
                "Start from `initial_state()` and pass on what `step` returns."
            )

    def _as_states(self, state: MachineState, xp: ArrayNamespace) -> MachineState:
        states = state if hasattr(state, "dtype") and namespace_of(state) is xp else xp.asarray(state)
        if "int" not in str(states.dtype):
            raise Error(
                f"A batch of states should be an array of integers, as `initial_state` gives it. Received {state!r}."
            )
        return states
