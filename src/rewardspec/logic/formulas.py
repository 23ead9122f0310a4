"""Formulas: immutable values that say what should happen in an episode.

A formula is a constant, an atom, or an operator applied to formulas.  Formulas compare by structure, can be dictionary
keys, and are built by parsing, with Python's operators, or with the classes below:

    >>> Always(Atom("request") >> Eventually("grant"))
    parse('G(request -> F grant)')

`&` and `|` take any number of arguments and flatten, so `a & (b & c)` and `(a & b) & c` are one formula.

No function here recurses over a formula: nesting is limited by memory, not by Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeAlias, cast

from rewardspec.errors import FormulaError

FormulaLike: TypeAlias = "Formula | str | bool"


class Formula:
    """Base class of all formulas.

    Attributes:
        args: The operands, outermost first; empty for constants and atoms.
    """

    __slots__ = ("__weakref__", "_hash", "args")

    args: tuple[Formula, ...]
    _hash: int

    symbol: ClassVar[str] = ""
    arity: ClassVar[int | None] = 0

    def __init__(self, *args: FormulaLike) -> None:
        operands = tuple(as_formula(arg) for arg in args)
        if self.arity is not None and len(operands) != self.arity:
            raise FormulaError(f"{type(self).__name__} takes {self.arity} formula(s). Received {len(operands)}.")
        self._set(operands, hash((type(self).__name__, operands)))

    def _set(self, args: tuple[Formula, ...], hash_value: int) -> None:
        object.__setattr__(self, "args", args)
        object.__setattr__(self, "_hash", hash_value)

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
        return type(self) is type(other) and len(self.args) == len(other.args)

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
            leaf = part.name if isinstance(part, Atom) else part.value if isinstance(part, Constant) else None
            nodes.append((type(part), leaf, [numbers[arg] for arg in part.args]))
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

    # Looking inside.

    def subformulas(self) -> Iterator[Formula]:
        """Every distinct subformula once, operands before the formulas that use them; the formula itself comes last.

        Example:
            >>> [str(f) for f in Until("a", And("a", "b")).subformulas()]
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

    def fold(self, combine: Callable[[Formula, tuple[Any, ...]], Any]) -> Any:
        """Compute bottom-up: `combine(formula, results of its operands)` for every distinct subformula.

        Example:
            >>> Until("a", Next("b")).fold(lambda f, heights: 1 + max(heights, default=0))
            3
        """
        results: dict[Formula, Any] = {}
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
        return cast(int, self.fold(lambda f, sizes: sum(sizes) + max(1, len(sizes) - 1)))

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
    """`true` or `false`; use the instances `TRUE` and `FALSE`."""

    __slots__ = ("value",)
    value: bool

    def __init__(self, value: bool) -> None:
        object.__setattr__(self, "value", bool(value))
        self._set((), hash(("Constant", self.value)))

    def _same_node(self, other: Formula) -> bool:
        return isinstance(other, Constant) and self.value == other.value


class Atom(Formula):
    """A named observation about one step, with a value in [0, 1]."""

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise FormulaError(f"An atom's name should be a non-empty string. Received {name!r}.")
        object.__setattr__(self, "name", name)
        self._set((), hash(("Atom", name)))

    def _same_node(self, other: Formula) -> bool:
        return isinstance(other, Atom) and self.name == other.name


class Unary(Formula):
    """An operator with one operand."""

    __slots__ = ()
    arity = 1

    @property
    def arg(self) -> Formula:
        """The operand."""
        return self.args[0]


class Binary(Formula):
    """An operator with two operands."""

    __slots__ = ()
    arity = 2

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
    arity = None

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
        self._set(tuple(operands), hash((type(self).__name__, tuple(operands))))


class Not(Unary):
    """`!φ`: one minus the value."""

    __slots__ = ()
    symbol = "!"


class Next(Unary):
    """`X φ`, strong next: the value at the next step, 0 at the last."""

    __slots__ = ()
    symbol = "X"


class WeakNext(Unary):
    """`WX φ`, weak next: the value at the next step, 1 at the last."""

    __slots__ = ()
    symbol = "WX"


class Eventually(Unary):
    """`F φ`: the largest value from now on."""

    __slots__ = ()
    symbol = "F"


class Always(Unary):
    """`G φ`: the smallest value from now on."""

    __slots__ = ()
    symbol = "G"


class And(Nary):
    """`φ & ψ`: the smaller value."""

    __slots__ = ()
    symbol = "&"


class Or(Nary):
    """`φ | ψ`: the larger value."""

    __slots__ = ()
    symbol = "|"


class Implies(Binary):
    """`φ -> ψ`, that is `!φ | ψ`."""

    __slots__ = ()
    symbol = "->"


class Iff(Binary):
    """`φ <-> ψ`, that is `(φ -> ψ) & (ψ -> φ)`."""

    __slots__ = ()
    symbol = "<->"


class Xor(Binary):
    """`φ ^ ψ`, that is `!(φ <-> ψ)`."""

    __slots__ = ()
    symbol = "^"


class Until(Binary):
    """`φ U ψ`: ψ comes, and φ holds until then."""

    __slots__ = ()
    symbol = "U"


class Release(Binary):
    """`φ R ψ`: ψ holds up to and including the step where φ does, or for ever."""

    __slots__ = ()
    symbol = "R"


class WeakUntil(Binary):
    """`φ W ψ`: `(φ U ψ) | G φ`."""

    __slots__ = ()
    symbol = "W"


class StrongRelease(Binary):
    """`φ M ψ`: `(φ R ψ) & F φ`."""

    __slots__ = ()
    symbol = "M"


TRUE = Constant(True)
FALSE = Constant(False)


def _from_nodes(nodes: list[Any]) -> Formula:
    built: list[Formula] = []
    for kind, leaf, args in nodes:
        built.append(kind(leaf) if leaf is not None else kind(*(built[arg] for arg in args)))
    return built[-1]


def as_formula(value: FormulaLike) -> Formula:
    """A formula as it is, a string parsed, a bool as a constant.

    Example:
        >>> as_formula("F goal") == Eventually(Atom("goal"))
        True
    """
    if isinstance(value, Formula):
        return value
    if isinstance(value, str):
        from rewardspec.logic.parsing import parse

        return parse(value)
    if isinstance(value, bool):
        return TRUE if value else FALSE
    raise FormulaError(f"Expected a formula or its text. Received {value!r} of type {type(value).__name__}.")


LAST = WeakNext(FALSE)
