"""What is exported, and the statements that C and JavaScript write alike.

Both languages have the same expressions, `a < b ? a : b`; they differ in declarations, in infinities, and in how a
state is held. Every minimum and maximum is decided as the Python step decides it, ties included.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rewardspec.errors import Error, SynthesisError
from rewardspec.machines.bounds import Bounds, window_places
from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.program import Program
from rewardspec.spec.payments import PAYMENTS

if TYPE_CHECKING:
    from rewardspec.machines.monitor import Monitor
    from rewardspec.spec.spec import Spec
    from rewardspec.spec.veto_and_reward import RewardHead

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
        formulas: The formulas, as text.
        program: The program.
        head: What becomes of its outputs; None where there is one, the value.
        lower: For each control state the smallest value that going on can lead to; None where that is not known.
        upper: Likewise the largest.
        progress: Likewise the progress of a monitor.
    """

    name: str
    formulas: tuple[str, ...]
    program: Program
    head: RewardHead | None = None
    lower: tuple[Expression, ...] | None = None
    upper: tuple[Expression, ...] | None = None
    progress: tuple[Expression, ...] | None = None

    def read_later(self) -> list[Expression]:
        """The expressions that are computed from a state alone."""
        return [part for table in (self.lower, self.upper, self.progress) for part in table or ()]

    def place_in_window(self, part: Expression) -> tuple[int, int] | None:
        """The window and the place, oldest first, of a value that only bounds look at; None for other expressions."""
        if part.op != "register" or part.args[0] < len(self.program.registers):
            return None
        number: int = part.args[0]
        return self.places[number - len(self.program.registers)]

    def looked_into(self, expressions: Iterable[Expression]) -> list[int]:
        """The windows whose single values are read."""
        found = (self.place_in_window(part) for part in all_parts(expressions))
        return sorted({place[0] for place in found if place is not None})

    @functools.cached_property
    def places(self) -> list[tuple[int, int]]:
        """See `rewardspec.machines.bounds.window_places`."""
        return window_places(self.program)


def source_of_monitor(monitor: Monitor, name: str) -> Source:
    """A monitor with its bounds and its progress, where these are found."""
    lower = upper = progress = None
    with contextlib.suppress(SynthesisError):  # where they take too long to find
        bounds = Bounds(monitor.program)
        lower, upper = bounds.lower, bounds.upper
    with contextlib.suppress(SynthesisError):  # where it needs registers that the value does not
        progress = monitor.progress_expressions if monitor.semantics == "degree" else None
    return Source(checked_name(name), (str(monitor.formula),), monitor.program, None, lower, upper, progress)


def source_of_spec(spec: Spec, name: str) -> Source:
    """A spec with the head that pays."""
    return Source(checked_name(name), tuple(map(str, spec.formulas)), spec.program, spec.machine.head)


def checked_name(name: str) -> str:
    """The name, if identifiers of C and JavaScript can start with it.

    Raises:
        Error: They cannot.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or _RESERVED.fullmatch(name):
        raise Error(
            "`name` becomes a part of identifiers: a letter, then letters, digits and underscores, at most 40 in all, "
            f"and no keyword. Received {name!r}."
        )
    return name


def held_variable(window: int, least: bool) -> str:
    """The variable for the least, or the largest, value that a window holds; one expression may read both."""
    return f"{'least' if least else 'largest'}{window}"


class Language(Protocol):
    """What C and JavaScript write differently."""

    constant: str  # what starts the declaration of a constant
    variable: str  # and of a variable

    def number(self, value: float) -> str:
        """A number."""

    def leaf(self, part: Expression) -> tuple[str, str]:
        """The variable of a label, a register or a window, and what it is read from."""


class Statements:
    """Statements that compute each of several expressions once, and where each result is.

    Args:
        program: The program.
        language: C or JavaScript.
        first_of_equals: Which of equal operands a minimum or a maximum gives: the first, as where bounds are computed
            in Python, or the last. Only the sign of a zero tells them apart.
    """

    def __init__(self, program: Program, language: Language, *, first_of_equals: bool = False) -> None:
        self.place: dict[Expression, str] = {}
        self._program = program
        self._language = language
        self._first_of_equals = first_of_equals

    def compute(self, expressions: Iterable[Expression]) -> list[str]:
        """The statements for some more expressions."""
        return [line for part in all_parts(expressions) if part not in self.place for line in self._part(part)]

    def _part(self, part: Expression) -> list[str]:
        number, start = self._language.number, self._language.constant
        if part.op == "constant":
            self.place[part] = number(self._program.number(part.args[0]))
            return []
        operands = [self.place[arg] for arg in part.operands]
        lines: list[str] = []
        name = f"t{len(self.place)}"
        match part.op:
            case "min" | "max":
                better = "<" if part.op == "min" else ">"
                so_far = operands[0]
                for count, other in enumerate(operands[1:], start=1):
                    result = name if count == len(operands) - 1 else f"{name}_{count}"
                    # As in Python: `a if a < b else b` first, then `if c < result: result = c`.
                    one, two = (so_far, other) if count == 1 and not self._first_of_equals else (other, so_far)
                    lines.append(f"{start} {result} = {one} {better} {two} ? {one} : {two};")
                    so_far = result
            case "affine":
                lines.append(f"{start} {name} = {number(part.args[1])} * {operands[0]} + {number(part.args[2])};")
            case "discount":
                x, weight = operands
                text = f"1.0 - {weight} * (1.0 - {x})" if part.args[2] else f"{weight} * {x}"
                lines.append(f"{start} {name} = {text};")
            case "complement":
                label = Expression("label", part.args)
                lines += self.compute([label])
                name = f"t{len(self.place)}"
                minus = "1.0 - " if self._program.semantics == "degree" else "-"
                lines.append(f"{start} {name} = {minus}{self.place[label]};")
            case _:
                name, text = self._language.leaf(part)
                lines.append(f"{start} {name} = {text};")
        self.place[part] = name
        return lines


def early_and_late(source: Source, control: int) -> tuple[list[Expression], list[Expression]]:
    """What a control state computes before its pushes, and which outputs read windows after them."""
    step = source.program.steps[control]
    late = [e for e in step.outputs if any(part.op == "pushed" for part in e.parts())]
    return [e for e in step.expressions() if e not in late], late


def reward_lines(
    head: RewardHead, outputs: Sequence[str], language: Language, state: Callable[[str], str]
) -> tuple[list[str], Sequence[str], str]:
    """Statements that leave the veto in `penalty` and the levels in `level0` and so on; the values; and the reward.

    Args:
        head: The head of the spec.
        outputs: Where the program's outputs are.
        language: C or JavaScript.
        state: How a part of the state before the step is written.
    """
    number = language.number
    uppers, low, high = outputs[head.count :], number(-head.bound), number(head.bound)
    values, bounded = head.bounded(
        outputs[: head.count], lambda value: f"{value} < {low} ? {low} : {value} > {high} ? {high} : {value}"
    )
    lines = [f"{language.constant} {line};" for line in bounded]
    lines += [f"{language.variable} penalty = {state('penalty')};"] if uppers else []
    for upper, penalty in zip(uppers, map(number, head.penalties), strict=True):
        lines.append(f"if ({upper} {head.hopeless} && {penalty} < penalty) {{ penalty = {penalty}; }}")
    for k, weights in enumerate(head.weights):
        terms = [
            value if weight == 1.0 else f"{number(weight)} * {value}"
            for weight, value in zip(weights, values, strict=True)
            if weight != 0.0
        ]
        lines.append(f"{language.variable if uppers else language.constant} level{k} = {' + '.join(terms) or '0.0'};")
        if uppers:
            lines.append(f"if (penalty < {number(float('inf'))}) {{ level{k} = {'0.0' if k else 'penalty'}; }}")
    terms = ["base_reward"] if PAYMENTS[head.payments[0]].adds_base else []
    for k, way in enumerate(head.payments):
        paid = re.sub(r"\blevel\b", f"level{k}", PAYMENTS[way].pays)
        paid = re.sub(r"\bbefore\b", state(f"level[{k}]"), paid).replace("discount", number(head.discount))
        paid = re.sub(r"where\(([^,]*), ([^,]*), ([^,]*)\)", r"((\1) ? \2 : \3)", paid)
        terms.append(paid.replace("terminated | truncated", "terminated || truncated"))
    return lines, values, " + ".join(terms)
