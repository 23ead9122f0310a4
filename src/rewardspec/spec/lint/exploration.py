"""Everything that monitors can do, found by trying: exact answers about small formulas.

Min and max pass labels through unchanged, so with labels from {0, 1/2, 1} registers and windows hold only these, and a
monitor has finitely many configurations.  They decide the general case.  Whether a value reaches a threshold depends
only on which literals do: above 1/2, of p and !p one does or none; up to 1/2, one does or both.  Labels 0 and 1 give
the first, and 1/2 gives none or both.  So values that relate in some way on all such traces do so on every trace.
Scales change labels, so that formulas with scales are left alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from rewardspec.machines.array_code import State
from rewardspec.machines.expressions import ONE, all_parts
from rewardspec.machines.monitor import Monitor
from rewardspec.spec.veto_conditions import VetoProgram
from rewardspec.types import Number

_MOST_LETTERS = 4_096
_MOST_STEPS = 300_000  # configurations times letters
_MOST_NUMBERS = 10_000_000  # that all of these hold together
_MOST_HELD = 400  # numbers in one configuration
_TRIED, _LONGEST = 128, 10_000  # traces of each kind that are looked at first, and their length at most

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
    held = [1 + len(m.registers) + sum(window.length for window in m.program.windows) for m in monitors]
    if len(levels) ** len(atoms) > _MOST_LETTERS or sum(held) > _MOST_HELD:
        raise TooManyError
    letters = np.array(list(itertools.product(levels, repeat=len(atoms))), dtype=np.float64)
    frontier = np.column_stack([column for m in monitors for column in m.machine.columns(m.initial_state(batch=1))])
    seen: set[tuple[float, ...]] = {tuple(frontier[0])}
    steps = 0
    while len(frontier):
        steps += len(frontier) * len(letters)
        if steps > _MOST_STEPS or steps * sum(held) > _MOST_NUMBERS:
            raise TooManyError
        rows = np.repeat(frontier, len(letters), axis=0)
        columns = np.tile(letters, (len(frontier), 1))
        labels = {atom: columns[:, number] for number, atom in enumerate(atoms)}
        states = []
        start = 0
        for monitor, width in zip(monitors, held, strict=True):
            own = [np.ascontiguousarray(column) for column in rows[:, start : start + width].T]
            before = monitor.machine.of_columns(own, (np.zeros(len(rows)),))
            states.append(monitor.step(before, labels)[0])
            start += width
        yield tuple(states)
        found = [column for m, state in zip(monitors, states, strict=True) for column in m.machine.columns(state)]
        new = np.unique(np.column_stack(found), axis=0)
        fresh = [row for row in new if tuple(row) not in seen]
        seen.update(tuple(row) for row in fresh)
        frontier = np.array(fresh)


def _only_passes_labels_on(monitor: Monitor) -> bool:
    """Return whether its values are labels and their complements; scales make values of their own."""
    return not any(part.op in ("affine", "discount") for part in all_parts(monitor.program.expressions()))


def can_be_violated(monitor: Monitor, veto: VetoProgram) -> bool | None:
    """Return whether some trace excludes every value above 0; None if that takes too long to find out."""
    if all(step.outputs[0] == ONE for step in veto.program.steps):
        return False
    telling = Monitor(monitor.formula, veto.program)
    if _some_trace_violates(telling):
        return True
    if not veto.exact or not _only_passes_labels_on(telling):
        return None
    # Labels 0 and 1 suffice: rounding a label between them takes hope away and gives none.
    try:
        return any(bool((state.value <= 0.0).any()) for (state,) in outcomes([telling], TWO))
    except TooManyError:
        return None


def _some_trace_violates(telling: Monitor) -> bool:
    """Return whether a constant or random trace of labels 0 and 1 violates the formula."""
    rng, atoms = np.random.default_rng(0), len(telling.atoms)
    length = 10 + len(telling.states) + sum(window.length for window in telling.program.windows)
    constant = rng.integers(0, 2, (_TRIED, atoms))
    if 2**atoms <= _TRIED:
        constant[: 2**atoms] = list(itertools.product((0, 1), repeat=atoms))
    often = rng.choice([0.05, 0.5, 0.95], (_TRIED, atoms))
    state = telling.initial_state(batch=2 * _TRIED)
    for _ in range(min(length, _LONGEST)):
        letters = np.concatenate([constant, rng.random((_TRIED, atoms)) < often]).astype(np.float64)
        state, value = telling.step(state, {atom: letters[:, k] for k, atom in enumerate(telling.atoms)})
        if bool((value <= 0.0).any()):
            return True
    return False


def compare(left: Monitor, right: Monitor) -> set[str] | None:
    """Relate two values on every trace: a subset of "equal", "opposite" (they sum to 1), "at most", "at least".

    None where that takes too long to find out.

    Example:
        >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
        >>> compare(synthesize("G a"), synthesize("F !a")), compare(synthesize("G a"), synthesize("F a"))
        ({'opposite'}, {'at most'})
    """
    possible = {"equal", "opposite", "at most", "at least"}
    if not (_only_passes_labels_on(left) and _only_passes_labels_on(right)):
        return None
    try:
        for one, other in outcomes([left, right], THREE):
            possible &= relations(one.value, other.value)
            if not possible:
                break
    except TooManyError:
        return None
    return possible


def relations(one: Number, other: Number) -> set[str]:
    """Relate some values to others, as `compare` does."""
    found = {
        "equal": one == other,
        "opposite": one + other == 1.0,
        "at most": one <= other,
        "at least": one >= other,
    }
    return {name for name, holds in found.items() if bool(np.all(holds))}
