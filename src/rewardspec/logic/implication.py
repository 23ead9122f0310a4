"""When one formula's value can never exceed another's, seen from their shape alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rewardspec.logic.formulas import (
    FALSE,
    TRUE,
    Affine,
    AllButTimes,
    Always,
    And,
    AtLeastTimes,
    Binary,
    Constant,
    Eventually,
    Formula,
    Historically,
    Next,
    Once,
    Or,
    Previous,
    Release,
    Since,
    StrongRelease,
    Timed,
    Trigger,
    Until,
    WeakNext,
    WeakPrevious,
    WeakUntil,
)

_Relation: TypeAlias = Callable[[Formula, Formula], bool]

_FUEL = 8  # how many operators deep to look; what lies deeper is taken as unknown

# For an operator, those of its own direction in time that it is compared with.
_WEAK = {Next: WeakNext, Previous: WeakPrevious}
_SOME = {Next: Eventually, Previous: Once, Until: Eventually, Since: Once}
_ALL = {WeakNext: Always, WeakPrevious: Historically, Release: Always, Trigger: Historically}


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
        """Whether the first formula's value is at most the second's, everywhere."""
        return self._holds(f, g, _FUEL)

    def _holds(self, f: Formula, g: Formula, fuel: int) -> bool:
        if f is g or f in (g, FALSE) or g == TRUE:
            return True
        if isinstance(f, Constant) and isinstance(g, Constant):
            return f.value <= g.value
        if fuel == 0 or f == TRUE or g == FALSE:
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
        if isinstance(g, And):
            return all(le(f, part) for part in g.args)
        if isinstance(f, Or):
            return all(le(part, g) for part in f.args)
        if type(f) is type(g) and f.args and not isinstance(f, And | Or):
            if _parameters_imply(f, g) and all(le(x, y) for x, y in zip(f.args, g.args, strict=True)):
                return True  # every operator but negation is monotone
            if isinstance(f, Always | Historically) and f.is_plain:
                return le(f, g.args[0])
            if isinstance(g, Eventually | Once) and g.is_plain:
                return le(f.args[0], g)
        return _from_left(f, g, le) or _from_right(f, g, le)


def _from_left(f: Formula, g: Formula, le: _Relation) -> bool:
    """By something that f implies."""
    match f:
        case And():
            return any(le(part, g) for part in f.args)
        case Affine():
            return f.offset == 0.0 and le(f.arg, g)
        case Always() | Historically():
            return f.low == 0 and le(f.arg, g)
        case Next() | Previous():
            if isinstance(g, _WEAK[type(f)]) and f.steps == g.steps and le(f.arg, g.arg):
                return True
            return isinstance(g, _SOME[type(f)]) and _contains(g, f.steps) and le(f.arg, g.arg)
        case AtLeastTimes():
            return isinstance(g, Eventually) and g.is_plain and le(f.arg, g)
        case Until() | Since():
            if (f.low > 0 or le(f.right, g)) and le(f.left, g):
                return True
            some = _SOME[type(f)]
            if isinstance(g, some) and (
                (g.is_plain and le(f.right, g)) or (_parameters_imply(some(True, *f.params), g) and le(f.right, g.arg))
            ):
                return True
            return isinstance(f, Until) and _to_weak(f, WeakUntil, g, le)
        case WeakUntil():
            return le(f.left, g) and le(f.right, g)
        case Release() | Trigger():
            return f.low == 0 and le(f.right, g)
        case StrongRelease():
            if le(f.right, g) or (isinstance(g, Eventually) and g.is_plain and le(f.left, g)):
                return True
            return _to_weak(f, Release, g, le)
    return False


def _from_right(f: Formula, g: Formula, le: _Relation) -> bool:
    """By something that implies g."""
    match g:
        case Or():
            return any(le(f, part) for part in g.args)
        case Affine():
            return g.scale + g.offset == 1.0 and le(f, g.arg)
        case Eventually() | Once():
            return g.low == 0 and le(f, g.arg)
        case WeakNext() | WeakPrevious():
            return isinstance(f, _ALL[type(g)]) and _contains(f, g.steps) and le(f.args[0], g.arg)
        case AllButTimes():
            return isinstance(f, Always) and f.is_plain and le(f, g.arg)
        case Until() | Since():
            return g.low == 0 and le(f, g.right)
        case WeakUntil():
            return le(f, g.right) or (isinstance(f, Always) and f.is_plain and le(f, g.left))
        case Release() | Trigger():
            every = _ALL[type(g)]
            if isinstance(f, every) and (
                (f.is_plain and le(f, g.right)) or (_parameters_imply(f, every(True, *g.params)) and le(f.arg, g.right))
            ):
                return True
            return le(f, g.left) and (g.low > 0 or le(f, g.right))
        case StrongRelease():
            return le(f, g.left) and le(f, g.right)
    return False


def _parameters_imply(f: Formula, g: Formula) -> bool:
    """Whether an operator's parameters make its value at most what others make of it, for the same operands."""
    match f, g:
        case (Timed(), Timed()):
            stronger, weaker = (f, g) if isinstance(f, Eventually | Until | Once | Since) else (g, f)
            return _within(stronger, weaker) and stronger.discount <= weaker.discount
        case (Affine(), Affine()):
            return f.offset <= g.offset and f.scale + f.offset <= g.scale + g.offset
        case (AtLeastTimes(), AtLeastTimes()):
            return f.count >= g.count
        case (AllButTimes(), AllButTimes()):
            return f.count <= g.count
    return f.params == g.params


def _within(inner: Timed, outer: Timed) -> bool:
    ends = outer.high is None or (inner.high is not None and inner.high <= outer.high)
    return outer.low <= inner.low and ends


def _contains(formula: Formula, steps: int) -> bool:
    """Whether the formula looks at the position so many steps away, without a discount."""
    if not isinstance(formula, Timed) or formula.discount != 1.0:
        return False
    return formula.low <= steps and (formula.high is None or steps <= formula.high)


def _to_weak(f: Binary, weak: type[Binary], g: Formula, le: _Relation) -> bool:
    """`U` implies `W`, and `M` implies `R`, operand by operand."""
    return isinstance(g, weak) and le(f.left, g.left) and le(f.right, g.right)
