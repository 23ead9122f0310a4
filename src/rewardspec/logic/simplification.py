"""Smaller formulas with the same value on every trace.

The laws used hold in any distributive lattice with `p` and `!p` as unrelated values.  Laws that need more do not keep
values: `p & !p` is not `false`, since min(p, 1 - p) can be 0.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula, FormulaLike
from rewardspec.logic.implication import Implication
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.operators import PAST, unfold
from rewardspec.logic.quantifiers import inside

_PAIRWISE_LIMIT = 128  # operands of one & or | among which implied ones are looked for
WITHOUT_PARAMETERS = ((), (1,), (0, None, 1.0))
"""The parameters of operators that are written without any."""
_RULES = {  # the method for operators without parameters, where there is more to say than `timed` does
    fm.And: "conjunction",
    fm.Or: "disjunction",
    fm.Eventually: "eventually",
    fm.Always: "always",
    fm.Release: "release",
    fm.WeakUntil: "weak_until",
    fm.StrongRelease: "strong_release",
}


def simplify(formula: FormulaLike) -> Formula:
    """Return an equal formula in negation normal form, without redundant parts.

    Example:
        >>> str(simplify("!(F a -> F F (b U a))"))
        'F a & G !a'
        >>> str(simplify("a & (a | b) & F F a"))
        'a'
        >>> str(simplify("G F(a & X b)"))
        'false'
    """
    return inside(to_nnf(formula), lambda body: body.fold(Simplifier().node))


class Simplifier:
    """Builds simplified formulas from simplified operands; one instance shares what it learns about implications."""

    def __init__(self) -> None:
        self.implies = Implication()

    def node(self, formula: Formula, args: tuple[Formula, ...]) -> Formula:
        """The simplified form of `formula`'s operator applied to simplified operands."""
        rule = _RULES.get(type(formula))
        if rule is None or formula.params not in WITHOUT_PARAMETERS:
            return self.timed(formula, args)
        simplified: Formula = getattr(self, rule)(*args)
        return simplified

    def conjunction(self, *args: Formula) -> Formula:
        """`&`, without operands that others imply."""
        return self._lattice(fm.And, fm.TRUE, fm.FALSE, lambda kept, new: self.implies(kept, new), args)

    def disjunction(self, *args: Formula) -> Formula:
        """`|`, without operands that imply others."""
        return self._lattice(fm.Or, fm.FALSE, fm.TRUE, lambda kept, new: self.implies(new, kept), args)

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

    def eventually(self, a: Formula) -> Formula:
        """`F`."""
        match a:
            case fm.And(args=args) if fm.LAST in args:
                return self.finally_(self.conjunction(*(part for part in args if part != fm.LAST)))
            case fm.Until() if a.low == 0:
                return self.eventually(a.right)
            case fm.StrongRelease():
                return self.eventually(self.conjunction(a.left, a.right))
            case fm.WeakNext():
                return fm.TRUE  # it holds at the last position
            case fm.Always() if a.is_plain:
                return self.finally_(a.arg)
            case fm.Always() if a.low > 0:
                return fm.TRUE
        return self.timed(fm.Eventually(a), (a,))

    def always(self, a: Formula) -> Formula:
        """`G`."""
        match a:
            case fm.Release() if a.low == 0:
                return self.always(a.right)
            case fm.WeakUntil():
                return self.always(self.disjunction(a.left, a.right))
            case fm.Next():
                return fm.FALSE  # it fails at the last position
            case fm.Eventually() if a.is_plain:
                return self.finally_(a.arg)
            case fm.Eventually() if a.low > 0:
                return fm.FALSE
        return self.timed(fm.Always(a), (a,))

    def finally_(self, a: Formula) -> Formula:
        """`F G` and `G F`, which on finite traces are both the value at the last position."""
        last = _AtLast(self).value(a)
        return last if isinstance(last, fm.Constant) else fm.Eventually(fm.Always(last))

    def release(self, a: Formula, b: Formula) -> Formula:
        """`R`."""
        return b if is_finally(b) else self.timed(fm.Release(a, b), (a, b))

    def weak_until(self, a: Formula, b: Formula) -> Formula:
        """`W`."""
        if a == fm.TRUE or b == fm.TRUE:
            return fm.TRUE
        if b == fm.FALSE:
            return self.always(a)
        return b if self.implies(a, b) else fm.WeakUntil(a, b)

    def strong_release(self, a: Formula, b: Formula) -> Formula:
        """`M`."""
        if a == fm.FALSE or b == fm.FALSE:
            return fm.FALSE
        if b == fm.TRUE:
            return self.eventually(a)
        return b if self.implies(b, a) else fm.StrongRelease(a, b)

    # Time: the laws are the same ahead and back, with an interval and without.

    def timed(self, formula: Formula, args: tuple[Formula, ...]) -> Formula:
        """An operator that has parameters, or that looks back, applied to simplified operands."""
        match formula:
            case fm.Shift():
                return self._shift(formula, args[0])
            case fm.TimedUnary():
                return self._over_interval(formula, args[0])
            case fm.TimedBinary():
                return self._until(formula, *args)
            case fm.AtLeastTimes() if formula.count == 1:
                return self.eventually(args[0])
            case fm.AllButTimes() if formula.count == 0:
                return self.always(args[0])
            case fm.Counted() if args[0] == (fm.FALSE if isinstance(formula, fm.AtLeastTimes) else fm.TRUE):
                return args[0]
            case fm.Affine():
                return self.affine(args[0], formula.scale, formula.offset)
        return formula.rebuild(*args) if args else formula

    def affine(self, a: Formula, scale: float, offset: float) -> Formula:
        """A scale and an offset; nested ones become one."""
        if (scale, offset) == (1.0, 0.0):
            return a
        if isinstance(a, fm.Constant):
            return fm.Constant(min(scale * a.value + offset, 1.0))
        if isinstance(a, fm.Affine) and scale * a.scale > 0.0:
            return self.affine(a.arg, scale * a.scale, min(scale * a.offset + offset, fm.one_minus(scale * a.scale)))
        return fm.Affine(a, scale, offset)

    @staticmethod
    def _shift(formula: fm.Shift, a: Formula) -> Formula:
        direction, strong = _DIRECTIONS[type(formula)], isinstance(formula, fm.Next | fm.Previous)
        if a == (fm.FALSE if strong else fm.TRUE):
            return a
        moves = direction.some if strong else direction.every
        if isinstance(a, moves) and not a.is_plain and a.discount == 1.0:
            moved = _moved(a, formula.steps, formula.steps)
            if moved is not None:
                return moved
        steps = formula.steps
        while isinstance(a, fm.Shift) and type(a) is type(formula) and 2 < steps + a.steps <= fm.MOST_STEPS:
            steps, a = steps + a.steps, a.arg
        return type(formula)(a, steps)

    def _over_interval(self, formula: fm.TimedUnary, a: Formula) -> Formula:
        """F, G, O and H."""
        direction, strong = _DIRECTIONS[type(formula)], isinstance(formula, fm.Eventually | fm.Once)
        low, high, discount = formula.params
        if a == (fm.FALSE if strong else fm.TRUE) or (low == 0 and (high == 0 or isinstance(a, fm.Constant))):
            return a
        if low == high and discount == 1.0:
            return self._shift((direction.next if strong else direction.weak_next)(a, low), a)
        if isinstance(a, fm.Timed) and type(a) is type(formula) and a.discount == discount:
            moved = _moved(a, low, high)
            if moved is not None:
                return self.node(moved, moved.args)
        if formula.is_plain and isinstance(a, direction.weak_next if strong else direction.next):
            return fm.TRUE if strong else fm.FALSE  # what it says at the end of the trace, or at its start
        return formula.rebuild(a)

    def _until(self, formula: fm.TimedBinary, a: Formula, b: Formula) -> Formula:
        """U, R, S and T."""
        direction, strong = _DIRECTIONS[type(formula)], isinstance(formula, fm.Until | fm.Since)
        empty, full = (fm.FALSE, fm.TRUE) if strong else (fm.TRUE, fm.FALSE)
        if b == empty or (a == empty and formula.low > 0):
            return empty
        implied = self.implies(a, b) if strong else self.implies(b, a)
        if formula.low == 0 and (formula.high == 0 or isinstance(b, fm.Constant) or implied):
            return b
        one = direction.some if strong else direction.every
        if a == full:
            return self.node(one(b, *formula.params), (b,))
        plain = formula.is_plain and isinstance(b, fm.Timed) and b.is_plain
        absorbs = isinstance(b, one) or (type(b) is type(formula) and a == b.args[0])
        return b if plain and absorbs else formula.rebuild(a, b)


class _Direction(NamedTuple):
    """The operators that look ahead, or those that look back."""

    next: type[fm.Shift]
    weak_next: type[fm.Shift]
    some: type[fm.TimedUnary]
    every: type[fm.TimedUnary]
    until: type[fm.TimedBinary]
    release: type[fm.TimedBinary]


_AHEAD = _Direction(fm.Next, fm.WeakNext, fm.Eventually, fm.Always, fm.Until, fm.Release)
_BACK = _Direction(fm.Previous, fm.WeakPrevious, fm.Once, fm.Historically, fm.Since, fm.Trigger)
_DIRECTIONS: dict[type[Formula], _Direction] = {kind: way for way in (_AHEAD, _BACK) for kind in way}


def _moved(formula: fm.Timed, low: int, high: int | None) -> Formula | None:
    """A timed operator whose interval begins and ends so many steps later; None where it would be too long."""
    end = None if high is None or formula.high is None else formula.high + high
    if max(formula.low + low, end or 0) > fm.MOST_STEPS:
        return None
    return type(formula)(*formula.args, formula.low + low, end, formula.discount)


class _AtLast:
    """The one-letter meaning at the last position of a trace."""

    def __init__(self, simplifier: Simplifier) -> None:
        self.conjunction, self.disjunction = simplifier.conjunction, simplifier.disjunction
        self.affine = simplifier.affine
        self._values: dict[Formula, Formula] = {}

    def value(self, formula: Formula) -> Formula:
        """A formula with the same value at the last position, without operators of the future outside the past."""
        for part in formula.subformulas():
            whole = not part.args or isinstance(part, (fm.Not, *PAST))
            self._values[part] = part if whole else unfold(part, self)
        return self._values[formula]

    def now(self, formula: Formula) -> Formula:
        return self._values[formula]

    def later(self, formula: Formula, strong: bool) -> Formula:
        return fm.FALSE if strong else fm.TRUE

    def earlier(self, formula: Formula, strong: bool) -> Formula:
        raise AssertionError("operators of the past are left as they are")


def is_finally(formula: Formula) -> bool:
    """Return whether the formula is `F G φ`: the value at the last position, the same from everywhere."""
    return (
        isinstance(formula, fm.Eventually)
        and formula.is_plain
        and isinstance(formula.arg, fm.Always)
        and formula.arg.is_plain
    )
