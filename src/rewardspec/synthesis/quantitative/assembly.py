"""From reduced equations to register programs, and from parts of a formula to the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rewardspec.logic.formulas import Affine, And, Atom, Constant, Formula, Not
from rewardspec.machines.expressions import (
    Expression,
    affine,
    complement,
    constant,
    dual,
    label,
    maximum,
    minimum,
    register,
    substitute,
    window,
)
from rewardspec.machines.polynomials import bits
from rewardspec.machines.program import Program, Push, Step, Window, side_by_side
from rewardspec.synthesis.quantitative.equations import DelayLine, Equations
from rewardspec.synthesis.quantitative.factoring import Factoring
from rewardspec.synthesis.quantitative.register_names import from_obligations
from rewardspec.synthesis.quantitative.unrolling import Lasso


def from_lasso(lasso: Lasso, equations: Equations, atoms: tuple[str, ...], *, negated: bool) -> Program:
    """The program that a lasso describes; with `negated` its dual, which computes the complement of the value.

    Its outputs are the value and the levels, if there are any.
    """
    leaves = [guard_expression(guard) for guard in equations.guards]
    leaves += [window(k) for k in range(len(equations.lines))]
    used = sorted(set(lasso.initial).union(*(phase.updates for phase in lasso.phases)))
    place = {old: register(new) for new, old in enumerate(used)}

    def leaf(variable: int) -> Expression:
        return place[variable] if variable < lasso.registers else leaves[variable - lasso.registers]

    factoring = Factoring(leaf)
    finish: Callable[[Expression], Expression] = dual if negated else lambda expression: expression

    def push(line: DelayLine, entering: frozenset[int]) -> Push:
        guard = minimum(*(leaf(variable) for variable in bits(line.guard))) if line.guard else None
        return Push(finish(factoring.expression(entering)), None if guard is None else finish(guard))

    steps = tuple(
        Step(
            tuple(finish(factoring.expression(phase.updates[old])) if old in phase.updates else None for old in used),
            tuple(finish(factoring.expression(output)) for output in (phase.output, *phase.levels)),
            tuple(push(line, entering) for line, entering in zip(equations.lines, phase.entering, strict=True)),
        )
        for phase in lasso.phases
    )
    initial = tuple(float(lasso.initial[old] != negated) if old in lasso.initial else 0.0 for old in used)
    names = tuple(from_obligations(equations.owed[old], negated) for old in used)
    windows = tuple(_window(line, negated) for line in equations.lines)
    return Program(atoms, names, initial, steps, lasso.loop, windows)


def _window(line: DelayLine, negated: bool) -> Window:
    if line.op == "last":
        return Window("delayed", line.length, "last", neutral=float(negated))
    return Window("recent", line.length, "min" if negated else "max", neutral=float(negated))


def guard_expression(formula: Formula) -> Expression:
    """The expression of a propositional formula in negation normal form."""

    def build(part: Formula, args: tuple[Expression, ...]) -> Expression:
        match part:
            case Constant():
                return constant(part.value)
            case Atom():
                return label(part.name)
            case Not():
                return complement(args[0].args[0])
            case And():
                return minimum(*args)
            case Affine():
                return affine(args[0], part.scale, part.offset)
        return maximum(*args)

    return formula.fold(build)


def combined(programs: Sequence[Program], value: Expression) -> Program:
    """Programs as one, with the value that an expression gives, in which `register(k)` stands for the value of k."""
    if len(programs) == 1 and value == register(0):
        return programs[0]
    joint = side_by_side(programs)
    return joint.with_outputs(
        [(substitute(value, {register(k): e for k, e in enumerate(step.outputs)}),) for step in joint.steps]
    )
