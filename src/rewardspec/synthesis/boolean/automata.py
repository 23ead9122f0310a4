"""The minimal deterministic automaton of a formula.

1. The Boolean structure at the top of the formula is taken off; what remains are temporal and propositional parts.
2. Each part is simplified, taken apart once more where G is over & or F over |, translated (`translation`) and
   minimized (`dfa_operations`).
3. Their automata are combined by products as the structure says, two at a time, minimizing after each.
4. An initial state is chosen.  Traces are never empty, so whether it accepts is free, and where some state does with
   every letter what the first letter does, that state is initial: the automaton needs no other.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence

from rewardspec.errors import SynthesisError
from rewardspec.logic import formulas as fm
from rewardspec.logic.formulas import Formula
from rewardspec.logic.fragments import future_in_past
from rewardspec.logic.operators import TEMPORAL, written
from rewardspec.logic.simplification import simplify
from rewardspec.machines.effort_limit import Effort
from rewardspec.synthesis.boolean.decision_diagrams import DecisionTable, Diagrams
from rewardspec.synthesis.boolean.dfa_operations import Connective, Dfa, Product, complement, minimize, renumber
from rewardspec.synthesis.boolean.translation import Translation

_CONNECTIVES: dict[type[Formula], Connective] = {
    fm.And: lambda x, y: x and y,
    fm.Or: lambda x, y: x or y,
    fm.Implies: lambda x, y: not x or y,
    fm.Iff: lambda x, y: x == y,
    fm.Xor: lambda x, y: x != y,
}

_SLACK = 4  # how many times more states than allowed a machine may have before it is minimized
_EFFORT_PER_STATE = 50  # results computed per state allowed, beyond which the formula is refused
_LEAST_EFFORT = 100_000  # what is allowed in any case: a low limit on states should not refuse a small machine
_PART_EFFORT = 100  # what a part or a product costs at least, so that thousands of tiny ones are refused in time


def minimal_automaton(formula: Formula, max_states: int) -> tuple[frozenset[int], DecisionTable]:
    """The minimal complete automaton of the non-empty Boolean traces on which the formula holds.

    Returns:
        The states that accept, and for each state what a letter does; variables are positions in the formula's atoms.
        States are numbered as `BooleanMonitor` says.

    Raises:
        SynthesisError: It has more than `max_states` states, takes too much to build, or does not exist: the formula
            has values other than 0 and 1, or looks ahead from the past.
    """
    if not isinstance(max_states, int) or max_states < 1:
        raise SynthesisError(f"`max_states` should be a positive integer. Received {max_states!r}.")
    _require_boolean(formula)
    construction = _Construction(formula, max_states)
    dfa = _with_initial_state(construction.store, construction.dfa())
    if len(dfa.steps) > max_states:
        raise construction.too_large([formula])
    accepting = frozenset(state for state, accepts in enumerate(dfa.accepting) if accepts)
    return accepting, DecisionTable.from_diagrams(construction.store, dfa.steps)


def _require_boolean(formula: Formula) -> None:
    """Refuse what no automaton says: values between 0 and 1, and the future of a position in the past."""
    found = future_in_past(formula)
    if found is not None:
        past, inside = found
        raise SynthesisError(
            f"`{_shown(inside)}` looks ahead, and stands under {written(past)}, which looks back: at the step it "
            "speaks of, its value is not known yet, so that no monitor can remember it. Put the operators of the "
            "future outside those of the past, or use `evaluate`, on whole traces.",
            subformula=past,
        )
    for part in formula.subformulas():
        match part:
            case fm.Constant() if part.value not in (0.0, 1.0):
                what = f"The number {part}"
            case fm.Affine() if part.params != (1.0, 0.0):
                what = f"The scale of `{_shown(part)}`"
            case fm.Timed() if part.discount != 1.0:
                what = f"The discount of {written(part)}"
            case _:
                continue
        raise SynthesisError(
            f"{what} gives values between 0 and 1, which a Boolean monitor does not have. Leave it out, or use the "
            "quantitative monitor of `synthesize`.",
            subformula=part,
        )


class _Construction:
    def __init__(self, formula: Formula, max_states: int) -> None:
        self.formula = formula
        self.atoms = formula.atoms
        self.max_states = max_states
        self.budget = Effort(
            max(_LEAST_EFFORT, _EFFORT_PER_STATE * max_states), excess="the decision diagrams are too large"
        )
        self.store = Diagrams[int](self.budget)
        self._dfas: dict[Formula, Dfa] = {}
        self._simplified: dict[Formula, Formula] = {}

    def dfa(self) -> Dfa:
        stack = [self.formula]
        while stack:
            part = stack[-1]
            missing = [arg for arg in self._operands(part) if arg not in self._dfas]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            if part not in self._dfas:
                try:
                    self._dfas[part] = self._build(part)
                except SynthesisError as error:
                    raise self.too_large([*stack, part]) from error
        return self._dfas[self.formula]

    def too_large(self, path: Sequence[Formula]) -> SynthesisError:
        """The error for the last formula on a path that is a part of the given one as it was written."""
        written = set(self.formula.subformulas())
        part = next(part for part in reversed(path) if part in written)
        where = "" if part == self.formula else ", a part of the formula,"
        return SynthesisError(
            f"The automaton of `{_shown(part)}`{where} needs more than {self.max_states} states, or far more work "
            "than a machine of that size. Raise `max_states`, or split the formula into several.",
            subformula=part,
        )

    def _operands(self, part: Formula) -> tuple[Formula, ...]:
        """The formulas whose automata a part's is made from; none for a part that is translated whole."""
        if self._is_branching(part):
            return part.args
        if part not in self._simplified:
            self._simplified[part] = _distributed(simplify(part))
        simplified = self._simplified[part]
        return (simplified,) if self._is_branching(simplified) else ()

    @staticmethod
    def _is_branching(formula: Formula) -> bool:
        """Return whether the formula is a Boolean combination of temporal ones."""
        return formula.is_temporal and not isinstance(formula, (*TEMPORAL, fm.Affine))  # `1 * φ` is simplified away

    def _build(self, part: Formula) -> Dfa:
        self.budget.spend(_PART_EFFORT)
        dfas = [self._dfas[arg] for arg in self._operands(part)]
        if not dfas:
            states, simplified = _SLACK * self.max_states, self._simplified[part]
            return minimize(self.store, Translation(simplified, self.atoms, self.store, states, self.budget).dfa())
        if not self._is_branching(part):
            return dfas[0]
        if isinstance(part, fm.Not):
            return complement(dfas[0])
        connective = _CONNECTIVES[type(part)]
        if len(dfas) == 2:
            return self._combine(connective, *dfas)
        # `&` and `|`: the smallest two first, the oldest among equals, so that few products are large.
        order = itertools.count()
        queue = [(len(dfa.steps), next(order), dfa) for dfa in dfas]
        heapq.heapify(queue)
        while len(queue) > 1:
            _, _, left = heapq.heappop(queue)
            _, _, right = heapq.heappop(queue)
            dfa = self._combine(connective, left, right)
            heapq.heappush(queue, (len(dfa.steps), next(order), dfa))
        return queue[0][2]

    def _combine(self, connective: Connective, left: Dfa, right: Dfa) -> Dfa:
        self.budget.spend(_PART_EFFORT)
        return minimize(self.store, Product(self.store, connective, left, right, _SLACK * self.max_states).dfa())


def _distributed(formula: Formula) -> Formula:
    """`G(a & b)` as `G a & G b` and `F(a | b)` as `F a | F b`, with propositional operands kept together."""
    for temporal_kind, kind in ((fm.Always, fm.And), (fm.Eventually, fm.Or)):
        if isinstance(formula, temporal_kind) and isinstance(formula.args[0], kind):
            plain: list[Formula] = []
            temporal: list[Formula] = []
            for arg in formula.args[0].args:
                (temporal if arg.is_temporal else plain).append(arg)
            pieces = [*temporal, kind(*plain)] if plain else temporal
            return kind(*(formula.rebuild(piece) for piece in pieces))
    return formula


def _with_initial_state(store: Diagrams[int], dfa: Dfa) -> Dfa:
    """The automaton with its states numbered from an initial one on."""
    alike = [state for state, step in enumerate(dfa.steps) if step == dfa.start]
    if alike:
        # There may be two, of which one accepts: before the first letter nothing has been achieved.
        initial = min(alike, key=lambda state: dfa.accepting[state])
    else:
        initial = len(dfa.steps)
        dfa = Dfa(dfa.start, (*dfa.steps, dfa.start), (*dfa.accepting, False))
    store.budget = Effort()  # what is left to do is small, and the machine is already there
    order = _breadth_first(store, dfa, initial)
    return renumber(store, dfa, order, {state: number for number, state in enumerate(order)})


def _breadth_first(store: Diagrams[int], dfa: Dfa, initial: int) -> list[int]:
    order = [initial]
    seen = {initial}
    for state in order:
        for successor in store.leaves(dfa.steps[state]):
            if successor not in seen:
                seen.add(successor)
                order.append(successor)
        if len(order) == len(dfa.steps):
            break
    return order


def _shown(formula: Formula) -> str:
    text = str(formula)
    return text if len(text) <= 200 else f"{text[:160]} … ({len(text):,} characters)"
