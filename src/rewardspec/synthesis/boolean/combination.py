"""Boolean combinations of machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rewardspec.errors import SynthesisError
from rewardspec.synthesis.boolean.decision_diagrams import Diagram, Diagrams
from rewardspec.synthesis.boolean.minimization import Machine

Connective: TypeAlias = Callable[[bool, bool], bool]

_Pair: TypeAlias = tuple[int, int]
_DECIDED = -1  # (_DECIDED, 0) and (_DECIDED, 1) are the pairs whose outcome nothing can change any more


def complement(machine: Machine) -> Machine:
    """The machine that accepts what this one does not."""
    return Machine(machine.start, machine.steps, tuple(not accepts for accepts in machine.accepting))


def product(store: Diagrams[int], connective: Connective, left: Machine, right: Machine, max_states: int) -> Machine:
    """The machine that accepts where the connective of what two machines say is true; not minimal.

    Raises:
        SynthesisError: It has more than `max_states` states.
    """
    return _Product(store, connective, left, right, max_states).machine()


class _Product:
    def __init__(
        self, store: Diagrams[int], connective: Connective, left: Machine, right: Machine, max_states: int
    ) -> None:
        self.store = store
        self.connective = connective
        self.left = left
        self.right = right
        self.max_states = max_states
        self.number: dict[_Pair, int] = {}
        self.pairs: list[_Pair] = []
        self.memo: dict[tuple[Diagram, ...], Diagram] = {}
        # Sinks of either machine that settle the matter, whatever the other does: with them, and what.
        self.decided_left: dict[Diagram, bool] = {}
        self.decided_right: dict[Diagram, bool] = {}
        for sink, says in _sinks(store, left):
            if connective(says, False) == connective(says, True):
                self.decided_left[sink] = connective(says, True)
        for sink, says in _sinks(store, right):
            if connective(False, says) == connective(True, says):
                self.decided_right[sink] = connective(True, says)

    def machine(self) -> Machine:
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
        return Machine(start, tuple(steps), tuple(accepting))

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


def _sinks(store: Diagrams[int], machine: Machine) -> list[tuple[Diagram, bool]]:
    """The states that no letter leads out of, as leaves, and whether each accepts."""
    return [(step, machine.accepting[state]) for state, step in enumerate(machine.steps) if store.value(step) == state]
