"""When one formula's value can never exceed another's, seen from their shape alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rewardspec.logic.formulas import (
    FALSE,
    TRUE,
    Always,
    And,
    Binary,
    Constant,
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

_Relation: TypeAlias = Callable[[Formula, Formula], bool]

_FUEL = 8  # how many operators deep to look; what lies deeper is taken as unknown


class Implication:
    """Decides, soundly but not completely, whether one formula implies another.

    Formulas are in negation normal form.  The answer is for values, not only for truth: `implies(f, g)` means that
    f is at most g at every position of every trace, so laws that hold for truth alone (`p & !p` is false) are not used.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> implies = Implication()
        >>> implies(parse("G a"), parse("F a")), implies(parse("a & !a"), parse("false"))
        (True, False)
    """

    def __init__(self) -> None:
        self._proved: set[tuple[Formula, Formula]] = set()
        self._failed_with: dict[tuple[Formula, Formula], int] = {}  # the most fuel that was not enough

    def __call__(self, f: Formula, g: Formula) -> bool:
        """Whether the first formula's value is at most the second's, everywhere."""
        return self._holds(f, g, _FUEL)

    def _holds(self, f: Formula, g: Formula, fuel: int) -> bool:
        if f is g or f == g:
            return True
        if isinstance(f, Constant) or isinstance(g, Constant):
            return f == FALSE or g == TRUE
        if fuel == 0:
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
        if type(f) is type(g) and len(f.args) == len(g.args) and not isinstance(f, And | Or):
            if all(le(x, y) for x, y in zip(f.args, g.args, strict=True)) and f.args:
                return True  # every operator but negation is monotone
            if isinstance(f, Always):
                return le(f, g.args[0])
            if isinstance(f, Eventually):
                return le(f.args[0], g)
        return self._from_left(f, g, le) or self._from_right(f, g, le)

    @staticmethod
    def _from_left(f: Formula, g: Formula, le: _Relation) -> bool:
        """By something that f implies."""
        match f:
            case And():
                return any(le(part, g) for part in f.args)
            case Always():
                return le(f.arg, g)
            case Next():
                return isinstance(g, WeakNext) and le(f.arg, g.arg)
            case Eventually():
                return isinstance(g, Eventually) and le(f.arg, g)
            case Until():
                return ((le(f.left, g) or isinstance(g, Eventually)) and le(f.right, g)) or _until_to_weak(f, g, le)
            case WeakUntil():
                return le(f.left, g) and le(f.right, g)
            case Release():
                return le(f.right, g)
            case StrongRelease():
                return le(f.right, g) or (isinstance(g, Eventually) and le(f.left, g)) or _until_to_weak(f, g, le)
        return False

    @staticmethod
    def _from_right(f: Formula, g: Formula, le: _Relation) -> bool:
        """By something that implies g."""
        match g:
            case Or():
                return any(le(f, part) for part in g.args)
            case Eventually():
                return le(f, g.arg)
            case Until():
                return le(f, g.right)
            case WeakUntil():
                return le(f, g.right) or (isinstance(f, Always) and le(f, g.left))
            case Release() | StrongRelease():
                if isinstance(g, Release) and isinstance(f, Always) and le(f, g.right):
                    return True
                return le(f, g.left) and le(f, g.right)
        return False


def _until_to_weak(f: Binary, g: Formula, le: _Relation) -> bool:
    """`U` implies `W`, and `M` implies `R`, operand by operand."""
    weak = WeakUntil if isinstance(f, Until) else Release
    return isinstance(g, weak) and le(f.left, g.args[0]) and le(f.right, g.args[1])
