"""Which kind of formula is this: safety, propositional, or one that reads an atom at the first state only."""

from __future__ import annotations

from rewardspec.logic.formulas import (
    Always,
    Atom,
    Eventually,
    Formula,
    FormulaLike,
    Next,
    Release,
    StrongRelease,
    Until,
    WeakNext,
    WeakUntil,
    as_formula,
)
from rewardspec.logic.normal_form import to_nnf

TEMPORAL = (Next, WeakNext, Eventually, Always, Until, Release, WeakUntil, StrongRelease)


def is_safe(formula: FormulaLike) -> bool:
    """Whether the formula is syntactically safe: its negation normal form promises nothing for "some day".

    This is the paper's Definition 3, with weak next and weak until, which it can express, allowed too.

    Example:
        >>> is_safe("G !crash"), is_safe("!F crash"), is_safe("G(a -> F b)")
        (True, True, False)
    """
    return not any(isinstance(part, Until | Eventually | StrongRelease) for part in to_nnf(formula).subformulas())


def is_cosafe(formula: FormulaLike) -> bool:
    """Whether the negation is syntactically safe: the formula promises something for "some day" and nothing for ever.

    Example:
        >>> is_cosafe("F(a & F b)"), is_cosafe("G a")
        (True, False)
    """
    return not any(isinstance(part, Release | Always | WeakUntil) for part in to_nnf(formula).subformulas())


def is_propositional(formula: FormulaLike) -> bool:
    """Whether the formula has no temporal operator, so that it reads the first state alone."""
    return not any(isinstance(part, TEMPORAL) for part in as_formula(formula).subformulas())


def unguarded_atoms(formula: FormulaLike) -> tuple[str, ...]:
    """Atoms that occur outside every temporal operator: there they are read at the first state only.

    Example:
        >>> unguarded_atoms("F G true & !reach_goal")
        ('reach_goal',)
    """
    found: dict[str, None] = {}
    seen: set[Formula] = set()
    stack = [as_formula(formula)]
    while stack:
        part = stack.pop()
        if part in seen or isinstance(part, TEMPORAL):
            continue
        seen.add(part)
        if isinstance(part, Atom):
            found[part.name] = None
        stack.extend(reversed(part.args))
    return tuple(found)
