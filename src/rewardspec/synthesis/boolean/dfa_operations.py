"""Deterministic automata with decision diagrams for transitions: complement, product, minimization."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rewardspec.errors import SynthesisError
from rewardspec.synthesis.boolean.decision_diagrams import Diagram, Diagrams

Connective: TypeAlias = Callable[[bool, bool], bool]

_Pair: TypeAlias = tuple[int, int]
_DECIDED = -1  # (_DECIDED, 0) and (_DECIDED, 1) are the pairs whose outcome nothing can change any more


@dataclass(frozen=True)
class Dfa:
    """A complete deterministic automaton on non-empty traces.

    Attributes:
        start: What the first letter does: a diagram whose leaves are states.  Nothing is said about the empty trace,
            so the start needs no acceptance and is no state.
        steps: For each state what a letter does, likewise.
        accepting: For each state whether it accepts.
    """

    start: Diagram
    steps: tuple[Diagram, ...]
    accepting: tuple[bool, ...]


def complement(dfa: Dfa) -> Dfa:
    """The automaton of the complement."""
    return Dfa(dfa.start, dfa.steps, tuple(not accepts for accepts in dfa.accepting))


class Product:
    """The product of two automata, accepting where the connective of their acceptance is true."""

    def __init__(self, store: Diagrams[int], connective: Connective, left: Dfa, right: Dfa, max_states: int) -> None:
        self.store = store
        self.connective = connective
        self.left = left
        self.right = right
        self.max_states = max_states
        self.number: dict[_Pair, int] = {}
        self.pairs: list[_Pair] = []
        self.memo: dict[tuple[Diagram, ...], Diagram] = {}
        # Sinks of either automaton that settle the matter, whatever the other does: with them, and what.
        self.decided_left = {
            sink: connective(says, True)
            for sink, says in _sinks(store, left)
            if connective(says, False) == connective(says, True)
        }
        self.decided_right = {
            sink: connective(True, says)
            for sink, says in _sinks(store, right)
            if connective(False, says) == connective(True, says)
        }

    def dfa(self) -> Dfa:
        """The automaton, not minimal.

        Raises:
            SynthesisError: It has more than `max_states` states.
        """
        start = self._both(self.left.start, self.right.start)
        steps: list[Diagram] = []
        accepting: list[bool] = []
        while len(steps) < len(self.pairs):
            pair = i, j = self.pairs[len(steps)]
            if i == _DECIDED:
                steps.append(self._state(pair))
                accepting.append(bool(j))
            else:
                steps.append(self._both(self.left.steps[i], self.right.steps[j]))
                accepting.append(self.connective(self.left.accepting[i], self.right.accepting[j]))
        return Dfa(start, tuple(steps), tuple(accepting))

    def _both(self, left: Diagram, right: Diagram) -> Diagram:
        return self.store.apply(self._pair_up, left, right, memo=self.memo)

    def _pair_up(self, left: Diagram, right: Diagram) -> Diagram | None:
        if left in self.decided_left:
            return self._state((_DECIDED, self.decided_left[left]))
        if right in self.decided_right:
            return self._state((_DECIDED, self.decided_right[right]))
        i, j = self.store.value(left), self.store.value(right)
        return None if i is None or j is None else self._state((i, j))

    def _state(self, pair: _Pair) -> Diagram:
        if pair not in self.number:
            if len(self.pairs) == self.max_states:
                raise SynthesisError("there are too many states")
            self.number[pair] = len(self.pairs)
            self.pairs.append(pair)
        return self.store.leaf(self.number[pair])


def _sinks(store: Diagrams[int], dfa: Dfa) -> list[tuple[Diagram, bool]]:
    """The states that no letter leads out of, as leaves, and whether each accepts."""
    return [(step, dfa.accepting[state]) for state, step in enumerate(dfa.steps) if store.value(step) == state]


def minimize(store: Diagrams[int], dfa: Dfa) -> Dfa:
    """The minimal automaton of the same language; its states are numbered as their first members were.

    Moore's partition refinement, with two additions that make long chains of states cost n log n instead of n².  A
    block that splits leaves its number to its largest part, so that few states change theirs; and after a split only
    the diagrams that lead to a state whose number changed are looked at again.
    """
    partition = _Partition(store, dfa)
    partition.refine()
    number: dict[int, int] = {}
    kept: list[int] = []
    for state, block in enumerate(partition.block):
        if block not in number:
            number[block] = len(kept)
            kept.append(state)
    if len(kept) == len(dfa.steps):
        return dfa
    return renumber(store, dfa, kept, {state: number[block] for state, block in enumerate(partition.block)})


def renumber(store: Diagrams[int], dfa: Dfa, kept: Iterable[int], number: dict[int, int]) -> Dfa:
    """The automaton with its states renumbered; those in `kept` remain, in that order."""
    memo: dict[Diagram, Diagram] = {}

    def renumbered(diagram: Diagram) -> Diagram:
        def base(part: Diagram) -> Diagram | None:
            state = store.value(part)
            return None if state is None else store.leaf(number[state])

        return store.fold(diagram, base, store.node, memo)

    kept = list(kept)
    return Dfa(
        start=renumbered(dfa.start),
        steps=tuple(renumbered(dfa.steps[state]) for state in kept),
        accepting=tuple(dfa.accepting[state] for state in kept),
    )


class _Partition:
    """States in blocks, which are split until all states of a block agree on the blocks that letters lead to."""

    def __init__(self, store: Diagrams[int], dfa: Dfa) -> None:
        self.store = store
        self.steps = dfa.steps
        self.block = [int(accepts) for accepts in dfa.accepting]
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
        for part in self.store.parts(*self.states):
            if self.store.value(part) is None:
                parents[self.store.lows[part]].append(part)
                parents[self.store.highs[part]].append(part)
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
