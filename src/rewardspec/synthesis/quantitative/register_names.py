"""Readable names for registers, made from what they track."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewardspec.logic.formulas import And, Formula
from rewardspec.logic.printing import to_string
from rewardspec.machines.expressions import Expression, register
from rewardspec.machines.program import Program

_LONGEST = 40


def with_names(program: Program, outputs: Sequence[str] = ("value",)) -> Program:
    """The program with readable register names, all different. A register that holds an output is called as that is.

    `max[p]` and `min[p]` are running extremes, `prev[p]` is the label one step ago, `kept[p]` one that was read once,
    `value` the value itself, `if[F b]` the value should `F b` hold from the next step on, and `unless[G !b]` the
    value should it not.
    """
    values = dict(zip(program.steps[program.loop].outputs, outputs, strict=False))
    names: list[str] = []
    for number, given in enumerate(program.registers):
        name = _from_shape(program, number, values) or given
        unique, count = name, 1
        while unique in names:
            count += 1
            unique = f"{name} ({count})"
        names.append(unique)
    return replace(program, registers=tuple(names))


def from_obligations(owed: tuple[Formula, ...], negated: bool) -> str:
    """A name from the formulas that a register waits for."""
    if not owed:
        return "intact" if negated else "done"
    return f"{'unless' if negated else 'if'}[{to_string(And(*owed), longest=_LONGEST)}]"


def _from_shape(program: Program, number: int, values: Mapping[Expression, str]) -> str | None:
    own = register(number)
    update = program.steps[program.loop].updates[number]
    if update is None:
        return None
    if update == own:
        written = {step.updates[number] for step in program.steps} - {own, None}
        sources = [text for text in (_labels_only(e) for e in written if e is not None) if text is not None]
        return f"kept[{sources[0]}]" if len(sources) == 1 == len(written) else None
    if update.op in ("label", "complement"):
        return f"prev[{_labels_only(update)}]"
    if update.op in ("min", "max") and own in update.operands:
        rest = [_labels_only(arg) for arg in update.operands if arg != own]
        joined = (" | " if update.op == "max" else " & ").join(text for text in rest if text is not None)
        if None not in rest and len(joined) <= _LONGEST:
            return f"{update.op}[{joined}]"
    return values.get(update)


def _labels_only(expression: Expression) -> str | None:
    """An expression of labels as a formula, or None where it reads a register or is long."""

    def write(part: Expression, args: tuple[str | None, ...]) -> str | None:
        match part.op:
            case "label":
                return str(part.args[0])
            case "complement":
                return f"!{part.args[0]}"
            case "min" | "max":
                if all(arg is not None for arg in args):
                    text = "(" + (" & " if part.op == "min" else " | ").join(map(str, args)) + ")"
                    return text if len(text) <= _LONGEST + len("()") else None
        return None

    text = expression.fold(write)
    if text is None or len(text) > _LONGEST:
        return None
    return text[1:-1] if text.startswith("(") else text
