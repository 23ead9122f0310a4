"""Everything that monitors can do, found by trying: exact answers about small formulas.

Min and max pass labels through unchanged, so with labels from {0, 1/2, 1} the registers hold only these, and a monitor
has finitely many configurations.  They decide the general case.  Whether a value reaches a threshold depends only on
which literals do: above 1/2, of p and !p one does or none; up to 1/2, one does or both.  Labels 0 and 1 give the
first, and 1/2 gives none or both.  So values that relate in some way on all such traces do so on every trace.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rewardspec.errors import SynthesisError
from rewardspec.machines.array_code import State
from rewardspec.machines.monitor import Monitor

_MOST_LETTERS = 4_096
_MOST_STEPS = 300_000  # configurations times letters

THREE = (0.0, 0.5, 1.0)
TWO = (0.0, 1.0)


class TooManyError(Exception):
    """There is more to try than the budget allows."""


def outcomes(monitors: Sequence[Monitor], levels: Sequence[float]) -> Iterator[tuple[State, ...]]:
    """Every state that the monitors, reading the same trace, can be in after a letter; in batches, each with values.

    Raises:
        TooManyError: There are too many of them.
    """
    atoms = tuple(dict.fromkeys(atom for monitor in monitors for atom in monitor.atoms))
    if len(levels) ** len(atoms) > _MOST_LETTERS:
        raise TooManyError
    letters = np.array(list(itertools.product(levels, repeat=len(atoms))), dtype=np.float64)
    frontier = np.concatenate([[0.0, *monitor.program.initial] for monitor in monitors])[None, :]
    seen: set[tuple[float, ...]] = {tuple(frontier[0])}
    steps = 0
    while len(frontier):
        steps += len(frontier) * len(letters)
        if steps > _MOST_STEPS:
            raise TooManyError
        rows = np.repeat(frontier, len(letters), axis=0)
        columns = np.tile(letters, (len(frontier), 1))
        labels = {atom: columns[:, number] for number, atom in enumerate(atoms)}
        states = []
        start = 0
        for monitor in monitors:
            width = 1 + len(monitor.registers)
            states.append(_step(monitor, rows[:, start : start + width], labels))
            start += width
        yield tuple(states)
        new = np.unique(np.column_stack([column for state in states for column in _columns(state)]), axis=0)
        fresh = [row for row in new if tuple(row) not in seen]
        seen.update(tuple(row) for row in fresh)
        frontier = np.array(fresh)


def _step(monitor: Monitor, rows: np.ndarray, labels: dict[str, np.ndarray]) -> State:
    control = np.ascontiguousarray(rows[:, 0]).astype(np.int32) if len(monitor.states) > 1 else None
    registers = tuple(np.ascontiguousarray(column) for column in rows[:, 1:].T)
    state, _ = monitor.step(State(control, registers, (), (np.zeros(len(rows)),)), labels)
    return state  # type: ignore[no-any-return]


def _columns(state: State) -> Iterator[np.ndarray]:
    yield np.zeros_like(state.value) if state.control is None else state.control
    yield from state.registers


def can_be_violated(monitor: Monitor) -> bool | None:
    """Whether some trace leaves no hope for any value above 0; None where that takes too long to find out.

    Example:
        >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
        >>> can_be_violated(synthesize("G safe")), can_be_violated(synthesize("F goal"))
        (True, False)
    """
    # Labels 0 and 1 suffice: rounding a label between them takes hope away and gives none.
    try:
        return any(bool((monitor.bounds(state)[1] == 0.0).any()) for (state,) in outcomes([monitor], TWO))
    except (TooManyError, SynthesisError):
        return None


def compare(left: Monitor, right: Monitor) -> set[str] | None:
    """How two values relate on every trace: a subset of "equal", "opposite" (they sum to 1), "at most", "at least".

    None where that takes too long to find out.

    Example:
        >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
        >>> compare(synthesize("G a"), synthesize("F !a")), compare(synthesize("G a"), synthesize("F a"))
        ({'opposite'}, {'at most'})
    """
    possible = {"equal", "opposite", "at most", "at least"}
    try:
        for one, other in outcomes([left, right], THREE):
            possible &= relations(one.value, other.value)
            if not possible:
                break
    except TooManyError:
        return None
    return possible


def relations(one: Any, other: Any) -> set[str]:
    """How some values relate to others, as `compare` says it."""
    found = {
        "equal": one == other,
        "opposite": one + other == 1.0,
        "at most": one <= other,
        "at least": one >= other,
    }
    return {name for name, holds in found.items() if bool(np.all(holds))}
