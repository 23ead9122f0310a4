"""Obligations after one letter: the step of a formula, as a polynomial over guards and obligations.

Reading a letter turns a formula into a lattice polynomial of label values (*guards*) and of *obligations*, which are
formulas owed from the next letter on.  An obligation is strong when the trace may not end before it is met:

    step(literal)  = its guard               step(X ψ)   = "ψ is owed, strongly"
    step(a & b)    = min(step a, step b)     step(WX ψ)  = "ψ is owed, weakly"
    step(a | b)    = max(step a, step b)     step(a U b) = max(step b, min(step a, "a U b is owed, strongly"))

and so on: the one-letter meaning of every operator is in the table of operators, `rewardspec.logic.operators`.  A scale
is an increasing map, which commutes with min and max, so that the step of `0.8 * φ` owes 0.8 times what φ's step owes.
At the end of the trace a strong obligation is worth 0 and a weak one 1, or what the map makes of that.
"""

from __future__ import annotations

import functools
import math

from rewardspec.errors import SynthesisError
from rewardspec.logic.bottom_up import bottom_up
from rewardspec.logic.formulas import FALSE, TRUE, Affine, Constant, Formula, Next, WeakNext
from rewardspec.logic.implication import Implication
from rewardspec.logic.normal_form import is_literal
from rewardspec.logic.operators import Unfolding, unfold
from rewardspec.machines.effort_limit import Effort
from rewardspec.machines.polynomials import ONE, ZERO, Polynomial, Term, absorb, bits, maximum, minimum

_GUARD_TERMS = 8  # a propositional part with more terms than this becomes one guard, evaluated as it stands
_ROUNDING = 1e-15  # by which the maps of discounts that compose to the same may differ
_STEP_TERMS = 4096  # a step with more terms than this, before absorption, is refused


class Obligations(Unfolding[Polynomial]):
    """Steps of formulas, computed once each, over one shared numbering of guards and obligations.

    In a term, bit 3k means that guard k holds, bit 3k + 1 that formula k is owed, bit 3k + 2 that it is owed strongly
    (and then bit 3k + 1 is set too, so that a strong obligation counts as more than a weak one).
    """

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self.formulas: list[Formula] = []
        self._implication = Implication()
        self._implied: dict[tuple[int, int], bool] = {}
        self._index: dict[Formula, int] = {}
        self._steps: dict[Formula, Polynomial] = {TRUE: ONE, FALSE: ZERO}
        self._reduced: dict[int, int] = {}

    def index(self, formula: Formula) -> int:
        """The number of a formula."""
        if formula not in self._index:
            self._index[formula] = len(self.formulas)
            self.formulas.append(formula)
        return self._index[formula]

    def plain(self, number: int) -> Formula:
        """A formula by its number, as people write it."""
        formula = self.formulas[number]
        return Affine(formula.arg, formula.scale, formula.offset) if isinstance(formula, Mapped) else formula

    def owed(self, formula: Formula, *, strong: bool) -> Term:
        """The term that owes a formula."""
        return (0b110 if strong else 0b010) << 3 * self.index(formula)

    def step(self, formula: Formula) -> Polynomial:
        """The step of a formula in negation normal form."""
        return bottom_up(formula, _read_by_letter, self._new_step, self._steps)

    def _new_step(self, formula: Formula) -> Polynomial:
        step = self._unfolded(formula)
        # A large propositional formula is one guard.
        return self._guard(formula) if len(step) > _GUARD_TERMS and not formula.is_temporal else step

    def step_all(self, owed: int) -> Polynomial:
        """The step of the conjunction of the formulas in a mask, as `reduce` and `split` give it."""
        return self._product([self.step(self.formulas[k]) for k in bits(owed)])

    def split(self, term: Term) -> tuple[Term, int, frozenset[float]]:
        """A term's guards, the formulas it owes as a mask of their numbers, and what these are worth at the end.

        What is worth 1 is left out.
        """
        guards, owed, strong = 0, 0, 0
        for bit in bits(term):
            number, kind = divmod(bit, 3)
            if kind == 0:
                guards |= 1 << number
            elif kind == 1:
                owed |= 1 << number
            else:
                strong |= 1 << number
        worth = {self._worth(self.formulas[k], bool(strong >> k & 1)) for k in bits(owed)}
        return guards, owed, frozenset(worth - {1.0})

    @staticmethod
    def _worth(formula: Formula, strong: bool) -> float:
        if isinstance(formula, Mapped):
            return formula.offset if strong else formula.scale + formula.offset
        return 0.0 if strong else 1.0

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
            (one, scale, offset), (other, other_scale, other_offset) = map(
                _map_of, (self.formulas[j], self.formulas[k])
            )
            # Of two lines, one is below the other if it is at both ends, which rounding may have moved.
            ends = (other_offset - offset, other_scale + other_offset - scale - offset)
            below = min(ends) >= -_ROUNDING
            self._implied[j, k] = below and self._implication(one, other)
        return self._implied[j, k]

    def _unfolded(self, formula: Formula) -> Polynomial:
        if isinstance(formula, Constant) or is_literal(formula):
            return self._guard(formula)
        if isinstance(formula, Mapped):
            return self.affine(self.now(formula.arg), formula.scale, formula.offset)
        return unfold(formula, self)

    def _guard(self, formula: Formula) -> Polynomial:
        return frozenset({1 << 3 * self.index(formula)})

    # What `unfold` puts together.

    def now(self, formula: Formula) -> Polynomial:
        """The step of an operand."""
        return self._steps[formula]

    def later(self, formula: Formula, strong: bool) -> Polynomial:
        """A formula that is owed."""
        return frozenset({self.owed(formula, strong=strong)})

    def conjunction(self, *values: Polynomial) -> Polynomial:
        """The minimum."""
        return self._product(list(values))

    def disjunction(self, *values: Polynomial) -> Polynomial:
        """The maximum."""
        return functools.reduce(maximum, values, ZERO)

    def affine(self, value: Polynomial, scale: float, offset: float) -> Polynomial:
        """An increasing map of a polynomial: of each of its guards and obligations."""
        if value in (ZERO, ONE):
            return self.step(Constant(offset if value == ZERO else scale + offset))
        terms = []
        for term in value:
            mapped = 0
            for bit in bits(term):
                number, kind = divmod(bit, 3)
                formula = self.formulas[number]
                new = scaled(formula, scale, offset) if kind == 0 else mapped_obligation(formula, scale, offset)
                mapped |= 1 << 3 * self.index(new) + kind
            terms.append(mapped)
        return absorb(terms)

    def _product(self, factors: list[Polynomial]) -> Polynomial:
        result = ONE
        for factor in sorted(factors, key=len):
            terms = len(result) * len(factor)
            if terms > _STEP_TERMS:
                raise SynthesisError("a step has too many terms")
            self.effort.spend(terms + terms * terms // 16)  # each is compared with the others
            result = minimum(result, factor)
        return result


def _read_by_letter(formula: Formula) -> tuple[Formula, ...]:
    """The operands whose steps a formula's is made from: what lies under a next is not read by this letter."""
    return () if isinstance(formula, Next | WeakNext) or is_literal(formula) else formula.args


class Mapped(Affine):
    """An increasing map of an obligation, which is worth something at the end though the obligation may not be.

    `X(0.5 * a + 0.25)` owes a formula, strongly: at the end that is worth 0. `0.5 * X a + 0.25` maps what is owed: at
    the end that is worth 0.25.
    """


def _map_of(formula: Formula) -> tuple[Formula, float, float]:
    """An obligation without its map, and the map."""
    return (formula.arg, formula.scale, formula.offset) if isinstance(formula, Mapped) else (formula, 1.0, 0.0)


def mapped_obligation(formula: Formula, scale: float, offset: float) -> Formula:
    """An increasing map of an obligation, composed with the map that it may have already."""
    if isinstance(formula, Mapped):
        return Mapped(formula.arg, *_composed(formula, scale, offset))
    return Mapped(formula, scale, offset)


def scaled(formula: Formula, scale: float, offset: float) -> Formula:
    """An increasing map of a formula, composed with the map that it may be already.

    Example:
        >>> scaled(Affine("a", 0.5), 0.5, 0.25)
        parse('0.25 * a + 0.25')
    """
    if isinstance(formula, Constant):
        return Constant(min(scale * formula.value + offset, 1.0))
    if isinstance(formula, Affine):
        return Affine(formula.arg, *_composed(formula, scale, offset))
    return Affine(formula, scale, offset)


def _composed(inner: Affine, scale: float, offset: float) -> tuple[float, float]:
    """The map of a map, which rounding must neither lift above 1 nor flatten."""
    factor = max(scale * inner.scale, math.ulp(0.0))
    return factor, min(scale * inner.offset + offset, 1.0 - factor)
