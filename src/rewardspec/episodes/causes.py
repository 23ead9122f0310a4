"""Which label made a formula's value what it is, after every step of a trace.

A monitor makes a value from labels, and from their negations, by min and max.  So the value *is* one of them, but for
scales: at every min the smallest operand passes through, at every max the largest.  The monitor's program runs once,
with every value paired with the label that it is (`rewardspec.episodes.traced_program`).

The *cause* of a value is the newest label that made it what it is:

* Where the value did not change, the cause that it had.
* Where it rose, the label of this step that it is, if it is one.  Else it is an older label that counts only now: with
  `F(key & F door)` and labels of 0.9 for the key at step 1 and 1 for the door at step 3, the value at step 3 is the
  key's label, and its cause is the door.  Lower the formula's literals at this step to the least value, one after the
  other: the first that changes the value is the cause.
* Where it fell, the same with the greatest value in place of the least.
* Where no label of this step had a part in the change, time alone brought it: a delay, as in `X[3] a` or `Y a`, has
  reached an older label.  The cause is the label that the value is now.

A value that is the least possible from the start, and can still rise, has the end of the trace for a cause: that of
`F a` while `a` is 0.  Once it cannot rise any more, the cause is the label of that step without which it still could:
that of `a` at the deadline of `F[0,9] a`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.traced_program import ProvenanceRun
from rewardspec.episodes.waiting import Outstanding
from rewardspec.logic.formulas import FormulaLike
from rewardspec.logic.semantics import Semantics, Trace, read_trace
from rewardspec.machines.monitor import Monitor
from rewardspec.synthesis.quantitative.synthesize import DEFAULT_REGISTERS, synthesize

_LARGEST = float(np.finfo(np.float64).max)  # of finite labels


@dataclass(frozen=True, slots=True)
class Decider:
    """What decided a value.

    Attributes:
        step: The step whose label decided; for the end of the trace, the last step; None for a constant.
        atom: The atom whose label decided; None where the end of the trace or of an interval did, or a constant.
        negated: Whether the atom's negation counts.
    """

    step: int | None
    atom: str | None
    negated: bool = False

    @property
    def literal(self) -> str:
        """The atom or its negation, without the step."""
        if self.atom is None:
            return "constant" if self.step is None else "end"
        return f"{'!' * self.negated}{self.atom}"

    def __str__(self) -> str:
        return self.literal if self.step is None else f"{self.literal}@{self.step}"


def decide_prefixes(
    formula: FormulaLike, trace: Trace, semantics: Semantics = "degree"
) -> tuple[NDArray[np.float64], list[Decider]]:
    """Return the value of a formula on every prefix of a trace, and the label that each value is.

    Args:
        formula: The formula or its text.
        trace: For each atom, its labels from the first state to the last.
        semantics: What labels and values are; see `rewardspec.evaluate`.

    Raises:
        LabelError: An atom is missing, a label is out of range, the lengths differ, or the trace is empty.
        SynthesisError: The formula has no monitor.

    Example:
        >>> trace = {"request": [0.0, 0.75, 0.5], "grant": [0.0, 0.0, 0.625]}
        >>> values, deciders = decide_prefixes("G(request -> F grant)", trace)
        >>> values.tolist(), list(map(str, deciders))
        ([1.0, 0.25, 0.625], ['!request@0', '!request@1', 'grant@2'])
    """
    monitor = synthesize(formula, semantics=semantics)
    run = ProvenanceRun(monitor.program, monitor.formula, newest_first=True)
    labels, length = read_trace(monitor.formula, trace, semantics)
    state, values, deciders = run.initial, [], []
    for step in range(length):
        state, (value, rank) = run.step(state, run.literals_of([labels[atom][step] for atom in monitor.atoms], step))
        values.append(value)
        deciders.append(_decider(run, rank, step))
    return np.array(values), deciders


def cause_prefixes(
    formula: FormulaLike, trace: Trace, semantics: Semantics = "degree"
) -> tuple[NDArray[np.float64], list[Decider]]:
    """Return the value of a formula on every prefix of a trace, and the cause of each; see `decide_prefixes`.

    Example:
        >>> values, causes = cause_prefixes("F(key & F door)", {"key": [0, 1, 0, 0], "door": [0, 0, 0, 1]})
        >>> values.tolist(), str(causes[-1])
        ([0.0, 0.0, 0.0, 1.0], 'door@3')
    """
    monitor = synthesize(formula, semantics=semantics)
    causes = Causes(monitor, Outstanding(monitor.formula, semantics, DEFAULT_REGISTERS))
    labels, length = read_trace(monitor.formula, trace, semantics)
    read = [causes.read({atom: column[step] for atom, column in labels.items()}) for step in range(length)]
    return np.array([value for value, _ in read]), [cause for _, cause in read]


class Causes:
    """The cause of a monitor's value, followed from step to step.

    Args:
        monitor: The monitor.
        outstanding: What its formula owes.

    Attributes:
        owed: What the formula owes after the last letter, as `outstanding` has it.
    """

    def __init__(self, monitor: Monitor, outstanding: Outstanding) -> None:
        self._atoms, self._semantics = monitor.atoms, monitor.semantics
        self._bottom = monitor.program.bottom
        # Of labels that tie, one run lets the newest through a min and the oldest through a max, the other the reverse:
        # these are the labels without which a value would not have risen, or fallen.
        self._rising = ProvenanceRun(monitor.program, monitor.formula, newest_first=True)
        self._falling = ProvenanceRun(monitor.program, monitor.formula, newest_first=False)
        self._states = self._rising.initial, self._falling.initial
        self._outstanding, self._open = outstanding, outstanding.initial
        self._step = 0
        self._value, self._cause = float("nan"), Decider(None, None)
        self.owed: Sequence[float] = ()

    def read(self, letter: Mapping[str, float]) -> tuple[float, Decider]:
        """Read the labels of one more step, which have been checked; the value and its cause."""
        step, before, labels = self._step, self._value, [letter[atom] for atom in self._atoms]
        rising, falling = self._states
        up, (value, risen) = self._rising.step(rising, self._rising.literals_of(labels, step))
        down, (_, fallen) = self._falling.step(falling, self._falling.literals_of(labels, step))
        still_open, self.owed = self._outstanding.step(self._open, letter)
        if value == before and self._cause.atom is not None:
            pass
        elif (value == before or step == 0) and value == self._bottom < self._outstanding.most(self.owed):  # still open
            self._cause = Decider(step, None)
        elif step == 0:
            self._cause = _decider(self._rising, risen, step)
        elif value > before:
            self._cause = self._changed(self._rising, rising, risen, labels, value)
        else:
            closed = self._closed(letter) if value == before == self._bottom else None
            self._cause = closed or self._changed(self._falling, falling, fallen, labels, value)
        self._value, self._states, self._open = value, (up, down), still_open
        self._step += 1
        return value, self._cause

    def _changed(self, run: ProvenanceRun, state: Any, rank: float, labels: Sequence[float], value: float) -> Decider:
        """The cause of a value that changed: the label of this step that it is, or that it depends on."""
        exact = _decider(run, rank, self._step)
        if exact.atom is not None and exact.step == self._step:
            return exact
        literals = run.literals_of(labels, self._step)
        for number, literal in enumerate(run.literals):
            literals[number] = run.extreme
            _, (without, _) = run.step(state, literals)
            if without != value:
                return Decider(self._step, *literal)
        return exact

    def _closed(self, letter: Mapping[str, float]) -> Decider | None:
        """The label of this step without which a value that cannot rise any more still could."""
        low, high = (0.0, 1.0) if self._semantics == "degree" else (-_LARGEST, _LARGEST)
        other = dict(letter)
        for atom, negated in self._rising.literals:
            other[atom] = low if negated else high
            _, owed = self._outstanding.step(self._open, other)
            if self._outstanding.most(owed) > self._bottom:
                return Decider(self._step, atom, negated)
        return None


def _decider(run: ProvenanceRun, rank: float, step: int) -> Decider:
    label = run.label_of(rank)
    if label is None:
        return Decider(step if run.is_temporal else None, None)
    return Decider(*label)
