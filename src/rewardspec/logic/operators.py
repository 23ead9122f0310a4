"""The table of operators: everything the library knows about each, in one place.

Parsing, printing, evaluation, negation normal form, fragments, words and synthesis read this table.  A new operator
needs a row here, a class in `formulas`, and its definition in `definitions`, which the tests hold against their own.

The *one-letter meaning* of an operator says how its value at a position follows from its operands there and from
formulas one step away; synthesis is built on it.  `unfold` computes it, in whatever form its caller works with:

    F φ      = φ | X F φ               φ U ψ      = ψ | φ & X(φ U ψ)          F{k} φ = φ & X F{k-1} φ | X F{k} φ
    F[0,b] φ = φ | X F[0,b-1] φ        φ U[a,b] ψ = φ & X(φ U[a-1,b-1] ψ)     F[;γ] φ = φ | γ * X F[;γ] φ

Their duals follow; operators of the past have the same laws with Y and WY in place of X and WX.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from rewardspec.logic import definitions
from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula

T = TypeVar("T")
Tense: TypeAlias = Literal["future", "past"]


class Unfolding(Protocol[T]):
    """The algebra in which `unfold` computes: formulas, polynomials, diagrams or arrays.

    One that never meets an operator of the future, of the past, or a scale leaves out what unfolds it.
    """

    def now(self, formula: Formula) -> T:
        """An operand, at the current position."""

    def later(self, formula: Formula, strong: bool) -> T:
        """A formula at the next position; past the end false where it is strong, else true."""
        raise AssertionError(f"nothing here looks ahead: {formula}")

    def earlier(self, formula: Formula, strong: bool) -> T:
        """A formula at the position before; before the start false where it is strong, else true."""
        raise AssertionError(f"nothing here looks back: {formula}")

    def conjunction(self, *values: T) -> T:
        """The smallest."""

    def disjunction(self, *values: T) -> T:
        """The largest."""

    def affine(self, value: T, scale: float, offset: float) -> T:
        """The value, scaled and raised."""
        raise AssertionError("nothing here has scales and discounts")


@dataclass(frozen=True, slots=True)
class Operator:
    """A row of the table.

    Attributes:
        kind: The class of its formulas.
        binding: How tightly it binds, from `IFF` to `PREFIX`.
        spellings: Every way to write it, the one that is printed first.
        definition: Its values at every position, from those of its operands.
        words: In plain English; `words` says what the braces stand for.
        timed_words: The same with an interval, where that is said differently.
        dual: The operator that is left when a negation is pushed inside; None where normal form spells it out.
        unfolding: Its one-letter meaning; None for what normal form spells out.
        tense: Whether it looks ahead, back, or neither.
        safe: Whether it may stand in a syntactically safe formula, without a bound.
        cosafe: Whether it may stand in a syntactically co-safe formula, without a bound.
    """

    kind: type[Formula]
    binding: int
    spellings: tuple[str, ...]
    unicode: str
    latex: str
    definition: definitions.Definition
    words: str
    timed_words: str | None = None
    dual: type[Formula] | None = None
    unfolding: Callable[..., Any] | None = None
    tense: Tense | None = None
    safe: bool = True
    cosafe: bool = True

    @property
    def text(self) -> str:
        """The spelling that is printed in ASCII."""
        return self.spellings[0]


# How tightly operators bind, loosest first; `BETWEEN` and `IMPLIES` group to the right.
IFF, IMPLIES, OR, XOR, AND, BETWEEN, PREFIX = range(1, 8)


# One-letter meanings.  `ahead` is `later` or, for operators of the past, `earlier`.


def _again(f: fm.Timed, u: Unfolding[T], ahead: Callable[[Formula, bool], T], strong: bool) -> T:
    """A timed operator one step further on, where its interval is a step nearer and its values are discounted."""
    low, high, discount = f.params
    rest = f if f.is_plain else type(f)(*f.args, max(low - 1, 0), None if high is None else high - 1, discount)
    value = ahead(rest, strong)
    return value if discount == 1.0 else u.affine(value, discount, 0.0 if strong else fm.one_minus(discount))


def _conjunction(f: Formula, u: Unfolding[T], ahead: object) -> T:
    return u.conjunction(*map(u.now, f.args))


def _disjunction(f: Formula, u: Unfolding[T], ahead: object) -> T:
    return u.disjunction(*map(u.now, f.args))


def _affine(f: fm.Affine, u: Unfolding[T], ahead: object) -> T:
    return u.affine(u.now(f.arg), f.scale, f.offset)


def _next(f: fm.Shift, u: Unfolding[T], ahead: Callable[[Formula, bool], T]) -> T:
    return ahead(f.arg if f.steps == 1 else type(f)(f.arg, f.steps - 1), isinstance(f, fm.Next | fm.Previous))


def _over_interval(f: fm.TimedUnary, u: Unfolding[T], ahead: Callable[[Formula, bool], T]) -> T:
    """F and O; or G and H, their duals."""
    strong = isinstance(f, fm.Eventually | fm.Once)
    join = u.disjunction if strong else u.conjunction
    if f.low > 0:
        return _again(f, u, ahead, strong)
    return u.now(f.arg) if f.high == 0 else join(u.now(f.arg), _again(f, u, ahead, strong))


def _until(f: fm.TimedBinary, u: Unfolding[T], ahead: Callable[[Formula, bool], T]) -> T:
    """U and S; or R and T, their duals."""
    strong = isinstance(f, fm.Until | fm.Since)
    outer, inner = (u.disjunction, u.conjunction) if strong else (u.conjunction, u.disjunction)
    if f.low == f.high == 0:
        return u.now(f.right)
    waiting = inner(u.now(f.left), _again(f, u, ahead, strong))
    return waiting if f.low > 0 else outer(u.now(f.right), waiting)


def _weak_until(f: fm.Binary, u: Unfolding[T], ahead: Callable[[Formula, bool], T]) -> T:
    return u.disjunction(u.conjunction(u.now(f.left), ahead(f, False)), u.now(f.right))


def _strong_release(f: fm.Binary, u: Unfolding[T], ahead: Callable[[Formula, bool], T]) -> T:
    return u.conjunction(u.disjunction(u.now(f.left), ahead(f, True)), u.now(f.right))


def _counted(f: fm.Counted, u: Unfolding[T], ahead: Callable[[Formula, bool], T]) -> T:
    """F{k}; or G{k}, its dual."""
    strong = isinstance(f, fm.AtLeastTimes)
    outer, inner = (u.disjunction, u.conjunction) if strong else (u.conjunction, u.disjunction)
    here, again = u.now(f.arg), ahead(f, strong)
    if f.count > f.fewest:
        here = inner(here, ahead(type(f)(f.arg, f.count - 1), strong))
    return outer(here, again)


_ROWS = (
    Operator(fm.Iff, IFF, ("<->", "<=>", "iff", "↔", "⇔"), "↔", r"\leftrightarrow",
             definitions.equivalence, "{a} exactly when {b}"),
    Operator(fm.Implies, IMPLIES, ("->", "=>", "implies", "→", "⇒"), "→", r"\rightarrow",
             definitions.implication, "if {a} then {B}"),
    Operator(fm.Or, OR, ("|", "||", "or", "∨"), "∨", r"\lor",
             definitions.disjunction, " or ", dual=fm.And, unfolding=_disjunction),
    Operator(fm.Xor, XOR, ("^", "xor", "⊕"), "⊕", r"\oplus",
             definitions.exclusive_or, "either {a} or {b} but not both"),
    Operator(fm.And, AND, ("&", "&&", "and", "∧"), "∧", r"\land",
             definitions.conjunction, " and ", dual=fm.Or, unfolding=_conjunction),
    Operator(fm.Not, PREFIX, ("!", "~", "not", "¬"), "¬", r"\lnot ",
             definitions.negation, "not {a}"),
    Operator(fm.Affine, PREFIX, (), "", "",
             definitions.affine, "{scale} times {a}{plus}", dual=fm.Affine, unfolding=_affine),
    # Future.
    Operator(fm.Next, PREFIX, ("X", "X[!]", "next", "○"), "○", r"\bigcirc ",
             definitions.next_, "{away}, which must come: {A}", dual=fm.WeakNext, unfolding=_next, tense="future"),
    Operator(fm.WeakNext, PREFIX, ("WX", "wX", "N", "●"), "●", r"\bullet ",
             definitions.weak_next, "{away}, if there is one: {A}", dual=fm.Next, unfolding=_next, tense="future"),
    Operator(fm.Eventually, PREFIX, ("F", "<>", "eventually", "finally", "within", "◇"), "◇", r"\Diamond ",
             definitions.eventually, "{some}: {A}",
             dual=fm.Always, unfolding=_over_interval, tense="future", safe=False),
    Operator(fm.Always, PREFIX, ("G", "[]", "always", "globally", "□"), "□", r"\Box ",
             definitions.always, "{every}: {A}",
             dual=fm.Eventually, unfolding=_over_interval, tense="future", cosafe=False),
    Operator(fm.AtLeastTimes, PREFIX, ("F", "<>", "eventually", "finally", "◇"), "◇", r"\Diamond ",
             definitions.at_least_times, "at {count} or more: {A}",
             dual=fm.AllButTimes, unfolding=_counted, tense="future", safe=False),
    Operator(fm.AllButTimes, PREFIX, ("G", "[]", "always", "globally", "□"), "□", r"\Box ",
             definitions.all_but_times, "at every step but {count} at most: {A}",
             dual=fm.AtLeastTimes, unfolding=_counted, tense="future", cosafe=False),
    Operator(fm.Until, BETWEEN, ("U", "until"), "U", r"\mathbin{\mathcal{U}}",
             definitions.until, "{a} until {b}, which must come{by}",
             dual=fm.Release, unfolding=_until, tense="future", safe=False),
    Operator(fm.Release, BETWEEN, ("R", "release", "releases"), "R", r"\mathbin{\mathcal{R}}",
             definitions.release, "{b} up to and including the step where {a}, or to the end",
             "{every}: {b}, unless {a} came before",
             dual=fm.Until, unfolding=_until, tense="future", cosafe=False),
    Operator(fm.WeakUntil, BETWEEN, ("W", "unless"), "W", r"\mathbin{\mathcal{W}}",
             definitions.weak_until, "{a} until {b}, or to the end",
             dual=fm.StrongRelease, unfolding=_weak_until, tense="future", cosafe=False),
    Operator(fm.StrongRelease, BETWEEN, ("M",), "M", r"\mathbin{\mathcal{M}}",
             definitions.strong_release, "{b} up to and including the step where {a}, which must come",
             dual=fm.WeakUntil, unfolding=_strong_release, tense="future", safe=False),
    # Past.
    Operator(fm.Previous, PREFIX, ("Y", "previous", "previously", "prev", "⊖"), "⊖", r"\ominus ",
             definitions.past(definitions.next_), "{away}, which must exist: {A}",
             dual=fm.WeakPrevious, unfolding=_next, tense="past"),
    Operator(fm.WeakPrevious, PREFIX, ("WY", "wY", "⊜"), "⊜", r"\widetilde{\ominus} ",
             definitions.past(definitions.weak_next), "{away}, if there is one: {A}",
             dual=fm.Previous, unfolding=_next, tense="past"),
    Operator(fm.Once, PREFIX, ("O", "once", "◆"), "◆", r"\blacklozenge ",
             definitions.past(definitions.eventually), "{some}: {A}",
             dual=fm.Historically, unfolding=_over_interval, tense="past"),
    Operator(fm.Historically, PREFIX, ("H", "historically", "■"), "■", r"\blacksquare ",
             definitions.past(definitions.always), "{every}: {A}",
             dual=fm.Once, unfolding=_over_interval, tense="past"),
    Operator(fm.Since, BETWEEN, ("S", "since"), "S", r"\mathbin{\mathcal{S}}",
             definitions.past(definitions.until), "{a} ever since {b}, which must have come{by}",
             dual=fm.Trigger, unfolding=_until, tense="past"),
    Operator(fm.Trigger, BETWEEN, ("T", "trigger", "triggers", "triggered"), "T", r"\mathbin{\mathcal{T}}",
             definitions.past(definitions.release), "{b} since and including the step where {a}, or from the start",
             "{every}: {b}, unless {a} came since",
             dual=fm.Since, unfolding=_until, tense="past"),
)  # fmt: skip

OPERATORS: dict[type[Formula], Operator] = {row.kind: row for row in _ROWS}
CONSTANTS: dict[str, Formula] = {
    "true": fm.TRUE, "⊤": fm.TRUE, "false": fm.FALSE, "⊥": fm.FALSE, "last": fm.LAST, "first": fm.FIRST,
}  # fmt: skip

FUTURE = tuple(row.kind for row in _ROWS if row.tense == "future")
PAST = tuple(row.kind for row in _ROWS if row.tense == "past")
TEMPORAL = FUTURE + PAST


def written(formula: Formula) -> str:
    """The outermost operator as it is written, with its interval or count.

    Example:
        >>> written(fm.Eventually("a", 0, 5))
        'F[0,5]'
    """
    return f"{OPERATORS[type(formula)].text}{formula.annotation}"


def unfold(formula: Formula, unfolding: Unfolding[T]) -> T:
    """The one-letter meaning of the outermost operator of a formula in normal form, which is no literal or constant."""
    row = OPERATORS[type(formula)]
    assert row.unfolding is not None, f"not in negation normal form: {formula}"
    ahead = unfolding.earlier if row.tense == "past" else unfolding.later
    value: T = row.unfolding(formula, unfolding, ahead)
    return value
