"""Heads: the last stage of a step, from a program's outputs to its result, as expressions.

A head remembers some numbers between steps, beyond the program's registers and windows, and says what a step returns.
`VALUE_HEAD` is the head of a monitor: it returns the value and remembers it. `rewardspec.spec.veto_and_reward` has the
head of a spec, which pays.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.instructions import INSTRUCTIONS

Memory: TypeAlias = "float | tuple[float, ...]"


class Field(NamedTuple):
    """Something that a head remembers: a number, or several as a tuple.

    Attributes:
        name: Its name in exported code.
        about: What it is, for people who read exported code.
        initial: The number or numbers before the first letter.
        after: The number or numbers after a step.
    """

    name: str
    about: str
    initial: Memory
    after: Expression | tuple[Expression, ...]

    def items(self) -> list[tuple[str, int | None, Expression]]:
        """For each number the variable of the new one, its index where there are several, and the expression."""
        if isinstance(self.after, Expression):
            return [(self.name, None, self.after)]
        return [(f"{self.name}{k}", k, after) for k, after in enumerate(self.after)]


@dataclass(frozen=True)
class Head:
    """The last stage of a step: expressions of the program's outputs.

    Attributes:
        fields: What is remembered.
        result: What a step returns: a number, or several as a tuple.
        inputs: Arguments of a step beyond state and labels: their names and defaults.
    """

    fields: tuple[Field, ...]
    result: Expression | tuple[Expression, ...]
    inputs: tuple[tuple[str, float | bool], ...] = ()

    @property
    def memory(self) -> tuple[Memory, ...]:
        """The numbers remembered before the first letter."""
        return tuple(field.initial for field in self.fields)

    @property
    def results(self) -> tuple[Expression, ...]:
        """The result, or all of several."""
        return (self.result,) if isinstance(self.result, Expression) else self.result

    def expressions(self) -> Iterator[Expression]:
        """Everything that a step computes."""
        for field in self.fields:
            yield from (after for _, _, after in field.items())
        yield from self.results

    @functools.cached_property
    def parts(self) -> frozenset[Expression]:
        """Every part of these expressions."""
        return frozenset(all_parts(self.expressions()))

    def nested(self, *, tests: bool) -> set[Expression]:
        """The operations whose code stands where their results are used, because that is in one place.

        With `tests` all Boolean operations are nested: they cost next to nothing for one trace.
        """
        everything = list(self.expressions())
        uses: Counter[Expression] = Counter(everything)
        repeated: set[Expression] = set()
        for part in self.parts:
            uses.update(part.operands)
            if part.operands and INSTRUCTIONS[part.op].repeats:
                repeated.update(part.operands)
        rows = {part: INSTRUCTIONS[part.op] for part in uses if part.operands and part not in repeated}
        return {
            part
            for part, row in rows.items()
            if not row.folds and (uses[part] == 1 or (tests and row.is_boolean))  # what folds takes a line for two
        }

    def variables(self) -> dict[Expression, str]:
        """Names for the variables that hold what is remembered."""
        return {after: name for field in self.fields for name, _, after in field.items() if after.operands}


def output(number: int) -> Expression:
    """An output of the program."""
    return Expression("output", (number,))


def memory(field: str, index: int | None = None) -> Expression:
    """The number that a field holds before the step, or one of its numbers."""
    return Expression("memory", (field, index))


def given(name: str) -> Expression:
    """An input: an argument of the step."""
    return Expression("input", (name,))


def before(part: Expression) -> str:
    """The variable that holds a number of the memory before the step."""
    field, index = part.args
    return f"{field}{'' if index is None else index}_before"


VALUE_HEAD = Head(
    (Field("value", "of the formula on the trace so far; NaN before the first labels", float("nan"), output(0)),),
    output(0),
)
