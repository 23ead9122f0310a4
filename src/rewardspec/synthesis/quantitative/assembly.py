"""Putting monitors together: side by side under a min or a max, with what they share computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rewardspec.logic.formulas import And, Atom, Constant, Formula, Not
from rewardspec.machines.expressions import (
    Expression,
    all_parts,
    complement,
    constant,
    dual,
    label,
    maximum,
    minimum,
    register,
    substitute,
)
from rewardspec.synthesis.quantitative.equations import Equations
from rewardspec.synthesis.quantitative.factoring import Factoring
from rewardspec.synthesis.quantitative.unrolling import Lasso


@dataclass(frozen=True)
class Stage:
    """One control state of a part: updates by register number, and the value."""

    updates: dict[int, Expression]
    output: Expression


@dataclass(frozen=True, eq=False)
class Part:
    """A machine for a part of a formula, before its registers get their final numbers and names.

    Attributes:
        stages: The control states; the last leads back to number `loop`.
        initial: First values of the registers that the first control state reads.
        owed: For each register, the formulas it waits for, and whether it is a register of the negation.
    """

    stages: tuple[Stage, ...]
    loop: int
    initial: dict[int, float]
    owed: dict[int, tuple[tuple[Formula, ...], bool]]

    @property
    def cost(self) -> tuple[int, int, int]:
        """Registers, control states, operations: what to make small, in this order."""
        expressions = [e for stage in self.stages for e in (*stage.updates.values(), stage.output)]
        operations = sum(max(0, len(part.operands) - 1) for part in all_parts(expressions))
        return len(self.owed), len(self.stages), operations

    def successor(self, position: int) -> int:
        """The control state after the given one."""
        return position + 1 if position + 1 < len(self.stages) else self.loop


def from_lasso(lasso: Lasso, equations: Equations, *, negated: bool) -> Part:
    """The part that a lasso describes; with `negated` its dual, which computes one minus the value."""
    guards = [guard_expression(guard) for guard in equations.guards]

    def leaf(variable: int) -> Expression:
        return register(variable) if variable < lasso.registers else guards[variable - lasso.registers]

    factoring = Factoring(leaf)
    finish: Callable[[Expression], Expression] = dual if negated else lambda expression: expression
    stages = tuple(
        Stage(
            {r: finish(factoring.expression(update)) for r, update in phase.updates.items()},
            finish(factoring.expression(phase.output)),
        )
        for phase in lasso.phases
    )
    initial = {r: float(one != negated) for r, one in lasso.initial.items()}
    used = sorted(set(initial).union(*(stage.updates for stage in stages)))
    return Part(stages, lasso.loop, initial, {r: (equations.owed[r], negated) for r in used})


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
        return maximum(*args)

    return formula.fold(build)


def side_by_side(parts: Sequence[Part]) -> tuple[Part, list[list[Expression]]]:
    """Several parts as one machine, and the output of each in each control state.

    All parts read the same letters, so their control states advance together: the joint ones are again a lasso.
    """
    offsets: list[dict[Expression, Expression]] = []
    owed: dict[int, tuple[tuple[Formula, ...], bool]] = {}
    for part in parts:
        numbers = {old: len(owed) + k for k, old in enumerate(part.owed)}
        owed.update({numbers[old]: what for old, what in part.owed.items()})
        offsets.append({register(old): register(new) for old, new in numbers.items()})
    renumbered = [_renumber(part, numbers) for part, numbers in zip(parts, offsets, strict=True)]

    seen: dict[tuple[int, ...], int] = {}
    stages: list[Stage] = []
    outputs: list[list[Expression]] = []
    positions = (0,) * len(parts)
    while positions not in seen:
        seen[positions] = len(stages)
        current = [part.stages[position] for part, position in zip(renumbered, positions, strict=True)]
        updates: dict[int, Expression] = {}
        for stage in current:
            updates |= stage.updates
        stages.append(Stage(updates, constant(0)))
        outputs.append([stage.output for stage in current])
        positions = tuple(part.successor(p) for part, p in zip(renumbered, positions, strict=True))
    initial: dict[int, float] = {}
    for part in renumbered:
        initial |= part.initial
    return merge_equal_registers(Part(tuple(stages), seen[positions], initial, owed), outputs)


def combined(parts: Sequence[Part], value: Expression) -> Part:
    """Parts as one, with the value that an expression gives, in which `register(k)` stands for the value of part k."""
    if len(parts) == 1 and value == register(0):
        return parts[0]
    joint, outputs = side_by_side(parts)
    stages = tuple(
        Stage(stage.updates, substitute(value, {register(k): output for k, output in enumerate(row)}))
        for stage, row in zip(joint.stages, outputs, strict=True)
    )
    return Part(stages, joint.loop, joint.initial, joint.owed)


def _renumber(part: Part, numbers: dict[Expression, Expression]) -> Part:
    stages = tuple(
        Stage(
            {numbers[register(r)].args[0]: substitute(update, numbers) for r, update in stage.updates.items()},
            substitute(stage.output, numbers),
        )
        for stage in part.stages
    )
    initial = {numbers[register(r)].args[0]: value for r, value in part.initial.items()}
    return Part(stages, part.loop, initial, {numbers[register(r)].args[0]: what for r, what in part.owed.items()})


def merge_equal_registers(part: Part, outputs: list[list[Expression]]) -> tuple[Part, list[list[Expression]]]:
    """Make one of registers that start alike and are updated alike, by refining a partition until it is stable."""
    parts = list(all_parts(update for stage in part.stages for update in stage.updates.values()))
    block = dict.fromkeys(part.owed, 0)
    while True:
        shape = _shapes(parts, block)
        keys = {
            r: (
                block[r],
                part.initial.get(r),
                tuple(shape[stage.updates[r]] if r in stage.updates else None for stage in part.stages),
            )
            for r in block
        }
        numbers: dict[object, int] = {}
        refined = {r: numbers.setdefault(keys[r], len(numbers)) for r in block}
        if len(numbers) == len(set(block.values())):
            break
        block = refined
    first: dict[int, int] = {}
    for r in block:
        first.setdefault(block[r], r)
    if len(first) == len(block):
        return part, outputs
    chosen = {register(r): register(first[block[r]]) for r in block}
    stages = tuple(
        Stage(
            {r: substitute(update, chosen) for r, update in stage.updates.items() if first[block[r]] == r},
            stage.output,
        )
        for stage in part.stages
    )
    kept = set(first.values())
    merged = Part(
        stages,
        part.loop,
        {r: value for r, value in part.initial.items() if r in kept},
        {r: what for r, what in part.owed.items() if r in kept},
    )
    return merged, [[substitute(output, chosen) for output in row] for row in outputs]


def _shapes(parts: Sequence[Expression], block: dict[int, int]) -> dict[Expression, int]:
    """A number for each part, equal for those that differ only in argument order and in registers of one block."""
    numbers: dict[object, int] = {}
    shapes: dict[Expression, int] = {}
    for part in parts:
        if part.operands:
            key: object = (part.op, frozenset(shapes[arg] for arg in part.operands))
        else:
            key = ("register", block[part.args[0]]) if part.op == "register" else (part.op, part.args)
        shapes[part] = numbers.setdefault(key, len(numbers))
    return shapes
