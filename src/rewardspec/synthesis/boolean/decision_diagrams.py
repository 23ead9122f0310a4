"""Decision diagrams: functions of many Boolean variables, without listing their 2ⁿ arguments.

A diagram is a leaf, which holds a value, or a node `(variable, low, high)`, which is `low` where the variable is false
and `high` where it is true.  Along every path the variables increase, no node has two equal branches, and equal
diagrams are stored once.  So a function has exactly one diagram, and comparing functions is comparing numbers.

Variables may form *chains*, in which each implies the next, as "a within 3 steps" implies "a within 4".  A diagram is
then a function of the possible assignments only, which for a chain of n variables are n + 1 instead of 2ⁿ, and two that
agree on these are one.

No function here recurses: a diagram may have thousands of variables.
"""

from __future__ import annotations

import functools
import sys
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from rewardspec.machines.effort_limit import Effort

Diagram: TypeAlias = int  # its number in the store that made it
Cube: TypeAlias = tuple[tuple[int, bool], ...]  # (variable, its value) pairs, in order of variables

Value = TypeVar("Value", bound=Hashable)
Result = TypeVar("Result")

_LEAF = sys.maxsize  # what stands for the variable of a leaf: it comes after every variable


class Diagrams(Generic[Value]):
    """A store of decision diagrams with leaves of one type.

    Args:
        budget: The limit on the results that folding and applying compute; None for no limit.
        chain_ends: For each variable of a chain the last of that chain.  A chain's variables are consecutive, and each
            implies the next.

    Example:
        >>> store = Diagrams[str]()
        >>> red, green = store.leaf("red"), store.leaf("green")
        >>> light = store.node(0, red, store.node(2, green, red))
        >>> store.leaves(light), store.node(1, light, light) == light
        (['red', 'green'], True)
    """

    def __init__(self, budget: Effort | None = None, chain_ends: Mapping[int, int] | None = None) -> None:
        self.variables: list[int] = []
        self.lows: list[Diagram] = []
        self.highs: list[Diagram] = []
        self.budget = budget or Effort()
        self._chain_ends = {} if chain_ends is None else dict(chain_ends)
        self._values: dict[Diagram, Value] = {}
        self._leaves: dict[Value, Diagram] = {}
        self._nodes: dict[tuple[int, Diagram, Diagram], Diagram] = {}

    def leaf(self, value: Value) -> Diagram:
        """The diagram that is `value` everywhere."""
        if value not in self._leaves:
            self._leaves[value] = self._add(_LEAF, -1, -1)
            self._values[self._leaves[value]] = value
        return self._leaves[value]

    def node(self, variable: int, low: Diagram, high: Diagram) -> Diagram:
        """The diagram that is `low` where the variable is false and `high` where it is true."""
        end = self._chain_ends.get(variable)
        if end is not None:
            # Where the variable is true, so is the rest of its chain; and a test is useless where it decides nothing
            # that the next of its chain does not.
            if self.variables[high] <= end:
                high = self.highs[high]
            if self.variables[low] <= end and self.highs[low] == high:
                return low
        if low == high:
            return low
        key = (variable, low, high)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = self._add(variable, low, high)
        return found

    def _add(self, variable: int, low: Diagram, high: Diagram) -> Diagram:
        self.variables.append(variable)
        self.lows.append(low)
        self.highs.append(high)
        return len(self.variables) - 1

    def value(self, diagram: Diagram) -> Value | None:
        """A leaf's value; None for a node."""
        return self._values.get(diagram)

    def fold(
        self,
        root: Diagram,
        base: Callable[[Diagram], Result | None],
        combine: Callable[[int, Result, Result], Result],
        memo: dict[Diagram, Result] | None = None,
    ) -> Result:
        """Compute bottom-up, each part once.

        Args:
            root: The diagram.
            base: The result of a part that needs no deeper look, as every leaf must be; None for the others.
            combine: The result of a node, from its variable and the results of its two branches.
            memo: Results by part; a memo that is passed again carries them over.

        Example:
            >>> store = Diagrams[bool]()
            >>> both = store.node(0, store.leaf(False), store.node(1, store.leaf(False), store.leaf(True)))
            >>> store.fold(both, store.value, lambda variable, low, high: low + high)  # how many letters make it true
            1
        """
        done: dict[Diagram, Result] = {} if memo is None else memo
        stack = [root]
        while stack:
            part = stack[-1]
            if part not in done:
                result = base(part)
                if result is None:
                    low, high = self.lows[part], self.highs[part]
                    missing = [branch for branch in (high, low) if branch not in done]
                    if missing:
                        stack.extend(missing)
                        continue
                    result = combine(self.variables[part], done[low], done[high])
                done[part] = result
                self.budget.spend(1)
            stack.pop()
        return done[root]

    def apply(
        self,
        operation: Callable[..., Diagram | None],
        *roots: Diagram,
        memo: dict[tuple[Diagram, ...], Diagram] | None = None,
    ) -> Diagram:
        """Combine diagrams leaf by leaf.

        The operation gives the combination of as many parts where it is known, as for leaves it must be, or else None.
        The memo is as in `fold`.
        """
        done: dict[tuple[Diagram, ...], Diagram] = {} if memo is None else memo
        variables, lows, highs, chain_ends = self.variables, self.lows, self.highs, self._chain_ends
        stack = [roots]
        while stack:
            parts = stack[-1]
            if parts not in done:
                result = operation(*parts)
                if result is None:
                    top = min([variables[part] for part in parts])
                    end = chain_ends.get(top, top)
                    low = tuple([lows[part] if variables[part] == top else part for part in parts])
                    high = tuple([highs[part] if variables[part] <= end else part for part in parts])
                    missing = [branches for branches in (high, low) if branches not in done]
                    if missing:
                        stack.extend(missing)
                        continue
                    result = self.node(top, done[low], done[high])
                done[parts] = result
                self.budget.spend(1)
            stack.pop()
        return done[roots]

    def parts(self, *roots: Diagram) -> Iterator[Diagram]:
        """Every distinct part once: each diagram before its branches, and false branches before true ones."""
        seen: set[Diagram] = set()
        stack = list(reversed(roots))
        while stack:
            part = stack.pop()
            if part not in seen:
                seen.add(part)
                yield part
                if self.variables[part] != _LEAF:
                    stack.extend((self.highs[part], self.lows[part]))

    def leaves(self, root: Diagram) -> list[Value]:
        """The values that the diagram takes, in the order of the first letter that leads to each.

        Letters count up with the first variable as the most significant digit, so the all-false letter comes first.
        """
        return [self._values[part] for part in self.parts(root) if part in self._values]


class BooleanDiagrams(Diagrams[bool]):
    """Diagrams of truth values, with the operations of logic.

    Example:
        >>> store = BooleanDiagrams()
        >>> a, b = store.variable(0), store.variable(1)
        >>> store.conjunction(a, store.negation(a)) == store.false
        True
        >>> store.choice(a, b, store.false) == store.conjunction(b, a)
        True
    """

    def __init__(self, budget: Effort | None = None, chain_ends: Mapping[int, int] | None = None) -> None:
        super().__init__(budget, chain_ends)
        self.false = self.leaf(False)
        self.true = self.leaf(True)
        self._choices: dict[tuple[Diagram, ...], Diagram] = {}

    def variable(self, variable: int) -> Diagram:
        """True where the variable is."""
        return self.node(variable, self.false, self.true)

    def conjunction(self, *diagrams: Diagram) -> Diagram:
        """True where all are."""
        return functools.reduce(lambda left, right: self.choice(left, right, self.false), self._ordered(diagrams))

    def disjunction(self, *diagrams: Diagram) -> Diagram:
        """True where any is."""
        return functools.reduce(lambda left, right: self.choice(left, self.true, right), self._ordered(diagrams))

    def _ordered(self, diagrams: Sequence[Diagram]) -> Sequence[Diagram]:
        """Those with the last variables first, so that each next one is put on top of what is there.

        Two diagrams always come in the same order, so that what is known of one order is known of the other.
        """
        return sorted(diagrams, key=lambda diagram: (-self.variables[diagram], diagram))

    def negation(self, diagram: Diagram) -> Diagram:
        """True where the diagram is false."""
        return self.choice(diagram, self.false, self.true)

    def choice(self, condition: Diagram, then: Diagram, otherwise: Diagram) -> Diagram:
        """`then` where the condition is true, `otherwise` elsewhere: the operation that all others are cases of."""
        return self.apply(self._choose, condition, then, otherwise, memo=self._choices)

    def _choose(self, condition: Diagram, then: Diagram, otherwise: Diagram) -> Diagram | None:
        if condition == self.true or then == otherwise:
            return then
        if condition == self.false:
            return otherwise
        if then in (self.true, condition) and otherwise in (self.false, condition):
            return condition
        return None


@dataclass(frozen=True)
class DecisionTable:
    """Decision diagrams laid out flat: for each of n states one whose leaves are states.

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
