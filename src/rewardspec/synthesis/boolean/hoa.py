"""Boolean monitors as text that automata tools read: the Hanoi Omega-Automata format.

HOA has no word for automata on finite traces.  The convention here is Spot's, that of its `to_finite`: acceptance is
by state and written as `Buchi`, and a finite trace is accepted when the state it ends in is marked `{0}`.  Traces are
never empty, so the mark of the initial state says nothing about the empty one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rewardspec.logic.formulas import And, Atom, Constant, Formula, Not, Or, Xor
from rewardspec.logic.printing import quoted

if TYPE_CHECKING:
    from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor


def to_hoa(monitor: BooleanMonitor) -> str:
    """The automaton of a monitor, in HOA.

    Example:
        >>> from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
        >>> print(to_hoa(synthesize_boolean("F goal")))
        HOA: v1
        name: "F goal"
        States: 2
        Start: 0
        AP: 1 "goal"
        acc-name: Buchi
        Acceptance: 1 Inf(0)
        properties: trans-labels explicit-labels state-acc complete deterministic
        --BODY--
        State: 0
        [!0] 0
        [0] 1
        State: 1 {0}
        [t] 1
        --END--
        <BLANKLINE>
    """
    number = {atom: k for k, atom in enumerate(monitor.atoms)}
    lines = [
        "HOA: v1",
        f"name: {quoted(str(monitor.formula))}",
        f"States: {len(monitor.states)}",
        f"Start: {monitor.initial}",
        " ".join([f"AP: {len(monitor.atoms)}", *map(quoted, monitor.atoms)]),
        "acc-name: Buchi",
        "Acceptance: 1 Inf(0)",
        "properties: trans-labels explicit-labels state-acc complete deterministic",
        "--BODY--",
    ]
    for state in monitor.states:
        lines.append(f"State: {state}{' {0}' if state in monitor.accepting else ''}")
        lines.extend(f"[{_label(guard, number)}] {target}" for guard, target in monitor.transitions[state])
    return "\n".join([*lines, "--END--", ""])


def _label(guard: Formula, number: Mapping[str, int]) -> str:
    """A guard in HOA's syntax, which has only !, & and |, and atoms as numbers."""

    def text(part: Formula, args: tuple[tuple[int, str], ...]) -> tuple[int, str]:
        """Return the binding strength of the part, and its text."""
        match part:
            case Constant():
                return 3, "t" if part.value else "f"
            case Atom():
                return 3, str(number[part.name])
            case Not():
                return 3, f"!{_bracketed(args[0], 3)}"
            case And():
                return 2, "&".join(_bracketed(arg, 2) for arg in args)
            case Or():
                return 1, " | ".join(_bracketed(arg, 1) for arg in args)
            case Xor():
                left, right = (_bracketed(arg, 3) for arg in args)
                return 1, f"{left}&!{right} | !{left}&{right}"
        raise AssertionError(f"guards have no {type(part).__name__}")

    label: str = guard.fold(text)[1]
    return label


def _bracketed(part: tuple[int, str], binding: int) -> str:
    return part[1] if part[0] >= binding else f"({part[1]})"
