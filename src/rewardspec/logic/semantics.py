"""Semantics of formulas: their value at every position of a trace, straight from the definition.

The table of the definition is in the docs, the definition of each operator in `definitions`.  Values are degrees
between 0 and 1, or, with `semantics="robustness"`, real numbers: there `!x` is -x, `true` is +∞, and labels are any
finite reals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from rewardspec.errors import FormulaError, LabelError
from rewardspec.logic.definitions import DEGREE, ROBUSTNESS, Column, Domain
from rewardspec.logic.formulas import Affine, Atom, Constant, Formula, FormulaLike, Timed, as_formula
from rewardspec.logic.label_ranges import checked_number
from rewardspec.logic.operators import OPERATORS
from rewardspec.logic.quantifiers import Mean, Quantified, reduced
from rewardspec.logic.unknown_atoms import atom_hint
from rewardspec.renamed import keyword_only
from rewardspec.types import Semantics as Semantics

Trace: TypeAlias = Mapping[str, Sequence[float] | npt.NDArray[np.floating]]

_DOMAINS: dict[Semantics, Domain] = {"degree": DEGREE, "robustness": ROBUSTNESS}


@keyword_only(2, "semantics")
def evaluate(formula: FormulaLike, trace: Trace, *, semantics: Semantics = "degree") -> float:
    """Compute the value of a formula on a trace by the definition.

    Args:
        formula: The formula or its text.
        trace: For each atom, its labels from the first state to the last; for an atom about things an array of shape
            (positions, things).
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
        >>> evaluate("mean box: F placed(box)", {"placed": [[0.0, 1.0], [0.5, 0.0]]})
        0.75
    """
    return evaluate_positions(formula, trace, semantics=semantics)[0]


@keyword_only(2, "semantics")
def evaluate_prefixes(formula: FormulaLike, trace: Trace, *, semantics: Semantics = "degree") -> Column:
    """Compute the value on every prefix of the trace, each anew. A monitor returns the same values.

    Example:
        >>> evaluate_prefixes("F a", {"a": [0.1, 0.7, 0.3]})
        [0.1, 0.7, 0.7]
    """
    formula = as_formula(formula)
    domain = domain_of(formula, semantics)
    if isinstance(formula, Quantified):
        return _over_things(formula, trace, semantics, evaluate_prefixes)
    labels, length = read_trace(formula, trace, semantics)
    return [
        _evaluate(formula, {name: values[:n] for name, values in labels.items()}, n, domain)[0]
        for n in range(1, length + 1)
    ]


@keyword_only(2, "semantics")
def evaluate_positions(formula: FormulaLike, trace: Trace, *, semantics: Semantics = "degree") -> Column:
    """Compute the value at every position of the trace; `evaluate` returns the first."""
    formula = as_formula(formula)
    domain = domain_of(formula, semantics)
    if isinstance(formula, Quantified):
        return _over_things(formula, trace, semantics, evaluate_positions)
    return _evaluate(formula, *read_trace(formula, trace, semantics), domain)


def _over_things(formula: Quantified, trace: Trace, semantics: Semantics, values: Callable[..., Column]) -> Column:
    """The values of a quantified formula, from those about each thing: labels have shape (positions, things)."""
    shapes = {
        name: np.shape(trace[name]) for name in formula.predicates if isinstance(trace, Mapping) and name in trace
    }
    missing = [name for name in formula.predicates if name not in shapes]
    if missing or not shapes:
        what = f"atom {missing[0]!r}" if missing else f"any {formula.variable!r}: no atom is about one"
        raise LabelError(f"The trace has no labels for {what}.")
    things = next(iter(shapes.values()))[-1:]
    if any(len(shape) != 2 or shape[1:] != things or things == (0,) for shape in shapes.values()):
        raise LabelError(f"Labels of things should have shape (positions, things), all alike. Received {shapes}.")
    columns = []
    for k in range(things[0]):
        own = {f"{name}({k})": np.asarray(trace[name])[:, k] for name in shapes}
        others = {name: labels for name, labels in trace.items() if name not in shapes}
        columns.append(values(formula.about(str(k)), own | others, semantics=semantics))
    return [reduced(formula, row) for row in zip(*columns, strict=True)]


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
    if isinstance(part, Mean):
        return "means"
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
        labels[name] = [
            checked_number(name, value, semantics, f" at step {step}") for step, value in enumerate(trace[name])
        ]
    return labels, length


def _length(name: str, values: object) -> int:
    try:
        return len(cast(Sequence[object], values))
    except TypeError:
        message = f"The labels of {name!r} should be a sequence, one for each step. Received {values!r}."
        raise LabelError(message) from None


def _evaluate(formula: Formula, labels: dict[str, Column], length: int, domain: Domain) -> Column:
    """The value at every position, from labels that have been checked."""

    def values(part: Formula, columns: tuple[Column, ...]) -> Column:
        if isinstance(part, Atom):
            return labels[part.name]
        if isinstance(part, Constant):
            return [{0.0: domain.bottom, 1.0: domain.top}.get(part.value, part.value)] * length
        return OPERATORS[type(part)].definition(domain, part, *columns)

    return formula.fold(values)
