"""Random formulas and traces: hypothesis strategies, which shrink, and seeded generators, which are fast."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rewardspec.logic.formulas import (
    FALSE,
    LAST,
    TRUE,
    Always,
    And,
    Atom,
    Eventually,
    Formula,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Release,
    StrongRelease,
    Until,
    WeakNext,
    WeakUntil,
    Xor,
)

ATOMS = ("a", "b", "c")
UNARY = (Not, Next, WeakNext, Eventually, Always)
BINARY = (Implies, Iff, Xor, Until, Release, WeakUntil, StrongRelease)
NARY = (And, Or)
CONSTANTS = (TRUE, FALSE, LAST)

BOOLEAN = (0.0, 1.0)
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
DYADIC = tuple(k / 256 for k in range(257))  # 1 - x is exact for these, so values can be compared with ==
LABELS = (BOOLEAN, QUARTERS, DYADIC)


def formulas(max_depth: int = 6, atoms: Sequence[str] = ATOMS) -> st.SearchStrategy[Formula]:
    """Formulas over all operators and constants, at most `max_depth` operators deep."""
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


def traces(atoms: Sequence[str] = ATOMS, max_length: int = 8) -> st.SearchStrategy[dict[str, list[float]]]:
    """Traces of 1 to `max_length` steps whose labels are Boolean, quarters, or multiples of 1/256."""

    def of(length: int, labels: tuple[float, ...]) -> st.SearchStrategy[dict[str, list[float]]]:
        column = st.lists(st.sampled_from(labels), min_size=length, max_size=length)
        return st.fixed_dictionaries(dict.fromkeys(atoms, column))

    return st.tuples(st.integers(1, max_length), st.sampled_from(LABELS)).flatmap(lambda drawn: of(*drawn))


def random_formula(rng: random.Random, depth: int, atoms: Sequence[str] = ATOMS) -> Formula:
    """A formula over all operators and constants, at most `depth` operators deep."""
    if depth == 0 or rng.random() < 0.12:
        return rng.choice(CONSTANTS) if rng.random() < 0.08 else Atom(rng.choice(atoms))
    roll = rng.random()
    if roll < 0.4:
        return rng.choice(UNARY)(random_formula(rng, depth - 1, atoms))
    kind, operands = (rng.choice(NARY), rng.choice((2, 2, 3))) if roll < 0.6 else (rng.choice(BINARY), 2)
    return kind(*(random_formula(rng, depth - 1, atoms) for _ in range(operands)))


def random_trace(rng: random.Random, length: int, atoms: Sequence[str] = ATOMS) -> dict[str, list[float]]:
    """A trace whose labels are Boolean, quarters, or multiples of 1/256."""
    labels = rng.choice(LABELS)
    return {atom: rng.choices(labels, k=length) for atom in atoms}


def random_batch(
    rng: random.Random, length: int, size: int, atoms: Sequence[str] = ATOMS
) -> dict[str, NDArray[np.float64]]:
    """Many random traces of one length: for each atom, an array of shape (length, size)."""
    batch = [random_trace(rng, length, atoms) for _ in range(size)]
    return {atom: np.array([trace[atom] for trace in batch]).T for atom in atoms}
