"""From obligations to equations: one register for each set of formulas that can be owed.

The register c[S] holds the degree to which the trace so far leaves exactly the set S to be done.  At the start it is 1
for the formula itself and 0 elsewhere.  Reading a letter is a matrix-vector product in which max and min stand for sum
and product: each term of the step of S, with guards L and next set S', contributes min(c[S], min L) to the new c[S'].
The value is the same maximum over the terms that owe nothing strongly, since the trace may end there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import And, Constant, Formula, Or
from rewardspec.machines.polynomials import Polynomial, absorb, bits
from rewardspec.synthesis.quantitative.obligations import Obligations

_TERM_EFFORT = 10  # what one term of a step costs, beside the length of its mask


@dataclass(frozen=True)
class DelayLine:
    """Registers each of which takes the value of the one before, as one window; see `delay_lines`.

    Attributes:
        op: `"max"` where their maximum is read, `"last"` where the last of them is.
        length: How many there are.
        value: What enters, as a polynomial.
        guard: What bounds every value with each letter, as a term of guards; 0 for nothing.
    """

    op: Literal["max", "last"]
    length: int
    value: Polynomial
    guard: int


@dataclass(frozen=True)
class Equations:
    """The update of every register, as polynomials over registers, guards and delay lines.

    Variable i is register i for i < len(updates); then come the guards, then the delay lines.

    Attributes:
        guards: The propositional formulas that labels are read through.
        owed: For each register, the formulas it owes.
        updates: For each register, its new value.
        output: The value of the formula after this letter.
        initial: For each register, whether it starts at 1; the others start at 0.
        levels: What is read of the registers between letters, as polynomials; see `progress`.
    """

    guards: tuple[Formula, ...]
    owed: tuple[tuple[Formula, ...], ...]
    updates: tuple[Polynomial, ...]
    output: Polynomial
    initial: tuple[bool, ...]
    lines: tuple[DelayLine, ...] = ()
    levels: tuple[Polynomial, ...] = ()


def equations(formula: Formula, obligations: Obligations, limit: int) -> Equations:
    """The equations of a formula in normal form, or an error if they have more registers than the limit.

    A disjunction starts from each of its members at once.
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

    moves: list[tuple[int, int, int, int]] = []  # from register, guards, to register, guards if the trace ends here
    position = 0
    while position < len(order):
        for term in sorted(obligations.step_all(order[position])):
            obligations.effort.spend(_TERM_EFFORT + term.bit_length() // 1_000)
            guards, owed, worth = obligations.split(term)
            target = register(owed)
            at_end = -1
            if 0.0 not in worth:
                at_end = guards | sum(1 << obligations.index(Constant(value)) for value in worth)
            moves.append((position, guards, target, at_end))
        position += 1

    used = 0
    for _, guards, _, at_end in moves:
        used |= guards | max(at_end, 0)
    guard_numbers = {number: len(order) + k for k, number in enumerate(bits(used))}
    # Terms with different registers are never comparable, so that each source is absorbed on its own.
    updates: list[dict[int, list[int]]] = [{} for _ in order]
    output: dict[int, list[int]] = {}

    def term_of(source: int, guards: int) -> int:
        return (1 << source) | sum(1 << guard_numbers[number] for number in bits(guards))

    for source, guards, target, at_end in moves:
        updates[target].setdefault(source, []).append(term_of(source, guards))
        if at_end >= 0:
            output.setdefault(source, []).append(term_of(source, at_end))
    return Equations(
        guards=tuple(obligations.formulas[number] for number in guard_numbers),
        owed=tuple(tuple(obligations.plain(number) for number in bits(owed)) for owed in order),
        updates=tuple(_absorbed(terms) for terms in updates),
        output=_absorbed(output),
        initial=tuple(number < starts for number in range(len(order))),
    )


def _absorbed(terms: dict[int, list[int]]) -> Polynomial:
    return frozenset(term for group in terms.values() for term in absorb(group))
