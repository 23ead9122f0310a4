"""Which label decided a formula's value: the path of smallest and largest operands, followed down to one label.

In negation normal form a value is made from labels, and from one minus labels, by min and max alone.  So it *is* one of
them: at every min the smallest operand passes through, at every max the largest.  What is computed here is that label,
for every prefix of a trace.  Where several operands tie, the earliest step wins, then the atom that the formula
mentions first; a label wins over the end of the trace, and that over a constant.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rewardspec.logic.formulas import (
    Always,
    And,
    Atom,
    Constant,
    Eventually,
    Formula,
    FormulaLike,
    Next,
    Not,
    Or,
    Release,
    StrongRelease,
    Until,
    WeakNext,
    WeakUntil,
    as_formula,
)
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.semantics import Trace, read_trace

# Values, and for each the code of what decided it.  The smaller code wins a tie, so codes count steps first.
_Decided: TypeAlias = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Decider:
    """What decided a value.

    Attributes:
        step: The step whose label decided; for the end of the trace, the last step; None for a constant.
        atom: The atom whose label decided; None where the end of the trace or a constant did.
        negated: Whether the value is one minus the label.
    """

    step: int | None
    atom: str | None
    negated: bool = False

    def __str__(self) -> str:
        if self.atom is None:
            return "constant" if self.step is None else f"end@{self.step}"
        return f"{'!' * self.negated}{self.atom}@{self.step}"


def decide_prefixes(formula: FormulaLike, trace: Trace) -> tuple[NDArray[np.float64], list[Decider]]:
    """The value of a formula on every prefix of a trace, and what decided each.

    Args:
        formula: The formula or its text.
        trace: For each atom, its labels from the first state to the last; each in [0, 1].

    Raises:
        LabelError: An atom is missing, a label is not in [0, 1], the lengths differ, or the trace is empty.

    Example:
        >>> trace = {"request": [0.0, 0.75, 0.5], "grant": [0.0, 0.0, 0.625]}
        >>> values, deciders = decide_prefixes("G(request -> F grant)", trace)
        >>> values
        array([1.   , 0.25 , 0.625])
        >>> [str(decider) for decider in deciders]
        ['!request@0', '!request@1', 'grant@2']
    """
    original = as_formula(formula)
    labels, length = read_trace(original, trace)
    formula = to_nnf(original)
    literals = [(atom, negated) for atom in original.atoms for negated in (False, True)]
    values, codes = _Prefixes(formula, labels, length, {literal: k for k, literal in enumerate(literals)}).run()
    end = length * max(len(literals), 1)
    deciders = []
    for last, code in enumerate(codes.tolist()):
        if code < end:
            step, literal = divmod(code, len(literals))
            deciders.append(Decider(step, *literals[literal]))
        else:
            deciders.append(Decider(last if code == end else None, None))
    return values, deciders


class _Prefixes:
    """One pass backwards over the positions, in which every operator is computed for all prefixes at once.

    A part without temporal operators has one value at each position, whatever the prefix; it is computed beforehand.
    """

    def __init__(
        self,
        formula: Formula,
        labels: Mapping[str, list[float]],
        length: int,
        literals: Mapping[tuple[str, bool], int],
    ) -> None:
        self.formula = formula
        self.labels = labels
        self.length = length
        self.literals = literals
        self.end = length * max(len(literals), 1)
        self.columns: dict[Formula, _Decided] = {}  # for each position
        self.temporal: list[Formula] = []
        for part in formula.subformulas():
            if isinstance(part, Not | Atom | Constant) or (
                isinstance(part, And | Or) and all(arg in self.columns for arg in part.args)
            ):
                self.columns[part] = self._column(part)
            else:
                self.temporal.append(part)

    def run(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if self.formula in self.columns:
            values, codes = self.columns[self.formula]
            return np.full(self.length, values[0]), np.full(self.length, codes[0])
        nothing = (np.empty(0), np.empty(0, dtype=np.int64))
        later = dict.fromkeys(self.temporal, nothing)
        for position in reversed(range(self.length)):
            now: dict[Formula, _Decided] = {}
            for part in self.temporal:
                now[part] = self._at(part, position, now, later)
            later = now
        return later[self.formula]

    def _column(self, part: Formula) -> _Decided:
        match part:
            case Constant():
                return np.full(self.length, float(part.value)), np.full(self.length, self.end + 1)
            case Atom():
                return np.array(self.labels[part.name]), self._codes(part.name, negated=False)
            case Not(args=(Atom(name=name),)):
                return 1.0 - np.array(self.labels[name]), self._codes(name, negated=True)
        operands = [self.columns[arg] for arg in part.args]
        return functools.reduce(_smaller if isinstance(part, And) else _larger, operands)

    def _codes(self, atom: str, negated: bool) -> NDArray[np.int64]:
        return np.arange(self.length) * len(self.literals) + self.literals[atom, negated]

    def _at(
        self, part: Formula, position: int, now: dict[Formula, _Decided], later: dict[Formula, _Decided]
    ) -> _Decided:
        """The part at one position, on every prefix that reaches it, shortest first."""
        operands = [self._now(arg, position, now) for arg in part.args]
        match part:
            case And():
                return functools.reduce(_smaller, operands)
            case Or():
                return functools.reduce(_larger, operands)
            case Next():
                return self._later(part.arg, position, later, 0.0)
            case WeakNext():
                return self._later(part.arg, position, later, 1.0)
            case Eventually():
                return _larger(operands[0], self._later(part, position, later, 0.0))
            case Always():
                return _smaller(operands[0], self._later(part, position, later, 1.0))
            case Until() | WeakUntil():
                beyond = 1.0 if isinstance(part, WeakUntil) else 0.0
                return _larger(operands[1], _smaller(operands[0], self._later(part, position, later, beyond)))
            case Release() | StrongRelease():
                beyond = 1.0 if isinstance(part, Release) else 0.0
                return _smaller(operands[1], _larger(operands[0], self._later(part, position, later, beyond)))
        raise AssertionError(f"not in negation normal form: {type(part).__name__}")

    def _now(self, part: Formula, position: int, now: dict[Formula, _Decided]) -> _Decided:
        if part in now:
            return now[part]
        values, codes = self.columns[part]
        return values[position], codes[position]

    def _later(self, part: Formula, position: int, later: dict[Formula, _Decided], beyond: float) -> _Decided:
        """The part one position later; on the prefix that ends here, what counts beyond the end."""
        if part in later:
            values, codes = later[part]
        else:
            longer = self.length - position - 1
            values, codes = (np.repeat(column[position + 1 : position + 2], longer) for column in self.columns[part])
        return np.concatenate(([beyond], values)), np.concatenate(([self.end], codes))


def _smaller(first: _Decided, second: _Decided) -> _Decided:
    return _choose(first[0] < second[0], first, second)


def _larger(first: _Decided, second: _Decided) -> _Decided:
    return _choose(first[0] > second[0], first, second)


def _choose(better: Any, first: _Decided, second: _Decided) -> _Decided:
    (values, codes), (others, other_codes) = first, second
    better = better | ((values == others) & (codes <= other_codes))
    return np.where(better, values, others), np.where(better, codes, other_codes)
