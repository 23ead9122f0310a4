"""From one temporal formula to a deterministic machine.

Reading a letter turns a formula into a Boolean function of three kinds of variables, and every such function is kept
as a decision diagram:

* the atoms of the letter;
* *end*: whether the letter is the last;
* *obligations*: for each atom and each temporal subformula, whether it holds from the next letter on.

With [φ] for "φ holds from the next letter on", which for Boolean combinations is that combination of obligations:

    step(X φ)  = !end & [φ]         step(φ U ψ) = step(ψ) | step(φ) & !end & [φ U ψ]
    step(WX φ) = end | [φ]          step(φ R ψ) = step(ψ) & (step(φ) | end | [φ R ψ])

W is U with `end | …`, M is R with `!end & …`; F and G are special cases of U and R.

The variables are ordered as listed, so below the atoms of a diagram there remain functions of *end* and obligations.
These are the states: where *end* is true, a state says whether the trace so far is accepted; where it is false, what
the rest of the trace owes.  There are finitely many, and equal ones are one diagram.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import (
    Always,
    And,
    Atom,
    Constant,
    Eventually,
    Formula,
    Next,
    Not,
    Or,
    Release,
    StrongRelease,
    Until,
    WeakNext,
    WeakUntil,
)
from rewardspec.logic.fragments import is_ltlf
from rewardspec.logic.normal_form import dual
from rewardspec.logic.operators import TEMPORAL
from rewardspec.synthesis.boolean.decision_diagrams import BooleanDiagrams, Budget, Diagram, Diagrams
from rewardspec.synthesis.boolean.minimization import Machine


def translate(
    formula: Formula, atoms: Sequence[str], store: Diagrams[int], *, max_states: int, budget: Budget | None = None
) -> Machine:
    """The machine of a formula in negation normal form, not minimal.

    Args:
        formula: The formula.
        atoms: Names of atoms; the diagrams' variables are positions in it.
        store: Where the machine's diagrams go.
        max_states: The largest number of states.
        budget: The limit on intermediate results.

    Raises:
        SynthesisError: There are more states than `max_states`, or the budget is used up.
    """
    if not is_ltlf(formula):
        raise SynthesisError("intervals, counts, scales, discounts and the past cannot be synthesized yet")
    return _Translation(formula, atoms, budget).machine(store, max_states)


class _Translation:
    def __init__(self, formula: Formula, atoms: Sequence[str], budget: Budget | None) -> None:
        self.logic = BooleanDiagrams(budget)
        self.formula = formula
        self.atoms = {name: variable for variable, name in enumerate(atoms)}
        self.end = len(atoms)
        self.obligations: dict[int, Formula] = {}  # by their variables
        self.owed: dict[Formula, Diagram] = {}
        self.steps: dict[Formula, Diagram] = {}
        parts = list(formula.subformulas())
        self._number_obligations(parts)
        for part in parts:
            if part not in self.owed:
                self.owed[part] = self._connective(part, [self.owed[arg] for arg in part.args])
            self.steps[part] = self._step(part)
        self._known_steps: dict[Diagram, Diagram] = {}

    def _number_obligations(self, parts: list[Formula]) -> None:
        """Give atoms and temporal formulas their variables; a formula and its negation share one.

        Outer formulas come first: a formula's step mentions its own obligation beside those of its operands, so
        diagrams mostly grow at their root, which is cheap.
        """
        negations = _negations(parts)
        for part in reversed(parts):
            if not isinstance(part, (Atom, *TEMPORAL)):
                continue
            if negations[part] in self.owed:
                self.owed[part] = self.logic.negation(self.owed[negations[part]])
            else:
                variable = self.end + 1 + len(self.obligations)
                self.obligations[variable] = part
                self.owed[part] = self.logic.variable(variable)

    def machine(self, store: Diagrams[int], max_states: int) -> Machine:
        number: dict[Diagram, int] = {}
        states: list[Diagram] = []
        memo: dict[Diagram, Diagram] = {}

        def base(part: Diagram) -> Diagram | None:
            if self.logic.variables[part] < self.end:
                return None
            if part not in number:
                if len(states) == max_states:
                    raise SynthesisError("there are too many states")
                number[part] = len(states)
                states.append(part)
            return store.leaf(number[part])

        def to_states(diagram: Diagram) -> Diagram:
            return self.logic.fold(diagram, base, store.node, memo)

        start = to_states(self.steps[self.formula])
        steps: list[Diagram] = []
        while len(steps) < len(states):
            steps.append(to_states(self._step_of_state(states[len(steps)])))
        return Machine(start, tuple(steps), tuple(self._accepts(state) for state in states))

    def _accepts(self, state: Diagram) -> bool:
        return self._cofactor(state, end=True) == self.logic.true

    def _step_of_state(self, state: Diagram) -> Diagram:
        """What is owed, with the step of each obligation put in its place."""
        owed = self._cofactor(state, end=False)
        return self.logic.fold(owed, self._constant, self._substitute, self._known_steps)

    def _cofactor(self, state: Diagram, *, end: bool) -> Diagram:
        if self.logic.variables[state] != self.end:
            return state  # only the constants do not depend on it
        return self.logic.highs[state] if end else self.logic.lows[state]

    def _constant(self, part: Diagram) -> Diagram | None:
        return part if self.logic.value(part) is not None else None

    def _substitute(self, variable: int, low: Diagram, high: Diagram) -> Diagram:
        return self.logic.choice(self.steps[self.obligations[variable]], high, low)

    def _step(self, formula: Formula) -> Diagram:
        logic = self.logic
        args = [self.steps[arg] for arg in formula.args]
        match formula:
            case Atom():
                return logic.variable(self.atoms[formula.name])
            case Next():
                return self._strong(formula.arg)
            case WeakNext():
                return self._weak(formula.arg)
            case Eventually():
                return logic.disjunction(args[0], self._strong(formula))
            case Always():
                return logic.conjunction(args[0], self._weak(formula))
            case Until() | WeakUntil():
                again = self._strong(formula) if isinstance(formula, Until) else self._weak(formula)
                return logic.disjunction(args[1], logic.conjunction(args[0], again))
            case Release() | StrongRelease():
                again = self._strong(formula) if isinstance(formula, StrongRelease) else self._weak(formula)
                return logic.conjunction(args[1], logic.disjunction(args[0], again))
        return self._connective(formula, args)

    def _strong(self, formula: Formula) -> Diagram:
        return self.logic.node(self.end, self.owed[formula], self.logic.false)

    def _weak(self, formula: Formula) -> Diagram:
        return self.logic.node(self.end, self.owed[formula], self.logic.true)

    def _connective(self, formula: Formula, args: list[Diagram]) -> Diagram:
        match formula:
            case Constant():
                return self.logic.true if formula.value else self.logic.false
            case Not():
                return self.logic.negation(args[0])
            case And():
                return functools.reduce(self.logic.conjunction, self._lowest_first(args))
            case Or():
                return functools.reduce(self.logic.disjunction, self._lowest_first(args))
        raise AssertionError(f"not in negation normal form: {formula}")

    def _lowest_first(self, diagrams: list[Diagram]) -> list[Diagram]:
        """Those with the last variables first, so that each next one is put on top of what is there."""
        return sorted(diagrams, key=self.logic.variables.__getitem__, reverse=True)


def _negations(parts: list[Formula]) -> dict[Formula, Formula]:
    """The negation normal form of each part's negation; operands stand before the formulas that use them."""
    known = {part: part for part in parts}  # equal formulas as one object: comparing them is then immediate
    negations: dict[Formula, Formula] = {}
    for part in parts:
        negation = _negation(part, negations)
        negations[part] = known.setdefault(negation, negation)
    return negations


def _negation(part: Formula, negations: dict[Formula, Formula]) -> Formula:
    match part:
        case Atom():
            return Not(part)
        case Not():
            return part.arg
    return dual(part, *(negations[arg] for arg in part.args))
