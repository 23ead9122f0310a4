"""What formulas mean: the definition that everything else is tested against.

The value of a formula at a position of a trace follows the table below, in which n is the last position:

    true, false   1, 0                      X φ    v(φ, i+1), or 0 when i = n
    p             the label of p at i       WX φ   v(φ, i+1), or 1 when i = n
    !φ            1 - v(φ, i)               φ U ψ  max over j ≥ i of min(v(ψ, j), min over i ≤ k < j of v(φ, k))
    φ & ψ, φ | ψ  min, max                  φ R ψ  min over j ≥ i of max(v(ψ, j), max over i ≤ k < j of v(φ, k))
    F φ, G φ      max, min over j ≥ i

Each of these follows, at position i, from values at i and at i + 1, so one pass backwards over the trace computes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rewardspec.errors import LabelError
from rewardspec.logic.formulas import (
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
from rewardspec.logic.parsing import atom_hint

Trace: TypeAlias = Mapping[str, Sequence[float] | npt.NDArray[np.floating]]
Values: TypeAlias = list[float]


def evaluate(formula: FormulaLike, trace: Trace) -> float:
    """The value of a formula on a trace, straight from the definition.

    Args:
        formula: The formula or its text.
        trace: For each atom, its labels from the first state to the last; each in [0, 1].

    Raises:
        LabelError: An atom is missing, a label is not in [0, 1], the lengths differ, or the trace is empty.

    Example:
        >>> evaluate("G(request -> F grant)", {"request": [0.2, 0.9, 0.1], "grant": [0.0, 0.3, 0.6]})
        0.6
    """
    return evaluate_positions(formula, trace)[0]


def evaluate_prefixes(formula: FormulaLike, trace: Trace) -> Values:
    """The value on every prefix of the trace, each evaluated anew: what a monitor should say after every step.

    Example:
        >>> evaluate_prefixes("F a", {"a": [0.1, 0.7, 0.3]})
        [0.1, 0.7, 0.7]
    """
    formula = as_formula(formula)
    labels, length = read_trace(formula, trace)
    return [
        _evaluate(formula, {name: values[:n] for name, values in labels.items()}, n)[0] for n in range(1, length + 1)
    ]


def evaluate_positions(formula: FormulaLike, trace: Trace) -> Values:
    """The value at every position of the trace; `evaluate` is the first of them."""
    formula = as_formula(formula)
    return _evaluate(formula, *read_trace(formula, trace))


def read_trace(formula: Formula, trace: Trace) -> tuple[dict[str, Values], int]:
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
        labels[name] = [_label(name, step, value) for step, value in enumerate(trace[name])]
    return labels, length


def _length(name: str, values: object) -> int:
    try:
        return len(values)  # type: ignore[arg-type]
    except TypeError:
        message = f"The labels of {name!r} should be a sequence, one for each step. Received {values!r}."
        raise LabelError(message) from None


def _label(name: str, step: int, value: object) -> float:
    try:
        if isinstance(value, str | bytes):
            raise TypeError  # text that looks like a number is a column read wrongly, not a label
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise LabelError(f"The label of {name!r} at step {step} is not a number: {value!r}.") from None
    if not 0.0 <= number <= 1.0:
        what = "NaN" if math.isnan(number) else repr(number)
        raise LabelError(f"The label of {name!r} at step {step} should be in [0, 1]. Received {what}.")
    return number


def _evaluate(formula: Formula, labels: dict[str, Values], length: int) -> Values:
    """The value at every position, from labels that have been checked."""
    values: dict[Formula, Values] = {}
    for part in formula.subformulas():
        values[part] = _positions(part, [values[arg] for arg in part.args], labels, length)
    return values[formula]


def _positions(formula: Formula, args: list[Values], labels: dict[str, Values], length: int) -> Values:
    """The values of one operator at every position, from those of its operands."""
    match formula:
        case Constant():
            return [1.0 if formula.value else 0.0] * length
        case Atom():
            return labels[formula.name]
        case Not():
            return [1.0 - a for a in args[0]]
        case And():
            return [min(column) for column in zip(*args, strict=True)]
        case Or():
            return [max(column) for column in zip(*args, strict=True)]
        case Implies():
            return [max(1.0 - a, b) for a, b in zip(*args, strict=True)]
        case Iff():
            return [min(max(1.0 - a, b), max(1.0 - b, a)) for a, b in zip(*args, strict=True)]
        case Xor():
            return [max(min(a, 1.0 - b), min(b, 1.0 - a)) for a, b in zip(*args, strict=True)]
        case Next():
            return [*args[0][1:], 0.0]
        case WeakNext():
            return [*args[0][1:], 1.0]
        # Each of the rest compares now with `later`, its own value at i + 1; beyond the end that is 0 or 1.
        case Eventually():
            return _backwards(lambda later, a: max(a, later), 0.0, args)
        case Always():
            return _backwards(lambda later, a: min(a, later), 1.0, args)
        case Until():
            return _backwards(lambda later, a, b: max(b, min(a, later)), 0.0, args)
        case WeakUntil():
            return _backwards(lambda later, a, b: max(b, min(a, later)), 1.0, args)
        case Release():
            return _backwards(lambda later, a, b: min(b, max(a, later)), 1.0, args)
        case StrongRelease():
            return _backwards(lambda later, a, b: min(b, max(a, later)), 0.0, args)
    raise AssertionError(f"no meaning is given to {type(formula).__name__}")


def _backwards(rule: Callable[..., float], beyond_the_end: float, args: Iterable[Values]) -> Values:
    later, values = beyond_the_end, []
    for now in zip(*(reversed(arg) for arg in args), strict=True):
        later = rule(later, *now)
        values.append(later)
    return values[::-1]
