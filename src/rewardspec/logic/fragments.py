"""Syntactic fragments: safe, co-safe, propositional and past formulas, and atoms read in the first state only."""

from __future__ import annotations

from collections.abc import Iterator

from rewardspec.logic.formulas import Atom, Formula, FormulaLike, Timed, as_formula
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.operators import FUTURE, OPERATORS, PAST, TEMPORAL
from rewardspec.logic.quantifiers import body_of


def is_safe(formula: FormulaLike) -> bool:
    """Return whether a formula is syntactically safe: its negation normal form has no F, U, M or F{k} without a bound.

    This is the paper's Definition 3, with weak next and weak until, which it can express, allowed too; so are bounded
    operators, which `X` can express, and those of the past, whose value is known at each step.

    Example:
        >>> is_safe("G !crash"), is_safe("!F crash"), is_safe("G(a -> F b)"), is_safe("G(a -> F[0,5] b)")
        (True, True, False, True)
    """
    return all(_is_bounded(part) or OPERATORS[type(part)].safe for part in _operators(formula))


def is_cosafe(formula: FormulaLike) -> bool:
    """Return whether the negation is syntactically safe: the normal form has no G, R, W or G{k} without a bound.

    Example:
        >>> is_cosafe("F(a & F b)"), is_cosafe("G a")
        (True, False)
    """
    return all(_is_bounded(part) or OPERATORS[type(part)].cosafe for part in _operators(formula))


def is_propositional(formula: FormulaLike) -> bool:
    """Return whether a formula has no temporal operator, so that it reads the first state alone."""
    return not as_formula(formula).is_temporal


def is_past(formula: FormulaLike) -> bool:
    """Return whether a formula reads no later step, so that its value at a step is known there.

    Example:
        >>> is_past("H(a -> O[0,5] b)"), is_past("a"), is_past("O F a")
        (True, True, False)
    """
    return not any(isinstance(part, FUTURE) for part in as_formula(formula).subformulas())


def unguarded_atoms(formula: FormulaLike) -> tuple[str, ...]:
    """Return the atoms that occur outside every operator of the future, where they are read at the first state only.

    Example:
        >>> unguarded_atoms("F G true & !reach_goal"), unguarded_atoms("H[0,5] quiet")
        (('reach_goal',), ('quiet',))
    """
    return tuple(part.name for part in _at_first_state(as_formula(formula), FUTURE) if isinstance(part, Atom))


def unguarded_past(formula: FormulaLike) -> tuple[Formula, ...]:
    """Parts that look back outside every operator of the future: from the first state, before which there is nothing.

    Example:
        >>> unguarded_past("F goal & H[0,5] quiet"), unguarded_past("now H[0,5] quiet")
        ((parse('H[0,5] quiet'),), ())
    """
    return tuple(part for part in _at_first_state(as_formula(formula), TEMPORAL) if isinstance(part, PAST))


def future_in_past(formula: Formula) -> tuple[Formula, Formula] | None:
    """A part that looks back and one inside it that looks ahead, whose value no monitor can know; None without any.

    Example:
        >>> future_in_past(as_formula("G(a -> O(b & F c))"))
        (parse('O(b & F c)'), parse('F c'))
    """
    ahead: dict[Formula, Formula] = {}  # for each part an operator of the future in it
    for part in formula.subformulas():
        inside = next((ahead[arg] for arg in part.args if arg in ahead), None)
        if isinstance(part, PAST) and inside is not None:
            return part, inside
        if isinstance(part, FUTURE):
            ahead[part] = part
        elif inside is not None:
            ahead[part] = inside
    return None


def _at_first_state(formula: Formula, guards: tuple[type[Formula], ...]) -> Iterator[Formula]:
    """The parts that are read at the first state, down to the operators in `guards`, which come last."""
    seen: set[Formula] = set()
    stack = [body_of(formula)]
    while stack:
        part = stack.pop()
        if part not in seen:
            seen.add(part)
            yield part
            if not isinstance(part, guards):
                stack.extend(reversed(part.args))


def _operators(formula: FormulaLike) -> Iterator[Formula]:
    """The operators of the negation normal form; a quantifier leaves it as safe as its body is."""
    return (part for part in body_of(to_nnf(formula)).subformulas() if part.args)


def _is_bounded(formula: Formula) -> bool:
    return isinstance(formula, Timed) and formula.high is not None
