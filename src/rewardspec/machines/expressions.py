"""Expressions of register programs: minima and maxima of labels, their complements, registers and constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

Op: TypeAlias = Literal["constant", "label", "complement", "register", "min", "max"]
_LEAVES = ("constant", "label", "complement", "register")


class Expression:
    """One node; compares by structure, and parts are shared.

    Attributes:
        op: What it computes: a constant, the label of an atom, one minus that label, a register's value before the
            step, or the min or max of its arguments.
        args: `(value,)`, `(atom,)`, `(register number,)`, or the argument expressions.
    """

    __slots__ = ("_hash", "args", "op")

    def __init__(self, op: Op, args: tuple[Any, ...]) -> None:
        self.op = op
        self.args = args
        self._hash = hash((op, args))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expression):
            return NotImplemented
        return self._hash == other._hash and self.op == other.op and self.args == other.args

    def __repr__(self) -> str:
        return self.to_string()

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The argument expressions; empty for leaves."""
        return self.args if self.op in ("min", "max") else ()

    def parts(self) -> Iterator[Expression]:
        """Every distinct part once, arguments first, the expression itself last."""
        return all_parts([self])

    def fold(self, combine: Callable[[Expression, tuple[Any, ...]], Any]) -> Any:
        """Compute bottom-up: `combine(part, results of its operands)` for every distinct part."""
        results: dict[Expression, Any] = {}
        for part in self.parts():
            results[part] = combine(part, tuple(results[arg] for arg in part.operands))
        return results[self]

    def to_string(
        self, registers: Mapping[int, str] | None = None, written: Mapping[Expression, str] | None = None
    ) -> str:
        """The expression as people write it.

        Args:
            registers: Names of the registers; `r0`, `r1` … where absent.
            written: Parts that have a name already.

        Example:
            >>> maximum(label("b"), minimum(register(0), complement("a"))).to_string({0: "v"})
            'max(b, min(v, 1 - a))'
        """

        def write(part: Expression, args: tuple[str, ...]) -> str:
            if written and part in written:
                return written[part]
            match part.op:
                case "constant":
                    return f"{part.args[0]:g}"
                case "label":
                    return str(part.args[0])
                case "complement":
                    return f"1 - {part.args[0]}"
                case "register":
                    return (registers or {}).get(part.args[0], f"r{part.args[0]}")
            return f"{part.op}({', '.join(args)})"

        return str(self.fold(write))

    def evaluate(self, labels: Mapping[str, float], registers: Mapping[int, float]) -> float:
        """The value, one node at a time: slow and plain, for tests and tools."""

        def value(part: Expression, args: tuple[float, ...]) -> float:
            match part.op:
                case "constant":
                    return float(part.args[0])
                case "label":
                    return labels[part.args[0]]
                case "complement":
                    return 1.0 - labels[part.args[0]]
                case "register":
                    return registers[part.args[0]]
                case "min":
                    return min(args)
            return max(args)

        return float(self.fold(value))


def all_parts(expressions: Iterable[Expression]) -> Iterator[Expression]:
    """Every distinct part of several expressions once, arguments first."""
    done: set[Expression] = set()
    stack = [(expression, False) for expression in reversed(list(expressions))]
    while stack:
        part, operands_done = stack.pop()
        if operands_done:
            yield part
        elif part not in done:
            done.add(part)
            stack.append((part, True))
            stack.extend((arg, False) for arg in reversed(part.operands))


ZERO = Expression("constant", (0.0,))
ONE = Expression("constant", (1.0,))


def constant(value: float) -> Expression:
    """A constant in [0, 1]."""
    return Expression("constant", (float(value),))


def label(atom: str) -> Expression:
    """The label of an atom."""
    return Expression("label", (atom,))


def complement(atom: str) -> Expression:
    """One minus the label of an atom."""
    return Expression("complement", (atom,))


def register(number: int) -> Expression:
    """The value of a register before the step."""
    return Expression("register", (number,))


def minimum(*args: Expression) -> Expression:
    """The smallest argument."""
    return _lattice("min", args, neutral=ONE, absorbing=ZERO)


def maximum(*args: Expression) -> Expression:
    """The largest argument."""
    return _lattice("max", args, neutral=ZERO, absorbing=ONE)


def _lattice(op: Op, args: tuple[Expression, ...], neutral: Expression, absorbing: Expression) -> Expression:
    flat: dict[Expression, None] = {}
    for arg in args:
        flat.update(dict.fromkeys(arg.args if arg.op == op else (arg,)))
    flat.pop(neutral, None)
    if absorbing in flat:
        return absorbing
    if not flat:
        return neutral
    # Absorption: the maximum of x and of a minimum that contains x is x, and the other way round.
    kept = [arg for arg in flat if arg.op in _LEAVES or not any(inner in flat for inner in arg.args)]
    return kept[0] if len(kept) == 1 else Expression(op, tuple(kept))


def dual(expression: Expression) -> Expression:
    """The expression for one minus the value, in terms of one minus the registers."""

    def swap(part: Expression, args: tuple[Expression, ...]) -> Expression:
        match part.op:
            case "constant":
                return Expression("constant", (1.0 - part.args[0],))
            case "label":
                return complement(part.args[0])
            case "complement":
                return label(part.args[0])
            case "min":
                return maximum(*args)
            case "max":
                return minimum(*args)
        return part

    return expression.fold(swap)  # type: ignore[no-any-return]


def substitute(expression: Expression, values: Mapping[Expression, Expression]) -> Expression:
    """The expression with some leaves replaced."""

    def put(part: Expression, args: tuple[Expression, ...]) -> Expression:
        if part in values:
            return values[part]
        if part.op == "min":
            return minimum(*args)
        return maximum(*args) if part.op == "max" else part

    return expression.fold(put)  # type: ignore[no-any-return]
