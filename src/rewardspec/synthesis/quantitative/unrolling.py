"""Control states by partial evaluation.

The registers start at 0 or 1.  Unrolling the equations from there, letter by letter, some registers stay constant
whatever the labels are.  When the constants repeat, what has been unrolled is a lasso: a stem of control states that
are passed through once, and a loop.  Each control state has its own, shorter, equations.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rewardspec.errors import SynthesisError
from rewardspec.machines.effort_limit import Effort
from rewardspec.machines.polynomials import ONE, ZERO, Polynomial, substitute
from rewardspec.synthesis.quantitative.equations import Equations


@dataclass
class Phase:
    """What happens to one letter in one control state.

    Attributes:
        updates: New values of the registers that the next control state reads.
        output: The value of the formula after the letter.
        entering: What enters each delay line.
        zeros: Registers known to be 0 when the letter is read, as a mask.
        ones: Registers known to be 1 when the letter is read, as a mask.
        levels: What is read of the registers before the letter.
    """

    updates: dict[int, Polynomial]
    output: Polynomial
    entering: tuple[Polynomial, ...] = ()
    zeros: int = 0
    ones: int = 0
    levels: tuple[Polynomial, ...] = ()


@dataclass
class Lasso:
    """Control states in the order in which they are visited; the last goes back to number `loop`.

    Attributes:
        registers: The number of registers; variables from there on are guards.
        initial: Registers that the first control state reads, with their values.
    """

    registers: int
    phases: list[Phase]
    loop: int
    initial: dict[int, bool] = field(default_factory=dict)

    def successor(self, position: int) -> int:
        """The control state after the given one."""
        return position + 1 if position + 1 < len(self.phases) else self.loop


def unroll(equations: Equations, limit: int, effort: Effort) -> Lasso:
    """Unroll the equations until the constants repeat.

    Raises:
        SynthesisError: There are more control states than the limit, or finding them takes too long.
    """
    terms = sum(map(len, equations.updates))
    zeros = sum(1 << r for r, one in enumerate(equations.initial) if not one)
    ones = sum(1 << r for r, one in enumerate(equations.initial) if one)
    seen: dict[tuple[int, int], int] = {}
    phases: list[Phase] = []
    while (zeros, ones) not in seen:
        if len(phases) >= limit:
            raise SynthesisError("too many control states")
        effort.spend(terms)
        seen[zeros, ones] = len(phases)
        updates = {r: substitute(update, zeros, ones) for r, update in enumerate(equations.updates)}
        entering = tuple(substitute(line.value, zeros, ones) for line in equations.lines)
        levels = tuple(substitute(level, zeros, ones) for level in equations.levels)
        phases.append(Phase(updates, substitute(equations.output, zeros, ones), entering, zeros, ones, levels))
        zeros = sum(1 << r for r, update in updates.items() if update == ZERO)
        ones = sum(1 << r for r, update in updates.items() if update == ONE)
    return Lasso(len(equations.updates), phases, seen[zeros, ones])
