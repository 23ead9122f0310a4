"""Delay lines: chains of registers each of which takes the value of the one before, made into windows.

A bounded operator owes itself with a smaller bound after every letter: `F[0,k] p` owes `F[0,k-1] p`, and so on. The
registers of these obligations form a chain, m1 ← min(m0, g), m2 ← min(m1, g), …, with the same guards g everywhere.
What is read of it is nearly always the maximum of its members, or the last of them. So a chain becomes a window, whose
cost does not grow with its length. A chain that is read in other ways stays as it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from rewardspec.errors import SynthesisError
from rewardspec.machines.polynomials import Polynomial, absorb, bits
from rewardspec.synthesis.quantitative.equations import DelayLine, Equations

_SHORTEST = 4  # members below which registers are as good
_MOST_RANGES = 4  # different parts of one chain that are read


def with_delay_lines(equations: Equations, limit: int) -> Equations:
    """The equations with chains of registers replaced by delay lines, or an error if more than the limit are left."""
    chains = _chains(equations)
    while chains:
        plan = _Plan(equations, chains)
        if not plan.unfit and not plan.headless:
            equations = plan.collapsed()
            break
        fit = [chain for number, chain in enumerate(chains) if number not in plan.unfit]
        heads = {chains[number][0][0] for number in plan.headless}
        # A first member that is read on its own is better a register, from which the rest takes its values.
        trimmed = [(members[1:] if members[0] in heads else members, guard) for members, guard in fit]
        chains = [chain for chain in trimmed if len(chain[0]) >= _SHORTEST]
    if len(equations.updates) > limit:
        raise SynthesisError("too many sets of obligations")
    return equations


def _chains(equations: Equations) -> list[tuple[list[int], int]]:
    """Maximal chains of registers, each with the guards between its members."""
    count = len(equations.updates)
    everything = (1 << count) - 1
    link: dict[int, tuple[int, int]] = {}  # a register, the one whose value it takes, and the guards
    for target, update in enumerate(equations.updates):
        if len(update) == 1 and not equations.initial[target]:
            (term,) = update
            sources = term & everything
            if sources and sources & (sources - 1) == 0 and sources != 1 << target:
                link[target] = sources.bit_length() - 1, term & ~everything
    following: dict[int, list[int]] = {}
    for target, (source, _) in link.items():
        following.setdefault(source, []).append(target)

    chains = []
    taken: set[int] = set()
    # Ends first: the last member is followed by none, and each member before it has the same guards to the next.
    for end in link:
        if any(link[after][1] == link[end][1] for after in following.get(end, ())):
            continue
        guard, members, known = link[end][1], [end], {end}
        while True:
            source = link[members[-1]][0]
            if source in known or source in taken or equations.initial[source]:
                break
            members.append(source)
            known.add(source)
            if source not in link or link[source][1] != guard:
                break
        members.reverse()
        if len(members) >= _SHORTEST and not taken.intersection(members):
            taken.update(members)
            chains.append((members, guard))
    return chains


_Range = tuple[int, int, int]  # a chain, and the first and the last of its members that are read


class _Plan:
    """A plan: how some chains are read, and the equations without them.

    Attributes:
        unfit: The numbers of chains that are not read as delay lines are.
        headless: The numbers of chains whose first member is read on its own.
    """

    def __init__(self, equations: Equations, chains: list[tuple[list[int], int]]) -> None:
        self.equations = equations
        self.chains = chains
        self.place = {register: (c, k) for c, (members, _) in enumerate(chains) for k, register in enumerate(members)}
        self.mask = sum(1 << register for register in self.place)
        self.unfit: set[int] = set()
        self.kept = [r for r in range(len(equations.updates)) if r not in self.place]
        heads = [equations.updates[members[0]] for members, _ in chains]
        self.reads = {
            p: self._ranges(p)
            for p in (*(equations.updates[r] for r in self.kept), equations.output, *heads, *equations.levels)
        }
        self.ranges = sorted({found for reads in self.reads.values() for ranges in reads.values() for found in ranges})
        read = Counter(chain for chain, _, _ in self.ranges)
        self.unfit.update(number for number in range(len(chains)) if not 1 <= read[number] <= _MOST_RANGES)
        self.headless = {chain for chain, _, last in self.ranges if last == 0}

    def _ranges(self, polynomial: Polynomial) -> dict[int, list[_Range]]:
        """For what is left of terms without their members of chains, the ranges of members that it stands with."""
        found: dict[int, dict[int, list[int]]] = {}
        for term in polynomial:
            members = list(bits(term & self.mask))
            if len(members) == 1:
                chain, position = self.place[members[0]]
                found.setdefault(term & ~self.mask, {}).setdefault(chain, []).append(position)
            elif members:
                self.unfit.update(self.place[member][0] for member in members)
        return {
            rest: [(chain, *run) for chain, positions in by_chain.items() for run in _contiguous(sorted(positions))]
            for rest, by_chain in found.items()
        }

    def collapsed(self) -> Equations:
        """The equations with delay lines in place of the chains."""
        old, count = self.equations, len(self.kept)
        first = count + len(old.guards)
        # A range that does not begin with the first member takes its values from a delay line of its own.
        delays = sorted({(chain, start) for chain, start, end in self.ranges if 0 < start < end})
        number = {found: first + k for k, found in enumerate(self.ranges)}
        delay = {found: first + len(self.ranges) + k for k, found in enumerate(delays)}
        new = {r: k for k, r in enumerate(self.kept)}

        def renumbered(term: int) -> int:
            registers = len(old.updates)
            return sum(1 << (new[v] if v < registers else v - registers + count) for v in bits(term))

        def rewritten(polynomial: Polynomial) -> Polynomial:
            terms = [renumbered(term) for term in polynomial if not term & self.mask]
            for rest, ranges in self.reads[polynomial].items():
                terms.extend(renumbered(rest) | 1 << number[found] for found in ranges)
            return absorb(terms)

        entering = [rewritten(old.updates[members[0]]) for members, _ in self.chains]
        guards = [renumbered(guard) for _, guard in self.chains]
        lines = []
        for chain, start, end in self.ranges:
            if start == end:
                lines.append(DelayLine("last", end + 1, entering[chain], guards[chain]))
            elif start == 0:
                lines.append(DelayLine("max", end + 1, entering[chain], guards[chain]))
            else:
                late = frozenset({1 << delay[chain, start] | guards[chain]})
                lines.append(DelayLine("max", end - start + 1, late, guards[chain]))
        lines.extend(DelayLine("last", start, entering[chain], guards[chain]) for chain, start in delays)
        return replace(
            old,
            owed=tuple(old.owed[r] for r in self.kept),
            updates=tuple(rewritten(old.updates[r]) for r in self.kept),
            output=rewritten(old.output),
            initial=tuple(old.initial[r] for r in self.kept),
            lines=tuple(lines),
            levels=tuple(map(rewritten, old.levels)),
        )


def _contiguous(positions: list[int]) -> list[tuple[int, int]]:
    """Sorted numbers as ranges.

    Example:
        >>> _contiguous([0, 1, 2, 5])
        [(0, 2), (5, 5)]
    """
    runs: list[tuple[int, int]] = []
    for position in positions:
        if runs and runs[-1][1] == position - 1:
            runs[-1] = (runs[-1][0], position)
        else:
            runs.append((position, position))
    return runs
