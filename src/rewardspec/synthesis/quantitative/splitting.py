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

import math
from collections.abc import Callable, Sequence

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.simplification import WITHOUT_PARAMETERS, Simplifier, is_finally

_MOST_PIECES = 16  # an operator is split into at most this many


def split(formula: Formula) -> Formula:
    """An equal formula, simplified, with its conjunctions and disjunctions as far out as they go.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> str(split(parse("(F a & F b) U c")))
        'F a U c & F b U c'
    """
    return to_nnf(formula).fold(_Splitter().node)


# Of each operator without parameters, the connective to move out of each of its operands.
_CONNECTIVES: dict[type[Formula], tuple[type[Formula], ...]] = {
    fm.Next: (fm.And,),
    fm.WeakNext: (fm.And,),
    fm.Until: (fm.And, fm.Or),
    fm.WeakUntil: (fm.And, fm.Or),
    fm.Release: (fm.Or, fm.And),
    fm.StrongRelease: (fm.Or, fm.And),
}


class _Splitter(Simplifier):
    def node(self, formula: Formula, args: tuple[Formula, ...]) -> Formula:
        kinds = _CONNECTIVES.get(type(formula), ())
        pieces = [self._pieces(arg, kind) for arg, kind in zip(args, kinds, strict=False)]
        if not kinds or formula.params not in WITHOUT_PARAMETERS or math.prod(map(len, pieces)) > _MOST_PIECES:
            return super().node(formula, args)
        return self._spread(formula, kinds, pieces, ())

    def _spread(
        self,
        formula: Formula,
        kinds: Sequence[type[Formula]],
        pieces: Sequence[Sequence[Formula]],
        chosen: tuple[Formula, ...],
    ) -> Formula:
        """The operator for each choice of pieces, beginning with the chosen ones, joined as `kinds` say."""
        if not kinds:
            return super().node(formula, chosen)
        join = self.conjunction if kinds[0] is fm.And else self.disjunction
        return join(*(self._spread(formula, kinds[1:], pieces[1:], (*chosen, piece)) for piece in pieces[0]))

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

    def _distribute(
        self,
        a: Formula,
        kind: type[Formula],
        join: Callable[..., Formula],
        operator: Callable[[Formula], Formula],
    ) -> Formula:
        pieces = self._pieces(a, kind)
        return join(*map(operator, pieces)) if len(pieces) > 1 else operator(a)

    @staticmethod
    def _pieces(formula: Formula, kind: type[Formula]) -> Sequence[Formula]:
        """The operands of a conjunction or disjunction, the propositional ones joined into one."""
        if not isinstance(formula, kind) or len(formula.args) > _MOST_PIECES:
            return (formula,)
        plain = [part for part in formula.args if not part.is_temporal]
        rest = [part for part in formula.args if part.is_temporal]
        return [*rest, kind(*plain)] if plain else rest
