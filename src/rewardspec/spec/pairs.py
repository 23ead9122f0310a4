"""Pairs of a formula and its weight."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewardspec.errors import SpecError, did_you_mean, shown
from rewardspec.logic.formulas import Formula, FormulaLike, as_formula
from rewardspec.logic.fragments import is_safe
from rewardspec.logic.quantifiers import Quantified, body_of
from rewardspec.spec.payments import PAYMENTS, Payment


@dataclass(frozen=True)
class Pair:
    """One formula and what its value is worth.

    Attributes:
        formula: The formula; text is parsed. It may start with a quantifier, as `forall box: G !dropped(box)` does.
        weight: What a step pays for each unit of the formula's value.
        veto: Whether a violation vetoes every reward of the episode from then on. None decides by the formula: it
            does when the formula is syntactically safe and the weight is positive. A negative weight says that the
            formula's holding is bad, so that its violation cannot be.
        penalty: What each step pays after this pair's violation; None takes the spec's penalty.
        name: How reports call the pair; None uses the formula's text.
        payment: How the pair is paid, where it differs from the spec: a cost of every step in a spec that pays by
            change has `payment="value"`.
        progress: Whether the pair is paid for the formula's progress, which says how much of it has been done, in place
            of its value; see `Monitor.progress`. A veto is not affected.

    Example:
        >>> Pair("G !crash", 1).vetoes, Pair("G !crash", -1).vetoes, Pair("F goal", 1).vetoes
        (True, False, False)
    """

    formula: Formula
    weight: float
    veto: bool | None = None
    penalty: float | None = None
    name: str | None = None
    payment: Payment | None = None
    progress: bool = False

    def __init__(
        self,
        formula: FormulaLike,
        weight: float,
        veto: bool | None = None,
        penalty: float | None = None,
        name: str | None = None,
        payment: Payment | None = None,
        progress: bool = False,
    ) -> None:
        put = object.__setattr__
        put(self, "formula", as_formula(formula))
        put(self, "weight", finite(weight, "weight"))
        if veto is not None and not isinstance(veto, bool):
            raise SpecError(f"`veto` should be true, false or None. Received {veto!r}.")
        put(self, "veto", veto)
        put(self, "penalty", None if penalty is None else finite(penalty, "penalty"))
        if self.penalty is not None and not self.vetoes:
            raise SpecError(
                f"`{self.formula}` has a penalty of {self.penalty:g} but is no safety objective, so nothing could "
                "cause it. Set veto=True, or leave the penalty out."
            )
        if name is not None and not isinstance(name, str):
            raise SpecError(f"`name` should be a string. Received {name!r}.")
        put(self, "name", name)
        if payment is not None and payment not in PAYMENTS:
            hint = did_you_mean(str(payment), PAYMENTS)
            raise SpecError(f"`payment` should be one of {', '.join(PAYMENTS)}. Received {payment!r}.{hint}")
        put(self, "payment", payment)
        if not isinstance(progress, bool):
            raise SpecError(f"`progress` should be true or false. Received {progress!r}.")
        put(self, "progress", progress)

    @property
    def body(self) -> Formula:
        """The formula without its quantifier: what is said of one thing."""
        return body_of(self.formula)

    @property
    def vetoes(self) -> bool:
        """True if a violation vetoes every reward from then on."""
        return is_safe(self.formula) and self.weight > 0 if self.veto is None else self.veto

    def __repr__(self) -> str:
        options = {"veto": self.veto, "penalty": self.penalty, "name": self.name, "payment": self.payment}
        options["progress"] = self.progress or None
        parts = [repr(str(self.formula)), f"{self.weight:g}"]
        for key, value in options.items():
            if value is not None:
                parts.append(f"{key}={value:g}" if key == "penalty" else f"{key}={value!r}")
        return f"Pair({', '.join(parts)})"

    def __str__(self) -> str:
        return self.name or str(self.formula)


def about_one(pair: Pair, thing: str) -> Pair:
    """A pair about several things as one about one of them."""
    formula = pair.formula
    return dataclasses.replace(pair, formula=formula.about(thing)) if isinstance(formula, Quantified) else pair


def about_any(pair: Pair) -> Pair:
    """A pair about several things as one about a single thing, which is called as the quantifier's variable is.

    Example:
        >>> about_any(Pair("mean box: G !dropped(box)", 1)).formula.atoms
        ('dropped(box)',)
    """
    return dataclasses.replace(pair, formula=pair.body, veto=pair.vetoes) if pair.formula.quantifier else pair


def as_pairs(pairs: Iterable[Any]) -> tuple[Pair, ...]:
    """Pairs from what a user may write: Pairs, or tuples of a formula, a weight and optionally the rest."""
    if isinstance(pairs, str | Formula) or not isinstance(pairs, Iterable):
        raise SpecError(f"A spec is a list of pairs (formula, weight). Received {pairs!r}.")
    if isinstance(pairs, Mapping):
        example = next(iter(pairs.items()), ("F goal", 1))
        raise SpecError(
            f"A spec is a list of pairs (formula, weight). Received a {type(pairs).__name__}. Write its items as a "
            f"list: [{example!r}, …]."
        )
    result = []
    for entry in pairs:
        if isinstance(entry, Pair):
            result.append(entry)
        elif isinstance(entry, Sequence) and not isinstance(entry, str) and 2 <= len(entry) <= 7:
            if isinstance(entry[0], int | float):
                raise SpecError(f"A pair is (formula, weight), in this order. Received {entry!r}.")
            result.append(Pair(*entry))
        else:
            raise SpecError(f"A pair is (formula, weight), or a Pair. Received {entry!r}.")
    return tuple(result)


def finite(value: Any, what: str) -> float:
    """A finite number, or a SpecError that names it."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, str):
        remedy = f" Write {value.strip()}, without quotes." if isinstance(value, str) and is_number(value) else ""
        raise SpecError(f"`{what}` should be a finite number. Received {shown(value)}.{remedy}")
    return number


def is_number(text: str) -> bool:
    """Return whether a text is that of a finite number.

    Example:
        >>> is_number("3"), is_number("high")
        (True, False)
    """
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def pairs_as_html(pairs: Sequence[Pair], penalty: float) -> str:
    """The pairs as an HTML table, with each formula in words."""
    from rewardspec.drawing.html_tables import html_table  # here, because few programs are notebooks
    from rewardspec.logic.words import paraphrase

    rows = []
    for pair in pairs:
        charged = penalty if pair.penalty is None else pair.penalty
        veto = f"vetoes, then {charged:g} a step" if pair.vetoes else ""
        name = str(pair.formula) if pair.name is None else f"{pair.name}: {pair.formula}"
        rows.append((f"{pair.weight:g}", name, paraphrase(pair.formula) or "", veto, pair.payment or ""))
    columns = ["weight", "formula", "in words", "violated", "paid by"]
    filled = [k for k in range(len(columns)) if k < 3 or any(row[k] for row in rows)]
    return html_table([columns[k] for k in filled], [[row[k] for k in filled] for row in rows])
