"""Fewer registers and fewer control states, with the same values.

Three reductions, each sound on its own:

* *order*: find which registers can never exceed which others, as the greatest such relation that the updates keep.
  Registers that are equal become one; a term that another term never falls short of goes;
* *liveness*: a register that nothing reads any more goes;
* *folding*: a control state of the stem that behaves like the loop, started from suitable constants, goes.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable

from rewardspec.machines.effort_limit import Effort
from rewardspec.machines.polynomials import Polynomial, bits, comparisons, substitute, variables
from rewardspec.synthesis.quantitative.unrolling import Lasso, Phase

_ORDER_EFFORT = 2_000_000  # comparisons of terms after which the search for an order is given up
_FOLDED_CONSTANTS = 6  # registers whose starting constants are searched for, beside the ones unrolling gives


def reduce(lasso: Lasso, effort: Effort) -> Lasso:
    """The lasso with as few registers and control states as these reductions give, within the effort."""
    keep_live(lasso)
    simplify_by_order(lasso, effort)
    keep_live(lasso)
    fold_stem(lasso)
    keep_live(lasso)
    return lasso


def live_registers(lasso: Lasso) -> list[int]:
    """For each control state, the registers whose values it reads, directly or later, as a mask."""
    everything = (1 << lasso.registers) - 1
    live = [0] * len(lasso.phases)
    before: list[list[int]] = [[] for _ in lasso.phases]
    for position in range(len(lasso.phases)):
        before[lasso.successor(position)].append(position)
    waiting: list[tuple[int, int]] = []  # control states, and registers newly found to be read there
    for position, phase in enumerate(lasso.phases):
        read = variables(phase.output)
        for polynomial in (*phase.entering, *phase.levels):
            read |= variables(polynomial)
        waiting.append((position, read & everything))
    while waiting:
        position, read = waiting.pop()
        new = read & ~live[position]
        if not new:
            continue
        live[position] |= new
        for earlier in before[position]:
            needed = 0
            for register in bits(new):
                needed |= variables(lasso.phases[earlier].updates[register])
            waiting.append((earlier, needed & everything))
    return live


def keep_live(lasso: Lasso) -> None:
    """Drop the updates of registers that nothing reads."""
    live = live_registers(lasso)
    for position, phase in enumerate(lasso.phases):
        phase.updates = {register: phase.updates[register] for register in bits(live[lasso.successor(position)])}
    lasso.initial = {register: lasso.initial[register] for register in bits(live[0])}


def simplify_by_order(lasso: Lasso, effort: Effort) -> None:
    """Merge registers that are always equal, and drop terms that others make redundant."""
    above = _invariant_order(lasso)
    if above is None:
        return
    for position, phase in enumerate(lasso.phases):
        order = above[position]
        polynomials = (*phase.updates.values(), phase.output, *phase.entering, *phase.levels)
        effort.spend(sum(map(comparisons, polynomials)))
        lasso.phases[position] = phase.map(functools.partial(_simplify, above=order))


def _invariant_order(lasso: Lasso) -> list[dict[int, int]] | None:
    """For each control state and register read there, the registers that are never smaller, as a mask.

    Starts from the assumption that every register is below every other, and drops what the updates do not keep.
    None where that takes too long: unfinished, the relation would be too large and prove nothing.
    """
    effort = 0
    live = live_registers(lasso)
    above = [dict.fromkeys(bits(mask), mask) for mask in live]
    if lasso.initial:  # the first control state's registers are constants, which unrolling has already put in
        ones = sum(1 << r for r, one in lasso.initial.items() if one)
        above[0] = {r: (ones if one else live[0]) for r, one in lasso.initial.items()}
    changed = True
    while changed:
        changed = False
        for position, phase in enumerate(lasso.phases):
            target = above[lasso.successor(position)]
            for register, mask in target.items():
                if register not in phase.updates:
                    continue
                # Here, since what has just been dropped from a loop of one control state counts at once.
                closed = _closures(phase.updates[register], above[position])
                for other in bits(mask & ~(1 << register)):
                    if other not in phase.updates:
                        continue
                    effort += 1 + len(closed) * len(phase.updates[other])
                    if not _at_most(closed, phase.updates[other]):
                        target[register] &= ~(1 << other)
                        changed = True
                if effort > _ORDER_EFFORT:
                    return None
    return above


def _closures(terms: Iterable[int], above: dict[int, int]) -> list[int]:
    """Each term with every register that can be added without changing its value."""
    closures = []
    for term in terms:
        closed = term
        for variable in bits(term):
            closed |= above.get(variable, 0)
        closures.append(closed)
    return closures


def _at_most(closed_terms: list[int], polynomial: Polynomial) -> bool:
    return all(any(term & ~closed == 0 for term in polynomial) for closed in closed_terms)


def _simplify(polynomial: Polynomial, above: dict[int, int]) -> Polynomial:
    """An equal polynomial with the fewest terms and variables that the order allows."""
    terms = []
    for term in polynomial:
        kept = term
        for variable in bits(term):
            # Another member of the term is never larger, so this one does not decide; of equal ones keep the first.
            for other in bits(kept & ~(1 << variable)):
                if above.get(other, 0) >> variable & 1:
                    kept &= ~(1 << variable)
                    break
        for variable in bits(kept):
            equal = [o for o in bits(above.get(variable, 0)) if o < variable and above.get(o, 0) >> variable & 1]
            if equal:
                kept = kept & ~(1 << variable) | 1 << equal[0]
        terms.append(kept)
    kept_terms: dict[int, int] = {}  # each with its closure
    for term in sorted(set(terms), key=lambda t: (t.bit_count(), t)):
        (closed,) = _closures([term], above)
        if not any(other & ~closed == 0 for other in kept_terms):
            kept_terms = {o: closure for o, closure in kept_terms.items() if term & ~closure != 0}
            kept_terms[term] = closed
    return frozenset(kept_terms)


def fold_stem(lasso: Lasso) -> None:
    """Drop stem states, last first, while each is the loop started from some constants."""
    while lasso.loop == len(lasso.phases) - 1 and lasso.loop > 0:
        stem, loop = lasso.phases[lasso.loop - 1], lasso.phases[lasso.loop]
        constants = _constants_that_match(stem, loop, lasso.registers, first=lasso.loop == 1)
        if constants is None:
            return
        if lasso.loop == 1:
            lasso.initial = constants
        else:
            before = lasso.phases[lasso.loop - 2]
            before.updates |= {r: frozenset({0}) if one else frozenset() for r, one in constants.items()}
        del lasso.phases[lasso.loop - 1]
        lasso.loop -= 1


def _constants_that_match(stem: Phase, loop: Phase, registers: int, *, first: bool) -> dict[int, bool] | None:
    """Constants for registers that the stem does not read, with which the loop does what the stem does.

    Levels are not read before the first letter, so that those of the first control state match any.
    """
    read, own = 0, 0
    for polynomial in (loop.output, *loop.entering, *loop.levels, *loop.updates.values()):
        read |= variables(polynomial)
    for polynomial in (stem.output, *stem.entering, *stem.levels, *stem.updates.values()):
        own |= variables(polynomial)
    if any(register not in stem.updates for register in loop.updates):
        return None
    everything = (1 << registers) - 1
    free = list(bits(read & ~own & everything))
    unrolled = tuple(bool(stem.ones >> register & 1) for register in free)
    choices: list[tuple[bool, ...]] = [unrolled]
    if len(free) <= _FOLDED_CONSTANTS:
        choices.extend(itertools.product((False, True), repeat=len(free)))
    for choice in choices:
        zeros = sum(1 << register for register, one in zip(free, choice, strict=True) if not one)
        ones = sum(1 << register for register, one in zip(free, choice, strict=True) if one)
        started = loop.map(functools.partial(substitute, zeros=zeros, ones=ones))
        if (
            (started.output, started.entering) == (stem.output, stem.entering)
            and (first or started.levels == stem.levels)
            and all(stem.updates[register] == update for register, update in started.updates.items())
        ):
            return dict(zip(free, choice, strict=True))
    return None
