"""Comparing reward machines with formulas: the same language, or a shortest trace that tells them apart."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

from rewardspec.errors import SpecError
from rewardspec.logic.formulas import FormulaLike, as_formula
from rewardspec.spec.reward_machine import RewardMachine
from rewardspec.types import MachineState

_MOST_ATOMS = 14


@dataclasses.dataclass(frozen=True)
class Difference:
    """A shortest trace on which two tasks differ; of those of one length, one with few atoms true.

    Attributes:
        trace: For each atom its labels.
        first: Whether the machine has paid something positive along it.
        second: Whether the formula holds on it, or the other machine has paid.
        names: What the two are called.
    """

    trace: dict[str, list[int]]
    first: bool
    second: bool
    names: tuple[str, str] = ("the machine", "the formula")

    def __str__(self) -> str:
        steps = zip(*self.trace.values(), strict=True)
        letters = [
            " & ".join(a for a, true in zip(self.trace, step, strict=True) if true) or "nothing" for step in steps
        ]
        words = {True: ("has paid", "has not paid"), False: ("is true", "is false")}
        said = [
            f"{name} {words['machine' in name][not says]}"
            for name, says in zip(self.names, (self.first, self.second), strict=True)
        ]
        return f"{'; '.join(letters)}: {', '.join(said)}"


class _Acceptor(NamedTuple):
    """A deterministic acceptor of traces: a state before the first letter, a step, and whether a state accepts."""

    atoms: tuple[str, ...]
    initial: Hashable
    step: Callable[[MachineState, dict[str, int]], Hashable]
    accepts: Callable[[MachineState], bool]


def difference(
    machine: RewardMachine, other: RewardMachine | FormulaLike, letters: Iterable[Iterable[str]] | None = None
) -> Difference | None:
    """A shortest trace in one language and not in the other; see `RewardMachine.difference`."""
    left = _of_machine(machine)
    right = _of_machine(other) if isinstance(other, RewardMachine) else _of_formula(other)
    names = ("the first machine", "the second machine") if isinstance(other, RewardMachine) else Difference.names
    atoms = tuple(dict.fromkeys((*left.atoms, *right.atoms)))
    readings = _readings(atoms, letters)
    start = (left.initial, right.initial)
    before: dict[tuple[Hashable, Hashable], tuple[tuple[Hashable, Hashable], dict[str, int]] | None] = {start: None}
    queue = deque([start])
    while queue:
        pair = queue.popleft()
        for labels in readings:
            after = left.step(pair[0], labels), right.step(pair[1], labels)
            if after in before:
                continue
            before[after] = pair, labels
            first, second = left.accepts(after[0]), right.accepts(after[1])
            if first != second:
                steps = []
                while (step := before[after]) is not None:
                    after, labels = step
                    steps.append(labels)
                trace = {atom: [labels[atom] for labels in reversed(steps)] for atom in atoms}
                return Difference(trace, first, second, names)
            queue.append(after)
    return None


def _readings(atoms: tuple[str, ...], letters: Iterable[Iterable[str]] | None) -> list[dict[str, int]]:
    """The letters to try, those with few true atoms first."""
    if letters is not None:
        numbers = {sum(1 << k for k, atom in enumerate(atoms) if atom in letter) for letter in map(set, letters)}
    elif len(atoms) <= _MOST_ATOMS:
        numbers = set(range(1 << len(atoms)))
    else:
        raise SpecError(
            f"Languages are compared letter by letter, with up to {_MOST_ATOMS} atoms. Received {len(atoms)}. Name the "
            "letters that can occur: `letters`."
        )
    ordered = sorted(numbers, key=lambda letter: (letter.bit_count(), letter))
    return [{atom: letter >> k & 1 for k, atom in enumerate(atoms)} for letter in ordered]


def _of_machine(machine: RewardMachine) -> _Acceptor:
    paid = "paid"

    def step(state: MachineState, labels: dict[str, int]) -> Hashable:
        if state == paid:
            return paid
        after, reward = machine.step(state, labels)
        return paid if reward > 0.0 else after

    return _Acceptor(machine.atoms, machine.initial, step, lambda state: state == paid)


def _of_formula(formula: FormulaLike) -> _Acceptor:
    from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean

    monitor = synthesize_boolean(as_formula(formula))
    # The state before the first letter is apart: a trace is never empty, so whether it accepts means nothing.
    return _Acceptor(
        monitor.atoms,
        None,
        lambda state, labels: monitor.step(0 if state is None else state, labels)[0],
        lambda state: state in monitor.accepting,
    )
