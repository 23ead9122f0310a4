"""A formula in plain English, for people who do not read temporal logic every day."""

from __future__ import annotations

from rewardspec.logic.formulas import (
    LAST,
    Always,
    And,
    Atom,
    Constant,
    Eventually,
    Formula,
    FormulaLike,
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
    as_formula,
)

_LONGEST = 40  # operators and atoms beyond which words help nobody


def paraphrase(formula: FormulaLike) -> str | None:
    """The formula in words, or None where it is too long to be worth it.

    Example:
        >>> paraphrase("G(request -> F grant)")
        'at every step: if request then sooner or later: grant'
        >>> paraphrase("!a U (a & F b)")
        'not a until (a and sooner or later: b), which must come'
    """
    formula = as_formula(formula)
    if formula.size > _LONGEST:
        return None
    words: str = formula.fold(_words)
    return words


def _words(formula: Formula, args: tuple[str, ...]) -> str:
    if formula == LAST:
        return "this is the last step"
    match formula:
        case Constant():
            return "true" if formula.value else "false"
        case Atom():
            return formula.name
        case Always(args=(Eventually(args=(_,)),)) | Eventually(args=(Always(args=(_,)),)):
            return f"at the last step: {args[0].partition(': ')[2]}"
    grouped = [_grouped(arg, text) for arg, text in zip(formula.args, args, strict=True)]
    match formula:
        case Not():
            return f"not {grouped[0]}"
        case And():
            return " and ".join([*grouped[:-1], args[-1] if _is_prefix(formula.args[-1]) else grouped[-1]])
        case Or():
            return " or ".join(grouped)
        case Implies():
            return f"if {grouped[0]} then {args[1]}"
        case Iff():
            return f"{grouped[0]} exactly when {grouped[1]}"
        case Xor():
            return f"either {grouped[0]} or {grouped[1]} but not both"
        case Next():
            return f"at the next step, which must come: {args[0]}"
        case WeakNext():
            return f"at the next step, if there is one: {args[0]}"
        case Eventually():
            return f"sooner or later: {args[0]}"
        case Always():
            return f"at every step: {args[0]}"
        case Until():
            return f"{grouped[0]} until {grouped[1]}, which must come"
        case WeakUntil():
            return f"{grouped[0]} until {grouped[1]}, or to the end"
        case Release():
            return f"{grouped[1]} up to and including the step where {grouped[0]}, or to the end"
        case StrongRelease():
            return f"{grouped[1]} up to and including the step where {grouped[0]}, which must come"
    raise AssertionError(f"no words for {type(formula).__name__}")


def _grouped(formula: Formula, text: str) -> str:
    """The text in parentheses, where its end would otherwise be unclear."""
    return text if isinstance(formula, Atom | Constant) or formula == LAST or _is_negated_atom(formula) else f"({text})"


def _is_negated_atom(formula: Formula) -> bool:
    return isinstance(formula, Not) and isinstance(formula.arg, Atom)


def _is_prefix(formula: Formula) -> bool:
    """Whether the words start with where to look, so that nothing after them can be mistaken."""
    return isinstance(formula, Next | WeakNext | Eventually | Always)
