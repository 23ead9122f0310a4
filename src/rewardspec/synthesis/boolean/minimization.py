"""Deterministic machines with decision diagrams for transitions, and their minimal form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rewardspec.synthesis.boolean.decision_diagrams import Diagram, Diagrams


@dataclass(frozen=True)
class Machine:
    """A complete deterministic machine; what it says about a trace is whether the last state accepts.

    Attributes:
        start: What the first letter does: a diagram whose leaves are states.  Nothing is said about the empty trace,
            so the start needs no acceptance and is no state.
        steps: For each state what a letter does, likewise.
        accepting: For each state whether it accepts.
    """

    start: Diagram
    steps: tuple[Diagram, ...]
    accepting: tuple[bool, ...]


def minimize(store: Diagrams[int], machine: Machine) -> Machine:
    """The smallest machine that accepts the same traces; its states are numbered as their first members were.

    Moore's partition refinement, with two additions that make long chains of states cost n log n instead of n².  A
    block that splits leaves its number to its largest part, so that few states change theirs; and after a split only
    the diagrams that lead to a state whose number changed are looked at again.
    """
    partition = _Partition(store, machine)
    partition.refine()
    number: dict[int, int] = {}
    kept: list[int] = []
    for state, block in enumerate(partition.block):
        if block not in number:
            number[block] = len(kept)
            kept.append(state)
    if len(kept) == len(machine.steps):
        return machine
    return renumber(store, machine, kept, {state: number[block] for state, block in enumerate(partition.block)})


def renumber(store: Diagrams[int], machine: Machine, kept: Iterable[int], number: dict[int, int]) -> Machine:
    """The machine with other numbers for its states, of which those in `kept` remain, in that order."""
    memo: dict[Diagram, Diagram] = {}

    def renumbered(diagram: Diagram) -> Diagram:
        def base(part: Diagram) -> Diagram | None:
            state = store.value(part)
            return None if state is None else store.leaf(number[state])

        return store.fold(diagram, base, store.node, memo)

    kept = list(kept)
    return Machine(
        start=renumbered(machine.start),
        steps=tuple(renumbered(machine.steps[state]) for state in kept),
        accepting=tuple(machine.accepting[state] for state in kept),
    )


class _Partition:
    """States in blocks, which are split until all states of a block agree on the blocks that letters lead to."""

    def __init__(self, store: Diagrams[int], machine: Machine) -> None:
        self.store = store
        self.steps = machine.steps
        self.block = [int(accepts) for accepts in machine.accepting]
        self.members: list[set[int]] = [set(), set()]
        for state, block in enumerate(self.block):
            self.members[block].add(state)
        self.signatures: dict[Diagram, Diagram] = {}  # each diagram with blocks in the place of states
        self.states: dict[Diagram, list[int]] = defaultdict(list)  # the states that have a diagram as their step
        for state, step in enumerate(self.steps):
            self.states[step].append(state)
        self.parents = self._parents()

    def _parents(self) -> dict[Diagram, list[Diagram]]:
        """The nodes that each part of a diagram is a branch of."""
        parents: dict[Diagram, list[Diagram]] = defaultdict(list)
        seen = set(self.states)
        stack = list(self.states)
        while stack:
            part = stack.pop()
            if self.store.value(part) is None:
                for branch in (self.store.lows[part], self.store.highs[part]):
                    parents[branch].append(part)
                    if branch not in seen:
                        seen.add(branch)
                        stack.append(branch)
        return parents

    def refine(self) -> None:
        changed: Iterable[int] = range(len(self.steps))  # states whose letters may lead to other blocks than before
        while changed:
            by_block: dict[int, dict[Diagram, list[int]]] = defaultdict(lambda: defaultdict(list))
            for state in changed:
                by_block[self.block[state]][self._signature(self.steps[state])].append(state)
            moved = [state for block, parts in by_block.items() for state in self._split(block, list(parts.values()))]
            changed = self._affected(moved)

    def _signature(self, diagram: Diagram) -> Diagram:
        return self.store.fold(diagram, self._leaf_signature, self.store.node, self.signatures)

    def _leaf_signature(self, part: Diagram) -> Diagram | None:
        state = self.store.value(part)
        return None if state is None else self.store.leaf(self.block[state])

    def _split(self, block: int, parts: list[list[int]]) -> Iterator[int]:
        """Make each part a block of its own, but for the largest; the states that moved.

        Members that are in no part have kept their common signature, so together they are one more part.
        """
        members = self.members[block]
        largest = max(parts, key=len)
        others = len(members) - sum(map(len, parts))
        if others < len(largest):
            rest = members.difference(*parts) if others else ()
            parts = [part for part in (*parts, sorted(rest)) if part and part is not largest]
        for part in parts:
            for state in part:
                self.block[state] = len(self.members)
            self.members.append(set(part))
            members.difference_update(part)
            yield from part

    def _affected(self, moved: Iterable[int]) -> list[int]:
        """The states with a letter that leads to a state that moved; what was known of their diagrams is forgotten."""
        stack = [self.store.leaf(state) for state in moved]
        seen = set(stack)
        affected: list[int] = []
        while stack:
            part = stack.pop()
            self.signatures.pop(part, None)
            affected.extend(self.states.get(part, ()))
            for parent in self.parents.get(part, ()):
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        return affected
