"""Formulas of the past as programs: their value is known as soon as a letter is read.

What a formula says of the past can stand anywhere under operators of the future, as a label that is computed rather
than observed. `with_past_as_labels` puts such labels into a formula; `PastCompiler` computes them. An interval is a
window, an interval that does not begin now a window over delayed values; the rest follows the table of operators, with
a register for each value of one step ago.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardspec.errors import SynthesisError
from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula
from rewardspec.logic.fragments import future_in_past
from rewardspec.logic.operators import PAST, Unfolding, unfold
from rewardspec.logic.printing import to_string
from rewardspec.machines.expressions import (
    Expression,
    affine,
    complement,
    constant,
    label,
    maximum,
    minimum,
    register,
    window,
)
from rewardspec.machines.program import Program, Push, Step, Window

_MARK = "\N{WORD JOINER}"  # in the name of a label that is computed, where no user would put it
_LONGEST = 40


def with_past_as_labels(formula: Formula) -> tuple[Formula, dict[str, Formula]]:
    """A formula in normal form with its parts about the past as atoms, and what each of these stands for.

    It is refused if something about the future stands under an operator of the past.
    """
    mixed = future_in_past(formula)
    if mixed is not None:
        raise SynthesisError(
            f"`{to_string(mixed[0], longest=80)}` looks ahead from within the past, by "
            f"`{to_string(mixed[1], longest=80)}`: its value at a step depends on what is still to come, so that no "
            "monitor can know it then. Say it with operators of the future alone, or use `evaluate`.",
            subformula=mixed[0],
        )
    found: dict[str, Formula] = {}

    def replaced(part: Formula, args: tuple[Formula, ...]) -> Formula:
        if isinstance(part, PAST):
            name = f"{to_string(part, longest=_LONGEST)}{_MARK}{len(found)}"
            name = next((known for known, other in found.items() if other == part), name)
            found[name] = part
            return fm.Atom(name)
        return part.rebuild(*args) if args else part

    return formula.fold(replaced), found


def operand_text(part: Formula) -> str:
    """The text of what a part about the past looks back at, in the name of its window."""
    return to_string(part.args[-1], longest=_LONGEST)


class PastCompiler(Unfolding[Expression]):
    """Builds one program, of so many registers at most, for several formulas of the past, which share equal parts."""

    def __init__(self, max_registers: int) -> None:
        self._max_registers = max_registers
        self._values: dict[Formula, Expression] = {}
        self._earlier: dict[tuple[Formula, bool], Expression] = {}
        self._waiting: list[Formula] = []
        self._windows: list[Window] = []
        self._pushes: list[Push] = []

    def program(self, formulas: Sequence[Formula]) -> Program:
        """The program with the value of each formula, in normal form, as an output."""
        outputs = tuple(self._value(formula) for formula in formulas)
        while self._waiting:
            self._value(self._waiting.pop())
        names, initial, updates = [], [], []
        for formula, strong in self._earlier:
            names.append(f"prev[{to_string(formula, longest=_LONGEST)}]")
            initial.append(0.0 if strong else 1.0)
            updates.append(self._values[formula])
        atoms = tuple(dict.fromkeys(atom for formula in formulas for atom in formula.atoms))
        step = Step(tuple(updates), outputs, tuple(self._pushes))
        return Program(atoms, tuple(names), tuple(initial), (step,), 0, tuple(self._windows))

    def _value(self, formula: Formula) -> Expression:
        for part in formula.subformulas():
            if part not in self._values:
                self._values[part] = self._computed(part)
        return self._values[formula]

    def _computed(self, part: Formula) -> Expression:
        match part:
            case fm.Constant():
                return constant(part.value)
            case fm.Atom():
                return label(part.name)
            case fm.Not(args=(fm.Atom(name=name),)):
                return complement(name)
            # Of a delay of a constant, only the time since the first step matters, which an extremum's window shows.
            case fm.Previous(args=(fm.TRUE,)) if part.steps > 1:
                return self._value(fm.Historically(fm.Previous(fm.TRUE), 0, part.steps - 1))
            case fm.WeakPrevious(args=(fm.FALSE,)) if part.steps > 1:
                return self._value(fm.Once(fm.FIRST, 0, part.steps - 1))
            case fm.Previous() | fm.WeakPrevious() if part.steps > 1:
                weak = isinstance(part, fm.WeakPrevious)
                return self._window(self._values[part.arg], part.steps, None, weak, part, "last")
            case fm.Timed() if part.discount == 1.0 and (part.high is not None or part.low > 0):
                return self._timed(part)
        return unfold(part, self)

    def _timed(self, part: fm.Timed) -> Expression:
        """An operator with an interval.

        With ψ as the values and φ as what must hold since: d is ψ of `low` steps ago with φ since then, and the value
        is the largest d of the interval, each with φ since then too.
        """
        dual = isinstance(part, fm.Historically | fm.Trigger)
        outer, inner = (minimum, maximum) if dual else (maximum, minimum)
        value = self._values[part.args[-1]]
        guard = self._values[part.left] if isinstance(part, fm.Since | fm.Trigger) else None
        if part.low > 0:
            value = self._window(value, part.low, guard, dual, part, "last")
            value = value if guard is None else inner(value, guard)
        if part.high == part.low:
            return value
        if part.high is None:
            earlier = self._register(part, strong=not dual)
        else:
            earlier = self._window(value, part.high - part.low, guard, dual, part, "min" if dual else "max")
        return outer(value, earlier if guard is None else inner(guard, earlier))

    def _window(
        self, value: Expression, length: int, guard: Expression | None, dual: bool, part: Formula, op: Any
    ) -> Expression:
        name = f"{'delayed' if op == 'last' else 'recent'}[{operand_text(part)}]"
        self._windows.append(Window(name, length, op, neutral=float(dual)))
        self._pushes.append(Push(value, guard))
        return window(len(self._windows) - 1)

    def _register(self, formula: Formula, strong: bool) -> Expression:
        key = formula, strong
        if key not in self._earlier:
            if len(self._earlier) >= self._max_registers:
                raise SynthesisError(
                    f"The values of `{to_string(formula, longest=80)}` need more than {self._max_registers} registers: "
                    "a discount with an interval takes one for each step of it. Shorten the interval, or leave out "
                    "the interval or the discount.",
                    subformula=formula,
                )
            self._earlier[key] = register(len(self._earlier))
            self._waiting.append(formula)
        return self._earlier[key]

    # What `unfold` puts together.

    def now(self, formula: Formula) -> Expression:
        """The value of an operand."""
        return self._values[formula]

    def earlier(self, formula: Formula, strong: bool) -> Expression:
        """The value one step ago, from a register."""
        return self._register(formula, strong)

    conjunction = staticmethod(minimum)
    disjunction = staticmethod(maximum)

    def affine(self, value: Expression, scale: float, offset: float) -> Expression:
        """The value, scaled and raised."""
        return affine(value, scale, offset)
