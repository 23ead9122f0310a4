"""From one temporal formula to a deterministic automaton.

Reading a letter turns a formula into a Boolean function of four kinds of variables, and every such function is kept
as a decision diagram:

* *memories*: for each formula of the past that matters, whether it held at the letter before;
* the atoms of the letter;
* *end*: whether the letter is the last;
* *obligations*: for each atom and each temporal formula that matters, whether it holds from the next letter on.

With [φ] for "φ holds from the next letter on", which for Boolean combinations is that combination of obligations, the
laws of `operators.unfold` give the function of each operator, for instance

    step(X φ)  = !end & [φ]         step(φ U ψ) = step(ψ) | step(φ) & !end & [φ U ψ]
    step(WX φ) = end | [φ]          step(φ R ψ) = step(ψ) & (step(φ) | end | [φ R ψ])

The variables are ordered as listed.  Where memories are known, there remain atoms, and below them functions of *end*
and obligations.  Such a function, together with the memories, is a state: where *end* is true, it says whether the
trace so far is accepted; where it is false, what the rest of the trace owes.  There are finitely many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import And, Atom, Constant, Formula, Not, Or
from rewardspec.logic.operators import TEMPORAL, Unfolding, unfold
from rewardspec.machines.effort_limit import Effort
from rewardspec.synthesis.boolean.closure import Closure, MemoryCell
from rewardspec.synthesis.boolean.decision_diagrams import BooleanDiagrams, Diagram, Diagrams
from rewardspec.synthesis.boolean.dfa_operations import Dfa

Memory: TypeAlias = tuple[int, ...]  # for each chain of memories how many are false: the first ones
_State: TypeAlias = tuple[Diagram, Memory]  # what is owed, with *end*, and what is remembered

_CHAIN_EFFORT = 4  # what it costs to find out how a chain of memories goes on, beside the diagrams


class Translation(Unfolding[Diagram]):
    """The translation of a formula in normal form, without scales, discounts, and the future of a step in the past.

    The variables of the automaton's diagrams, which go into the store, are positions in `atoms`.
    """

    def __init__(
        self, formula: Formula, atoms: Sequence[str], store: Diagrams[int], max_states: int, budget: Effort
    ) -> None:
        self.formula = formula
        self.store = store
        self.max_states = max_states
        closure = Closure(formula, budget)
        self.memory = closure.memory(first=0)
        self.atoms = {name: self.memory.count + position for position, name in enumerate(atoms)}
        self.end = self.memory.count + len(atoms)
        self.obligations = closure.obligations(first=self.end + 1)
        self.first_count = self.end + 1 + self.obligations.count  # variables that stand for numbers, in `_false_ones`
        self.logic = BooleanDiagrams(budget, self.memory.chain_ends | self.obligations.chain_ends)
        self.owed: dict[Formula, Diagram] = {}
        for part in closure.formulas:
            if part in closure.owed:
                self.owed[part] = self._owed(part)
        self.steps: dict[Formula, Diagram] = {}
        for part in closure.formulas:
            self.steps[part] = self._step(part)
        self.step_of = {
            variable: self.steps[cell.formula] if positive else self.logic.negation(self.steps[cell.formula])
            for variables in (self.memory, self.obligations)
            for cell, (variable, positive) in variables.literals.items()
        }
        self.states: list[_State] = []
        self._number: dict[_State, int] = {}
        self._stored: dict[Diagram, Diagram] = {}
        self._joined: dict[tuple[Diagram, ...], Diagram] = {}
        self._substituted: dict[Diagram, Diagram] = {}
        self._moves: dict[Memory, list[Diagram]] = {}

    # Formulas.

    def _owed(self, formula: Formula) -> Diagram:
        """That the formula holds from the next letter on."""
        if isinstance(formula, (Atom, *TEMPORAL)):
            return self._literal(*self.obligations.literals[MemoryCell(formula, None)])
        return self._connective(formula, [self.owed[arg] for arg in formula.args])

    def _step(self, formula: Formula) -> Diagram:
        """That the formula holds at the letter that is read."""
        if isinstance(formula, Atom):
            return self.logic.variable(self.atoms[formula.name])
        if isinstance(formula, TEMPORAL):
            return unfold(formula, self)
        return self._connective(formula, [self.steps[arg] for arg in formula.args])

    def _connective(self, formula: Formula, args: Sequence[Diagram]) -> Diagram:
        match formula:
            case Constant():
                return self.logic.true if formula.value else self.logic.false
            case Not():
                return self.logic.negation(args[0])
            case And():
                return self.conjunction(*args)
            case Or():
                return self.disjunction(*args)
        raise AssertionError(f"not in negation normal form: {formula}")

    def _literal(self, variable: int, positive: bool) -> Diagram:
        diagram = self.logic.variable(variable)
        return diagram if positive else self.logic.negation(diagram)

    # The meaning of one letter; see `operators.Unfolding`.

    def now(self, formula: Formula) -> Diagram:
        """The step of an operand."""
        return self.steps[formula]

    def later(self, formula: Formula, strong: bool) -> Diagram:
        """A formula that is owed, unless the letter is the last."""
        return self.logic.node(self.end, self.owed[formula], self.logic.false if strong else self.logic.true)

    def earlier(self, formula: Formula, strong: bool) -> Diagram:
        """A formula that is remembered."""
        return self._literal(*self.memory.literals[MemoryCell(formula, not strong)])

    def conjunction(self, *values: Diagram) -> Diagram:
        """True where all are."""
        return self.logic.conjunction(*values)

    def disjunction(self, *values: Diagram) -> Diagram:
        """True where any is."""
        return self.logic.disjunction(*values)

    # States.

    def dfa(self) -> Dfa:
        """The automaton, not minimal.

        Raises:
            SynthesisError: There are more states than `max_states`, or the budget is used up.
        """
        before = tuple(0 if chain[0].initial else len(chain) for chain in self.memory.chains)
        start = self._to_states(self.steps[self.formula], before)
        steps: list[Diagram] = []
        while len(steps) < len(self.states):
            owed, memory = self.states[len(steps)]
            rest = self.logic.fold(self._cofactor(owed, end=False), self._constant, self._substitute, self._substituted)
            steps.append(self._to_states(rest, memory))
        accepting = tuple(self._cofactor(owed, end=True) == self.logic.true for owed, _ in self.states)
        return Dfa(start, tuple(steps), accepting)

    def _to_states(self, step: Diagram, memory: Memory) -> Diagram:
        """Build the diagram of a step's successors in the automaton."""
        owed = self._to_store(self._recalled(step, memory))
        if not self.memory.chains:
            return owed
        known = self._joint_state(owed)
        if known is not None:
            return known
        if memory not in self._moves:
            self.logic.budget.spend(_CHAIN_EFFORT * len(self.memory.chains))
            self._moves[memory] = [self._to_store(self._false_ones(chain, memory)) for chain in self.memory.ranges]
        return self.store.apply(self._joint_state, owed, *self._moves[memory], memo=self._joined)

    def _to_store(self, diagram: Diagram) -> Diagram:
        return self.logic.fold(diagram, self._leaf, self._node, self._stored)

    def _node(self, variable: int, low: Diagram, high: Diagram) -> Diagram:
        return self.store.node(variable - self.memory.count, low, high)

    def _leaf(self, part: Diagram) -> Diagram | None:
        if self.logic.variables[part] < self.end:
            return None
        return self.store.leaf(part if self.memory.chains else self._state(part, ()))

    def _joint_state(self, owed: Diagram, *memory: Diagram) -> Diagram | None:
        """The state of what is owed and what is remembered, where both are leaves."""
        function = self.store.value(owed)
        if function in (self.logic.false, self.logic.true):
            return self.store.leaf(self._state(function, ()))  # nothing is owed, so nothing need be remembered
        counts = [count for part in memory if (count := self.store.value(part)) is not None]
        if function is None or not counts or len(counts) < len(memory):
            return None
        return self.store.leaf(self._state(function, tuple(self.logic.variables[k] - self.first_count for k in counts)))

    def _state(self, owed: Diagram, memory: Memory) -> int:
        state = owed, memory
        if state not in self._number:
            if len(self.states) == self.max_states:
                raise SynthesisError("there are too many states")
            self._number[state] = len(self.states)
            self.states.append(state)
        return self._number[state]

    def _cofactor(self, owed: Diagram, *, end: bool) -> Diagram:
        if self.logic.variables[owed] != self.end:
            return owed  # only the constants do not depend on it
        return self.logic.highs[owed] if end else self.logic.lows[owed]

    def _constant(self, part: Diagram) -> Diagram | None:
        return part if self.logic.value(part) is not None else None

    def _substitute(self, variable: int, low: Diagram, high: Diagram) -> Diagram:
        return self.logic.choice(self.step_of[variable], high, low)

    # Memories.

    def _recalled(self, diagram: Diagram, memory: Memory) -> Diagram:
        """The diagram where memories are known."""
        while self.logic.variables[diagram] < self.memory.count:
            chain, position = self.memory.places[self.logic.variables[diagram]]
            diagram = (self.logic.highs if position >= memory[chain] else self.logic.lows)[diagram]
        return diagram

    def _false_ones(self, chain: range, memory: Memory) -> Diagram:
        """Build the diagram over atoms of how many memories of a chain are false after the letter.

        Its leaves are variables that stand for numbers.  In a chain the false ones come first, so they are counted by
        bisection, for all letters at once.
        """
        logic = self.logic

        def count(low: int, high: int, letters: Diagram) -> Diagram:
            """The number, between the given ones, for some letters."""
            if low == high:
                return logic.variable(self.first_count + low)
            middle = (low + high) // 2
            true = logic.conjunction(letters, self._recalled(self.step_of[chain[middle]], memory))
            if true == letters:
                return count(low, middle, letters)
            false = logic.conjunction(letters, logic.negation(true))
            if false == letters:
                return count(middle + 1, high, letters)
            return logic.choice(true, count(low, middle, true), count(middle + 1, high, false))

        return count(0, len(chain), logic.true)
