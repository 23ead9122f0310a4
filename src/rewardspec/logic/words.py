"""A formula in plain English, for people who do not read temporal logic every day.

The table of operators has a sentence for each.  In it `{a}` and `{b}` stand for the operands, grouped where their end
would be unclear, and `{A}` and `{B}` for the operands as they are; the rest says which steps are meant:

    {away}   at the next step; 3 steps from now               {some}   sooner or later; within 5 steps
    {by}     (nothing); within 5 steps                        {every}  at every step; now and at the next 5 steps
    {count}  2 steps                                          {scale}, {plus}  the parameters of a scale
"""

from __future__ import annotations

from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula, FormulaLike, as_formula
from rewardspec.logic.operators import OPERATORS, Tense
from rewardspec.logic.quantifiers import Exists, Forall, Mean, Quantified

_LONGEST = 40  # operators and atoms beyond which words help nobody
_OVER = {Forall: "for every", Exists: "for at least one", Mean: "on average over every"}
_NAMED: dict[Formula, str] = {fm.LAST: "this is the last step", fm.FIRST: "this is the first step"}


def paraphrase(formula: FormulaLike) -> str | None:
    """The formula in words, or None where it is too long to be worth it.

    Example:
        >>> paraphrase("G(request -> F[0,20] grant)")
        'at every step: if request then within 20 steps: grant'
        >>> paraphrase("forall box: G(held(box) -> F placed(box))")
        'for every box: at every step: if held(box) then sooner or later: placed(box)'
        >>> paraphrase("!a U (a & F b)")
        'not a until (a, and from then on sooner or later: b), which must come'
        >>> paraphrase("now fast"), paraphrase("F G fast")
        ('at the current step: fast', 'at the last step: fast')
    """
    formula = as_formula(formula)
    if formula.size > _LONGEST:
        return None
    if isinstance(formula, Quantified):
        return f"{_OVER[type(formula)]} {formula.variable}: {_sentence(formula.body)}"
    return _sentence(formula)


def _sentence(formula: Formula) -> str:
    """The words of a formula that is part of no other: of an episode so far, the last step is the current one."""
    text = formula.fold(_words)
    match formula:
        case fm.Eventually(args=(fm.And(args=(first, *_)),)) if formula.is_plain and first == fm.LAST:
            return text.replace("at the last step: ", "at the current step: ", 1)
    return text


def _words(formula: Formula, args: tuple[str, ...]) -> str:
    if formula in _NAMED:
        return _NAMED[formula]
    if isinstance(formula, fm.Atom):
        return formula.name
    if isinstance(formula, fm.Constant):
        return {1.0: "true", 0.0: "false"}.get(formula.value) or fm.number_text(formula.value)
    if isinstance(formula, fm.WeakNext | fm.WeakPrevious) and formula.arg == fm.FALSE:
        left = "have passed" if isinstance(formula, fm.WeakPrevious) else "are left"
        return f"fewer than {_plural(formula.steps)} {left}"
    if isinstance(formula, fm.Next | fm.Previous) and formula.arg == fm.TRUE and formula.steps > 1:
        left = "have passed" if isinstance(formula, fm.Previous) else "are left"
        return f"at least {_plural(formula.steps)} {left}"
    judged_at_last = _at_last(formula, args)
    if judged_at_last is not None:
        return f"at the last step: {judged_at_last}"
    row = OPERATORS[type(formula)]
    grouped = [_grouped(arg, text) for arg, text in zip(formula.args, args, strict=True)]
    if isinstance(formula, fm.Nary):
        if not isinstance(formula, fm.And) or not _is_prefix(formula.args[-1]):
            return row.words.join(grouped)
        # Nothing comes after the last operand that could be mistaken for a part of it.
        others, last = row.words.join(grouped[:-1]), formula.args[-1]
        sequence = (
            isinstance(last, fm.Eventually | fm.Always)
            and last.low == 0
            and not any(map(_is_prefix, formula.args[:-1]))
        )
        return f"{others}, and from then on {args[-1]}" if sequence else f"{others}{row.words}{args[-1]}"
    sentence = row.words
    if row.timed_words is not None and isinstance(formula, fm.Timed) and not formula.is_plain:
        sentence = row.timed_words
    operands = {"a": grouped[0], "A": args[0], "b": grouped[-1], "B": args[-1]}
    return sentence.format(**operands, **_steps(formula, row.tense))


def _at_last(formula: Formula, args: tuple[str, ...]) -> str | None:
    """Describe `F G φ`, `G F φ` and `F(last & φ)` as statements about the last step, which they surprisingly are."""
    match formula:
        case fm.Always(args=(fm.Eventually() as inner,)) | fm.Eventually(args=(fm.Always() as inner,)):
            plain = isinstance(formula, fm.Timed) and formula.is_plain and inner.is_plain
            return args[0].partition(": ")[2] if plain else None
        case fm.Eventually(args=(fm.And(args=(first, *_)),)) if formula.is_plain and first == fm.LAST:
            return args[0].removeprefix(_NAMED[fm.LAST]).removeprefix(", and from then on ").removeprefix(" and ")
    return None


def _steps(formula: Formula, tense: Tense | None) -> dict[str, str]:
    """Return the phrases about steps and numbers for the sentences of the table."""
    if isinstance(formula, fm.Shift):
        return {"away": _away(formula.steps, tense)}
    if isinstance(formula, fm.Counted):
        return {"count": _plural(formula.count)}
    if isinstance(formula, fm.Affine):
        plus = f" plus {fm.number_text(formula.offset)}" if formula.offset else ""
        return {"scale": fm.number_text(formula.scale), "plus": plus}
    return _interval(formula, tense) if isinstance(formula, fm.Timed) else {}


def _away(steps: int, tense: Tense | None) -> str:
    if steps == 1:
        return "at the step before" if tense == "past" else "at the next step"
    return f"{steps} steps {_direction(tense)}"


def _interval(formula: fm.Timed, tense: Tense | None) -> dict[str, str]:
    low, high, discount = formula.params
    away = _direction(tense)
    factor = f" (times {fm.number_text(discount)} for each step)" if discount != 1.0 else ""
    if high is None and low == 0:
        some, by, every = (
            ("at some step so far", "", "at every step so far")
            if tense == "past"
            else ("sooner or later", "", "at every step")
        )
    elif high is None:
        some = by = f"at least {_plural(low)} {away}"
        every = (
            f"at every step, from {_plural(low)} {away} on"
            if tense != "past"
            else f"at every step up to {_plural(low)} ago"
        )
    elif low == high:
        some = by = every = "now" if low == 0 else f"exactly {_plural(low)} {away}"
    elif low == 0:
        some = by = f"within the last {_plural(high)}" if tense == "past" else f"within {_plural(high)}"
        every = f"now and at the {'last' if tense == 'past' else 'next'} {_plural(high)}"
    else:
        some = by = f"{low} to {high} steps {away}"
        every = f"at every step {low} to {high} steps {away}"
    by = f" {by}" if by else ""
    return {"some": some + factor, "by": by + factor, "every": every + factor}


def _direction(tense: Tense | None) -> str:
    return "ago" if tense == "past" else "from now"


def _plural(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"


def _grouped(formula: Formula, text: str) -> str:
    """The text in parentheses, where its end would otherwise be unclear."""
    negated_atom = isinstance(formula, fm.Not) and isinstance(formula.arg, fm.Atom)
    return text if not formula.args or formula in _NAMED or negated_atom else f"({text})"


def _is_prefix(formula: Formula) -> bool:
    """Return whether the words start with a time, so that nothing after them can be mistaken."""
    return isinstance(formula, fm.Unary) and OPERATORS[type(formula)].tense is not None and formula not in _NAMED
