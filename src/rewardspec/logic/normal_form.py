"""Negation normal form: negations pushed down to the atoms, implications and equivalences spelt out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rewardspec.logic.bottom_up import bottom_up
from rewardspec.logic.formulas import And, Atom, Formula, FormulaLike, Iff, Implies, Not, Or, Xor, as_formula
from rewardspec.logic.operators import OPERATORS
from rewardspec.logic.quantifiers import DUALS, Quantified

_Signed: TypeAlias = tuple[Formula, bool]  # and whether it is negated


def to_nnf(formula: FormulaLike) -> Formula:
    """Return the negation normal form, which has the same value on every trace.

    Example:
        >>> str(to_nnf("!(a U[0,5] X b)"))
        '!a R[0,5] WX !b'
    """
    return _nnf(as_formula(formula), negated=False)


def negate(formula: FormulaLike) -> Formula:
    """Return the negation normal form of the negation."""
    return _nnf(as_formula(formula), negated=True)


def dual(formula: Formula, *negated: Formula) -> Formula:
    """The negation of a formula in normal form, from the negations of its operands.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> dual(parse("F{3} a"), parse("!a")), dual(parse("0.75 * a"), parse("!a"))
        (parse('G{2} !a'), parse('0.75 * !a + 0.25'))
    """
    kind: Callable[..., Formula] | None = OPERATORS[type(formula)].dual if formula.args else type(formula)
    assert kind is not None, f"not in negation normal form: {formula}"
    return kind(*negated, *formula.dual_params)


def is_literal(formula: Formula) -> bool:
    """Return whether the formula is an atom or a negated atom."""
    return isinstance(formula, Atom) or (isinstance(formula, Not) and isinstance(formula.arg, Atom))


def _nnf(formula: Formula, negated: bool) -> Formula:
    if isinstance(formula, Quantified):
        kind = DUALS[type(formula)] if negated else type(formula)
        return kind(_nnf(formula.body, negated), formula.variable)
    done: dict[_Signed, Formula] = {}
    return bottom_up((formula, negated), _needs, lambda key: _combine(*key, [done[need] for need in _needs(key)]), done)


def _needs(signed: _Signed) -> list[_Signed]:
    """What the normal form is made from."""
    formula, negated = signed
    if isinstance(formula, Not):
        return [(formula.arg, not negated)]
    if isinstance(formula, Implies):
        # The whole chain a -> (b -> c) at once: taking it link by link would copy the rest of it for every link.
        needs = []
        while isinstance(formula, Implies):
            needs.append((formula.left, not negated))
            formula = formula.right
        return [*needs, (formula, negated)]
    if isinstance(formula, Iff | Xor):
        left, right = formula.left, formula.right
        return [(left, False), (left, True), (right, False), (right, True)]
    return [(arg, negated) for arg in formula.args]


def _combine(formula: Formula, negated: bool, parts: list[Formula]) -> Formula:
    match formula:
        case Atom():
            return Not(formula) if negated else formula
        case Not():
            return parts[0]
        case Implies():
            return And(*parts) if negated else Or(*parts)
        case Iff() | Xor():
            left, not_left, right, not_right = parts
            if isinstance(formula, Iff) != negated:
                return And(Or(not_left, right), Or(left, not_right))
            return Or(And(left, not_right), And(not_left, right))
    return dual(formula, *parts) if negated else formula.rebuild(*parts)
