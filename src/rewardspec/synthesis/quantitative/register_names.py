"""Readable names for registers, made from what they track."""

from __future__ import annotations

from collections.abc import Mapping

from rewardspec.logic.formulas import And, Formula
from rewardspec.logic.printing import to_string
from rewardspec.machines.expressions import Expression, register
from rewardspec.synthesis.quantitative.assembly import Part

_LONGEST = 40


def register_names(part: Part, values: Mapping[Expression, str] | None = None) -> dict[int, str]:
    """A name for each register of a part, all different.

    Args:
        part: The machine.
        values: How to call a register that is updated by one of these expressions in the loop; by default, one that
            holds the machine's value is called `value`.

    `max[p]` and `min[p]` are running extremes, `prev[p]` is the label one step ago, `kept[p]` one that was read once,
    `value` the value itself, `if[F b]` the value should `F b` hold from the next step on, and `unless[G !b]` the
    value should it not.
    """
    values = {part.stages[part.loop].output: "value"} if values is None else values
    names: dict[int, str] = {}
    used: set[str] = set()
    for number, (owed, negated) in part.owed.items():
        name = _from_shape(part, number, values) or _from_obligations(owed, negated)
        unique, count = name, 1
        while unique in used:
            count += 1
            unique = f"{name}#{count}"
        used.add(unique)
        names[number] = unique
    return names


def _from_shape(part: Part, number: int, values: Mapping[Expression, str]) -> str | None:
    own = register(number)
    loop = part.stages[part.loop]
    update = loop.updates.get(number)
    if update is None:
        return None
    if update == own:
        written = {stage.updates.get(number) for stage in part.stages} - {own, None}
        sources = [text for text in (_labels_only(e) for e in written if e is not None) if text is not None]
        return f"kept[{sources[0]}]" if len(sources) == 1 == len(written) else None
    if update.op in ("label", "complement"):
        return f"prev[{_labels_only(update)}]"
    if update.operands and own in update.operands:
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
                    return "(" + (" & " if part.op == "min" else " | ").join(map(str, args)) + ")"
        return None

    text: str | None = expression.fold(write)
    if text is None or len(text) > _LONGEST:
        return None
    return text[1:-1] if text.startswith("(") else text


def _from_obligations(owed: tuple[Formula, ...], negated: bool) -> str:
    text = to_string(And(*owed), longest=_LONGEST) if owed else "true"
    return f"{'unless' if negated else 'if'}[{text}]"
