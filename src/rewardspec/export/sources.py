"""The source of an export, and the statements that C and JavaScript write alike.

Both languages have the same expressions, `a < b ? a : b`; they differ in declarations, in infinities, and in how a
state is held. Every minimum and maximum is decided as the Python step decides it, ties included.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewardspec.errors import Error, SpecError, SynthesisError
from rewardspec.machines.bounds import Bounds
from rewardspec.machines.code import Code
from rewardspec.machines.expressions import Expression, all_parts, label
from rewardspec.machines.heads import VALUE_HEAD, Head, before, output
from rewardspec.machines.program import Program, Step
from rewardspec.spec.sorts import ONE_EPISODE

if TYPE_CHECKING:
    from rewardspec.machines.monitor import Monitor
    from rewardspec.spec.spec import Spec

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
_RESERVED = re.compile(
    "arguments|await|break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|eval|export|extends|"
    "false|finally|for|function|if|implements|import|in|instanceof|interface|let|new|null|package|private|protected|"
    "public|return|static|super|switch|this|throw|true|try|typeof|undefined|var|void|while|with|yield"
)


@dataclass(frozen=True)
class Source:
    """A monitor or a spec, ready to be printed.

    Attributes:
        name: What the code is called.
        head: What becomes of the program's outputs.
        lower: For each control state the smallest value that going on can lead to; None where that is not known.
        upper: Likewise the largest.
        progress: Likewise the progress of a monitor.
    """

    name: str
    formulas: tuple[str, ...]
    program: Program
    head: Head = VALUE_HEAD
    lower: tuple[Expression, ...] | None = None
    upper: tuple[Expression, ...] | None = None
    progress: tuple[Expression, ...] | None = None

    @property
    def is_spec(self) -> bool:
        """Return whether a step pays, and takes what a reward depends on."""
        return bool(self.head.inputs)

    def read_later(self) -> list[Expression]:
        """The expressions that are computed from a state alone."""
        return [part for table in (self.lower, self.upper, self.progress) for part in table or ()]

    @staticmethod
    def looked_into(expressions: Iterable[Expression]) -> list[int]:
        """The windows whose single values are read."""
        return sorted({part.args[0] for part in all_parts(expressions) if part.op == "content"})


def source_of_monitor(monitor: Monitor, name: str) -> Source:
    """A monitor with its bounds and its progress, where these are found."""
    lower = upper = progress = None
    with contextlib.suppress(SynthesisError):  # where they take too long to find
        bounds = Bounds(monitor.program)
        lower, upper = bounds.lower, bounds.upper
    with contextlib.suppress(SynthesisError):  # where it needs registers that the value does not
        progress = monitor.progress_expressions if monitor.semantics == "degree" else None
    return Source(checked_name(name), (str(monitor.formula),), monitor.program, VALUE_HEAD, lower, upper, progress)


def source_of_spec(spec: Spec, name: str) -> Source:
    """A spec with the head that pays; none about a sort of names, which appear while an episode runs."""
    if spec.axes.named:
        raise SpecError(ONE_EPISODE)
    return Source(
        checked_name(name),
        tuple(map(str, spec.formulas)),
        spec.program,
        spec.machine.head.without_things(len(spec.pairs)),
    )


def checked_name(name: str) -> str:
    """The name, or an Error if identifiers of C and JavaScript cannot start with it."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or _RESERVED.fullmatch(name):
        raise Error(
            "`name` becomes a part of identifiers: a letter, then letters, digits and underscores, at most 40 in all, "
            f"and no keyword. Received {name!r}."
        )
    return name


def held_variable(window: int, least: bool) -> str:
    """The variable for the least, or the largest, value that a window holds; one expression may read both."""
    return f"{'least' if least else 'largest'}{window}"


class Statements(Code):
    """Statements of C or JavaScript, in which every variable is a constant.

    Of equal operands a minimum or a maximum gives the last or, as where bounds are computed in Python, the first. Only
    the sign of a zero tells them apart.
    """

    declaration: str

    def __init__(self, source: Source, *, first_of_equals: bool = False) -> None:
        super().__init__(source.program)
        self.source = source
        self._first_of_equals = first_of_equals

    def head(self, step: Step) -> list[str]:
        """Statements that compute what the head remembers and gives."""
        head = self.source.head
        self.place |= {output(k): self.place[expression] for k, expression in enumerate(step.outputs)}
        return self.compute(head.expressions(), head.nested(tests=True), head.variables())

    def assign(self, name: str, text: str) -> str:
        """A statement that declares a constant."""
        return f"{self.declaration} {name} = {text};"

    def fold(self, part: Expression, operands: Sequence[str], name: str) -> list[str]:
        """Statements with a constant for each two operands."""
        lines, so_far = [], operands[0]
        for count, other in enumerate(operands[1:], start=1):
            result = name if count == len(operands) - 1 else f"{name}_{count}"
            # As in Python: `a if a < b else b` first, then `c if c < result else result`.
            pair = (so_far, other) if count == 1 and not self._first_of_equals else (other, so_far)
            lines.append(self.assign(result, self.text(part, pair)))
            so_far = result
        return lines

    def leaf(self, part: Expression, name: str) -> tuple[str, list[str]]:
        """The constant that holds a leaf, and the statements that declare it."""
        match part.op:
            case "constant":
                return self.number(self.program.number(part.args[0])), []
            case "number":
                return self.number(part.args[0]), []
            case "input":
                return part.args[0], []
            case "memory":
                name, text = before(part), self.memory(*part.args)
            case "complement":
                read = label(part.args[0])
                minus = "1.0 - " if self.program.semantics == "degree" else "-"
                lines = self.compute([read])
                return name, [*lines, self.assign(name, f"{minus}{self.place[read]}")]
            case _:
                name, text = self.cell(part)
        return name, [self.assign(name, text)]

    # What C and JavaScript write differently.

    def number(self, value: float) -> str:
        """A number."""
        raise NotImplementedError

    def memory(self, field: str, index: int | None) -> str:
        """The number that a field of the head holds before the step."""
        raise NotImplementedError

    def cell(self, part: Expression) -> tuple[str, str]:
        """The variable of a label, a register or a window, and what it is read from."""
        raise NotImplementedError
