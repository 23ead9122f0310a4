"""From obligations to equations: one register for each set of formulas that can be owed.

The register c[S] holds the degree to which the trace so far leaves exactly the set S to be done.  At the start it is 1
for the formula itself and 0 elsewhere.  Reading a letter is a matrix-vector product in which max and min stand for sum
and product: each term of the step of S, with guards L and next set S', contributes min(c[S], min L) to the new c[S'].
The value is the same maximum over the terms that owe nothing strongly, since the trace may end there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import And, Formula, Or
from rewardspec.machines.polynomials import Polynomial, absorb, bits
from rewardspec.synthesis.quantitative.obligations import Obligations


@dataclass(frozen=True)
class Equations:
    """The update of every register, as polynomials over registers and guards.

    Variable i is register i for i < len(updates), and guard i - len(updates) from there on.

    Attributes:
        guards: The propositional formulas that labels are read through.
        owed: For each register, the formulas it owes.
        updates: For each register, its new value.
        output: The value of the formula after this letter.
        initial: For each register, whether it starts at 1; the others start at 0.
    """

    guards: tuple[Formula, ...]
    owed: tuple[tuple[Formula, ...], ...]
    updates: tuple[Polynomial, ...]
    output: Polynomial
    initial: tuple[bool, ...]


def equations(formula: Formula, obligations: Obligations, limit: int) -> Equations:
    """The equations of a formula in negation normal form.

    Args:
        formula: The formula; a disjunction starts from each of its members at once.
        obligations: The steps of formulas, shared between calls.
        limit: The largest number of registers, before any reduction.

    Raises:
        SynthesisError: There are more sets to be owed than the limit.
    """
    numbers: dict[int, int] = {}
    order: list[int] = []

    def register(owed: int) -> int:
        owed = obligations.reduce(owed)
        if owed not in numbers:
            numbers[owed] = len(order)
            order.append(owed)
            if len(order) > limit:
                raise SynthesisError("too many sets of obligations")
        return numbers[owed]

    for member in formula.args if isinstance(formula, Or) else (formula,):
        parts: Sequence[Formula] = member.args if isinstance(member, And) else (member,)
        register(sum(1 << obligations.index(part) for part in dict.fromkeys(parts)))
    starts = len(order)

    moves: list[tuple[int, int, int, bool]] = []  # from register, guards, to register, owes something strongly
    position = 0
    while position < len(order):
        for term in sorted(obligations.step_all(order[position])):
            guards, owed, strong = obligations.split(term)
            moves.append((position, guards, register(owed), strong))
        position += 1

    used = 0
    for _, guards, _, _ in moves:
        used |= guards
    guard_numbers = {number: len(order) + k for k, number in enumerate(bits(used))}
    updates: list[list[int]] = [[] for _ in order]
    output = []
    for source, guards, target, strong in moves:
        term = (1 << source) | sum(1 << guard_numbers[number] for number in bits(guards))
        updates[target].append(term)
        if not strong:
            output.append(term)
    return Equations(
        guards=tuple(obligations.formulas[number] for number in guard_numbers),
        owed=tuple(tuple(obligations.formulas[number] for number in bits(owed)) for owed in order),
        updates=tuple(absorb(terms) for terms in updates),
        output=absorb(output),
        initial=tuple(number < starts for number in range(len(order))),
    )
