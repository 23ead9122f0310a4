"""Register programs as equations that people read: the updates of one control state, and its reward."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rewardspec.logic.formulas import Atom
from rewardspec.machines.expressions import Expression, all_parts, complement, label
from rewardspec.machines.program import Step

PRIME = "′"
_LONGEST_NAME = 16
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class Equations:
    """One control state's program, as text.

    Attributes:
        updates: One line for each register written, each after the lines whose new values it uses.
        reward: The line of the value that is paid.
    """

    updates: tuple[str, ...]
    reward: str

    @property
    def primed(self) -> bool:
        """Whether a line uses a value that was computed in the same step."""
        return any(PRIME in line for line in (*self.updates, self.reward))


def equations(step: Step, registers: Sequence[str], atoms: Iterable[str]) -> Equations:
    r"""The updates and the reward of one control state.

    A value that another line of the same step has just computed is written as that register's name with a prime.

    Args:
        step: What the control state does.
        registers: The registers' names.
        atoms: The atoms that the machine reads.

    Example:
        >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
        >>> monitor = synthesize("!a U (a & F b)")
        >>> shown = equations(monitor.program.steps[0], monitor.registers, monitor.atoms)
        >>> print(*shown.updates, shown.reward, sep="\n")
        min[!a] ← min(min[!a], 1 − a)
        if[F b] ← max(if[F b], min(min[!a], a))
        value ← max(value, min(b, if[F b]′))
        reward = value′
    """
    names = dict(enumerate(registers))
    leaves = {label(atom): Atom(atom).to_string() for atom in atoms}
    leaves |= {complement(atom): f"1 − {Atom(atom).to_string()}" for atom in atoms}
    # Leaves keep their own, shorter, text: `prev[a] ← a` must not turn every other `a` into `prev[a]′`.
    primed: dict[Expression, str] = {}
    lines = []
    for number, update in in_reading_order(step).items():
        lines.append(f"{names[number]} ← {update.to_string(names, leaves | primed)}")
        if update.operands:
            primed.setdefault(update, names[number] + PRIME)
    return Equations(tuple(lines), f"reward = {step.outputs[0].to_string(names, leaves | primed)}")


def in_reading_order(step: Step) -> dict[int, Expression]:
    """The registers written and their updates, those first whose whole update is a part of another's."""
    owners: dict[Expression, list[int]] = {}
    for number, update in enumerate(step.updates):
        if update is not None:
            owners.setdefault(update, []).append(number)
    # Parts come before what is made of them.
    return {number: part for part in all_parts(owners) for number in owners.get(part, ())}


def short_names(registers: Iterable[str], atoms: Iterable[str]) -> dict[str, str]:
    """Symbols that stand for the registers whose names are too long to read inside an equation.

    Example:
        >>> short_names(["value", "if[G(!a | X b) & b]"], ["a", "b"])
        {'if[G(!a | X b) & b]': 'c₁'}
        >>> short_names(["if[G(!c | X b) & b]"], ["b", "c"])
        {'if[G(!c | X b) & b]': 'v₁'}
    """
    taken = set(atoms)
    letter = next(letter for letter in ("c", "v", "w", "k", "m", "reg") if letter not in taken or letter == "reg")
    long = [name for name in registers if len(name) > _LONGEST_NAME]
    return {name: letter + str(number).translate(_SUBSCRIPTS) for number, name in enumerate(long, start=1)}


def initial_values(values: Mapping[str, float]) -> tuple[str, ...]:
    """The registers' first values, one line each.

    Example:
        >>> initial_values({"max[a]": 0.0, "value": 1.0})
        ('max[a] = 0', 'value = 1')
    """
    return tuple(f"{name} = {value:g}" for name, value in values.items())
