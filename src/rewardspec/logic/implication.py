"""Implication between values, decided from the shape of two formulas alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula

_Relation: TypeAlias = Callable[[Formula, Formula], bool]

_FUEL = 8  # how many operators deep to look; what lies deeper is taken as unknown

# For an operator, those of its own direction in time that it is compared with.
_WEAK = {fm.Next: fm.WeakNext, fm.Previous: fm.WeakPrevious}
_SOME = {fm.Next: fm.Eventually, fm.Previous: fm.Once, fm.Until: fm.Eventually, fm.Since: fm.Once}
_ALL = {fm.WeakNext: fm.Always, fm.WeakPrevious: fm.Historically, fm.Release: fm.Always, fm.Trigger: fm.Historically}


class Implication:
    """Decides, soundly but not completely, whether one formula implies another.

    Formulas are in negation normal form.  The answer is for values, not only for truth: `implies(f, g)` means that
    f is at most g at every position of every trace, so laws that hold for truth alone (`p & !p` is false) are not used.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> implies = Implication()
        >>> implies(parse("G a"), parse("F[0,5] a")), implies(parse("a & !a"), parse("false"))
        (True, False)
    """

    def __init__(self) -> None:
        self._proved: set[tuple[Formula, Formula]] = set()
        self._failed_with: dict[tuple[Formula, Formula], int] = {}  # the most fuel that was not enough

    def __call__(self, f: Formula, g: Formula) -> bool:
        """Return whether the first formula's value is at most the second's, everywhere."""
        return self._holds(f, g, _FUEL)

    def _holds(self, f: Formula, g: Formula, fuel: int) -> bool:
        if f is g or f in (g, fm.FALSE) or g == fm.TRUE:
            return True
        if isinstance(f, fm.Constant) and isinstance(g, fm.Constant):
            return f.value <= g.value
        if fuel == 0 or f == fm.TRUE or g == fm.FALSE:
            return False
        key = (f, g)
        if key in self._proved:
            return True
        if self._failed_with.get(key, 0) >= fuel:
            return False
        self._failed_with[key] = fuel  # while this pair is being decided, it proves nothing
        if self._decide(f, g, fuel - 1):
            self._proved.add(key)
            return True
        return False

    def _decide(self, f: Formula, g: Formula, fuel: int) -> bool:
        def le(x: Formula, y: Formula) -> bool:
            return self._holds(x, y, fuel)

        # Rules without choice first: both directions are equivalent to the goal.
        if isinstance(g, fm.And):
            return all(le(f, part) for part in g.args)
        if isinstance(f, fm.Or):
            return all(le(part, g) for part in f.args)
        if type(f) is type(g) and f.args and not isinstance(f, fm.And | fm.Or):
            if _parameters_imply(f, g) and all(le(x, y) for x, y in zip(f.args, g.args, strict=True)):
                return True  # every operator but negation is monotone
            if isinstance(f, fm.Always | fm.Historically) and f.is_plain:
                return le(f, g.args[0])
            if isinstance(g, fm.Eventually | fm.Once) and g.is_plain:
                return le(f.args[0], g)
        return _from_left(f, g, le) or _from_right(f, g, le)


def _from_left(f: Formula, g: Formula, le: _Relation) -> bool:
    """By something that f implies."""
    match f:
        case fm.And():
            return any(le(part, g) for part in f.args)
        case fm.Affine():
            return f.offset == 0.0 and le(f.arg, g)
        case fm.Always() | fm.Historically():
            return f.low == 0 and le(f.arg, g)
        case fm.Next() | fm.Previous():
            if isinstance(g, _WEAK[type(f)]) and f.steps == g.steps and le(f.arg, g.arg):
                return True
            return isinstance(g, _SOME[type(f)]) and _contains(g, f.steps) and le(f.arg, g.arg)
        case fm.AtLeastTimes():
            return isinstance(g, fm.Eventually) and g.is_plain and le(f.arg, g)
        case fm.Until() | fm.Since():
            if (f.low > 0 or le(f.right, g)) and le(f.left, g):
                return True
            some = _SOME[type(f)]
            if isinstance(g, some) and (
                (g.is_plain and le(f.right, g)) or (_parameters_imply(some(True, *f.params), g) and le(f.right, g.arg))
            ):
                return True
            return isinstance(f, fm.Until) and _to_weak(f, fm.WeakUntil, g, le)
        case fm.WeakUntil():
            return le(f.left, g) and le(f.right, g)
        case fm.Release() | fm.Trigger():
            return f.low == 0 and le(f.right, g)
        case fm.StrongRelease():
            if le(f.right, g) or (isinstance(g, fm.Eventually) and g.is_plain and le(f.left, g)):
                return True
            return _to_weak(f, fm.Release, g, le)
    return False


def _from_right(f: Formula, g: Formula, le: _Relation) -> bool:
    """By something that implies g."""
    match g:
        case fm.Or():
            return any(le(f, part) for part in g.args)
        case fm.Affine():
            return g.scale + g.offset == 1.0 and le(f, g.arg)
        case fm.Eventually() | fm.Once():
            return g.low == 0 and le(f, g.arg)
        case fm.WeakNext() | fm.WeakPrevious():
            return isinstance(f, _ALL[type(g)]) and _contains(f, g.steps) and le(f.args[0], g.arg)
        case fm.AllButTimes():
            return isinstance(f, fm.Always) and f.is_plain and le(f, g.arg)
        case fm.Until() | fm.Since():
            return g.low == 0 and le(f, g.right)
        case fm.WeakUntil():
            return le(f, g.right) or (isinstance(f, fm.Always) and f.is_plain and le(f, g.left))
        case fm.Release() | fm.Trigger():
            every = _ALL[type(g)]
            if isinstance(f, every) and (
                (f.is_plain and le(f, g.right)) or (_parameters_imply(f, every(True, *g.params)) and le(f.arg, g.right))
            ):
                return True
            return le(f, g.left) and (g.low > 0 or le(f, g.right))
        case fm.StrongRelease():
            return le(f, g.left) and le(f, g.right)
    return False


def _parameters_imply(f: Formula, g: Formula) -> bool:
    """Return whether the first operator's parameters give at most the second's value, for the same operands."""
    match f, g:
        case (fm.Timed(), fm.Timed()):
            stronger, weaker = (f, g) if isinstance(f, fm.Eventually | fm.Until | fm.Once | fm.Since) else (g, f)
            return _within(stronger, weaker) and stronger.discount <= weaker.discount
        case (fm.Affine(), fm.Affine()):
            return f.offset <= g.offset and f.scale + f.offset <= g.scale + g.offset
        case (fm.AtLeastTimes(), fm.AtLeastTimes()):
            return f.count >= g.count
        case (fm.AllButTimes(), fm.AllButTimes()):
            return f.count <= g.count
    return f.params == g.params


def _within(inner: fm.Timed, outer: fm.Timed) -> bool:
    ends = outer.high is None or (inner.high is not None and inner.high <= outer.high)
    return outer.low <= inner.low and ends


def _contains(formula: Formula, steps: int) -> bool:
    """Return whether the formula reads the position so many steps away, without a discount."""
    if not isinstance(formula, fm.Timed) or formula.discount != 1.0:
        return False
    return formula.low <= steps and (formula.high is None or steps <= formula.high)


def _to_weak(f: fm.Binary, weak: type[fm.Binary], g: Formula, le: _Relation) -> bool:
    """`U` implies `W`, and `M` implies `R`, operand by operand."""
    return isinstance(g, weak) and le(f.left, g.left) and le(f.right, g.right)
