"""The part of a printer that all languages share: code that computes each of several expressions once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.instructions import INSTRUCTIONS, Instruction, Writer
from rewardspec.machines.program import Program

_LONGEST_NESTED = 1_000  # characters: compilers recurse over what stands in one expression


class Code:
    """Lines that compute expressions, and where each result is. A printer says how its language writes them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.place: dict[Expression, str] = {}  # for each part computed so far, its variable or its code

    def compute(
        self,
        expressions: Iterable[Expression],
        nested: Collection[Expression] = (),
        names: Mapping[Expression, str] | None = None,
    ) -> list[str]:
        """Lines for some more expressions.

        Parts that are `nested` get no variable: their code stands where it is used. The variables of others are
        numbered, unless `names` has them.
        """
        lines: list[str] = []
        for part in all_parts(expressions, known=self.place):
            name = (names or {}).get(part) or f"t{len(self.place)}"
            if not part.operands:
                self.place[part], found = self.leaf(part, name)
                lines += found
                continue
            operands = [self.place[arg] for arg in part.operands]
            if part in nested and self.nests(part):
                text = self.text(part, operands)
                if len(text) <= _LONGEST_NESTED:
                    self.place[part] = f"({text})"
                    continue
            lines += self.lines_of(part, operands, name)
            self.place[part] = name
        return lines

    def text(self, part: Expression, operands: Sequence[str]) -> str:
        """The code of an operation."""
        return self.writer(INSTRUCTIONS[part.op])(*operands, *part.parameters)

    def lines_of(self, part: Expression, operands: Sequence[str], name: str) -> list[str]:
        """Lines that leave the result of an operation in a variable."""
        if INSTRUCTIONS[part.op].folds:
            return self.fold(part, operands, name)
        return [self.assign(name, self.text(part, operands))]

    # What languages write differently.

    def writer(self, row: Instruction) -> Writer:
        """The column of the table of instructions."""
        raise NotImplementedError

    def leaf(self, part: Expression, name: str) -> tuple[str, list[str]]:
        """Return the place of a leaf's value, and lines that put it there, into `name` or a variable of its own."""
        raise NotImplementedError

    def fold(self, part: Expression, operands: Sequence[str], name: str) -> list[str]:
        """Lines for an instruction that takes its operands two at a time."""
        raise NotImplementedError

    def nests(self, part: Expression) -> bool:
        """Return whether code of an operation can stand inside another expression."""
        return True

    def assign(self, name: str, text: str) -> str:
        """A line that gives a variable its value."""
        return f"{name} = {text}"
