"""Expressions of register programs and of their heads: operations on labels, registers and constants.

Programs use lattice operations, affine maps and discounts. The constants 0 and 1 stand for the least and the largest
value of the program's semantics; `Program.semantics` says what they and the complement are in numbers. Heads compute
rewards with the other operations, on plain numbers. `rewardspec.machines.instructions` lists all operations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from rewardspec.logic.bottom_up import operands_first
from rewardspec.machines.instructions import INSTRUCTIONS

_LATTICE = ("min", "max")
_LONGEST_TEXT = 5_000  # characters: shared parts are written each time, so that text can be far longer than work
_LONGEST_SUM = 200  # terms: compilers recurse over them
_ROUNDING = 1e-15  # an offset below this is what rounding has left of none

T = TypeVar("T")


class Expression:
    """One node; compares by structure, and parts are shared.

    Attributes:
        op: What it computes: an instruction's name or, of a leaf, `"constant"`, `"label"`, `"complement"`,
            `"register"`, `"window"`, `"pushed"`, `"held"` or `"content"`; in a head also `"number"`, `"output"`,
            `"memory"` or `"input"`. The functions below make them.
        args: The operands and the parameters of an instruction; or what a leaf reads, such as a register's number.
        operands: The operand expressions; empty for leaves.
    """

    __slots__ = ("_hash", "args", "op", "operands")

    def __init__(self, op: str, args: tuple[Any, ...]) -> None:
        self.op = op
        self.args = args
        self._hash = hash((op, args))
        row = INSTRUCTIONS.get(op)
        self.operands: tuple[Expression, ...] = () if row is None else args[: len(args) - row.parameters]

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expression):
            return NotImplemented
        if self._hash != other._hash or self.op != other.op:
            return False
        if not self.operands:
            return self.args == other.args
        # Each pair at most once: parts are shared, so that a small expression can have very many paths.
        pairs = [(self, other)]
        seen: set[tuple[int, int]] = set()
        while pairs:
            left, right = pairs.pop()
            key = (id(left), id(right))
            if left is right or key in seen:
                continue
            seen.add(key)
            if left._hash != right._hash or left.op != right.op or len(left.args) != len(right.args):
                return False
            for one, another in zip(left.args, right.args, strict=True):
                if isinstance(one, Expression):
                    pairs.append((one, another))
                elif one != another:
                    return False
        return True

    def __reduce__(self) -> tuple[object, ...]:
        return Expression, (self.op, self.args)

    def __repr__(self) -> str:
        return self.to_string()

    @property
    def parameters(self) -> tuple[Any, ...]:
        """The arguments of an instruction that are not operands."""
        return self.args[len(self.operands) :]

    # Arithmetic of heads, from left to right.

    def __add__(self, other: Expression | float) -> Expression:
        return weighted_sum([*terms(self), (1.0, as_expression(other))])

    def __sub__(self, other: Expression | float) -> Expression:
        return weighted_sum([*terms(self), (-1.0, as_expression(other))])

    def __mul__(self, other: Expression | float) -> Expression:
        return Expression("product", (self, as_expression(other)))

    def __and__(self, other: Expression) -> Expression:
        return Expression("and", (self, other))

    def __or__(self, other: Expression) -> Expression:
        return Expression("or", (self, other))

    def parts(self) -> Iterator[Expression]:
        """Every distinct part once, operands first, the expression itself last."""
        return all_parts([self])

    def fold(self, combine: Callable[[Expression, tuple[T, ...]], T]) -> T:
        """Compute bottom-up: `combine(part, results of its operands)` for every distinct part."""
        return fold_all([self], combine)[self]

    def evaluate(
        self,
        leaf: Callable[[Expression], T],
        smallest: Callable[[T, T], T] = min,  # type: ignore[assignment]
        largest: Callable[[T, T], T] = max,  # type: ignore[assignment]
    ) -> T:
        """The value, given that of each leaf, one node at a time: for bounds, tests and tools."""
        values: list[T] = []
        for part, operands in _plan(self):
            args = [values[k] for k in operands]
            match part.op:
                case "min":
                    found = functools.reduce(smallest, args)
                case "max":
                    found = functools.reduce(largest, args)
                case "affine":
                    _, scale, offset = part.args
                    found = cast(T, scale * cast(Any, args[0]) + offset)
                case "discount":
                    x, weight = cast(Any, args)
                    found = cast(T, 1.0 - weight * (1.0 - x) if part.args[2] else weight * x)
                case _:
                    found = leaf(part)
            values.append(found)
        return values[-1]

    def to_string(
        self,
        registers: Mapping[int, str] | None = None,
        written: Mapping[Expression, str] | None = None,
        windows: Mapping[int, str] | None = None,
    ) -> str:
        """The expression as people write it, with `…` for the operands of a part that takes thousands of characters.

        The text is the same for degrees and for robustness: a complement is written as a negation, `!a`, and the least
        and the largest value as `false` and `true`. `written` has the text of some parts, such as these. Registers and
        windows without a name are `r0`, `w0` and so on.

        Example:
            >>> maximum(label("b"), minimum(register(0), complement("a"))).to_string({0: "v"})
            'max(b, min(v, !a))'
        """

        def write(part: Expression, args: tuple[str, ...]) -> str:
            if written and part in written:
                return written[part]
            match part.op:
                case "constant":
                    return {0.0: "false", 1.0: "true"}.get(part.args[0], f"{part.args[0]:g}")
                case "label":
                    return str(part.args[0])
                case "complement":
                    return f"!{part.args[0]}"
                case "register":
                    return (registers or {}).get(part.args[0], f"r{part.args[0]}")
                case "window" | "pushed" | "held" | "content":
                    name = (windows or {}).get(part.args[0], f"w{part.args[0]}")
                    return {
                        "window": name,
                        "pushed": f"{name}′",
                        "held": f"{'min' if part.args[-1] else 'max'}({name})",
                        "content": f"{name}[{part.args[-1]}]",
                    }[part.op]
                case "number" | "output" | "memory" | "input":
                    return "".join(map(str, part.args)) if part.op != "output" else f"o{part.args[0]}"
            words = INSTRUCTIONS[part.op].words
            if words is not None:
                return words(*args, *part.parameters)
            text = f"{part.op}({', '.join([*args, *map(str, part.parameters)])})"
            return text if len(text) <= _LONGEST_TEXT else f"{part.op}(…)"

        return self.fold(write)


def all_parts(expressions: Iterable[Expression], known: Container[Expression] = ()) -> Iterator[Expression]:
    """Every distinct part of several expressions once, operands first; without those that are known, and theirs."""
    return operands_first(expressions, lambda part: part.operands, known)


@functools.lru_cache(maxsize=128)
def _plan(expression: Expression) -> list[tuple[Expression, tuple[int, ...]]]:
    """The parts of an expression that is evaluated again and again, each with the places of its operands."""
    places: dict[Expression, int] = {}
    plan: list[tuple[Expression, tuple[int, ...]]] = []
    for part in expression.parts():
        places[part] = len(plan)
        plan.append((part, tuple(places[arg] for arg in part.operands)))
    return plan


def fold_all(
    expressions: Iterable[Expression], combine: Callable[[Expression, tuple[T, ...]], T]
) -> dict[Expression, T]:
    """The results of `Expression.fold` for every part of several expressions, which compute what they share once."""
    results: dict[Expression, T] = {}
    for part in all_parts(expressions):
        results[part] = combine(part, tuple(results[arg] for arg in part.operands))
    return results


ZERO = Expression("constant", (0.0,))
ONE = Expression("constant", (1.0,))


def constant(value: float) -> Expression:
    """A constant in [0, 1]."""
    return Expression("constant", (float(value),))


def label(atom: str) -> Expression:
    """The label of an atom."""
    return Expression("label", (atom,))


def complement(atom: str) -> Expression:
    """The complement of an atom's label: one minus it, or its negative as robustness."""
    return Expression("complement", (atom,))


def register(number: int) -> Expression:
    """The value of a register before the step."""
    return Expression("register", (number,))


def window(number: int) -> Expression:
    """The extremum over a window before the step."""
    return Expression("window", (number,))


def pushed(number: int) -> Expression:
    """The extremum over a window after the step."""
    return Expression("pushed", (number,))


def held(number: int, least: bool = False) -> Expression:
    """The largest value that a window holds, or the least."""
    return Expression("held", (number, least))


def content(number: int, place: int) -> Expression:
    """One of the values that a window holds, by its place, oldest first."""
    return Expression("content", (number, place))


def affine(arg: Expression, scale: float, offset: float) -> Expression:
    """`scale * arg + offset`, an increasing map of [0, 1] into itself."""
    if (scale, offset) == (1.0, 0.0):
        return arg
    if arg.op == "constant":
        return constant(scale * arg.args[0] + offset)
    if arg.op in _LATTICE:  # an increasing map commutes with min and max
        operation = minimum if arg.op == "min" else maximum
        return operation(*(affine(inner, scale, offset) for inner in arg.args))
    if arg.op == "affine":
        inner, inner_scale, inner_offset = arg.args
        return affine(inner, scale * inner_scale, scale * inner_offset + offset)
    return Expression("affine", (arg, scale, offset))


def discount(arg: Expression, weight: Expression, raised: bool) -> Expression:
    """`weight * arg`, where a register holds the weight; or, raised, one minus the same of one minus `arg`."""
    return Expression("discount", (arg, weight, raised))


def minimum(*args: Expression) -> Expression:
    """The smallest argument."""
    return _lattice("min", args, neutral=ONE, absorbing=ZERO)


def maximum(*args: Expression) -> Expression:
    """The largest argument."""
    return _lattice("max", args, neutral=ZERO, absorbing=ONE)


def _lattice(op: str, args: tuple[Expression, ...], neutral: Expression, absorbing: Expression) -> Expression:
    flat: dict[Expression, None] = {}
    for arg in args:
        flat.update(dict.fromkeys(arg.args if arg.op == op else (arg,)))
    flat.pop(neutral, None)
    if absorbing in flat:
        return absorbing
    if not flat:
        return neutral
    # Absorption: the maximum of x and of a minimum that contains x is x, and the other way round.
    kept = [arg for arg in flat if arg.op not in _LATTICE or not any(inner in flat for inner in arg.args)]
    constants = [arg for arg in kept if arg.op == "constant"]
    if len(constants) > 1:
        best = (min if op == "min" else max)(constants, key=lambda arg: cast(float, arg.args[0]))
        kept = [arg for arg in kept if arg.op != "constant" or arg == best]
    return kept[0] if len(kept) == 1 else Expression(op, tuple(kept))


def dual(expression: Expression) -> Expression:
    """The complement of the value, in terms of the complements of registers and windows."""
    return expression.fold(dual_part)


def dual_part(part: Expression, args: tuple[Expression, ...]) -> Expression:
    """The dual of an expression, given the duals of its operands."""
    match part.op:
        case "constant":
            return constant(1.0 - part.args[0])
        case "label":
            return complement(part.args[0])
        case "complement":
            return label(part.args[0])
        case "min":
            return maximum(*args)
        case "max":
            return minimum(*args)
        case "affine":
            _, scale, offset = part.args
            left = 1.0 - scale - offset
            return affine(args[0], scale, left if left > _ROUNDING else 0.0)
        case "held":
            return held(part.args[0], not part.args[1])
        case "discount":
            return discount(args[0], part.args[1], not part.args[2])  # the weight is none of the values
    return part


def substitute(expression: Expression, values: Mapping[Expression, Expression]) -> Expression:
    """The expression with some leaves replaced."""
    return Substitution(values)(expression)


class Substitution:
    """The replacement of some leaves in many expressions, which computes what they share once."""

    def __init__(self, values: Mapping[Expression, Expression]) -> None:
        self._values = values
        self._done: dict[Expression, Expression] = {}

    def __call__(self, expression: Expression) -> Expression:
        """The expression with the leaves replaced."""
        done = self._done
        for part in all_parts([expression], known=done):
            done[part] = self._values.get(part) or _with_operands(part, tuple(done[arg] for arg in part.operands))
        return done[expression]


def _with_operands(part: Expression, args: tuple[Expression, ...]) -> Expression:
    """The same operation on other operands."""
    if not args:
        return part
    match part.op:
        case "min":
            return minimum(*args)
        case "max":
            return maximum(*args)
        case "affine":
            return affine(args[0], *part.parameters)
    return Expression(part.op, (*args, *part.parameters))


# What heads are made of: plain numbers, and operations on them.


def number(value: float) -> Expression:
    """A plain number."""
    return Expression("number", (float(value),))


def as_expression(value: Expression | float) -> Expression:
    """A number as an expression; an expression as it is."""
    return value if isinstance(value, Expression) else number(value)


def terms(expression: Expression) -> list[tuple[float, Expression]]:
    """The weights and terms of a sum, or the expression with weight 1."""
    if expression.op != "sum":
        return [(1.0, expression)]
    return list(zip(expression.args[-1], expression.operands, strict=True))


def weighted_sum(weighted: Iterable[tuple[float, Expression]]) -> Expression:
    """The sum of weights times expressions, from left to right; terms of weight 0 do not count."""
    kept = [(weight, term) for weight, term in weighted if weight != 0.0]
    if [weight for weight, _ in kept] == [1.0]:
        return kept[0][1]
    while len(kept) > _LONGEST_SUM:
        kept = [(1.0, weighted_sum(kept[:_LONGEST_SUM])), *kept[_LONGEST_SUM:]]
    return Expression("sum", (*(t for _, t in kept), tuple(w for w, _ in kept))) if kept else number(0.0)


def mean(values: Sequence[Expression]) -> Expression:
    """The mean of expressions, summed from left to right."""
    total = weighted_sum((1.0, value) for value in values)
    return total if len(values) == 1 else Expression("quotient", (total, float(len(values))))


def where(condition: Expression, value: Expression | float, otherwise: Expression | float) -> Expression:
    """`value` where the condition holds, else `otherwise`."""
    return Expression("where", (condition, as_expression(value), as_expression(otherwise)))


def override(condition: Expression, value: Expression | float, otherwise: Expression | float) -> Expression:
    """`value` where the condition holds, else `otherwise`, as it is in most steps for a whole batch."""
    return Expression("override", (condition, as_expression(value), as_expression(otherwise)))


def less(left: Expression | float, right: Expression | float) -> Expression:
    """A test whether the left is less than the right."""
    return Expression("less", (as_expression(left), as_expression(right)))
