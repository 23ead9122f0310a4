"""From formulas to register programs: the exact synthesis.

1. Split the formula into conjunctions and disjunctions of temporal parts (`splitting`).
2. For each part write the equations of its obligations (`obligations`, `equations`), replace long chains
   (`delay_lines`), unroll the equations into control states (`unrolling`) and reduce them (`reduction`). The dual of
   the negation's machine computes the same value and is often much smaller, so both are tried; so are a disjunction's
   members as one machine or as one each.
3. Put the parts side by side (`assembly`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from rewardspec.errors import SynthesisError
from rewardspec.logic.bottom_up import bottom_up
from rewardspec.logic.formulas import Always, And, Counted, Formula, Or, Release, Shift, Timed, WeakNext
from rewardspec.logic.normal_form import negate, to_nnf
from rewardspec.logic.operators import TEMPORAL, written
from rewardspec.logic.printing import to_string
from rewardspec.machines.effort_limit import Effort
from rewardspec.machines.expressions import Expression, Substitution, all_parts, maximum, minimum, register
from rewardspec.machines.program import Program, side_by_side
from rewardspec.machines.windows import MOST_HELD
from rewardspec.synthesis.quantitative.assembly import combined, from_lasso
from rewardspec.synthesis.quantitative.delay_lines import with_delay_lines
from rewardspec.synthesis.quantitative.discounts import discounted, is_discounted
from rewardspec.synthesis.quantitative.equations import Equations, equations
from rewardspec.synthesis.quantitative.obligations import Obligations
from rewardspec.synthesis.quantitative.past import PastCompiler, with_past_as_labels
from rewardspec.synthesis.quantitative.reduction import reduce
from rewardspec.synthesis.quantitative.splitting import split
from rewardspec.synthesis.quantitative.unrolling import unroll

_Built = TypeVar("_Built")

_WORTH_BOTH = 12  # parts, or temporal operators in one, up to which every way to build them is looked at closely
_EFFORT = 2_500_000  # what one synthesis may spend; it takes some seconds
_EFFORT_FOR_ONE = 1_200_000  # and one attempt at one part
_LONG_BOUND = 50  # a longer interval is unfolded once, if that comes to a register or window for so many steps of it
_MOST_UNFOLDED = 10_000  # steps of an interval
_MOST_CHAINED = 20_000  # registers before delay lines become windows
_SETS_PER_REGISTER = 2  # how far the unreduced machine may go past the register budget


class Synthesis:
    """Builds parts for formulas, with so much effort in all; one instance computes what they have in common once."""

    def __init__(self, max_registers: int, effort: int = _EFFORT) -> None:
        self.max_registers = max_registers
        self._most_sets = _SETS_PER_REGISTER * max_registers + _SETS_PER_REGISTER
        self._effort = Effort(effort)
        self._roots: dict[Formula, Program] = {}

    def program(self, formula: Formula) -> Program:
        """The program of a formula, unnamed.

        Raises:
            SynthesisError: It needs more registers than the budget, or no monitor can know its value; the message
                names the subformula.
        """
        normal, computed = with_past_as_labels(to_nnf(formula))
        program = self.with_past(self._of_the_future(normal), computed, formula.atoms)
        values = sum(window.length for window in program.windows)
        if values > MOST_HELD:
            raise self._holds_too_much(formula, values)
        return program

    def with_past(self, main: Program, computed: Mapping[str, Formula], atoms: tuple[str, ...]) -> Program:
        """A program that computes itself the labels that say something of the past, see `with_past_as_labels`."""
        if not computed:
            return main
        # Labels that are computed, and their complements, where the program reads them.
        read = {part for part in all_parts(main.expressions()) if part.args[0] in computed and part.op != "register"}
        ordered = sorted(read, key=lambda part: (list(computed).index(part.args[0]), part.op))
        past = PastCompiler(self.max_registers).program(
            [computed[e.args[0]] if e.op == "label" else negate(computed[e.args[0]]) for e in ordered]
        )
        joint = side_by_side([main, past])
        own = len(main.steps[0].outputs)
        steps = []
        for step in joint.steps:
            values = dict(zip(ordered, step.outputs[own:], strict=True))
            change = Substitution(values)
            steps.append(replace(step, outputs=step.outputs[:own]).map(change))
        return replace(joint, steps=tuple(steps), atoms=atoms)

    def _of_the_future(self, formula: Formula) -> Program:
        leaves: dict[Program, Expression] = {}

        def combine(branch: Formula, args: dict[Formula, Expression]) -> Expression:
            """The value of a branch, in terms of the values of leaves, which `register(k)` stands for."""
            operation = minimum if isinstance(branch, And) else maximum
            roots = [arg for arg in branch.args if arg not in args]
            values = [args[arg] for arg in branch.args if arg in args]
            found = self._group(type(branch), operation, roots) if roots else ()
            values.extend(leaves.setdefault(leaf, register(len(leaves))) for leaf in found)
            if sum(len(leaf.registers) for leaf in leaves) > self._most_sets:
                raise self._too_large(formula)
            return operation(*values)

        top = split(formula)
        self._require_short_intervals(top)
        branching = branches(top)
        if top in branching:
            value = fold_branches(top, branching, combine)
        else:
            value = leaves.setdefault(self.part(top), register(0))
        result = combined(list(leaves), value)
        if len(result.registers) > self.max_registers:
            raise self._too_large(formula)
        return result

    def _group(
        self, kind: type[Formula], operation: Callable[..., Expression], roots: Sequence[Formula]
    ) -> tuple[Program, ...]:
        """The machines of temporal parts under one operator: one for them all, or one each."""
        if len(roots) == 1:
            return (self.part(roots[0]),)
        group = kind(*roots)

        def separate() -> tuple[Program, ...]:
            return tuple(dict.fromkeys(self.part(root) for root in roots))

        def together() -> tuple[Program, ...]:
            # A disjunction is one machine of its own; a conjunction is the dual of one.
            for root in roots:
                _require_bounded_discounts(root)
            return (self._linear(group, negated=kind is And),)

        def cost(parts: tuple[Program, ...]) -> tuple[int, ...]:
            if len(parts) > _WORTH_BOTH:  # an upper bound will do: what many parts share is seldom decisive
                return tuple(map(sum, zip(*(part.cost for part in parts), strict=True)))
            return combined(parts, operation(*(register(k) for k in range(len(parts))))).cost

        return self._cheapest([separate, together], cost, group)

    def part(self, formula: Formula) -> Program:
        """The machine of one temporal part, or of a propositional formula."""
        if formula not in self._roots:
            operators = sum(isinstance(part, TEMPORAL) for part in formula.subformulas())
            if operators > self._most_sets:
                raise self._too_large(formula)
            if is_discounted(formula):
                self._roots[formula] = discounted(formula)
                return self._roots[formula]
            _require_bounded_discounts(formula)
            longest, universal = _longest_bound(formula)
            ways = [lambda: self._linear(formula, negated=False), lambda: self._linear(formula, negated=True)]
            self._roots[formula] = self._cheapest(
                ways[::-1] if longest > _LONG_BOUND and universal else ways,
                lambda part: part.cost,
                formula,
                # Where both are small, the second look is cheap; a long chain's negation costs more than it can save.
                enough=operators if operators > _WORTH_BOTH else longest // _LONG_BOUND,
            )
        return self._roots[formula]

    def _linear(self, formula: Formula, *, negated: bool) -> Program:
        target = negate(formula) if negated else formula
        effort = self.effort()
        return self.machine(self.equations(target, effort), target.atoms, effort, negated=negated)

    def effort(self) -> Effort:
        """The effort that one attempt at one part may spend."""
        return Effort(_EFFORT_FOR_ONE, within=self._effort)

    def equations(self, formula: Formula, effort: Effort) -> Equations:
        """The equations of a part in normal form, without the past."""
        bounded = any(isinstance(part, Timed | Shift) for part in formula.subformulas())
        return equations(formula, Obligations(effort), _MOST_CHAINED if bounded else self._most_sets)

    def machine(self, system: Equations, atoms: tuple[str, ...], effort: Effort, *, negated: bool = False) -> Program:
        """The reduced machine that equations describe, or with `negated` its dual."""
        system = with_delay_lines(system, self._most_sets)
        lasso = reduce(unroll(system, self._most_sets, effort), effort)
        return from_lasso(lasso, system, atoms, negated=negated)

    def _cheapest(
        self,
        attempts: Sequence[Callable[[], _Built]],
        cost: Callable[[_Built], tuple[int, ...]],
        formula: Formula,
        enough: int = 0,
    ) -> _Built:
        """The cheapest of several ways to build a formula's machine; the first with few enough registers will do."""
        best: tuple[tuple[int, ...], _Built] | None = None
        failure: SynthesisError | None = None
        for attempt in attempts:
            try:
                built = attempt()
            except SynthesisError as error:
                failure = failure or error
                continue
            price = cost(built)
            if best is None or price < best[0]:
                best = (price, built)
            if best[0][0] <= enough:
                break
        if best is not None:
            return best[1]
        assert failure is not None
        raise failure if failure.subformula is not None else self._too_large(formula) from failure

    def _require_short_intervals(self, formula: Formula) -> None:
        """Refuse what would be refused after much work: numbers that no machine within the budget can count to."""
        for part in formula.subformulas():
            steps, most, why = _steps(part), _MOST_UNFOLDED, "unfolds each of them"
            if isinstance(part, Counted):
                most, why = self._most_sets, "has a register for each of them"
            elif isinstance(part, Timed) and part.discount < 1.0 and part.high is None:
                most, why = self._most_sets, "has a control state for each of them, since the discount begins later"
            elif isinstance(part, Timed) and part.discount < 1.0:
                steps, most = steps - part.low, self._most_sets
                why = "has a register or a control state for each of them, since each has a weight of its own"
            if steps > most:
                more = "" if most == _MOST_UNFOLDED else ", or raise `max_registers`"
                raise SynthesisError(
                    f"`{written(part)}` in `{to_string(formula, longest=120)}` counts {steps:,} steps. A monitor "
                    f"{why}, and takes up to about {most:,}. Use a smaller number, or leave out a bound that no "
                    f"episode reaches{more}.",
                    subformula=part,
                )

    def _holds_too_much(self, formula: Formula, values: int) -> SynthesisError:
        part = max(formula.subformulas(), key=_steps)
        return SynthesisError(
            f"The monitor of `{to_string(formula, longest=120)}` would hold {values:,} values at a time, most of them "
            f"for `{written(part)}`, and holds up to {MOST_HELD:,}. Use a smaller number, or leave out a bound that "
            "no episode reaches.",
            subformula=part,
        )

    def _too_large(self, formula: Formula) -> SynthesisError:
        shown = to_string(formula, longest=200)
        return SynthesisError(
            f"The monitor of `{shown}` needs more than {self.max_registers} registers, or too many control states, or "
            "too much work to find. Raise `max_registers`, or split the formula into several with fewer nested "
            "alternatives.",
            subformula=formula,
        )


def branches(formula: Formula) -> set[Formula]:
    """The subformulas that are conjunctions or disjunctions with temporal parts."""
    return {part for part in formula.subformulas() if part.is_temporal and isinstance(part, And | Or)}


def fold_branches(
    top: Formula, branching: set[Formula], combine: Callable[[Formula, dict[Formula, _Built]], _Built]
) -> _Built:
    """Combine the conjunctions and disjunctions of temporal parts at the top of a formula, innermost first."""
    done: dict[Formula, _Built] = {}

    def inner(current: Formula) -> list[Formula]:
        return [arg for arg in current.args if arg in branching]

    return bottom_up(top, inner, lambda current: combine(current, {arg: done[arg] for arg in inner(current)}), done)


def _steps(part: Formula) -> int:
    """Number of steps that the outermost operator of a formula looks ahead, or counts."""
    match part:
        case Timed():
            return part.high or part.low
        case Shift():
            return part.steps
        case Counted():
            return part.count
    return 0


def _longest_bound(formula: Formula) -> tuple[int, bool]:
    """The longest interval, and whether it is that of a G or R, whose negation has fewer obligations at a time."""
    bounds = [
        (_steps(part), isinstance(part, Always | Release | WeakNext))
        for part in formula.subformulas()
        if isinstance(part, Timed | Shift)
    ]
    return max(bounds, key=lambda bound: (bound[0], not bound[1]), default=(0, False))


def _require_bounded_discounts(formula: Formula) -> None:
    for part in formula.subformulas():
        if isinstance(part, Timed) and part.discount < 1.0 and part.high is None:
            raise SynthesisError(
                f"`{to_string(part, longest=80)}` discounts without a bound, inside or around another operator of the "
                "future: the monitor would have to remember every step with a weight of its own. Give it a bound, as "
                "in `F[0,50;0.9]`: beyond it the discount leaves little anyway. `evaluate` takes it as it is.",
                subformula=part,
            )
