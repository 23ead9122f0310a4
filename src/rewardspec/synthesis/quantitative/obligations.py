"""What reading one letter leaves to be done: the step of a formula, as a polynomial over guards and obligations.

Reading a letter turns a formula into a lattice polynomial of label values (*guards*) and of *obligations*, which are
formulas owed from the next letter on.  An obligation is strong when the trace may not end before it is met:

    step(literal)  = its guard               step(X ψ)   = "ψ is owed, strongly"
    step(a & b)    = min(step a, step b)     step(WX ψ)  = "ψ is owed, weakly"
    step(a | b)    = max(step a, step b)     step(a U b) = max(step b, min(step a, "a U b is owed, strongly"))
                                             step(a R b) = min(step b, max(step a, "a R b is owed, weakly"))

W is U with a weak obligation, M is R with a strong one; F and G are special cases of U and R.
"""

from __future__ import annotations

import functools

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import (
    FALSE,
    TRUE,
    Always,
    And,
    Eventually,
    Formula,
    Next,
    Or,
    Release,
    StrongRelease,
    Until,
    WeakNext,
    WeakUntil,
)
from rewardspec.logic.implication import Implication
from rewardspec.logic.normal_form import is_literal
from rewardspec.logic.operators import TEMPORAL
from rewardspec.machines.effort import Effort
from rewardspec.machines.polynomials import ONE, ZERO, Polynomial, Term, bits, maximum, minimum

_GUARD_TERMS = 8  # a propositional part with more terms than this becomes one guard, evaluated as it stands
_STEP_TERMS = 4096  # a step with more terms than this, before absorption, is refused


class Obligations:
    """Steps of formulas, computed once each, over one shared numbering of guards and obligations.

    In a term, bit 3k means that guard k holds, bit 3k + 1 that formula k is owed, bit 3k + 2 that it is owed strongly
    (and then bit 3k + 1 is set too, so that a strong obligation counts as more than a weak one).

    Args:
        effort: What the work is counted against.
    """

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self.formulas: list[Formula] = []
        self._implication = Implication()
        self._implied: dict[tuple[int, int], bool] = {}
        self._index: dict[Formula, int] = {}
        self._steps: dict[Formula, Polynomial] = {TRUE: ONE, FALSE: ZERO}
        self._propositional: dict[Formula, bool] = {}
        self._reduced: dict[int, int] = {}

    def index(self, formula: Formula) -> int:
        """The number of a formula."""
        if formula not in self._index:
            self._index[formula] = len(self.formulas)
            self.formulas.append(formula)
        return self._index[formula]

    def owed(self, formula: Formula, *, strong: bool) -> Term:
        """The term that owes a formula."""
        return (0b110 if strong else 0b010) << 3 * self.index(formula)

    def step(self, formula: Formula) -> Polynomial:
        """The step of a formula in negation normal form."""
        stack = [formula]
        while stack:
            part = stack[-1]
            if part in self._steps:
                stack.pop()
                continue
            # What lies under a next is not read by this letter.
            needed = () if isinstance(part, Next | WeakNext) or is_literal(part) else part.args
            missing = [arg for arg in needed if arg not in self._steps]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self._steps[part] = self._guarded(part, self._combine(part, [self._steps[arg] for arg in needed]))
        return self._steps[formula]

    def step_all(self, owed: int) -> Polynomial:
        """The step of the conjunction of the formulas in a mask, as `reduce` and `split` give it."""
        return self._product([self.step(self.formulas[k]) for k in bits(owed)])

    def _spend(self, terms: int) -> None:
        """Count a product of so many terms: each is compared with the others."""
        if terms > _STEP_TERMS:
            raise SynthesisError("a step has too many terms")
        self.effort.spend(terms + terms * terms // 16)

    def split(self, term: Term) -> tuple[Term, int, bool]:
        """A term's guards, the formulas it owes as a mask of their numbers, and whether any is owed strongly."""
        guards, owed, strong = 0, 0, False
        for bit in bits(term):
            number, kind = divmod(bit, 3)
            if kind == 0:
                guards |= 1 << number
            elif kind == 1:
                owed |= 1 << number
            else:
                strong = True
        return guards, owed, strong

    def reduce(self, owed: int) -> int:
        """A mask of formulas without those that others in it imply."""
        if owed not in self._reduced:
            kept = list(bits(owed))
            self.effort.spend(len(kept) ** 2)
            for k in reversed(kept.copy()):
                if any(j != k and self._implies(j, k) for j in kept):
                    kept.remove(k)
            self._reduced[owed] = sum(1 << k for k in kept)
        return self._reduced[owed]

    def _implies(self, j: int, k: int) -> bool:
        if (j, k) not in self._implied:
            self._implied[j, k] = self._implication(self.formulas[j], self.formulas[k])
        return self._implied[j, k]

    def _guarded(self, formula: Formula, step: Polynomial) -> Polynomial:
        """The step, or one guard for the whole where it is a large propositional formula."""
        self._propositional[formula] = not isinstance(formula, TEMPORAL) and all(
            self._propositional.get(arg, True) for arg in formula.args
        )
        if len(step) > _GUARD_TERMS and self._propositional[formula]:
            return frozenset({1 << 3 * self.index(formula)})
        return step

    def _combine(self, formula: Formula, args: list[Polynomial]) -> Polynomial:
        match formula:
            case Next():
                return frozenset({self.owed(formula.arg, strong=True)})
            case WeakNext():
                return frozenset({self.owed(formula.arg, strong=False)})
            case And():
                return self._product(args)
            case Or():
                return functools.reduce(maximum, args, ZERO)
            case Eventually():
                return maximum(args[0], self._again(formula, strong=True))
            case Always():
                return minimum(args[0], self._again(formula, strong=False))
            case Until() | WeakUntil():
                again = self._again(formula, strong=isinstance(formula, Until))
                return maximum(args[1], self._product([args[0], again]))
            case Release() | StrongRelease():
                again = self._again(formula, strong=isinstance(formula, StrongRelease))
                return self._product([args[1], maximum(args[0], again)])
        assert is_literal(formula), f"not in negation normal form: {formula}"
        return frozenset({1 << 3 * self.index(formula)})

    def _again(self, formula: Formula, *, strong: bool) -> Polynomial:
        return frozenset({self.owed(formula, strong=strong)})

    def _product(self, factors: list[Polynomial]) -> Polynomial:
        result = ONE
        for factor in sorted(factors, key=len):
            self._spend(len(result) * len(factor))
            result = minimum(result, factor)
        return result
