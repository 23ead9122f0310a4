"""Causes of values: the label that made a formula's value what it is, after every step of a trace.

A monitor makes a value from labels, and from their negations, by min and max.  So the value *is* one of them, but for
scales: at every min the smallest operand passes through, at every max the largest.  The monitor's program runs once,
with every value paired with the label that it is (`rewardspec.episodes.traced_program`).

The *cause* of a value is the newest label that made it what it is:

* Where the value did not change, the cause that it had; of `now φ`, which is judged anew at each step, the
  label that it is.
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

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rewardspec.episodes.traced_program import ProvenanceRun
from rewardspec.episodes.waiting import Outstanding
from rewardspec.logic.formulas import LAST, And, Eventually, Formula
from rewardspec.machines.monitor import Monitor
from rewardspec.types import MachineState

_LARGEST = float(np.finfo(np.float64).max)  # of finite labels


@dataclass(frozen=True, slots=True)
class Decider:
    """The label that decided a value.

    Attributes:
        step: The step whose label decided; for the end of the trace, the last step; None for a constant.
        atom: The atom whose label decided; None where the end of the trace or of an interval did, or a constant.
        negated: Whether the atom's negation counts.
        thing: The sort and the name of the thing that the value is of, where a formula is about several.
    """

    step: int | None
    atom: str | None
    negated: bool = False
    thing: tuple[str, str] | None = None

    @property
    def literal(self) -> str:
        """The atom or its negation, without the step; of one of several things, after the thing.

        Example:
            >>> str(Decider(12, "placed(3)", thing=("box", "3")))
            'box 3: placed@12'
        """
        sort, name = self.thing or ("", "")
        about = f"{sort} {name}: " if sort else ""
        if self.atom is None:
            return about + ("constant" if self.step is None else "end")
        return f"{about}{'!' * self.negated}{self.atom.removesuffix(f'({name})')}"

    def __str__(self) -> str:
        return self.literal if self.step is None else f"{self.literal}@{self.step}"


@functools.lru_cache(maxsize=256)
def _provenance(monitor: Monitor) -> tuple[ProvenanceRun, ProvenanceRun]:
    """Return the runs that find the causes of a value that has risen and of one that has fallen.

    Of labels that tie, one run lets the newest through a min and the oldest through a max, the other the reverse: these
    are the labels without which the value would not have risen, or fallen.
    """
    program, formula = monitor.program, monitor.formula
    return ProvenanceRun(program, formula, newest_first=True), ProvenanceRun(program, formula, newest_first=False)


def _is_now(formula: Formula) -> bool:
    """Return whether a formula is `now φ`."""
    match formula:
        case Eventually(args=(And(args=asked),)):
            return formula.is_plain and LAST in asked
    return False


class Causes:
    """The cause of a monitor's value, and what its formula then owes, followed from step to step."""

    def __init__(self, monitor: Monitor, outstanding: Outstanding) -> None:
        self._atoms, self._semantics = monitor.atoms, monitor.semantics
        self._bottom = monitor.program.bottom
        self._judged_anew = _is_now(monitor.formula)
        self._rising, self._falling = _provenance(monitor)
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
            if self._judged_anew:
                found = decider_of(self._rising, risen, step)
                self._cause = self._cause if found.atom is None else found
        elif (value == before or step == 0) and value == self._bottom < self._outstanding.most(self.owed):  # still open
            self._cause = Decider(step, None)
        elif step == 0:
            self._cause = decider_of(self._rising, risen, step)
        elif value > before:
            self._cause = self._changed(self._rising, rising, risen, labels, value)
        else:
            closed = self._closed(letter) if value == before == self._bottom else None
            self._cause = closed or self._changed(self._falling, falling, fallen, labels, value)
        self._value, self._states, self._open = value, (up, down), still_open
        self._step += 1
        return value, self._cause

    def _changed(
        self, run: ProvenanceRun, state: MachineState, rank: float, labels: Sequence[float], value: float
    ) -> Decider:
        """The cause of a value that changed: the label of this step that it is, or that it depends on."""
        exact = decider_of(run, rank, self._step)
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


def decider_of(run: ProvenanceRun, rank: float, step: int) -> Decider:
    """Return the label that a value of a run is, by its rank; the end of the trace where it is none."""
    label = run.label_of(rank)
    if label is None:
        return Decider(step if run.is_temporal else None, None)
    return Decider(*label)
