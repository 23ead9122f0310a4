"""The definition of a value's cause, transcribed literally over the definition of the logic.

In normal form a formula is made from its literals by min and max alone. So each literal becomes an atom of its own
with its own labels, and the value is evaluated on labels that are changed a little, or set to the least or greatest
value.
For formulas without scales and discounts, on labels that are multiples of 1/256.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rewardspec.logic.formulas import Atom, Formula, Not
from rewardspec.logic.normal_form import to_nnf
from tests.definition import value_by_definition
from tests.episodes.waiting_definition import degrees_by_definition

LITTLE = 2.0**-30
Cause = tuple[str, int] | None  # a literal and its step; None for the end of the trace or a constant


def causes_by_definition(
    formula: Formula, trace: Mapping[str, Sequence[float]], semantics: str = "degree"
) -> list[Cause]:
    """The cause of the value after every prefix."""
    normal = to_nnf(formula)
    literals = [str(part) for part in normal.subformulas() if isinstance(part, Atom | Not)]
    literals = list(dict.fromkeys(literals))
    plain = normal.fold(lambda part, args: Atom(str(part)) if isinstance(part, Atom | Not) else part.rebuild(*args))
    total, bottom, top = (1.0, 0.0, 1.0) if semantics == "degree" else (0.0, -math.inf, math.inf)
    labels = {
        text: [total - x for x in trace[text[1:]]] if text.startswith("!") else list(trace[text]) for text in literals
    }
    length = len(next(iter(trace.values())))

    def value(n: int, changed: Mapping[str, Sequence[float]]) -> float:
        # Without negations the two semantics differ in the least and the largest value alone. As infinities these are
        # no labels, however those are changed.
        prefix = {text: row[:n] for text, row in changed.items()} or {"": [0.0] * n}
        return float(value_by_definition(plain, prefix, "robustness"))

    def named(n: int, sign: int) -> Cause:
        """The label that the value is where newer labels count as a little lower (-1), or higher (1)."""
        codes = {(text, t): t * len(literals) - k for k, text in enumerate(literals) for t in range(n)}
        moved = {
            text: [x + sign * LITTLE * (codes[text, t] + len(literals)) for t, x in enumerate(row[:n])]
            for text, row in labels.items()
        }
        found = value(n, moved)
        return next(((text, t) for text, row in moved.items() for t, x in enumerate(row) if x == found), None)

    def without_this_step(n: int, extreme: float) -> Cause:
        """The first literal that changes the value when it, and those before it, have another value at this step."""
        changed = {text: list(row) for text, row in labels.items()}
        for text in literals:
            changed[text][n - 1] = extreme
            if min(max(value(n, changed), bottom), top) != min(max(value(n, labels), bottom), top):
                return text, n - 1
        return None

    def can_rise(n: int, changed: Mapping[str, Sequence[float]]) -> bool:
        """Whether the formula can be met to more than the least value."""
        prefix = {name: row[:n] for name, row in changed.items()}
        return degrees_by_definition(formula, prefix, semantics)[-1] > bottom

    def closed_by(n: int) -> Cause:
        """The first literal with which, and with those before it, true at this step the formula could still be met."""
        changed = {name: list(row) for name, row in trace.items()}
        for text in literals:
            low, high = (0.0, 1.0) if semantics == "degree" else (-1e300, 1e300)
            changed[text.lstrip("!")][n - 1] = low if text.startswith("!") else high
            if can_rise(n, changed):
                return text, n - 1
        return None

    causes: list[Cause] = []
    for n in range(1, length + 1):
        now, before = (min(max(value(k, labels), bottom), top) if k else math.nan for k in (n, n - 1))
        same = now == before
        if same and causes[-1] is not None:
            causes.append(causes[-1])
        elif (same or n == 1) and now == bottom and can_rise(n, trace):
            causes.append(None)
        elif n == 1:
            causes.append(named(n, -1))
        else:
            sign, extreme = (-1, bottom) if now > before else (1, top)
            exact = named(n, sign)
            of_this_step = exact is not None and exact[1] == n - 1
            closed = closed_by(n) if same and now == bottom else None
            causes.append(closed or (exact if of_this_step else without_this_step(n, extreme) or exact))
    return causes
