"""Smaller formulas with the same value on every trace.

The laws used hold in any distributive lattice with `p` and `!p` as unrelated values.  Laws that need more do not keep
values: `p & !p` is not `false`, since min(p, 1 - p) can be 0.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rewardspec.logic.formulas import (
    FALSE,
    TRUE,
    Always,
    And,
    Constant,
    Eventually,
    Formula,
    FormulaLike,
    Next,
    Or,
    Release,
    StrongRelease,
    Until,
    WeakNext,
    WeakUntil,
)
from rewardspec.logic.implication import Implication
from rewardspec.logic.normal_form import to_nnf

_PAIRWISE_LIMIT = 128  # operands of one & or | among which implied ones are looked for


def simplify(formula: FormulaLike) -> Formula:
    """An equal formula in negation normal form, with what is redundant removed.

    Example:
        >>> str(simplify("!(F a -> F F (b U a))"))
        'F a & G !a'
        >>> str(simplify("a & (a | b) & F F a"))
        'a'
        >>> str(simplify("G F(a & X b)"))
        'false'
    """
    return to_nnf(formula).fold(Simplifier().node)  # type: ignore[no-any-return]


class Simplifier:
    """Builds simplified formulas from simplified operands; one instance shares what it learns about implications."""

    def __init__(self) -> None:
        self.implies = Implication()

    def node(self, formula: Formula, args: tuple[Formula, ...]) -> Formula:
        """The simplified form of `formula`'s operator applied to simplified operands."""
        rule: Callable[..., Formula] | None = self._rules.get(type(formula))
        return formula if rule is None else rule(self, *args)

    def conjunction(self, *args: Formula) -> Formula:
        """`&`, without operands that others imply."""
        return self._lattice(And, TRUE, FALSE, lambda kept, new: self.implies(kept, new), args)

    def disjunction(self, *args: Formula) -> Formula:
        """`|`, without operands that imply others."""
        return self._lattice(Or, FALSE, TRUE, lambda kept, new: self.implies(new, kept), args)

    @staticmethod
    def _lattice(
        kind: type[Formula],
        neutral: Formula,
        absorbing: Formula,
        makes_redundant: Callable[[Formula, Formula], bool],
        args: tuple[Formula, ...],
    ) -> Formula:
        flat: dict[Formula, None] = {}
        for arg in args:
            flat.update(dict.fromkeys(arg.args if isinstance(arg, kind) else (arg,)))
        flat.pop(neutral, None)
        if absorbing in flat:
            return absorbing
        kept: list[Formula] = list(flat)
        if len(kept) <= _PAIRWISE_LIMIT:
            kept = []
            for new in flat:
                if not any(makes_redundant(old, new) for old in kept):
                    kept = [old for old in kept if not makes_redundant(new, old)]
                    kept.append(new)
        return kind(*kept) if kept else neutral

    def next(self, a: Formula) -> Formula:
        """`X`."""
        return FALSE if a == FALSE else Next(a)

    def weak_next(self, a: Formula) -> Formula:
        """`WX`."""
        return TRUE if a == TRUE else WeakNext(a)

    def eventually(self, a: Formula) -> Formula:
        """`F`."""
        match a:
            case Constant() | Eventually():
                return a
            case Until():
                return self.eventually(a.right)
            case StrongRelease():
                return self.eventually(self.conjunction(a.left, a.right))
            case WeakNext():
                return TRUE  # it holds at the last position
            case Always():
                return self.finally_(a.arg)
        return Eventually(a)

    def always(self, a: Formula) -> Formula:
        """`G`."""
        match a:
            case Constant() | Always():
                return a
            case Release():
                return self.always(a.right)
            case WeakUntil():
                return self.always(self.disjunction(a.left, a.right))
            case Next():
                return FALSE  # it fails at the last position
            case Eventually():
                return self.finally_(a.arg)
        return Always(a)

    def finally_(self, a: Formula) -> Formula:
        """`F G` and `G F`, which on finite traces are both the value at the last position."""
        last = self.at_last(a)
        return last if isinstance(last, Constant) else Eventually(Always(last))

    def at_last(self, formula: Formula) -> Formula:
        """A propositional formula with the same value at the last position of a trace."""

        def collapse(part: Formula, args: tuple[Formula, ...]) -> Formula:
            match part:
                case Next():
                    return FALSE
                case WeakNext():
                    return TRUE
                case Eventually() | Always():
                    return args[0]
                case Until() | Release():
                    return args[1]
                case WeakUntil():
                    return self.disjunction(*args)
                case StrongRelease():
                    return self.conjunction(*args)
            return self.node(part, args)

        return formula.fold(collapse)  # type: ignore[no-any-return]

    def until(self, a: Formula, b: Formula) -> Formula:
        """`U`."""
        if isinstance(b, Constant | Eventually) or self.implies(a, b):
            return b
        if a == TRUE:
            return self.eventually(b)
        if isinstance(b, Until) and a == b.left:
            return b
        return Until(a, b)

    def release(self, a: Formula, b: Formula) -> Formula:
        """`R`."""
        if isinstance(b, Constant | Always) or is_finally(b) or self.implies(b, a):
            return b
        if a == FALSE:
            return self.always(b)
        if isinstance(b, Release) and a == b.left:
            return b
        return Release(a, b)

    def weak_until(self, a: Formula, b: Formula) -> Formula:
        """`W`."""
        if a == TRUE or b == TRUE:
            return TRUE
        if b == FALSE:
            return self.always(a)
        return b if self.implies(a, b) else WeakUntil(a, b)

    def strong_release(self, a: Formula, b: Formula) -> Formula:
        """`M`."""
        if a == FALSE or b == FALSE:
            return FALSE
        if b == TRUE:
            return self.eventually(a)
        return b if self.implies(b, a) else StrongRelease(a, b)

    _rules: ClassVar[dict[type[Formula], Callable[..., Formula]]] = {
        And: conjunction,
        Or: disjunction,
        Next: next,
        WeakNext: weak_next,
        Eventually: eventually,
        Always: always,
        Until: until,
        Release: release,
        WeakUntil: weak_until,
        StrongRelease: strong_release,
    }


def is_finally(formula: Formula) -> bool:
    """Whether the formula is `F G φ`: the value at the last position, the same from everywhere."""
    return isinstance(formula, Eventually) and isinstance(formula.arg, Always)
