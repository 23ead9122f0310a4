"""The first trace that the playground shows of a user's spec: kept for as long as possible, with events to look at."""

from __future__ import annotations

import itertools

from rewardspec.errors import Error
from rewardspec.spec.pairs import about_any
from rewardspec.spec.spec import Spec

_ASSIGNMENTS = 64
"""Most combinations of constant labels that are tried."""
_PULSE = 10
"""Number of steps for which a label differs from its constant."""


def first_trace(spec: Spec, steps: int) -> dict[str, list[float]] | None:
    """Choose labels of 0 and 1 that violate no safety objective for as long as possible; no atom is called.

    Each label is constant, but for one stretch of steps if that violates nothing earlier. Of things there is one,
    which is called as the quantifier's variable is.

    Returns:
        The labels of each atom, lists of length `steps`; None if the spec cannot run.

    Example:
        >>> [labels[:3] for labels in first_trace(Spec([("G !crash", 1), ("F goal", 1)]), 100).values()]
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    try:
        spec = Spec(
            [about_any(pair) for pair in spec.pairs],
            payment=spec.payment,
            semantics=spec.semantics,
            bound=spec.bound,
            max_registers=spec.max_registers,
        )
        levels = itertools.islice(itertools.product((0.0, 1.0), repeat=len(spec.atoms)), _ASSIGNMENTS)
        constants = [{atom: [level] * steps for atom, level in zip(spec.atoms, one, strict=True)} for one in levels]
        chosen = max(constants, key=lambda labels: _first_violation(spec, labels, steps))
    except Error:
        return None
    kept = _first_violation(spec, chosen, steps)
    for number, atom in enumerate(spec.atoms):
        begin = (number + 1) * steps // (len(spec.atoms) + 2)
        changed = {**chosen, atom: list(chosen[atom])}
        changed[atom][begin : begin + _PULSE] = [1.0 - label for label in chosen[atom][begin : begin + _PULSE]]
        if _first_violation(spec, changed, steps) >= kept:
            chosen = changed
    return chosen


def _first_violation(spec: Spec, labels: dict[str, list[float]], steps: int) -> int:
    """Return the number of steps before a safety objective is violated."""
    state = None
    for k in range(steps):
        now = {atom: values[k] for atom, values in labels.items()}
        state = spec.start(now) if state is None else spec.step(state, now)[0]
        if spec.violated(state):
            return k
    return steps
