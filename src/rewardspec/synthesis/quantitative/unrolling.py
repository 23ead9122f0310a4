"""Control states by partial evaluation.

The registers start at 0 or 1.  Unrolling the equations from there, letter by letter, some registers stay constant
whatever the labels are.  When the constants repeat, what has been unrolled is a lasso: a stem of control states that
are passed through once, and a loop.  Each control state has its own, shorter, equations.

A count such as `F{250} a` has a stem of 250 control states in which one register after the other ceases to be 0.  Each
of them does what the loop does with those zeros, so that such a stem is left out, and the loop starts from constants.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from rewardspec.errors import SynthesisError
from rewardspec.machines.effort_limit import Effort
from rewardspec.machines.polynomials import Polynomial, comparisons, substitute
from rewardspec.synthesis.quantitative.equations import Equations

_Constants: TypeAlias = tuple[int, int]  # registers that are 0, and registers that are 1, as masks
_LONG_STEM = 32  # control states above which those that behave like the last are not made at all


@dataclass
class Phase:
    """The processing of one letter in one control state.

    Attributes:
        updates: New values of the registers that the next control state reads.
        output: The value of the formula after the letter.
        entering: What enters each delay line.
        ones: Registers known to be 1 when the letter is read, as a mask.
        levels: What is read of the registers before the letter.
    """

    updates: dict[int, Polynomial]
    output: Polynomial
    entering: tuple[Polynomial, ...] = ()
    ones: int = 0
    levels: tuple[Polynomial, ...] = ()

    def map(self, change: Callable[[Polynomial], Polynomial]) -> Phase:
        """The phase with every polynomial changed."""
        return replace(
            self,
            updates={register: change(update) for register, update in self.updates.items()},
            output=change(self.output),
            entering=tuple(map(change, self.entering)),
            levels=tuple(map(change, self.levels)),
        )


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
    initial: dict[int, bool]

    def successor(self, position: int) -> int:
        """The control state after the given one."""
        return position + 1 if position + 1 < len(self.phases) else self.loop


def unroll(equations: Equations, limit: int, effort: Effort) -> Lasso:
    """Unroll the equations until the constants repeat, within the effort and a limit on control states."""
    work = sum(comparisons(update) for update in equations.updates)
    constants, loop = _constants(equations, limit, effort)
    if len(constants) > _LONG_STEM and loop == len(constants) - 1:
        loop = _first_like_the_last(constants)
        del constants[loop:-1]
    entering = tuple(line.value for line in equations.lines)
    everywhere = Phase(dict(enumerate(equations.updates)), equations.output, entering, levels=equations.levels)
    phases = []
    for zeros, ones in constants:
        effort.spend(work)
        known = functools.partial(substitute, zeros=zeros, ones=ones)
        phases.append(replace(everywhere.map(known), ones=ones))
    return Lasso(len(equations.updates), phases, loop, dict(enumerate(equations.initial)))


def _constants(equations: Equations, limit: int, effort: Effort) -> tuple[list[_Constants], int]:
    """The registers that are 0, and those that are 1, before each letter whatever the labels are, until they repeat.

    With them the number of the control state that follows the last.
    """
    terms = sum(map(len, equations.updates))
    zeros = sum(1 << r for r, one in enumerate(equations.initial) if not one)
    ones = sum(1 << r for r, one in enumerate(equations.initial) if one)
    seen: dict[_Constants, int] = {}
    while (zeros, ones) not in seen:
        if len(seen) >= limit:
            raise SynthesisError("too many control states")
        effort.spend(terms // 4)
        seen[zeros, ones] = len(seen)
        new_zeros = new_ones = 0
        for r, update in enumerate(equations.updates):
            left = [term for term in update if not term & zeros]
            if not left:
                new_zeros |= 1 << r
            elif any(not term & ~ones for term in left):
                new_ones |= 1 << r
        zeros, ones = new_zeros, new_ones
    return list(seen), seen[zeros, ones]


def _first_like_the_last(constants: list[_Constants]) -> int:
    """The first control state from which on the last, started from constants, does what the others do."""
    zeros, ones = constants[-1]
    first = len(constants) - 1
    while first > 0 and not zeros & ~constants[first - 1][0] and not ones & ~constants[first - 1][1]:
        first -= 1
    return first
