"""Decision diagrams: functions of many Boolean variables, without listing their 2ⁿ arguments.

A diagram is a leaf, which holds a value, or a node `(variable, low, high)`, which is `low` where the variable is false
and `high` where it is true.  Along every path the variables increase, no node has two equal branches, and equal
diagrams are stored once.  So a function has exactly one diagram, and comparing functions is comparing numbers.

No function here recurses: a diagram may have thousands of variables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, TypeAlias, TypeVar

from rewardspec.errors import SynthesisError

Diagram: TypeAlias = int  # its number in the store that made it
Cube: TypeAlias = tuple[tuple[int, bool], ...]  # (variable, its value) pairs, in order of variables

Value = TypeVar("Value", bound=Hashable)
Result = TypeVar("Result")

_LEAF = sys.maxsize  # what stands for the variable of a leaf: it comes after every variable


class Budget:
    """A limit on how much may be computed, which several stores can share.

    Args:
        effort: How many intermediate results there may be.
    """

    def __init__(self, effort: int) -> None:
        self.left = effort

    @classmethod
    def unlimited(cls) -> Budget:
        """A budget that is never used up."""
        return cls(sys.maxsize)

    def spend(self, effort: int) -> None:
        """Count effort against the budget.

        Raises:
            SynthesisError: The budget is used up.
        """
        self.left -= effort
        if self.left < 0:
            raise SynthesisError("the decision diagrams are too large")


class Diagrams(Generic[Value]):
    """A store of decision diagrams with leaves of one type.

    Args:
        budget: The limit on the results that folding and applying compute; None for no limit.

    Example:
        >>> store = Diagrams[str]()
        >>> red, green = store.leaf("red"), store.leaf("green")
        >>> light = store.node(0, red, store.node(2, green, red))
        >>> list(store.cubes(light))
        [(((0, False),), 'red'), (((0, True), (2, False)), 'green'), (((0, True), (2, True)), 'red')]
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.variables: list[int] = []
        self.lows: list[Diagram] = []
        self.highs: list[Diagram] = []
        self.budget = Budget.unlimited() if budget is None else budget
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

        Args:
            operation: From as many diagrams to their combination where it is known, as for leaves it must be, or None.
            roots: The diagrams.
            memo: Combinations already known, as `fold` has it.
        """
        done: dict[tuple[Diagram, ...], Diagram] = {} if memo is None else memo
        variables, lows, highs = self.variables, self.lows, self.highs
        stack = [roots]
        while stack:
            parts = stack[-1]
            if parts not in done:
                result = operation(*parts)
                if result is None:
                    top = min([variables[part] for part in parts])
                    low = tuple([lows[part] if variables[part] == top else part for part in parts])
                    high = tuple([highs[part] if variables[part] == top else part for part in parts])
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

    def cubes(self, root: Diagram) -> Iterator[tuple[Cube, Value]]:
        """Every path to a leaf, as the values it gives to variables and the leaf's value; false branches first."""
        stack: list[tuple[Diagram, Cube]] = [(root, ())]
        while stack:
            part, cube = stack.pop()
            variable = self.variables[part]
            if variable == _LEAF:
                yield cube, self._values[part]
            else:
                stack.append((self.highs[part], (*cube, (variable, True))))
                stack.append((self.lows[part], (*cube, (variable, False))))


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

    def __init__(self, budget: Budget | None = None) -> None:
        super().__init__(budget)
        self.false = self.leaf(False)
        self.true = self.leaf(True)
        self._choices: dict[tuple[Diagram, ...], Diagram] = {}

    def variable(self, variable: int) -> Diagram:
        """True where the variable is."""
        return self.node(variable, self.false, self.true)

    def conjunction(self, left: Diagram, right: Diagram) -> Diagram:
        """True where both are."""
        if left > right:  # one order for both, so that what is known of one is known of the other
            left, right = right, left
        return self.choice(left, right, self.false)

    def disjunction(self, left: Diagram, right: Diagram) -> Diagram:
        """True where either is."""
        if left > right:
            left, right = right, left
        return self.choice(left, self.true, right)

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
