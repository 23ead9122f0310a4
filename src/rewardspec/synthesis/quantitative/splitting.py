"""Pulling conjunctions and disjunctions out of temporal operators.

The minimum and the maximum of independent monitors are exact, so a conjunction at the top costs the sum of its parts,
whereas one under a temporal operator can cost their product.  The laws below move them outwards:

    G(a & b) = G a & G b                 F(a | b) = F a | F b
    (a & b) U c = (a U c) & (b U c)      a U (b | c) = (a U b) | (a U c)          and alike for R, W and M
    G(a U b) = G(a | b) & F G b          F(a R b) = F(a & b) | F G b              and alike for M and W
    F(a & c) = F a & c                   G(a | c) = G a | c                       where c is some F G d

Propositional parts stay together: they cost nothing where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.operators import TEMPORAL
from rewardspec.logic.simplification import Simplifier, is_finally

_MOST_PIECES = 16  # an operator is split into at most this many


def split(formula: Formula) -> Formula:
    """An equal formula, simplified, with its conjunctions and disjunctions as far out as they go.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> str(split(parse("(F a & F b) U c")))
        'F a U c & F b U c'
    """
    return to_nnf(formula).fold(_Splitter().node)


class _Splitter(Simplifier):
    def __init__(self) -> None:
        super().__init__()
        self._propositional: dict[Formula, bool] = {}

    def eventually(self, a: Formula) -> Formula:
        match a:
            case fm.WeakUntil():
                return self.disjunction(self.eventually(a.right), self.finally_(a.left))
            case fm.Release() if a.is_plain:
                both = self.conjunction(a.left, a.right)
                return self.disjunction(self.eventually(both), self.finally_(a.right))
            case fm.And() if any(is_finally(part) for part in a.args):
                rest = self.conjunction(*(part for part in a.args if not is_finally(part)))
                return self.conjunction(*filter(is_finally, a.args), self.eventually(rest))
        return self._distribute(a, fm.Or, self.disjunction, super().eventually)

    def always(self, a: Formula) -> Formula:
        match a:
            case fm.Until() if a.is_plain:
                either = self.disjunction(a.left, a.right)
                return self.conjunction(self.always(either), self.finally_(a.right))
            case fm.StrongRelease():
                return self.conjunction(self.always(a.right), self.finally_(a.left))
            case fm.Or() if any(is_finally(part) for part in a.args):
                rest = self.disjunction(*(part for part in a.args if not is_finally(part)))
                return self.disjunction(*filter(is_finally, a.args), self.always(rest))
        return self._distribute(a, fm.And, self.conjunction, super().always)

    def next(self, a: Formula) -> Formula:
        return self._distribute(a, fm.And, self.conjunction, super().next)

    def weak_next(self, a: Formula) -> Formula:
        return self._distribute(a, fm.And, self.conjunction, super().weak_next)

    def until(self, a: Formula, b: Formula) -> Formula:
        return self._distribute_two(a, fm.And, b, fm.Or, super().until)

    def weak_until(self, a: Formula, b: Formula) -> Formula:
        return self._distribute_two(a, fm.And, b, fm.Or, super().weak_until)

    def release(self, a: Formula, b: Formula) -> Formula:
        return self._distribute_two(a, fm.Or, b, fm.And, super().release)

    def strong_release(self, a: Formula, b: Formula) -> Formula:
        return self._distribute_two(a, fm.Or, b, fm.And, super().strong_release)

    def _distribute(
        self,
        a: Formula,
        kind: type[Formula],
        join: Callable[..., Formula],
        operator: Callable[[Formula], Formula],
    ) -> Formula:
        pieces = self._pieces(a, kind)
        return join(*map(operator, pieces)) if len(pieces) > 1 else operator(a)

    def _distribute_two(
        self,
        a: Formula,
        left_kind: type[Formula],
        b: Formula,
        right_kind: type[Formula],
        operator: Callable[[Formula, Formula], Formula],
    ) -> Formula:
        lefts, rights = self._pieces(a, left_kind), self._pieces(b, right_kind)
        if len(lefts) * len(rights) > _MOST_PIECES:
            return operator(a, b)
        join_left = self.conjunction if left_kind is fm.And else self.disjunction
        join_right = self.conjunction if right_kind is fm.And else self.disjunction
        return join_left(*(join_right(*(operator(left, right) for right in rights)) for left in lefts))

    def _pieces(self, formula: Formula, kind: type[Formula]) -> Sequence[Formula]:
        """The operands of a conjunction or disjunction, the propositional ones joined into one."""
        if not isinstance(formula, kind) or len(formula.args) > _MOST_PIECES:
            return (formula,)
        plain = [part for part in formula.args if self._is_propositional(part)]
        rest = [part for part in formula.args if not self._is_propositional(part)]
        return [*rest, kind(*plain)] if plain else rest

    def _is_propositional(self, formula: Formula) -> bool:
        known = self._propositional
        stack = [formula]
        while stack:
            part = stack[-1]
            missing = [arg for arg in part.args if arg not in known]
            if missing and not isinstance(part, TEMPORAL):
                stack.extend(missing)
                continue
            known[part] = not isinstance(part, TEMPORAL) and all(known[arg] for arg in part.args)
            stack.pop()
        return known[formula]

    _rules: ClassVar[dict[type[Formula], Callable[..., Formula]]] = {
        **Simplifier._rules,
        fm.Next: next,
        fm.WeakNext: weak_next,
        fm.Eventually: eventually,
        fm.Always: always,
        fm.Until: until,
        fm.Release: release,
        fm.WeakUntil: weak_until,
        fm.StrongRelease: strong_release,
    }
