"""The table of instructions: every operation of an expression, and how each language writes it.

Synthesis makes minima, maxima, affine maps and discounts. A head (see `rewardspec.machines.heads`) turns their results
into rewards with the others. The printers of Python, arrays, C and JavaScript read this table, so that a new
instruction is a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Writer: TypeAlias = Callable[..., str]


@dataclass(frozen=True, slots=True)
class Instruction:
    """A row of the table. Writers get the text of each operand, then the parameters.

    Attributes:
        python: Python code for one trace.
        arrays: Python code for a batch, with `xp` for the array library. One that folds gets a third text, which tells
            NumPy where to write the result.
        c: C code; also JavaScript, unless `js` is given.
        js: JavaScript code, where it differs.
        words: Text for people; None for a call by the instruction's name.
        parameters: How many of its arguments, the last ones, are no operands.
        folds: Whether it takes any number of operands, two at a time from left to right.
        repeats: Whether code for one trace mentions an operand more than once.
        is_boolean: Whether its result is true or false.
        anywhere: Python code that tells quickly whether the result is true anywhere in a NumPy batch, or may be; None
            where the result itself has to be looked at.
    """

    python: Writer
    arrays: Writer
    c: Writer
    js: Writer | None = None
    words: Writer | None = None
    parameters: int = 0
    folds: bool = False
    repeats: bool = False
    is_boolean: bool = False
    anywhere: Writer | None = None


def _alike(write: Writer, words: Writer | None = None, parameters: int = 0, is_boolean: bool = False) -> Instruction:
    """An instruction that all languages write alike."""
    return Instruction(write, write, write, words=words, parameters=parameters, is_boolean=is_boolean)


def _discount(x: str, weight: str, raised: bool) -> str:
    return f"1.0 - {weight} * (1.0 - {x})" if raised else f"{weight} * {x}"


def _discount_in_words(x: str, weight: str, raised: bool) -> str:
    return f"1 - {weight}·(1 - {x})" if raised else f"{weight}·{x}"


def _affine_in_words(x: str, scale: float, offset: float) -> str:
    return f"{scale:g}·{x}{f' + {offset:g}' if offset else ''}"


def _sum(*arguments: Any) -> str:
    *terms, weights = arguments
    text = ""
    for term, weight in zip(terms, weights, strict=True):
        if weight == -1.0:
            text += f" - {term}" if text else f"-({term})"
        else:
            text += f"{' + ' if text else ''}{'' if weight == 1.0 else f'{weight!r} * '}{term}"
    return text


INSTRUCTIONS: dict[str, Instruction] = {
    "min": Instruction(
        python="{0} if {0} < {1} else {1}".format,
        arrays="minimum({0}, {1}{2})".format,
        c="{0} < {1} ? {0} : {1}".format,
        folds=True,
        repeats=True,
    ),
    "max": Instruction(
        python="{0} if {0} > {1} else {1}".format,
        arrays="maximum({0}, {1}{2})".format,
        c="{0} > {1} ? {0} : {1}".format,
        folds=True,
        repeats=True,
    ),
    # An increasing map.
    "affine": _alike("{1!r} * {0} + {2!r}".format, _affine_in_words, parameters=2),
    "discount": _alike(_discount, _discount_in_words, parameters=1),
    # The sum of operands times their weights, from left to right.
    "sum": _alike(_sum, parameters=1),
    "product": _alike("{0} * {1}".format),
    # Divided by a number, as a mean is.
    "quotient": _alike("{0} / {1!r}".format, "{0} / {1:g}".format, parameters=1),
    "clip": Instruction(
        python="{1!r} if {0} < {1!r} else {2!r} if {0} > {2!r} else {0}".format,
        arrays="xp.clip({0}, {1!r}, {2!r})".format,
        c="{0} < {1!r} ? {1!r} : {0} > {2!r} ? {2!r} : {0}".format,
        parameters=2,
        repeats=True,
    ),
    "where": Instruction(
        python="{1} if {0} else {2}".format,
        arrays="where({0}, {1}, {2})".format,
        c="{0} ? {1} : {2}".format,
    ),
    # The same, where the condition seldom holds anywhere in a batch.
    "override": Instruction(
        python="{1} if {0} else {2}".format,
        arrays="where({0}, {1}, {2})".format,
        c="{0} ? {1} : {2}".format,
    ),
    "less": _alike("{0} < {1}".format, is_boolean=True),
    # Whether a degree is 0. Zeros are counted more quickly than they are compared.
    "zero": Instruction(
        python="{0} <= 0.0".format,
        arrays="{0} <= 0.0".format,
        c="{0} <= 0.0".format,
        is_boolean=True,
        anywhere="count_nonzero({0}) < {0}.size".format,
    ),
    # Of numbers that may be infinite, but not minus infinity.
    "finite": Instruction(
        python="{0} != inf".format,
        arrays="xp.isfinite({0})".format,
        c="isfinite({0})".format,
        js="Number.isFinite({0})".format,
        is_boolean=True,
    ),
    "and": Instruction("{0} and {1}".format, "{0} & {1}".format, "{0} && {1}".format, is_boolean=True),
    "or": Instruction("{0} or {1}".format, "{0} | {1}".format, "{0} || {1}".format, is_boolean=True),
}
