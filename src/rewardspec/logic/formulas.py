"""Formulas: immutable values that say what should happen in an episode.

A formula is a constant, an atom, or an operator applied to formulas.  Formulas compare by structure, can be dictionary
keys, and are built by parsing, with Python's operators, or with the classes below:

    >>> Always(Atom("request") >> Eventually("grant", 0, 20))
    parse('G(request -> F[0,20] grant)')

`&` and `|` take any number of arguments and flatten, so `a & (b & c)` and `(a & b) & c` are one formula.

The classes say which operators there are; what each is called, means and prints as stands in `operators`.

No function here recurses over a formula: nesting is limited by memory, not by Python's stack.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeAlias, TypeVar

from rewardspec.errors import FormulaError
from rewardspec.logic.bottom_up import operands_first

FormulaLike: TypeAlias = "Formula | str | bool"
T = TypeVar("T")

MOST_STEPS = 10**9  # the largest bound of an interval, and the largest count
_PLAIN = (0, None, 1.0)


def number_text(value: float) -> str:
    """A number as it is written in a formula: the shortest text that reads back as it.

    Example:
        >>> number_text(0.9), number_text(1.0)
        ('0.9', '1')
    """
    return repr(value).removesuffix(".0")


def whole_number(what: str, value: Any, smallest: int) -> int:
    """A parameter as an int, or a FormulaError that names it."""
    try:
        number = operator.index(value)
    except TypeError:
        number = smallest - 1
    if isinstance(value, bool) or number < smallest:
        raise FormulaError(f"`{what}` should be a whole number, {smallest} or more. Received {value!r}.")
    if number > MOST_STEPS + smallest:
        received = number if number < 10**20 else "a much larger number"
        raise FormulaError(f"`{what}` should be at most {MOST_STEPS:,}. Received {received}.")
    return number


def real_number(what: str, value: Any) -> float:
    """A parameter as a float, or a FormulaError that names it."""
    try:
        if isinstance(value, str):
            raise TypeError
        return float(value) + 0.0  # which makes -0.0 the same as 0.0
    except (TypeError, ValueError, OverflowError):
        raise FormulaError(f"`{what}` should be a number. Received {value!r}.") from None


def one_minus(*values: float) -> float:
    """One minus the values, computed on the decimals that they print as: 0.2 for 0.8, and not 0.19999999999999996."""
    from decimal import Decimal  # which takes a while to import, and few formulas need it

    return max(0.0, float(1 - sum(Decimal(repr(value)) for value in values)))


class Formula:
    """Base class of all formulas.

    Attributes:
        args: The operands, in the order in which they are written; empty for constants and atoms.
        params: What else the formula is made of: an atom's name, an interval, a scale; empty for most operators.
        is_temporal: True if the formula has a temporal operator, of the future or of the past.
    """

    args: tuple[Formula, ...]
    params: tuple[object, ...]
    is_temporal: bool
    _hash: int
    temporal: ClassVar[bool] = False  # of an operator that looks ahead or back
    quantifier: ClassVar[str] = ""  # what stands in front of a formula about each of several things

    def __init__(self, *args: Any) -> None:
        raise TypeError(f"{type(self).__name__} is the base of other formulas. Build one of those, or use `parse`.")

    def _set(self, *args: Formula, **params: object) -> None:
        """Set the operands and, each under its own name too, the parameters."""
        for arg in args:
            if arg.quantifier:
                raise FormulaError(
                    f"A quantifier stands in front of a whole formula. Received `{arg}` inside another one. Write "
                    f"'{arg.quantifier}' in front, and what it is inside of after the colon."
                )
        values = tuple(params.values())
        vars(self).update(
            params,
            args=args,
            params=values,
            is_temporal=self.temporal or any(arg.is_temporal for arg in args),
            _hash=hash((type(self).__name__, values, args)),
        )

    def rebuild(self, *args: FormulaLike) -> Formula:
        """The same operator with the same parameters, applied to other operands.

        Example:
            >>> as_formula("a U[0,5] b").rebuild("c", "d")
            parse('c U[0,5] d')
        """
        kind: Callable[..., Formula] = type(self)
        return kind(*args, *self.params)

    @property
    def annotation(self) -> str:
        """The parameters as they are written after the operator's symbol: `[0,5]`, `{3}`, or nothing."""
        return ""

    @property
    def dual_params(self) -> tuple[object, ...]:
        """The parameters of the dual operator, with which `!φ` is the dual of `φ` applied to negated operands."""
        return self.params

    # Values: immutable, hashable, compared by structure.

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A formula cannot be changed; {name!r} was assigned to. Build a new formula instead.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("A formula cannot be changed.")

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Formula):
            return NotImplemented
        if self._hash != other._hash:
            return False
        # An explicit stack, and each pair at most once, since a formula may share its parts.
        pairs = [(self, other)]
        seen: set[tuple[int, int]] = set()
        while pairs:
            left, right = pairs.pop()
            if left is right:
                continue
            if type(left) is not type(right) or len(left.args) != len(right.args):
                return False
            if left._hash != right._hash or left.params != right.params:
                return False
            key = (id(left), id(right))
            if key not in seen:
                seen.add(key)
                pairs.extend(zip(left.args, right.args, strict=True))
        return True

    def __bool__(self) -> bool:
        raise TypeError("A formula has no truth value. Use &, | and ~ instead of 'and', 'or' and 'not'.")

    def __copy__(self) -> Formula:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Formula:
        return self

    def __reduce__(self) -> tuple[Callable[[list[Any]], Formula], tuple[list[Any]]]:
        # As a table of nodes: pickling the nested objects themselves would recurse, and repeat shared parts.
        numbers: dict[Formula, int] = {}
        nodes: list[Any] = []
        for part in self.subformulas():
            numbers[part] = len(nodes)
            nodes.append((type(part), [numbers[arg] for arg in part.args], part.params))
        return _from_nodes, (nodes,)

    # Operators.

    def __and__(self, other: FormulaLike) -> Formula:
        return And(self, other)

    def __rand__(self, other: FormulaLike) -> Formula:
        return And(other, self)

    def __or__(self, other: FormulaLike) -> Formula:
        return Or(self, other)

    def __ror__(self, other: FormulaLike) -> Formula:
        return Or(other, self)

    def __xor__(self, other: FormulaLike) -> Formula:
        return Xor(self, other)

    def __rxor__(self, other: FormulaLike) -> Formula:
        return Xor(other, self)

    def __rshift__(self, other: FormulaLike) -> Formula:
        return Implies(self, other)

    def __rrshift__(self, other: FormulaLike) -> Formula:
        return Implies(other, self)

    def __invert__(self) -> Formula:
        return Not(self)

    def __mul__(self, scale: float) -> Formula:
        return Affine(self, scale)

    __rmul__ = __mul__

    # Looking inside.

    def subformulas(self) -> Iterator[Formula]:
        """Every distinct subformula once, operands before the formulas that use them; the formula itself comes last.

        Example:
            >>> [str(f) for f in as_formula("a U (a & b)").subformulas()]
            ['a', 'b', 'a & b', 'a U (a & b)']
        """
        return operands_first([self], lambda formula: formula.args)

    def fold(self, combine: Callable[[Formula, tuple[T, ...]], T]) -> T:
        """Compute bottom-up: `combine(formula, results of its operands)` for every distinct subformula.

        Example:
            >>> as_formula("a U X b").fold(lambda f, heights: 1 + max(heights, default=0))
            3
        """
        results: dict[Formula, T] = {}
        for formula in self.subformulas():
            results[formula] = combine(formula, tuple(results[arg] for arg in formula.args))
        return results[self]

    @property
    def atoms(self) -> tuple[str, ...]:
        """The names of the atoms, in the order in which the text mentions them."""
        return tuple(f.name for f in self.subformulas() if isinstance(f, Atom))

    @property
    def size(self) -> int:
        """The number of atoms, constants and operators in the text (an n-ary `&` counts n - 1 times)."""
        return self.fold(lambda formula, sizes: sum(sizes) + max(1, len(sizes) - 1))

    # Showing.

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        return f"parse({self.to_string()!r})"

    def to_string(self, style: str = "ascii") -> str:
        """The formula as text with the fewest parentheses.

        Args:
            style: `"ascii"` or `"unicode"`, which `parse` reads back to the same formula, or `"latex"`.
        """
        from rewardspec.logic.printing import to_string

        return to_string(self, style)

    def _repr_latex_(self) -> str:
        return f"${self.to_string('latex')}$"


class Constant(Formula):
    """A value that is the same everywhere: `true` (1), `false` (0), or a number between them.

    Attributes:
        value: The value, in [0, 1].
    """

    value: float

    def __init__(self, value: float) -> None:
        number = real_number("value", value)
        if not 0.0 <= number <= 1.0:
            raise FormulaError(f"A constant should be in [0, 1]. Received {value!r}.")
        self._set(value=number)

    @property
    def dual_params(self) -> tuple[object, ...]:
        """One minus the value."""
        return (one_minus(self.value),)


class Atom(Formula):
    """A named observation about one step: a degree in [0, 1], or for robustness a real number.

    Attributes:
        name: The name, any text.
    """

    name: str

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise FormulaError(f"An atom's name should be a non-empty string. Received {name!r}.")
        self._set(name=name)


def as_formula(value: object) -> Formula:
    """A formula as it is, a string parsed, a bool as a constant.

    Example:
        >>> as_formula("goal") == Atom("goal")
        True
    """
    if isinstance(value, Formula):
        return value
    if isinstance(value, str):
        from rewardspec.logic.parsing import parse

        return parse(value)
    if isinstance(value, bool):
        return TRUE if value else FALSE
    remedy = " A number is a formula as Constant(…)." if isinstance(value, int | float) else ""
    raise FormulaError(f"Expected a formula or its text. Received {value!r} of type {type(value).__name__}.{remedy}")


# Shapes: what kinds of operands and parameters operators have.


class Unary(Formula):
    """An operator with one operand."""

    def __init__(self, arg: FormulaLike) -> None:
        self._set(as_formula(arg))

    @property
    def arg(self) -> Formula:
        """The operand."""
        return self.args[0]


class Binary(Formula):
    """An operator with two operands."""

    def __init__(self, left: FormulaLike, right: FormulaLike) -> None:
        self._set(as_formula(left), as_formula(right))

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
        self._set(*operands)


class Shift(Unary):
    """An operator that looks so many steps ahead or back.

    Args:
        arg: The operand.
        steps: How many steps away it is evaluated, at least 1.
    """

    temporal = True
    steps: int

    def __init__(self, arg: FormulaLike, steps: int = 1) -> None:
        self._set(as_formula(arg), steps=whole_number("steps", steps, smallest=1))

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

    temporal = True
    params: tuple[int, int | None, float]
    low: int
    high: int | None
    discount: float

    def _set_timed(self, *args: FormulaLike, low: int, high: int | None, discount: float) -> None:
        low = whole_number("low", low, smallest=0)
        if high is not None:
            high = whole_number("high", high, smallest=0)
            if high < low:
                raise FormulaError(f"The interval [{low},{high}] ends before it begins. Write [{high},{low}].")
        factor = real_number("discount", discount)
        if not 0.0 < factor <= 1.0:
            raise FormulaError(f"`discount` should be above 0 and at most 1. Received {discount!r}.")
        self._set(*map(as_formula, args), low=low, high=high, discount=factor)

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

    def __init__(self, arg: FormulaLike, low: int = 0, high: int | None = None, discount: float = 1.0) -> None:
        self._set_timed(arg, low=low, high=high, discount=discount)


class TimedBinary(Binary, Timed):
    """A timed operator with two operands."""

    def __init__(
        self, left: FormulaLike, right: FormulaLike, low: int = 0, high: int | None = None, discount: float = 1.0
    ) -> None:
        self._set_timed(left, right, low=low, high=high, discount=discount)


class Counted(Unary):
    """An operator that counts the steps from the current one on."""

    temporal = True
    fewest: ClassVar[int] = 0
    count: int

    def __init__(self, arg: FormulaLike, count: int) -> None:
        self._set(as_formula(arg), count=whole_number("count", count, smallest=self.fewest))

    @property
    def annotation(self) -> str:
        """`{3}`."""
        return f"{{{self.count}}}"


# Operators.


class Not(Unary):
    """`!φ`: one minus the value; for robustness, minus the value."""


class And(Nary):
    """`φ & ψ`: the smaller value."""


class Or(Nary):
    """`φ | ψ`: the larger value."""


class Implies(Binary):
    """`φ -> ψ`, that is `!φ | ψ`."""


class Iff(Binary):
    """`φ <-> ψ`, that is `(φ -> ψ) & (ψ -> φ)`."""


class Xor(Binary):
    """`φ ^ ψ`, that is `!(φ <-> ψ)`."""


class Affine(Unary):
    """`0.8 * φ`, or `0.8 * φ + 0.1`: the value scaled, and raised.

    Args:
        arg: The operand.
        scale: The factor, above 0.
        offset: What is added, at least 0; scale and offset add up to at most 1.
    """

    scale: float
    offset: float

    def __init__(self, arg: FormulaLike, scale: float, offset: float = 0.0) -> None:
        factor, term = real_number("scale", scale), real_number("offset", offset)
        if not (factor > 0.0 and term >= 0.0 and factor + term <= 1.0):
            raise FormulaError(
                "A scale should be above 0, an offset 0 or more, and the two at most 1 together, so that values stay "
                f"in [0, 1]. Received a scale of {scale!r} and an offset of {offset!r}."
            )
        self._set(as_formula(arg), scale=factor, offset=term)

    @property
    def dual_params(self) -> tuple[object, ...]:
        """1 - (scale · x + offset) is scale · (1 - x) + (1 - scale - offset)."""
        return self.scale, one_minus(self.scale, self.offset)


class Next(Shift):
    """`X φ`, strong next: the value at the next step, 0 past the end.  `X[k] φ` looks k steps ahead."""


class WeakNext(Shift):
    """`WX φ`, weak next: the value at the next step, 1 past the end.  `WX[k] φ` looks k steps ahead."""


class Eventually(TimedUnary):
    """`F φ`: the largest value from now on.  `F[a,b] φ`: from a to b steps from now."""


class Always(TimedUnary):
    """`G φ`: the smallest value from now on.  `G[a,b] φ`: from a to b steps from now."""


class Until(TimedBinary):
    """`φ U ψ`: ψ comes, and φ holds until then.  `φ U[a,b] ψ`: ψ comes a to b steps from now."""


class Release(TimedBinary):
    """`φ R ψ`: ψ holds up to and including the step where φ does, or for ever."""


class WeakUntil(Binary):
    """`φ W ψ`: `(φ U ψ) | G φ`."""

    temporal = True


class StrongRelease(Binary):
    """`φ M ψ`: `(φ R ψ) & F φ`."""

    temporal = True


class AtLeastTimes(Counted):
    """`F{k} φ`: the k-th largest value from now on, so that φ holds at k steps at least."""

    fewest = 1

    @property
    def dual_params(self) -> tuple[object, ...]:
        """Not at k steps or more is at all steps but k - 1 at most."""
        return (self.count - 1,)


class AllButTimes(Counted):
    """`G{k} φ`: the (k+1)-th smallest value from now on, so that φ holds at all steps but k at most."""

    @property
    def dual_params(self) -> tuple[object, ...]:
        """Not at all steps but k at most is at k + 1 steps or more."""
        return (self.count + 1,)


class Previous(Shift):
    """`Y φ`: the value at the step before, 0 at the first.  `Y[k] φ` looks k steps back."""


class WeakPrevious(Shift):
    """`WY φ`: the value at the step before, 1 at the first.  `WY[k] φ` looks k steps back."""


class Once(TimedUnary):
    """`O φ`: the largest value so far.  `O[a,b] φ`: from b to a steps ago."""


class Historically(TimedUnary):
    """`H φ`: the smallest value so far.  `H[a,b] φ`: from b to a steps ago."""


class Since(TimedBinary):
    """`φ S ψ`: ψ came, and φ has held since then.  `φ S[a,b] ψ`: ψ came b to a steps ago."""


class Trigger(TimedBinary):
    """`φ T ψ`: ψ has held since and including the last step where φ did, or from the start."""


TRUE = Constant(True)
FALSE = Constant(False)
LAST = WeakNext(FALSE)
FIRST = WeakPrevious(FALSE)


def now(formula: FormulaLike) -> Formula:
    """`now φ`, that is `F(last & φ)`: the value at the last step, which for a trace so far is the current one.

    Example:
        >>> now(Historically("quiet", 0, 5))
        parse('now H[0,5] quiet')
    """
    return Eventually(And(LAST, formula))


def _from_nodes(nodes: list[Any]) -> Formula:
    built: list[Formula] = []
    for kind, args, params in nodes:
        built.append(kind(*(built[arg] for arg in args), *params))
    return built[-1]
