"""Formulas: immutable values that say what should happen in an episode.

A formula is a constant, an atom, or an operator applied to formulas.  Formulas compare by structure, can be dictionary
keys, and are built by parsing, with Python's operators, or with the classes below:

    >>> Always(Atom("request") >> Eventually("grant", 0, 20))
    parse('G(request -> F[0,20] grant)')

`&` and `|` take any number of arguments and flatten, so `a & (b & c)` and `(a & b) & c` are one formula.

The classes say which operators there are; what each is called, means and prints as stands in `operators`.
"""

from __future__ import annotations

from typing import ClassVar

from rewardspec.errors import FormulaError
from rewardspec.logic.nodes import FALSE as FALSE
from rewardspec.logic.nodes import MOST_STEPS as MOST_STEPS
from rewardspec.logic.nodes import TRUE as TRUE
from rewardspec.logic.nodes import Atom as Atom
from rewardspec.logic.nodes import Constant as Constant
from rewardspec.logic.nodes import Formula as Formula
from rewardspec.logic.nodes import FormulaLike as FormulaLike
from rewardspec.logic.nodes import as_formula as as_formula
from rewardspec.logic.nodes import number_text as number_text
from rewardspec.logic.nodes import one_minus as one_minus
from rewardspec.logic.nodes import real_number, whole_number

_PLAIN = (0, None, 1.0)


# Shapes: what kinds of operands and parameters operators have.


class Unary(Formula):
    """An operator with one operand."""

    __slots__ = ()

    def __init__(self, arg: FormulaLike) -> None:
        self._set((as_formula(arg),))

    @property
    def arg(self) -> Formula:
        """The operand."""
        return self.args[0]


class Binary(Formula):
    """An operator with two operands."""

    __slots__ = ()

    def __init__(self, left: FormulaLike, right: FormulaLike) -> None:
        self._set((as_formula(left), as_formula(right)))

    @property
    def left(self) -> Formula:
        """The first operand."""
        return self.args[0]

    @property
    def right(self) -> Formula:
        """The second operand."""
        return self.args[1]


class Nary(Formula):
    """An associative operator with two operands or more, flattened."""

    __slots__ = ()

    def __new__(cls, *args: FormulaLike) -> Formula:  # type: ignore[misc]
        """The operand itself where there is one only, so that `And(*formulas)` works for any number but none."""
        if len(args) == 1:
            return as_formula(args[0])
        return object.__new__(cls)

    def __init__(self, *args: FormulaLike) -> None:
        if not args:
            raise FormulaError(f"{type(self).__name__} takes at least one formula. Received none.")
        operands: list[Formula] = []
        for arg in map(as_formula, args):
            operands.extend(arg.args if type(arg) is type(self) else (arg,))
        self._set(tuple(operands))


class Shift(Unary):
    """An operator that looks so many steps ahead or back.

    Args:
        arg: The operand.
        steps: How many steps away it is evaluated, at least 1.
    """

    __slots__ = ()
    temporal = True
    params: tuple[int]

    def __init__(self, arg: FormulaLike, steps: int = 1) -> None:
        self._set((as_formula(arg),), (whole_number("steps", steps, smallest=1),))

    @property
    def steps(self) -> int:
        """Distance in steps at which the operand is evaluated."""
        return self.params[0]

    @property
    def annotation(self) -> str:
        """`[3]`, or nothing for one step."""
        return "" if self.steps == 1 else f"[{self.steps}]"


class Timed(Formula):
    """An operator over the steps of an interval, counted from the current one.

    Args:
        low: The nearest step of the interval, 0 for the current one.
        high: The farthest step of the interval; None where it goes on to the end, or back to the start, of the trace.
        discount: What each step of distance multiplies a value by, in (0, 1].
    """

    __slots__ = ()
    temporal = True
    params: tuple[int, int | None, float]

    def _set_timed(self, args: tuple[Formula, ...], low: int, high: int | None, discount: float) -> None:
        low = whole_number("low", low, smallest=0)
        if high is not None:
            high = whole_number("high", high, smallest=0)
            if high < low:
                raise FormulaError(f"The interval [{low},{high}] ends before it begins. Write [{high},{low}].")
        factor = real_number("discount", discount)
        if not 0.0 < factor <= 1.0:
            raise FormulaError(f"`discount` should be above 0 and at most 1. Received {discount!r}.")
        self._set(args, (low, high, factor))

    @property
    def low(self) -> int:
        """The nearest step of the interval."""
        return self.params[0]

    @property
    def high(self) -> int | None:
        """The farthest step of the interval; None where it has no end."""
        return self.params[1]

    @property
    def discount(self) -> float:
        """Factor of a value for each step of distance."""
        return self.params[2]

    @property
    def is_plain(self) -> bool:
        """True if there is neither an interval nor a discount."""
        return self.params == _PLAIN

    @property
    def annotation(self) -> str:
        """`[2,5]`, `[2,]`, `[0,20;0.9]`, `[;0.9]`, or nothing."""
        low, high, discount = self.params
        interval = f"{low},{'' if high is None else high}" if (low, high) != (0, None) else ""
        factor = f";{number_text(discount)}" if discount != 1.0 else ""
        return f"[{interval}{factor}]" if interval or factor else ""


class TimedUnary(Unary, Timed):
    """A timed operator with one operand."""

    __slots__ = ()

    def __init__(self, arg: FormulaLike, low: int = 0, high: int | None = None, discount: float = 1.0) -> None:
        self._set_timed((as_formula(arg),), low, high, discount)


class TimedBinary(Binary, Timed):
    """A timed operator with two operands."""

    __slots__ = ()

    def __init__(
        self, left: FormulaLike, right: FormulaLike, low: int = 0, high: int | None = None, discount: float = 1.0
    ) -> None:
        self._set_timed((as_formula(left), as_formula(right)), low, high, discount)


class Counted(Unary):
    """An operator that counts the steps from the current one on."""

    __slots__ = ()
    temporal = True
    params: tuple[int]
    fewest: ClassVar[int] = 0

    def __init__(self, arg: FormulaLike, count: int) -> None:
        self._set((as_formula(arg),), (whole_number("count", count, smallest=self.fewest),))

    @property
    def count(self) -> int:
        """Number of steps."""
        return self.params[0]

    @property
    def annotation(self) -> str:
        """`{3}`."""
        return f"{{{self.count}}}"


# Operators.


class Not(Unary):
    """`!φ`: one minus the value; for robustness, minus the value."""

    __slots__ = ()


class And(Nary):
    """`φ & ψ`: the smaller value."""

    __slots__ = ()


class Or(Nary):
    """`φ | ψ`: the larger value."""

    __slots__ = ()


class Implies(Binary):
    """`φ -> ψ`, that is `!φ | ψ`."""

    __slots__ = ()


class Iff(Binary):
    """`φ <-> ψ`, that is `(φ -> ψ) & (ψ -> φ)`."""

    __slots__ = ()


class Xor(Binary):
    """`φ ^ ψ`, that is `!(φ <-> ψ)`."""

    __slots__ = ()


class Affine(Unary):
    """`0.8 * φ`, or `0.8 * φ + 0.1`: the value scaled, and raised.

    Args:
        arg: The operand.
        scale: The factor, above 0.
        offset: What is added, at least 0; scale and offset add up to at most 1.
    """

    __slots__ = ()
    params: tuple[float, float]

    def __init__(self, arg: FormulaLike, scale: float, offset: float = 0.0) -> None:
        factor, term = real_number("scale", scale), real_number("offset", offset)
        if not (factor > 0.0 and term >= 0.0 and factor + term <= 1.0):
            raise FormulaError(
                "A scale should be above 0, an offset 0 or more, and the two at most 1 together, so that values stay "
                f"in [0, 1]. Received a scale of {scale!r} and an offset of {offset!r}."
            )
        self._set((as_formula(arg),), (factor, term))

    @property
    def scale(self) -> float:
        """The factor."""
        return self.params[0]

    @property
    def offset(self) -> float:
        """The summand."""
        return self.params[1]

    @property
    def dual_params(self) -> tuple[object, ...]:
        """1 - (scale · x + offset) is scale · (1 - x) + (1 - scale - offset)."""
        return self.scale, one_minus(self.scale, self.offset)


class Next(Shift):
    """`X φ`, strong next: the value at the next step, 0 past the end.  `X[k] φ` looks k steps ahead."""

    __slots__ = ()


class WeakNext(Shift):
    """`WX φ`, weak next: the value at the next step, 1 past the end.  `WX[k] φ` looks k steps ahead."""

    __slots__ = ()


class Eventually(TimedUnary):
    """`F φ`: the largest value from now on.  `F[a,b] φ`: from a to b steps from now."""

    __slots__ = ()


class Always(TimedUnary):
    """`G φ`: the smallest value from now on.  `G[a,b] φ`: from a to b steps from now."""

    __slots__ = ()


class Until(TimedBinary):
    """`φ U ψ`: ψ comes, and φ holds until then.  `φ U[a,b] ψ`: ψ comes a to b steps from now."""

    __slots__ = ()


class Release(TimedBinary):
    """`φ R ψ`: ψ holds up to and including the step where φ does, or for ever."""

    __slots__ = ()


class WeakUntil(Binary):
    """`φ W ψ`: `(φ U ψ) | G φ`."""

    __slots__ = ()
    temporal = True


class StrongRelease(Binary):
    """`φ M ψ`: `(φ R ψ) & F φ`."""

    __slots__ = ()
    temporal = True


class AtLeastTimes(Counted):
    """`F{k} φ`: the k-th largest value from now on, so that φ holds at k steps at least."""

    __slots__ = ()
    fewest = 1

    @property
    def dual_params(self) -> tuple[object, ...]:
        """Not at k steps or more is at all steps but k - 1 at most."""
        return (self.count - 1,)


class AllButTimes(Counted):
    """`G{k} φ`: the (k+1)-th smallest value from now on, so that φ holds at all steps but k at most."""

    __slots__ = ()

    @property
    def dual_params(self) -> tuple[object, ...]:
        """Not at all steps but k at most is at k + 1 steps or more."""
        return (self.count + 1,)


class Previous(Shift):
    """`Y φ`: the value at the step before, 0 at the first.  `Y[k] φ` looks k steps back."""

    __slots__ = ()


class WeakPrevious(Shift):
    """`WY φ`: the value at the step before, 1 at the first.  `WY[k] φ` looks k steps back."""

    __slots__ = ()


class Once(TimedUnary):
    """`O φ`: the largest value so far.  `O[a,b] φ`: from b to a steps ago."""

    __slots__ = ()


class Historically(TimedUnary):
    """`H φ`: the smallest value so far.  `H[a,b] φ`: from b to a steps ago."""

    __slots__ = ()


class Since(TimedBinary):
    """`φ S ψ`: ψ came, and φ has held since then.  `φ S[a,b] ψ`: ψ came b to a steps ago."""

    __slots__ = ()


class Trigger(TimedBinary):
    """`φ T ψ`: ψ has held since and including the last step where φ did, or from the start."""

    __slots__ = ()


LAST = WeakNext(FALSE)
FIRST = WeakPrevious(FALSE)


def now(formula: FormulaLike) -> Formula:
    """`now φ`, that is `F(last & φ)`: the value at the last step, which for a trace so far is the current one.

    Example:
        >>> now(Historically("quiet", 0, 5))
        parse('now H[0,5] quiet')
    """
    return Eventually(And(LAST, formula))
