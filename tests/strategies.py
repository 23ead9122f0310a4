"""Random formulas and traces: hypothesis strategies, which shrink, and seeded generators, which are fast."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rewardspec.logic.formulas import (
    FALSE,
    FIRST,
    LAST,
    TRUE,
    Affine,
    AllButTimes,
    Always,
    And,
    AtLeastTimes,
    Atom,
    Constant,
    Counted,
    Eventually,
    Formula,
    Historically,
    Iff,
    Implies,
    Next,
    Not,
    Once,
    Or,
    Previous,
    Release,
    Shift,
    Since,
    StrongRelease,
    Timed,
    Trigger,
    Until,
    WeakNext,
    WeakPrevious,
    WeakUntil,
    Xor,
)

ATOMS = ("a", "b", "c")
UNARY = (Not, Next, WeakNext, Eventually, Always)
BINARY = (Implies, Iff, Xor, Until, Release, WeakUntil, StrongRelease)
NARY = (And, Or)
CONSTANTS = (TRUE, FALSE, LAST)
PAST_UNARY = (Previous, WeakPrevious, Once, Historically)
PAST_BINARY = (Since, Trigger)
COUNTED = (AtLeastTimes, AllButTimes)
QUARTER, HALF = 0.25, 0.5  # scales and discounts: powers of two, with which values stay exact for a while

BOOLEAN = (0.0, 1.0)
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
DYADIC = tuple(k / 256 for k in range(257))  # 1 - x is exact for these, so values can be compared with ==
LABELS = (BOOLEAN, QUARTERS, DYADIC)
REALS = tuple(k / 16 for k in range(-64, 65))  # for robustness


@dataclass(frozen=True)
class Language:
    """Which operators random formulas have, besides those of LTLf.

    Attributes:
        past: Y, WY, O, H, S and T.
        intervals: Intervals, and next and previous of several steps.
        counts: F{k} and G{k}.
        scales: Scales, offsets and constants between 0 and 1.
        discounts: Discounts.
        monitorable: Only what can be monitored: no future under the past, and discounts of the future without a bound
            at the top alone, or under conjunctions there.
    """

    past: bool = False
    intervals: bool = False
    counts: bool = False
    scales: bool = False
    discounts: bool = False
    monitorable: bool = False


LTLF = Language()
ROBUST = Language(past=True, intervals=True, counts=True)
EVERYTHING = Language(past=True, intervals=True, counts=True, scales=True, discounts=True)
MONITORABLE = Language(past=True, intervals=True, counts=True, scales=True, discounts=True, monitorable=True)


def formulas(max_depth: int = 6, atoms: Sequence[str] = ATOMS, language: Language = LTLF) -> st.SearchStrategy[Formula]:
    """Formulas over all operators and constants of a language, at most `max_depth` operators deep."""
    if language != LTLF:
        depths = st.integers(0, max_depth)
        return st.builds(
            lambda rng, depth: random_formula(rng, depth, atoms, language),
            st.randoms(use_true_random=False),
            depths,
        )
    leaves = st.sampled_from([*map(Atom, atoms), *CONSTANTS])
    strategy: st.SearchStrategy[Formula] = leaves
    for _ in range(max_depth):
        strategy = st.one_of(leaves, _unary(strategy), _binary(strategy), _nary(strategy))
    return strategy


def _unary(operand: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return st.builds(lambda kind, a: kind(a), st.sampled_from(UNARY), operand)


def _binary(operand: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    return st.builds(lambda kind, a, b: kind(a, b), st.sampled_from(BINARY), operand, operand)


def _nary(operand: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    operands = st.lists(operand, min_size=2, max_size=3)
    return st.builds(lambda kind, args: kind(*args), st.sampled_from(NARY), operands)


def traces(
    atoms: Sequence[str] = ATOMS, max_length: int = 8, kinds: Sequence[tuple[float, ...]] = LABELS
) -> st.SearchStrategy[dict[str, list[float]]]:
    """Traces of 1 to `max_length` steps whose labels are Boolean, quarters, or multiples of 1/256."""

    def of(length: int, labels: tuple[float, ...]) -> st.SearchStrategy[dict[str, list[float]]]:
        column = st.lists(st.sampled_from(labels), min_size=length, max_size=length)
        return st.fixed_dictionaries(dict.fromkeys(atoms, column))

    return st.tuples(st.integers(1, max_length), st.sampled_from(kinds)).flatmap(lambda drawn: of(*drawn))


def random_formula(rng: random.Random, depth: int, atoms: Sequence[str] = ATOMS, language: Language = LTLF) -> Formula:
    """A formula over all operators and constants of a language, at most `depth` operators deep."""
    if language != LTLF:
        return _TimedFormulas(rng, atoms, language).top(depth)
    if depth == 0 or rng.random() < 0.12:
        return rng.choice(CONSTANTS) if rng.random() < 0.08 else Atom(rng.choice(atoms))
    roll = rng.random()
    if roll < 0.4:
        return rng.choice(UNARY)(random_formula(rng, depth - 1, atoms))
    kind, operands = (rng.choice(NARY), rng.choice((2, 2, 3))) if roll < 0.6 else (rng.choice(BINARY), 2)
    return kind(*(random_formula(rng, depth - 1, atoms) for _ in range(operands)))


class _TimedFormulas:
    """Random formulas of a language that goes beyond LTLf."""

    def __init__(self, rng: random.Random, atoms: Sequence[str], language: Language) -> None:
        self.rng = rng
        self.atoms = atoms
        self.language = language

    def top(self, depth: int) -> Formula:
        if self.language.monitorable and self.language.discounts and depth > 0:
            roll = self.rng.random()
            if roll < 0.1:
                return And(self.top(depth - 1), self.top(depth - 1))
            if roll < 0.2:
                kind = self.rng.choice((Eventually, Always, Until, Release))
                args = [self.formula(depth - 1) for _ in range(2 if kind in (Until, Release) else 1)]
                return kind(*args, self.rng.choice((0, 0, 1)), None, HALF)
        return self.formula(depth)

    def formula(self, depth: int, past_only: bool = False) -> Formula:
        rng = self.rng
        if depth == 0 or rng.random() < 0.12:
            return self.leaf(past_only)
        kind = rng.choice(self.kinds(past_only))
        below = past_only or (self.language.monitorable and kind in (*PAST_UNARY, *PAST_BINARY))
        if kind in NARY:
            return kind(*(self.formula(depth - 1, below) for _ in range(rng.choice((2, 2, 3)))))
        operands = [self.formula(depth - 1, below) for _ in range(2 if kind in (*BINARY, *PAST_BINARY) else 1)]
        return kind(*operands, *self.params(kind))

    def leaf(self, past_only: bool) -> Formula:
        if self.rng.random() > 0.15:
            return Atom(self.rng.choice(self.atoms))
        constants: list[Formula] = [TRUE, FALSE]
        if not past_only:
            constants.append(LAST)
        if self.language.past:
            constants.append(FIRST)
        if self.language.scales:
            constants.extend([Constant(QUARTER), Constant(HALF), Constant(0.75)])
        return self.rng.choice(constants)

    def kinds(self, past_only: bool) -> list[type[Formula]]:
        kinds: list[type[Formula]] = [Not, And, Or, And, Or, Implies, Iff, Xor]
        if self.language.scales:
            kinds.append(Affine)
        if self.language.past:
            kinds.extend([*PAST_UNARY, *PAST_BINARY])
        if not past_only:
            kinds.extend([Next, WeakNext, Eventually, Always, Until, Release, WeakUntil, StrongRelease])
            if self.language.counts:
                kinds.extend(COUNTED)
        return kinds

    def params(self, kind: type[Formula]) -> tuple[float | None, ...]:
        rng, language = self.rng, self.language
        if issubclass(kind, Counted):
            return (rng.choice((1, 2, 3)) - (kind is AllButTimes),)
        if issubclass(kind, Affine):
            return rng.choice(((HALF,), (QUARTER,), (HALF, HALF), (HALF, QUARTER), (1.0,)))
        if issubclass(kind, Shift):
            return (rng.choice((1, 1, 2, 3)) if language.intervals else 1,)
        if not issubclass(kind, Timed):
            return ()
        low, high = 0, None
        if language.intervals and rng.random() < 0.6:
            low = rng.choice((0, 0, 1, 2))
            high = rng.choice((None, low, low + 1, low + 2, low + 4))
        discounted = language.discounts and rng.random() < 0.25
        if discounted and high is None and language.monitorable and kind not in (*PAST_UNARY, *PAST_BINARY):
            high = low + 2
        return low, high, HALF if discounted else 1.0


def random_trace(
    rng: random.Random, length: int, atoms: Sequence[str] = ATOMS, kinds: Sequence[tuple[float, ...]] = LABELS
) -> dict[str, list[float]]:
    """A trace whose labels are Boolean, quarters, or multiples of 1/256."""
    labels = rng.choice(kinds)
    return {atom: rng.choices(labels, k=length) for atom in atoms}


def random_batch(
    rng: random.Random,
    length: int,
    size: int,
    atoms: Sequence[str] = ATOMS,
    kinds: Sequence[tuple[float, ...]] = LABELS,
) -> dict[str, NDArray[np.float64]]:
    """Many random traces of one length: for each atom, an array of shape (length, size)."""
    batch = [random_trace(rng, length, atoms, kinds) for _ in range(size)]
    return {atom: np.array([trace[atom] for trace in batch]).T for atom in atoms}
