"""Which label made a formula's value what it is, on every prefix of a trace.

In negation normal form a value is made from labels, and from their negations, by min and max.  So it *is* one of them,
but for scales: at every min the smallest operand passes through, at every max the largest.  The *cause* of a value is
the newest label that made it what it is: where the value changed, a label of that step; otherwise the cause it had.

Where several operands tie, what matters is whether the value rose or fell.  It rose because of a label without which it
would not have: of the operands of a min, which all have to be high, the newest counts; of those of a max, where one
is enough, the oldest.  Where it fell the two change places.  With `F(key & F door)` and labels of 0.9 for the key at
step 1 and 1 for the door at step 3, the value at step 3 is the key's label, and its cause is the door.  So the newest
label that holds a value up is computed as well, though it may be higher, and the newest that limits it.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardspec.logic.definitions import Domain
from rewardspec.logic.formulas import Atom, Constant, Formula, FormulaLike, Not, as_formula
from rewardspec.logic.normal_form import is_literal, to_nnf
from rewardspec.logic.operators import FUTURE, TEMPORAL, unfold
from rewardspec.logic.semantics import Semantics, Trace, domain_of, read_trace

# Codes of what is no label.  Those of labels count steps first, so that newer ones are larger.
_CONSTANT, _END, _NEWEST_END = -2, -1, np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Decider:
    """What decided a value.

    Attributes:
        step: The step whose label decided; for the end of the trace, the last step; None for a constant.
        atom: The atom whose label decided; None where the end of the trace or of an interval did, or a constant.
        negated: Whether the atom's negation counts.
    """

    step: int | None
    atom: str | None
    negated: bool = False

    @property
    def literal(self) -> str:
        """The atom or its negation, without the step."""
        if self.atom is None:
            return "constant" if self.step is None else "end"
        return f"{'!' * self.negated}{self.atom}"

    def __str__(self) -> str:
        return self.literal if self.step is None else f"{self.literal}@{self.step}"


def decide_prefixes(
    formula: FormulaLike, trace: Trace, semantics: Semantics = "degree"
) -> tuple[NDArray[np.float64], list[Decider]]:
    """The value of a formula on every prefix of a trace, and the label that each value is.

    Args:
        formula: The formula or its text.
        trace: For each atom, its labels from the first state to the last.
        semantics: What labels and values are; see `rewardspec.evaluate`.

    Raises:
        LabelError: An atom is missing, a label is out of range, the lengths differ, or the trace is empty.

    Example:
        >>> trace = {"request": [0.0, 0.75, 0.5], "grant": [0.0, 0.0, 0.625]}
        >>> values, deciders = decide_prefixes("G(request -> F grant)", trace)
        >>> values.tolist(), list(map(str, deciders))
        ([1.0, 0.25, 0.625], ['!request@0', '!request@1', 'grant@2'])
    """
    found = _Prefixes(formula, trace, semantics)
    return found.result.values, found.deciders(found.result.rising)


def cause_prefixes(
    formula: FormulaLike, trace: Trace, semantics: Semantics = "degree"
) -> tuple[NDArray[np.float64], list[Decider]]:
    """The value of a formula on every prefix of a trace, and the cause of each.

    Example:
        >>> values, causes = cause_prefixes("F(key & F door)", {"key": [0, 1, 0, 0], "door": [0, 0, 0, 1]})
        >>> values.tolist(), str(causes[-1])
        ([0.0, 0.0, 0.0, 1.0], 'door@3')
    """
    found = _Prefixes(formula, trace, semantics)
    values = found.result.values
    rising, falling, holding, limiting = map(found.deciders, found.result[1:])
    causes = rising[:1]
    for step in range(1, len(values)):
        rose, same = values[step] > values[step - 1], values[step] == values[step - 1]
        exact, newest, tied = (rising, holding, falling) if rose else (falling, limiting, rising)
        if same and causes[-1].atom is not None:
            causes.append(causes[-1])
        elif same and rising[step].atom is None:  # nothing but the end of the trace or a constant, as before
            causes.append(rising[step])
        elif (same or exact[step].step != step) and newest[step].step == step and newest[step].atom is not None:
            causes.append(newest[step])
        elif not same and exact[step].step != step and tied[step].step == step and tied[step].atom is not None:
            causes.append(tied[step])  # as low, and of this step
        else:
            causes.append(exact[step])
    return values, causes


class _Decided(NamedTuple):
    """Values, and codes that say for each which label it is and which others made it so.

    Attributes:
        values: The values.
        rising: The label that a value is, if it rose to it.
        falling: The label that a value is, if it fell to it.
        holding: The newest label that has to be as high as it is for the value to be.
        limiting: The newest label that has to be as low.
    """

    values: NDArray[np.float64]
    rising: NDArray[np.int64]
    falling: NDArray[np.int64]
    holding: NDArray[np.int64]
    limiting: NDArray[np.int64]

    def each(self, function: Callable[[Any], Any]) -> _Decided:
        """The same function of values and of codes."""
        return _Decided(*map(function, self))


class _Arithmetic:
    """What `unfold` puts values and codes together with; where operands come from is up to subclasses."""

    def conjunction(self, *values: _Decided) -> _Decided:
        return functools.reduce(lambda a, b: _extremum(a, b, a.values < b.values, smallest=True), values)

    def disjunction(self, *values: _Decided) -> _Decided:
        return functools.reduce(lambda a, b: _extremum(a, b, a.values > b.values, smallest=False), values)

    def affine(self, value: _Decided, scale: float, offset: float) -> _Decided:
        return value._replace(values=np.clip(scale * value.values + offset, 0.0, 1.0))


def _extremum(a: _Decided, b: _Decided, first: NDArray[np.bool_], *, smallest: bool) -> _Decided:
    tied = a.values == b.values
    newer, older = (np.maximum, np.minimum) if smallest else (np.minimum, np.maximum)

    def chosen(x: NDArray[np.int64], y: NDArray[np.int64], at_ties: Any) -> NDArray[np.int64]:
        return np.where(tied, at_ties(x, y), np.where(first, x, y))

    return _Decided(
        np.where(first, a.values, b.values),
        chosen(a.rising, b.rising, newer),
        chosen(a.falling, b.falling, older),
        np.maximum(a.holding, b.holding) if smallest else chosen(a.holding, b.holding, np.minimum),
        chosen(a.limiting, b.limiting, np.minimum) if smallest else np.maximum(a.limiting, b.limiting),
    )


def _at(position: int) -> Callable[[Any], Any]:
    return operator.itemgetter(slice(position, position + 1))


def _joined(rows: Sequence[_Decided]) -> _Decided:
    columns: Any = zip(*rows, strict=True)
    return _Decided(*map(np.concatenate, columns))


class _Needs:
    """Collects what the one-letter meaning of a formula refers to, here and one step away."""

    def __init__(self, formula: Formula) -> None:
        self.here: list[Formula] = []
        self.away: list[Formula] = []
        if not (is_literal(formula) or isinstance(formula, Constant)):
            unfold(formula, self)

    def now(self, formula: Formula) -> None:
        self.here.append(formula)

    def later(self, formula: Formula, strong: bool) -> None:
        self.away.append(formula)

    earlier = later

    def conjunction(self, *values: None) -> None: ...

    disjunction = conjunction

    def affine(self, value: None, scale: float, offset: float) -> None: ...


class _Prefixes(_Arithmetic):
    """One pass backwards over the positions, in which every formula is computed for all prefixes at once.

    What does not look ahead has one value at each position, whatever the prefix; it is computed beforehand, forwards.
    """

    def __init__(self, formula: FormulaLike, trace: Trace, semantics: Semantics) -> None:
        formula = as_formula(formula)
        self.domain = domain_of(formula, semantics)
        labels, self.length = read_trace(formula, trace, semantics)
        normal = to_nnf(formula)
        self.literals = list(
            dict.fromkeys(
                (atom.name, part is not atom)
                for part in normal.subformulas()
                for atom in [part.args[0] if isinstance(part, Not) else part]
                if isinstance(atom, Atom)
            )
        )
        self._columns = _Columns(labels, self.length, self.literals, self.domain)
        self._needs = functools.cache(_Needs)
        self._ahead: dict[Formula, bool] = {}
        for part in normal.subformulas():
            self._ahead[part] = isinstance(part, FUTURE) or any(self._ahead[arg] for arg in part.args)
        self._position = 0
        self._here: dict[Formula, _Decided] = {}
        self._away: dict[Formula, _Decided] = {}
        self.result = self._run(normal)

    def _run(self, formula: Formula) -> _Decided:
        if not self._ahead[formula]:
            return self._columns[formula].each(lambda part: np.repeat(part[:1], self.length))
        wanted: list[Sequence[Formula]] = []  # at each position, operands before what uses them
        needed: tuple[Formula, ...] = (formula,)
        ordered = functools.cache(self._ordered)
        for _ in range(self.length):
            wanted.append(ordered(needed))
            needed = tuple(dict.fromkeys(part for f in wanted[-1] for part in self._needs(f).away))
        for position in reversed(range(self.length)):
            self._position = position
            self._here, self._away = {}, self._here
            for part in wanted[position]:
                if self._looks_ahead(part):
                    self._here[part] = unfold(part, self)
        return self._here[formula].each(lambda part: np.broadcast_to(part, self.length))

    def _ordered(self, needed: Iterable[Formula]) -> list[Formula]:
        order: dict[Formula, None] = {}
        stack = [(formula, False) for formula in needed]
        while stack:
            formula, done = stack.pop()
            if done:
                order[formula] = None
            elif formula not in order and self._looks_ahead(formula):
                stack.append((formula, True))
                stack.extend((part, False) for part in self._needs(formula).here)
        return list(order)

    def _looks_ahead(self, formula: Formula) -> bool:
        if formula not in self._ahead:  # what is left of an operator after some steps, whose operands are known
            self._ahead[formula] = isinstance(formula, FUTURE)
        return self._ahead[formula]

    # What `unfold` puts together.

    def now(self, formula: Formula) -> _Decided:
        """An operand on every prefix that reaches the position, shortest first; one value where all are the same."""
        if self._looks_ahead(formula):
            return self._here[formula]
        return self._columns[formula].each(_at(self._position))

    def later(self, formula: Formula, strong: bool) -> _Decided:
        """A formula one position later; on the prefix that ends here, what counts beyond the end."""
        longer = self.length - self._position - 1
        if longer == 0:
            return self._columns.beyond(strong)
        if self._looks_ahead(formula):
            found = self._away[formula]
        else:
            found = self._columns[formula].each(_at(self._position + 1))
        return _joined([self._columns.beyond(strong), found.each(lambda part: np.broadcast_to(part, longer))])

    def earlier(self, formula: Formula, strong: bool) -> _Decided:
        raise AssertionError(f"not an operator of the future: {formula}")

    def deciders(self, codes: NDArray[np.int64]) -> list[Decider]:
        """What codes stand for, on every prefix."""
        found = []
        for last, code in enumerate(codes.tolist()):
            if code in (_CONSTANT, _END, _NEWEST_END):
                found.append(Decider(None if code == _CONSTANT else last, None))
            else:
                step, rank = divmod(code, len(self.literals))
                found.append(Decider(step, *self.literals[-1 - rank]))
        return found


class _Columns(_Arithmetic):
    """Formulas that do not look ahead: their values and codes at every position, each computed when first asked for."""

    def __init__(
        self,
        labels: Mapping[str, Sequence[float]],
        length: int,
        literals: Sequence[tuple[str, bool]],
        domain: Domain,
    ) -> None:
        self._labels = labels
        self._length = length
        self._ranks = {literal: len(literals) - 1 - k for k, literal in enumerate(literals)}
        self._domain = domain
        self._known: dict[Formula, _Decided] = {}

    def __getitem__(self, formula: Formula) -> _Decided:
        if formula not in self._known:
            for part in formula.subformulas():
                if part not in self._known and not isinstance(part, Atom | Not | Constant):
                    self._compute(part)
                elif part not in self._known:
                    self._known[part] = self._leaf(part)
        return self._known[formula]

    def beyond(self, strong: bool) -> _Decided:
        """What counts past the end of the trace and before its start."""
        code, value = np.array([_END]), np.array([self._domain.bottom if strong else self._domain.top])
        return _Decided(value, code, code, code, np.array([_NEWEST_END]))  # more steps may still raise what it limits

    def _leaf(self, part: Formula) -> _Decided:
        if isinstance(part, Constant):
            value = {0.0: self._domain.bottom, 1.0: self._domain.top}.get(part.value, part.value)
            codes = np.full(self._length, _CONSTANT)
            return _Decided(np.full(self._length, value), *[codes] * 4)
        atom = part.args[0] if isinstance(part, Not) else part
        assert isinstance(atom, Atom), f"not in negation normal form: {part}"
        values = np.array(self._labels[atom.name], dtype=np.float64)
        codes = np.arange(self._length) * len(self._ranks) + self._ranks[atom.name, part is not atom]
        return _Decided(values if part is atom else self._domain.total - values, *[codes] * 4)

    def _compute(self, formula: Formula) -> None:
        """One formula of the past, or a combination of known ones, from the first position to the last."""
        if not isinstance(formula, TEMPORAL):
            self._now = self._known
            self._known[formula] = unfold(formula, self)
            return
        chain = [formula]  # what it refers to one step away, operators with shorter intervals, last of all itself
        for part in chain:
            chain.extend(other for other in _Needs(part).away if other not in chain and other not in self._known)
        chain.reverse()
        found: dict[Formula, list[_Decided]] = {part: [] for part in chain}
        before: dict[Formula, _Decided] = {}
        for position in range(self._length):
            self._now = {part: column.each(_at(position)) for part, column in self._known.items()}
            self._before = before
            for part in chain:
                if not isinstance(part, TEMPORAL):
                    continue
                self._now[part] = unfold(part, self)
                found[part].append(self._now[part])
            before = self._now
        for part, rows in found.items():
            self._known[part] = _joined(rows)

    # What `unfold` puts together.

    def now(self, formula: Formula) -> _Decided:
        return self._now[formula]

    def earlier(self, formula: Formula, strong: bool) -> _Decided:
        return self._before[formula] if self._before else self.beyond(strong)

    def later(self, formula: Formula, strong: bool) -> _Decided:
        raise AssertionError(f"not an operator of the past: {formula}")
