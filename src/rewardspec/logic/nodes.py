"""The base class of formulas, atoms, constants, and the checks of their parameters.

No function here recurses over a formula: nesting is limited by memory, not by Python's stack.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeAlias, TypeVar

from rewardspec.errors import FormulaError

FormulaLike: TypeAlias = "Formula | str | bool"
T = TypeVar("T")

MOST_STEPS = 10**9  # the largest bound of an interval, and the largest count


class Formula:
    """Base class of all formulas.

    Attributes:
        args: The operands, in the order in which they are written; empty for constants and atoms.
        params: What else the formula is made of: an atom's name, an interval, a scale; empty for most operators.
        is_temporal: True if the formula has a temporal operator, of the future or of the past.
    """

    __slots__ = ("__weakref__", "_hash", "args", "is_temporal", "params")

    args: tuple[Formula, ...]
    params: tuple[object, ...]
    is_temporal: bool
    _hash: int
    temporal: ClassVar[bool] = False  # of an operator that looks ahead or back
    quantifier: ClassVar[str] = ""  # what stands in front of a formula about each of several things

    def __init__(self, *args: Any) -> None:
        raise TypeError(f"{type(self).__name__} is the base of other formulas. Build one of those, or use `parse`.")

    def _set(self, args: tuple[Formula, ...], params: tuple[object, ...] = ()) -> None:
        for arg in args:
            if arg.quantifier:
                raise FormulaError(
                    f"A quantifier stands in front of a whole formula. Received `{arg}` inside another one. Write "
                    f"'{arg.quantifier}' in front, and what it is inside of after the colon."
                )
        object.__setattr__(self, "args", args)
        object.__setattr__(self, "params", params)
        object.__setattr__(self, "is_temporal", self.temporal or any(arg.is_temporal for arg in args))
        object.__setattr__(self, "_hash", hash((type(self).__name__, params, args)))

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
            if left._hash != right._hash or not left._same_node(right):
                return False
            key = (id(left), id(right))
            if key not in seen:
                seen.add(key)
                pairs.extend(zip(left.args, right.args, strict=True))
        return True

    def _same_node(self, other: Formula) -> bool:
        return type(self) is type(other) and len(self.args) == len(other.args) and self.params == other.params

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
        return _build("And", self, other)

    def __rand__(self, other: FormulaLike) -> Formula:
        return _build("And", other, self)

    def __or__(self, other: FormulaLike) -> Formula:
        return _build("Or", self, other)

    def __ror__(self, other: FormulaLike) -> Formula:
        return _build("Or", other, self)

    def __xor__(self, other: FormulaLike) -> Formula:
        return _build("Xor", self, other)

    def __rxor__(self, other: FormulaLike) -> Formula:
        return _build("Xor", other, self)

    def __rshift__(self, other: FormulaLike) -> Formula:
        return _build("Implies", self, other)

    def __rrshift__(self, other: FormulaLike) -> Formula:
        return _build("Implies", other, self)

    def __invert__(self) -> Formula:
        return _build("Not", self)

    def __mul__(self, scale: float) -> Formula:
        return _build("Affine", self, scale)

    __rmul__ = __mul__

    # Looking inside.

    def subformulas(self) -> Iterator[Formula]:
        """Every distinct subformula once, operands before the formulas that use them; the formula itself comes last.

        Example:
            >>> [str(f) for f in as_formula("a U (a & b)").subformulas()]
            ['a', 'b', 'a & b', 'a U (a & b)']
        """
        done: set[Formula] = set()
        stack: list[tuple[Formula, bool]] = [(self, False)]
        while stack:
            formula, operands_done = stack.pop()
            if operands_done:
                yield formula
            elif formula not in done:
                done.add(formula)
                stack.append((formula, True))
                stack.extend((arg, False) for arg in reversed(formula.args))

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

        def count(formula: Formula, sizes: tuple[int, ...]) -> int:
            return sum(sizes) + max(1, len(sizes) - 1)

        return self.fold(count)

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
    """A value that is the same everywhere: `true` (1), `false` (0), or a number between them."""

    __slots__ = ()
    params: tuple[float]

    def __init__(self, value: float) -> None:
        number = real_number("value", value)
        if not 0.0 <= number <= 1.0:
            raise FormulaError(f"A constant should be in [0, 1]. Received {value!r}.")
        self._set((), (number,))

    @property
    def value(self) -> float:
        """The value, in [0, 1]."""
        return self.params[0]

    @property
    def dual_params(self) -> tuple[object, ...]:
        """One minus the value."""
        return (one_minus(self.value),)


class Atom(Formula):
    """A named observation about one step: a degree in [0, 1], or for robustness a real number."""

    __slots__ = ()
    params: tuple[str]

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise FormulaError(f"An atom's name should be a non-empty string. Received {name!r}.")
        self._set((), (name,))

    @property
    def name(self) -> str:
        """The name, any text."""
        return self.params[0]


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


def number_text(value: float) -> str:
    """A number as it is written in a formula: the shortest text that reads back as it.

    Example:
        >>> number_text(0.9), number_text(1.0)
        ('0.9', '1')
    """
    return repr(value).removesuffix(".0")


def _build(kind: str, *args: object) -> Formula:
    """An operator by its name; operators are defined after what they are made of."""
    from rewardspec.logic import formulas

    built: Formula = getattr(formulas, kind)(*args)
    return built


def _from_nodes(nodes: list[Any]) -> Formula:
    built: list[Formula] = []
    for kind, args, params in nodes:
        built.append(kind(*(built[arg] for arg in args), *params))
    return built[-1]


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


TRUE = Constant(True)
FALSE = Constant(False)
