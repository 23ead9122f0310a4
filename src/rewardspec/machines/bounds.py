"""Bounds: the smallest and the largest value that a trace so far can still end with.

A continuation's value is a lattice polynomial of the present registers, with the future labels as coefficients, so the
largest value over all continuations is the maximum of terms min(registers in R, s(R)) over sets R of registers.  Here
s(R) is 1 if some future with labels 0 and 1 brings the registers of R, and no others, through to the value; else 1/2 if
some future does in which an atom and its negation may count at once, both at 1/2; else 0.  The sets are found by a
search backwards from the value, on the reduced machine itself.  The lower bound is the same for the negation.

A window is expanded into a register for each value that it holds, where these are few; else it is approximated,
so that the bounds are sound, but need not be reached.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from rewardspec.errors import SynthesisError
from rewardspec.machines import polynomials
from rewardspec.machines.effort_limit import Effort
from rewardspec.machines.expressions import (
    ONE,
    ZERO,
    Expression,
    Substitution,
    all_parts,
    complement,
    constant,
    content,
    discount,
    dual,
    dual_part,
    fold_all,
    held,
    label,
    maximum,
    minimum,
    register,
    substitute,
    window,
)
from rewardspec.machines.polynomials import Polynomial, bits
from rewardspec.machines.program import Program, Step
from rewardspec.machines.readings import evaluate_tables, parts_of
from rewardspec.types import MachineState, Number

_HALF = constant(0.5)
_EFFORT = 1_500_000  # comparisons of terms beyond which the bounds are given up; they take some seconds
_EFFORT_EXPANDED = 300_000  # the same, beyond which windows are not expanded
_PART_EFFORT = 5  # what it costs to look at a part of an expression, in comparisons of terms
_MOST_EXPANDED = 64  # values of windows that are looked at one by one


class Bounds:
    """The bounds of a program's states.

    Attributes:
        upper: For each control state, the largest value that a further letter or more can lead to.
        lower: Likewise the smallest.
        exact: Whether some continuation reaches them. If not, they are still sound: no continuation passes them.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        ends = None
        if 0 < sum(each.length for each in program.windows) <= _MOST_EXPANDED:
            with contextlib.suppress(SynthesisError):
                ends = _ends_of_contents(program)
        self.lower, self.upper, self.exact = ends or _ends(program, _EFFORT)

    def __call__(self, state: MachineState) -> tuple[Number, Number]:
        """The lower and the upper bound of a state, of one trace or of a batch."""
        parts, xp = parts_of(self.program, state)
        value = parts.memory[-1]
        lower, upper = evaluate_tables(self.program, parts, xp, (self.lower, self.upper))
        if xp is not None:
            return xp.fmin(value, lower), xp.fmax(value, upper)
        return (lower, upper) if value != value else (min(value, lower), max(value, upper))


_Ends: TypeAlias = tuple[tuple[Expression, ...], tuple[Expression, ...], bool]


def _ends(program: Program, effort: int) -> _Ends:
    """For each control state the smallest and the largest value ahead, and whether they are reached."""
    best, worst = largest(program, effort=effort), largest(program, negated=True, effort=effort)
    # The complement of the machine is one for the negation, on registers that hold the complements of ours.
    return tuple(dual(value) for value in worst.values), best.values, best.exact and worst.exact


def _ends_of_contents(program: Program) -> _Ends:
    """The same, for a program with a register for each value that its windows hold, in terms of these values."""
    places = [(k, place) for k, each in enumerate(program.windows) for place in range(each.length)]
    member = {place: register(number) for number, place in enumerate(places, start=len(program.registers))}
    reads = {}
    for k, each in enumerate(program.windows):
        members = [member[k, place] for place in range(each.length)]
        outer = minimum if each.op == "min" else maximum
        reads[window(k)] = members[0] if each.op == "last" else outer(*members)
    change = Substitution(reads)

    def expanded(step: Step) -> Step:
        changed = step.map(change)
        values = []
        for k, (each, push) in enumerate(zip(program.windows, changed.pushes, strict=True)):
            bound = maximum if each.neutral else minimum
            for place in range(1, each.length):
                kept = member[k, place]
                values.append(kept if push.guard is None else bound(kept, push.guard))
            values.append(push.value)
        return Step((*changed.updates, *values), changed.outputs)

    whole = replace(
        program,
        registers=program.registers + tuple(f"{program.windows[k].name} {place}" for k, place in places),
        initial=program.initial + tuple(program.windows[k].neutral for k, _ in places),
        steps=tuple(map(expanded, program.steps)),
        windows=(),
        progress=None,
    )
    lower, upper, exact = _ends(whole, _EFFORT_EXPANDED)
    named = Substitution({member[each]: content(*each) for each in places})
    return tuple(map(named, lower)), tuple(map(named, upper)), exact


class Largest(NamedTuple):
    """For each control state, the largest value that reading one letter or more can lead to."""

    values: tuple[Expression, ...]
    exact: bool


def largest(program: Program, *, negated: bool = False, effort: int = _EFFORT) -> Largest:
    """The largest value of the output, or with `negated` of its complement, that going on can lead to.

    The values are expressions of registers, windows and `held(k)`, the largest value that window k holds. At most
    `effort` comparisons of terms are spent on them.

    Raises:
        SynthesisError: It takes too long to find.
    """
    cells = _Cells(program, negated)
    left = Effort(effort)
    try:
        whole = _sets_that_lead_to_the_value(program, cells, _Search(left, both_at_once=False, term=cells.term))
        half = _sets_that_lead_to_the_value(program, cells, _Search(left, both_at_once=True, term=cells.term))
    except SynthesisError:
        raise SynthesisError(
            "The exact bounds of this monitor take too long to find. Its values are not affected."
        ) from None
    # A scale lifts what is half true above a half, so that nothing caps it.
    cap = ONE if cells.scaled else _HALF
    values = tuple(
        maximum(cells.expression(ones), minimum(cap, cells.expression(halves)))
        for ones, halves in zip(whole, half, strict=True)
    )
    return Largest(values, not (cells.scaled or program.windows))


class _Cells:
    """A program without windows and scales, whose values are never smaller.

    A window of maxima becomes a register that never loses a value; one of minima a register that soon holds the newest
    alone; a delay one that may give any value that it holds. A scale is bounded by its ends, what is discounted by its
    weight, and constants are registers that never change.
    """

    def __init__(self, program: Program, negated: bool) -> None:
        count, windows = len(program.registers), len(program.windows)
        self._first_window = count
        self._first_held = count + windows
        self._constants: dict[float, int] = {}
        self._first_constant = count + 2 * windows
        self.scaled = False
        parts = all_parts(program.expressions())
        self._weights = {part.args[1].args[0] for part in parts if part.op == "discount"}
        # A weight is none of the values, and has no complement in the negated program.
        weights = [step.updates[number] for step in program.steps for number in self._weights]
        plain = fold_all((update for update in weights if update is not None), self._plain)
        values = [
            *(e for step in program.steps for e in step.outputs),
            *(e for step in program.steps for k, e in enumerate(step.updates) if e and k not in self._weights),
            *(e for step in program.steps for push in step.pushes for e in (push.value, push.guard) if e),
        ]
        viewed = fold_all(values, dual_part) if negated else {value: value for value in values}
        found = fold_all((viewed[value] for value in values), self._plain)
        plain_values = {value: found[viewed[value]] for value in values}
        self.outputs = [plain_values[step.outputs[0]] for step in program.steps]
        self.updates: list[list[Expression | None]] = []
        for step in program.steps:
            row = [
                None if update is None else (plain if k in self._weights else plain_values)[update]
                for k, update in enumerate(step.updates)
            ]
            everything: list[Expression | None] = []
            for k, (each, push) in enumerate(zip(program.windows, step.pushes, strict=True)):
                own, all_held = register(self._first_window + k), register(self._first_held + k)
                value = plain_values[push.value]
                guard = ONE if push.guard is None else plain_values[push.guard]
                raised = bool(each.neutral) != negated  # guards raise values, or bound them from above
                kept = maximum(all_held, ZERO if push.guard is None else guard) if raised else minimum(all_held, guard)
                everything.append(maximum(kept, value))
                if each.op == "last":
                    row.append(all_held)
                else:
                    row.append(value if raised else maximum(minimum(own, guard), value))
            self.updates.append([*row, *everything])

    def update(self, control: int, number: int) -> Expression | None:
        """The new value of a register."""
        return register(number) if number >= self._first_constant else self.updates[control][number]

    def _plain(self, part: Expression, args: tuple[Expression, ...]) -> Expression:
        """An expression without windows and scales, given its operands without them."""
        match part.op:
            case "window":
                return register(self._first_window + part.args[0])
            case "constant" if part not in (ZERO, ONE):
                return self._constant(part.args[0])
            case "min":
                return minimum(*args)
            case "max":
                return maximum(*args)
            case "discount":
                self.scaled = True
                return ONE if part.args[2] else minimum(*args)
            case "affine":
                _, scale, offset = part.args
                self.scaled = True
                # Between x and the map's fixed point, and never above what it makes of 1.
                fixed = offset / (1.0 - scale) if scale < 1.0 else 0.0
                return minimum(self._constant(scale + offset), maximum(args[0], self._constant(fixed)))
        return part

    def _constant(self, value: float) -> Expression:
        if value in (0.0, 1.0):
            return constant(value)
        number = self._constants.setdefault(value, self._first_constant + len(self._constants))
        return register(number)

    @functools.cached_property
    def _ascending(self) -> list[float]:
        """The constants in order, from when all of them are known."""
        return sorted(self._constants)

    @functools.cached_property
    def _ranks(self) -> dict[int, int]:
        return {self._constants[value]: rank for rank, value in enumerate(self._ascending)}

    def term(self, number: int) -> polynomials.Term:
        """The term of one register.

        That of a constant has the variables of all larger constants too, so that a term with a smaller one is absorbed
        by the same with a larger one.
        """
        if number < self._first_constant:
            return 1 << number
        rank = self._ranks[number]
        return ((1 << len(self._ranks) - rank) - 1) << self._first_constant + rank

    def members(self, term: polynomials.Term) -> list[Expression]:
        """The registers and constants of a term; of several constants the smallest."""
        constants = term >> self._first_constant
        members = [register(number) for number in bits(term & (1 << self._first_constant) - 1)]
        if constants:
            rank = (constants & -constants).bit_length() - 1
            members.append(register(self._constants[self._ascending[rank]]))
        return members

    def expression(self, polynomial: Polynomial) -> Expression:
        """The value of a polynomial over these registers."""

        def leaf(number: int) -> Expression:
            if number >= self._first_constant:
                return constant(self._ascending[self._ranks[number]])
            if number >= self._first_held:
                return held(number - self._first_held)
            if number in self._weights:
                return discount(ONE, register(number), raised=False)
            return register(number) if number < self._first_window else window(number - self._first_window)

        terms = ((leaf(member.args[0]) for member in self.members(term)) for term in sorted(polynomial))
        return maximum(*(minimum(*term) for term in terms))


def _sets_that_lead_to_the_value(program: Program, cells: _Cells, search: _Search) -> list[Polynomial]:
    sets = [search.some_letter(output) for output in cells.outputs]
    before: list[list[int]] = [[] for _ in program.steps]
    for control in range(len(program.steps)):
        before[program.successor(control)].append(control)
    waiting = [(control, term) for control, found in enumerate(sets) for term in found]
    while waiting:
        control, term = waiting.pop()
        if term not in sets[control]:
            continue  # a smaller set has been found since, and leads to whatever this one does
        for earlier in before[control]:
            # These registers, all of them, must come through the letter.
            needed = [cells.update(earlier, member.args[0]) for member in cells.members(term)]
            found = search.some_letter(minimum(*(e for e in needed if e is not None)))
            new = search.maximum(sets[earlier], found)
            waiting += [(earlier, each) for each in new.difference(sets[earlier])]
            sets[earlier] = new
    return sets


class _Search:
    """Search for the sets of registers that suffice for an expression to hold, given the best letter.

    `term` gives the term of a register, and `both_at_once` says whether an atom and its negation may count at once.
    """

    def __init__(self, effort: Effort, *, both_at_once: bool, term: Callable[[int], polynomials.Term]) -> None:
        self.effort = effort
        self.both_at_once = both_at_once
        self.term = term
        self._done: dict[Expression, Polynomial] = {}

    def some_letter(self, expression: Expression) -> Polynomial:
        """The sets of registers for which some letter makes the expression hold."""
        expression = self._free_literals_true(expression)
        if expression not in self._done:
            self.effort.spend(50 + 10 * len(expression.operands))
            self._done[expression] = self._search(expression)
        return self._done[expression]

    def _search(self, expression: Expression) -> Polynomial:
        atoms = _atoms(expression)
        if not atoms:
            return self._to_polynomial(expression)
        if expression.op == "max":
            return functools.reduce(self.maximum, map(self.some_letter, expression.operands))
        groups = _independent(expression) if expression.op == "min" else [expression]
        if len(groups) > 1:
            return functools.reduce(self.minimum, map(self.some_letter, groups))
        atom = max(sorted(atoms), key=lambda a: atoms[a])
        holds = substitute(expression, {label(atom): ONE, complement(atom): ZERO})
        fails = substitute(expression, {label(atom): ZERO, complement(atom): ONE})
        return self.maximum(self.some_letter(holds), self.some_letter(fails))

    def maximum(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """The maximum of two polynomials, whose terms are compared with each other."""
        self.effort.spend(len(left) * len(right) // 8)
        return polynomials.maximum(left, right)

    def minimum(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """The minimum of two polynomials, whose products are compared with each other."""
        terms = len(left) * len(right)
        self.effort.spend(terms + (terms * terms // 64 if min(len(left), len(right)) > 1 else 0))
        return polynomials.minimum(left, right)

    def _to_polynomial(self, expression: Expression) -> Polynomial:
        def build(part: Expression, args: tuple[Polynomial, ...]) -> Polynomial:
            match part.op:
                case "constant":
                    return polynomials.ONE if part == ONE else polynomials.ZERO
                case "register":
                    return frozenset({self.term(part.args[0])})
                case "min":
                    return functools.reduce(self.minimum, args)
            return functools.reduce(self.maximum, args)

        return expression.fold(build)

    def _free_literals_true(self, expression: Expression) -> Expression:
        """The expression with every literal set to 1 whose opposite does not occur: nothing speaks against it."""
        while True:
            parts = list(all_parts([expression]))
            self.effort.spend(_PART_EFFORT * len(parts))
            literals = {part for part in parts if part.op in ("label", "complement")}
            free = {part: ONE for part in literals if self.both_at_once or dual(part) not in literals}
            if not free:
                return expression
            expression = substitute(expression, free)


def _atoms(expression: Expression) -> dict[str, int]:
    counts: dict[str, int] = {}
    for part in all_parts([expression]):
        for arg in part.operands:
            if arg.op in ("label", "complement"):
                counts[arg.args[0]] = counts.get(arg.args[0], 0) + 1
    return counts


def _independent(expression: Expression) -> list[Expression]:
    """The arguments of a min, those that share an atom kept together."""
    groups: list[tuple[set[str], list[Expression]]] = []
    for arg in expression.operands:
        names = {part.args[0] for part in all_parts([arg]) if part.op in ("label", "complement")}
        members = [arg]
        for other in [group for group in groups if group[0] & names]:
            names |= other[0]
            members = other[1] + members
            groups.remove(other)
        groups.append((names, members))
    return [minimum(*members) for _, members in groups]
