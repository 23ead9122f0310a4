"""From formulas to register programs: the exact synthesis.

1. Split the formula into conjunctions and disjunctions of temporal parts (`splitting`).
2. For each part write the equations of its obligations (`obligations`, `linear`), unroll them into control states
   (`control`) and reduce them (`reduction`).  The negation's machine, turned round, computes the same value and is
   often much smaller, so both are tried; so are a disjunction's members as one machine or as one each.
3. Put the parts side by side (`assembly`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewardspec.backends.expressions import Expression, constant, maximum, minimum
from rewardspec.errors import SynthesisError
from rewardspec.logic.formulas import And, Constant, Formula, Or
from rewardspec.logic.fragments import TEMPORAL, is_propositional
from rewardspec.logic.normal_form import negate
from rewardspec.monitors.assembly import Part, Stage, combined, from_lasso
from rewardspec.monitors.control import unroll
from rewardspec.monitors.linear import equations
from rewardspec.monitors.obligations import Obligations
from rewardspec.monitors.reduction import reduce
from rewardspec.monitors.splitting import split

_WORTH_BOTH = 12  # temporal operators up to which a part's negation is always tried too
_SETS_PER_REGISTER = 4  # how far the unreduced machine may go past the register budget


class Synthesis:
    """Builds parts for formulas; one instance computes what they have in common once.

    Args:
        max_registers: The largest number of registers a machine may have.
    """

    def __init__(self, max_registers: int) -> None:
        self.max_registers = max_registers
        self._parts: dict[Formula, Part] = {}

    def part(self, formula: Formula) -> Part:
        """The machine of a formula, unnamed.

        Raises:
            SynthesisError: It needs more registers than the budget; the message names the subformula.
        """
        top = split(formula)
        stack = [top]
        while stack:
            current = stack[-1]
            if current in self._parts:
                stack.pop()
                continue
            missing = [arg for arg in _branches(current) if arg not in self._parts]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            self._parts[current] = self._build(current)
        result = self._parts[top]
        if len(result.owed) > self.max_registers:
            raise self._too_large(formula)
        return result

    def _build(self, formula: Formula) -> Part:
        if isinstance(formula, Constant):
            return Part((Stage({}, constant(formula.value)),), 0, {}, {})
        if not _is_branching(formula):
            operators = sum(isinstance(part, TEMPORAL) for part in formula.subformulas())
            return self._smallest(
                [lambda: self._linear(formula, False), lambda: self._linear(formula, True)],
                formula,
                # Where both are small, the second look is cheap; a long chain's negation costs more than it can save.
                enough=operators if operators > _WORTH_BOTH else 0,
            )
        operation = minimum if isinstance(formula, And) else maximum
        branches = _branches(formula)
        roots = [arg for arg in formula.args if arg not in branches]
        parts = [self._parts[arg] for arg in branches]
        if roots:
            parts.append(self._group(type(formula), operation, roots))
        return combined(operation, parts)

    def _group(self, kind: type[Formula], operation: Callable[..., Expression], roots: Sequence[Formula]) -> Part:
        """Temporal parts under one operator, as one machine or as one each."""
        group = kind(*roots)
        if group in self._parts:
            return self._parts[group]
        if len(roots) == 1:
            self._parts[group] = self._build(roots[0])
            return self._parts[group]

        def separate() -> Part:
            for root in roots:
                if root not in self._parts:
                    self._parts[root] = self._build(root)
            return combined(operation, [self._parts[root] for root in roots])

        # A disjunction is one machine of its own; a conjunction is the dual of one.
        return self._smallest([separate, lambda: self._linear(group, kind is And)], group)

    def _linear(self, formula: Formula, negated: bool) -> Part:
        target = negate(formula) if negated else formula
        system = equations(target, Obligations(), _SETS_PER_REGISTER * self.max_registers)
        lasso = reduce(unroll(system, _SETS_PER_REGISTER * self.max_registers))
        return from_lasso(lasso, system, negated=negated)

    def _smallest(self, attempts: Sequence[Callable[[], Part]], formula: Formula, enough: int = 0) -> Part:
        """The cheapest of several ways to build a formula's machine; the first with few enough registers will do."""
        best: Part | None = None
        failure: SynthesisError | None = None
        for attempt in attempts:
            try:
                part = attempt()
            except SynthesisError as error:
                failure = failure or error
                continue
            if best is None or part.cost < best.cost:
                best = part
            if best.cost[0] <= enough:
                break
        if best is not None:
            return best
        assert failure is not None
        raise failure if failure.subformula is not None else self._too_large(formula) from failure

    def _too_large(self, formula: Formula) -> SynthesisError:
        text = str(formula)
        shown = text if len(text) <= 200 else f"{text[:160]} … ({len(text):,} characters)"
        return SynthesisError(
            f"The monitor of `{shown}` needs more than {self.max_registers} registers (or control states, before "
            f"reduction). Raise `max_registers`, or split the formula into several with fewer nested alternatives.",
            subformula=formula,
        )


def _is_branching(formula: Formula) -> bool:
    return isinstance(formula, And | Or) and not is_propositional(formula)


def _branches(formula: Formula) -> list[Formula]:
    """The operands that are themselves conjunctions or disjunctions of temporal parts."""
    return [arg for arg in formula.args if _is_branching(arg)] if _is_branching(formula) else []
