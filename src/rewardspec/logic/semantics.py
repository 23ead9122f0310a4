"""What formulas mean: their value at every position of a trace, straight from the definition.

The table of the definition is in the docs, the definition of each operator in `definitions`.  Values are degrees
between 0 and 1, or, with `semantics="robustness"`, real numbers: there `!x` is -x, `true` is +∞, and labels are any
finite reals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, SupportsFloat, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from rewardspec.errors import FormulaError, LabelError
from rewardspec.logic.definitions import DEGREE, ROBUSTNESS, Column, Domain
from rewardspec.logic.formulas import Affine, Atom, Constant, Formula, FormulaLike, Timed, as_formula
from rewardspec.logic.operators import OPERATORS
from rewardspec.logic.parsing import atom_hint

Trace: TypeAlias = Mapping[str, Sequence[float] | npt.NDArray[np.floating]]
Semantics: TypeAlias = Literal["degree", "robustness"]

LABEL_TOLERANCE = 1e-6  # a label that is this near to [0, 1] is taken as 0 or 1
_DOMAINS: dict[Semantics, Domain] = {"degree": DEGREE, "robustness": ROBUSTNESS}


def evaluate(formula: FormulaLike, trace: Trace, semantics: Semantics = "degree") -> float:
    """The value of a formula on a trace, straight from the definition.

    Args:
        formula: The formula or its text.
        trace: For each atom, its labels from the first state to the last.
        semantics: `"degree"` for labels and values in [0, 1]; `"robustness"` for labels that are any finite reals,
            with minus for negation and infinite `true` and `false`, as in signal temporal logic.

    Raises:
        LabelError: An atom is missing, a label is out of range, the lengths differ, or the trace is empty.
        FormulaError: The formula has a scale, a discount or a constant, and robustness was asked for.

    Example:
        >>> evaluate("G(request -> F grant)", {"request": [0.2, 0.9, 0.1], "grant": [0.0, 0.3, 0.6]})
        0.6
        >>> evaluate("F[0,1] x", {"x": [-2.5, 1.5, 7.0]}, semantics="robustness")
        1.5
    """
    return evaluate_positions(formula, trace, semantics)[0]


def evaluate_prefixes(formula: FormulaLike, trace: Trace, semantics: Semantics = "degree") -> Column:
    """The value on every prefix of the trace, each evaluated anew: what a monitor should say after every step.

    Example:
        >>> evaluate_prefixes("F a", {"a": [0.1, 0.7, 0.3]})
        [0.1, 0.7, 0.7]
    """
    formula = as_formula(formula)
    domain = domain_of(formula, semantics)
    labels, length = read_trace(formula, trace, semantics)
    return [
        _evaluate(formula, {name: values[:n] for name, values in labels.items()}, n, domain)[0]
        for n in range(1, length + 1)
    ]


def evaluate_positions(formula: FormulaLike, trace: Trace, semantics: Semantics = "degree") -> Column:
    """The value at every position of the trace; `evaluate` is the first of them."""
    formula = as_formula(formula)
    domain = domain_of(formula, semantics)
    return _evaluate(formula, *read_trace(formula, trace, semantics), domain)


def domain_of(formula: Formula, semantics: Semantics) -> Domain:
    """The domain of values, or a FormulaError where the formula has no meaning in it."""
    if semantics not in _DOMAINS:
        raise FormulaError(f"`semantics` should be 'degree' or 'robustness'. Received {semantics!r}.")
    if semantics == "robustness":
        for part in formula.subformulas():
            what = _only_of_degrees(part)
            if what is not None:
                raise FormulaError(
                    f"Robustness has no {what}, since its values have no largest and smallest: `{part}`. "
                    "Leave it out, or use labels in [0, 1] and semantics='degree'."
                )
    return _DOMAINS[semantics]


def _only_of_degrees(part: Formula) -> str | None:
    if isinstance(part, Affine):
        return "scales"
    if isinstance(part, Timed) and part.discount != 1.0:
        return "discounts"
    return "constants but true and false" if isinstance(part, Constant) and 0.0 < part.value < 1.0 else None


def read_trace(formula: Formula, trace: Trace, semantics: Semantics = "degree") -> tuple[dict[str, Column], int]:
    """The labels of the formula's atoms as lists of floats, checked, and the length of the trace."""
    if not isinstance(trace, Mapping):
        raise LabelError(f"A trace should map each atom to its labels. Received a {type(trace).__name__}.")
    lengths = {name: _length(name, values) for name, values in trace.items()}
    if len(set(lengths.values())) > 1:
        raise LabelError(f"Every atom needs the same number of labels. Received {lengths}.")
    length = next(iter(lengths.values()), 0)
    if length == 0:
        raise LabelError("The trace is empty. A trace holds at least the labels of the state after reset.")
    labels = {}
    for name in formula.atoms:
        if name not in trace:
            known = ", ".join(map(str, trace)) or "none"
            raise LabelError(f"The trace has no labels for atom {name!r}; it has: {known}.{atom_hint(name, trace)}")
        labels[name] = [_label(name, step, value, semantics) for step, value in enumerate(trace[name])]
    return labels, length


def _length(name: str, values: object) -> int:
    try:
        return len(cast(Sequence[object], values))
    except TypeError:
        message = f"The labels of {name!r} should be a sequence, one for each step. Received {values!r}."
        raise LabelError(message) from None


def _label(name: str, step: int, value: object, semantics: Semantics) -> float:
    try:
        if isinstance(value, str | bytes):
            raise TypeError  # text that looks like a number is a column read wrongly, not a label
        number = float(cast(SupportsFloat, value))
    except (TypeError, ValueError, OverflowError):
        raise LabelError(f"The label of {name!r} at step {step} is not a number: {value!r}.") from None
    if semantics == "robustness":
        if math.isfinite(number):
            return number
    elif -LABEL_TOLERANCE <= number <= 1.0 + LABEL_TOLERANCE:
        return min(max(number, 0.0), 1.0)
    wanted = "finite" if semantics == "robustness" else "in [0, 1]"
    what = "NaN" if math.isnan(number) else repr(number)
    raise LabelError(f"The label of {name!r} at step {step} should be {wanted}. Received {what}.")


def _evaluate(formula: Formula, labels: dict[str, Column], length: int, domain: Domain) -> Column:
    """The value at every position, from labels that have been checked."""

    def values(part: Formula, columns: tuple[Column, ...]) -> Column:
        if isinstance(part, Atom):
            return labels[part.name]
        if isinstance(part, Constant):
            return [{0.0: domain.bottom, 1.0: domain.top}.get(part.value, part.value)] * length
        return OPERATORS[type(part)].definition(domain, part, *columns)

    return formula.fold(values)
