"""The closure of a formula: everything whose truth matters while letters are read, and the variables that stand for it.

A formula needs its operands and whatever it unfolds to: `G(a -> F[0,2] b)` needs itself and `F[0,1] b` at the next
letter; `O[0,2] b` needs `O[0,1] b` at the letter before.  What crosses from one letter to the next is a *cell*: an
obligation, which the rest of the trace decides, or a memory, which the trace so far has decided.  Each cell is a
variable of decision diagrams.  A formula and its negation share one, and cells of one operator that imply each other
become a chain, so that the fifty obligations of `F[0,50] b` are a counter with 51 values.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from rewardspec.logic.bottom_up import operands_first
from rewardspec.logic.formulas import Atom, Formula, Not
from rewardspec.logic.implication import Implication
from rewardspec.logic.normal_form import dual
from rewardspec.logic.operators import TEMPORAL, Unfolding, unfold
from rewardspec.machines.effort_limit import Effort

_FORMULA_EFFORT = 25  # what a formula of the closure costs, so that an interval of a million steps is refused in time


class MemoryCell(NamedTuple):
    """A truth value that crosses from one letter to the next.

    Attributes:
        formula: The formula whose value it is.
        initial: For a memory, its value before the first letter; None for an obligation.
    """

    formula: Formula
    initial: bool | None


class Closure(Unfolding[None]):
    """The closure of a formula in negation normal form.

    Attributes:
        formulas: Its members; operands come before the formulas that use them.
        owed: The members that some member needs at the next letter, with their operands down to atoms and temporal
            formulas.
        memories: What members need from the letter before.
    """

    def __init__(self, formula: Formula, budget: Effort) -> None:
        self.formulas: list[Formula] = []
        self.owed: set[Formula] = set()
        self.memories: dict[MemoryCell, None] = {}
        self._budget = budget
        self._seen: set[Formula] = set()
        self._pending = [formula]
        while self._pending:
            self._add(self._pending.pop())
        self._negations: dict[Formula, Formula] = {}
        known = {part: part for part in self.formulas}  # equal formulas as one object: comparing them is then immediate
        for part in self.formulas:
            negation = self._negation(part)
            self._negations[part] = known.setdefault(negation, negation)
        self._rank: dict[object, int] = {}
        for position, part in enumerate(self.formulas):
            self._rank.setdefault(_family(part), position)

    def _add(self, formula: Formula) -> None:
        for part in operands_first([formula], lambda part: part.args, known=self._seen):
            self._seen.add(part)
            self._budget.spend(_FORMULA_EFFORT)
            self.formulas.append(part)
            if part.args and not isinstance(part, Not):
                unfold(part, self)

    # What a formula unfolds to, noted down; see `operators.Unfolding`.

    def now(self, formula: Formula) -> None:
        """An operand, which is a member in any case."""

    def later(self, formula: Formula, strong: bool) -> None:
        """Note an obligation."""
        self._pending.append(formula)
        stack = [formula]
        while stack:
            part = stack.pop()
            if part not in self.owed:
                self.owed.add(part)
                if not isinstance(part, TEMPORAL):
                    stack.extend(part.args)

    def earlier(self, formula: Formula, strong: bool) -> None:
        """Note a memory."""
        self._pending.append(formula)
        self.memories[MemoryCell(formula, not strong)] = None

    def conjunction(self, *values: None) -> None:
        """Nothing to note."""

    def disjunction(self, *values: None) -> None:
        """Nothing to note."""

    # Variables.

    def obligations(self, first: int) -> Variables:
        """The variables of what is owed, numbered from the given one on."""
        owed = (part for part in self.formulas if part in self.owed and isinstance(part, (Atom, *TEMPORAL)))
        return self._variables(first, (MemoryCell(part, None) for part in owed))

    def memory(self, first: int) -> Variables:
        """The variables of what is remembered, numbered from the given one on."""
        return self._variables(first, self.memories)

    def _variables(self, first: int, cells: Iterable[MemoryCell]) -> Variables:
        families: dict[tuple[object, bool | None], dict[MemoryCell, None]] = defaultdict(dict)
        kept: dict[MemoryCell, MemoryCell] = {}  # each cell, or its negation where that one's family is there already
        for cell in cells:
            negated = MemoryCell(self._negations[cell.formula], None if cell.initial is None else not cell.initial)
            kept[cell] = negated if (_family(negated.formula), negated.initial) in families else cell
            families[_family(kept[cell].formula), kept[cell].initial][kept[cell]] = None
        # Outer formulas first: a formula's step mentions its own obligation beside those of its operands, so diagrams
        # mostly grow at their root, which is cheap.
        order = sorted(families, key=lambda key: self._rank[key[0]], reverse=True)
        chains = [chain for key in order for chain in _chains(families[key])]
        number = {cell: first + k for k, cell in enumerate(itertools.chain.from_iterable(chains))}
        literals = {cell: (number[other], other == cell) for cell, other in kept.items()}
        return Variables(first, chains, literals)

    def _negation(self, part: Formula) -> Formula:
        """The negation normal form of a member's negation."""
        match part:
            case Atom():
                return Not(part)
            case Not():
                return part.arg
        return dual(part, *(self._negations[arg] for arg in part.args))


@dataclass(frozen=True)
class Variables:
    """Variables that stand for cells.

    Attributes:
        first: The first variable.
        chains: The cells in the order of their variables; in each chain every cell implies the next.
        literals: For each cell its variable, and whether it is the variable itself or its negation.
    """

    first: int
    chains: list[list[MemoryCell]]
    literals: dict[MemoryCell, tuple[int, bool]]

    @functools.cached_property
    def ranges(self) -> list[range]:
        """The variables of each chain."""
        starts = itertools.accumulate(map(len, self.chains), initial=self.first)
        return [range(start, start + len(chain)) for start, chain in zip(starts, self.chains, strict=False)]

    @functools.cached_property
    def places(self) -> dict[int, tuple[int, int]]:
        """For each variable its chain, and its position there."""
        return {
            variable: (number, position)
            for number, chain in enumerate(self.ranges)
            for position, variable in enumerate(chain)
        }

    @property
    def count(self) -> int:
        """Number of variables."""
        return len(self.places)

    @property
    def chain_ends(self) -> dict[int, int]:
        """For each variable of a chain of two or more its last one."""
        return {variable: chain[-1] for chain in self.ranges if len(chain) > 1 for variable in chain}


def _family(formula: Formula) -> object:
    """Equal for formulas that differ in parameters, such as intervals, alone."""
    return (type(formula), formula.args) if isinstance(formula, TEMPORAL) else formula


def _chains(family: Iterable[MemoryCell]) -> list[list[MemoryCell]]:
    """The family split into chains, in each of which every cell implies the next."""
    implies = Implication()
    cells = sorted(family, key=_parameters)
    if any(implies(right.formula, left.formula) for left, right in itertools.pairwise(cells)):
        cells.reverse()
    chains = [cells[:1]]
    for cell in cells[1:]:
        if implies(chains[-1][-1].formula, cell.formula):
            chains[-1].append(cell)
        else:
            chains.append([cell])
    return chains


def _parameters(cell: MemoryCell) -> list[float]:
    """The formula's parameters as numbers to sort by; an interval without an end ends last."""
    return [value if isinstance(value, int | float) else math.inf for value in cell.formula.params]
