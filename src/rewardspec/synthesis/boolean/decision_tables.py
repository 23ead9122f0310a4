"""Decision diagrams laid out flat: what a finished automaton keeps, runs on and is saved as."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rewardspec.synthesis.boolean.decision_diagrams import Diagram, Diagrams


@dataclass(frozen=True)
class DecisionTable:
    """For each of n states a decision diagram whose leaves are states.

    A *place* is a state or a node: place p below n is the state p, and n + k is node k.

    Attributes:
        roots: For each state the place where its diagram starts.
        variables: For each node the variable it asks for.
        lows: For each node the place to go to where the variable is false.
        highs: For each node the place to go to where the variable is true.
    """

    roots: tuple[int, ...]
    variables: tuple[int, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]

    @classmethod
    def from_diagrams(cls, store: Diagrams[int], roots: Sequence[Diagram]) -> DecisionTable:
        """The table of some diagrams; nodes are numbered as they are met, false branches first."""
        place: dict[Diagram, int] = {}
        nodes: list[Diagram] = []
        for part in store.parts(*roots):
            state = store.value(part)
            if state is None:
                place[part] = len(roots) + len(nodes)
                nodes.append(part)
            else:
                place[part] = state
        return cls(
            roots=tuple(place[root] for root in roots),
            variables=tuple(store.variables[node] for node in nodes),
            lows=tuple(place[store.lows[node]] for node in nodes),
            highs=tuple(place[store.highs[node]] for node in nodes),
        )

    def to_diagrams(self) -> tuple[Diagrams[int], list[Diagram]]:
        """The diagrams of the states, in a store of their own."""
        store = Diagrams[int]()
        states = len(self.roots)
        diagrams: dict[int, Diagram] = {state: store.leaf(state) for state in range(states)}
        for node in sorted(range(len(self.variables)), key=self.variables.__getitem__, reverse=True):
            low, high = diagrams[self.lows[node]], diagrams[self.highs[node]]
            diagrams[states + node] = store.node(self.variables[node], low, high)
        return store, [diagrams[root] for root in self.roots]

    def successor(self, state: int, letter: int) -> int:
        """The state after a letter; bit v of the letter is the value of variable v."""
        states = len(self.roots)
        place = self.roots[state]
        while place >= states:
            node = place - states
            place = self.highs[node] if letter >> self.variables[node] & 1 else self.lows[node]
        return place

    def reaching(self, targets: Iterable[int]) -> frozenset[int]:
        """The states from which some letters, or none, lead to one of the targets."""
        states = len(self.roots)
        sources: dict[int, list[int]] = defaultdict(list)  # where each place can be entered from
        for state, root in enumerate(self.roots):
            sources[root].append(state)
        for node, branches in enumerate(zip(self.lows, self.highs, strict=True)):
            for branch in branches:
                sources[branch].append(states + node)
        found = set(targets)
        stack = list(found)
        while stack:
            for source in sources.get(stack.pop(), ()):
                if source not in found:
                    found.add(source)
                    stack.append(source)
        return frozenset(place for place in found if place < states)

    @functools.cached_property
    def used(self) -> tuple[int, ...]:
        """The variables that some node asks for, in order."""
        return tuple(sorted(set(self.variables)))
