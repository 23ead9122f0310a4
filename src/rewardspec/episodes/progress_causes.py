"""Causes of progress: the labels that raised or lowered the progress of a formula on every prefix of a trace.

Progress changes at a step because of one of its labels: the one without which it would not have. Each atom's label is
set back to what it was at the step before; of those that undo the change, the one that undoes most of it counts. Where
none does, as when a deadline passes, time did.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from rewardspec.episodes.causes import Decider
from rewardspec.spec.spec import Spec, alone
from rewardspec.types import MachineState


def progress_prefixes(
    spec: Spec, number: int, labels: Mapping[str, Sequence[float]], length: int
) -> tuple[list[float], list[Decider]]:
    """The progress of a pair's formula on every prefix of a trace of checked labels, and what brought each.

    Example:
        >>> labels = {"key": [0.0, 1.0, 1.0, 0.0], "door": [1.0, 0.0, 0.0, 1.0]}
        >>> found, causes = progress_prefixes(Spec([("F(key & F door)", 1)]), 0, labels, 4)
        >>> found, list(map(str, causes))
        ([0.0, 0.5, 0.5, 1.0], ['constant', 'key@1', 'key@1', 'door@3'])
    """
    pair = dataclasses.replace(spec.pairs[number], progress=True, payment=None, veto=False, penalty=None)
    one = alone(spec, pair)
    letters = [dict(zip(labels, letter, strict=True)) for letter in zip(*labels.values(), strict=True)]
    letters = letters or [{} for _ in range(length)]
    nothing = dict.fromkeys(labels, 0.0)
    state: MachineState = None
    before, cause = 0.0, Decider(None, None)
    found, causes = [], []
    for step, letter in enumerate(letters):
        after, now = _advance(one, state, letter)
        if now != before:
            cause = _cause(one, state, letter, letters[step - 1] if step else nothing, before, now, step)
        state, before = after, now
        found.append(now)
        causes.append(cause)
    return found, causes


def _advance(spec: Spec, state: MachineState, letter: Mapping[str, float]) -> tuple[MachineState, float]:
    needed = {atom: letter[atom] for atom in spec.atoms}
    after = spec.start(needed) if state is None else spec.step(state, needed)[0]
    return after, float(spec.values(after)[0])


def _cause(
    spec: Spec,
    state: MachineState,
    letter: dict[str, float],
    old: Mapping[str, float],
    before: float,
    now: float,
    step: int,
) -> Decider:
    best, chosen = abs(now - before), Decider(step, None)  # time, unless a label did it
    for atom in spec.atoms:
        if letter[atom] != old[atom]:
            _, without = _advance(spec, state, letter | {atom: old[atom]})
            left = (without - before) * (1.0 if now > before else -1.0)  # of the change, without this label
            if left < best:
                best, chosen = left, Decider(step, atom, negated=letter[atom] < old[atom])
    return chosen
