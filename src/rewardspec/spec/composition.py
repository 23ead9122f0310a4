"""One machine for all formulas of a spec: registers and subexpressions that they share exist once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewardspec.machines.bounds import Bounds
from rewardspec.machines.expressions import ZERO, Expression, maximum, register, substitute
from rewardspec.machines.program import Program, Step
from rewardspec.spec.pairs import Pair
from rewardspec.synthesis.quantitative.assembly import side_by_side
from rewardspec.synthesis.quantitative.compiler import Synthesis
from rewardspec.synthesis.quantitative.register_names import register_names


@dataclass(frozen=True)
class CompositeStep:
    """What one control state does with a letter.

    Attributes:
        updates: For each register its new value, or None where nothing will read it.
        values: The value of each formula.
        uppers: For each safety objective, the largest value it can still reach; 0 is a violation.
    """

    updates: tuple[Expression | None, ...]
    values: tuple[Expression, ...]
    uppers: tuple[Expression, ...]


@dataclass(frozen=True)
class Composite:
    """The machine of a whole spec; like `Program`, with several outputs.

    Attributes:
        atoms: The atoms whose labels a step reads.
        registers: The registers' names.
        initial: The registers' first values.
        steps: One for each control state; the last leads back to number `loop`.
        loop: The control state after the last.
    """

    atoms: tuple[str, ...]
    registers: tuple[str, ...]
    initial: tuple[float, ...]
    steps: tuple[CompositeStep, ...]
    loop: int

    def successor(self, control: int) -> int:
        """The control state after the given one."""
        return control + 1 if control + 1 < len(self.steps) else self.loop

    def expressions(self) -> Iterator[Expression]:
        """All updates, values and bounds."""
        for step in self.steps:
            yield from (update for update in step.updates if update is not None)
            yield from step.values
            yield from step.uppers


def compose(pairs: Sequence[Pair], max_registers: int) -> Composite:
    """The composite machine of some pairs.

    Raises:
        SynthesisError: A formula needs more registers than the budget.
    """
    synthesis = Synthesis(max_registers)
    joint, outputs = side_by_side([synthesis.part(pair.formula) for pair in pairs])
    called = {output: f"value[{pair}]" for output, pair in zip(outputs[joint.loop], pairs, strict=True)}
    names = register_names(joint, called)
    numbers = {register(old): register(new) for new, old in enumerate(joint.owed)}
    atoms = tuple(dict.fromkeys(atom for pair in pairs for atom in pair.formula.atoms))
    initial = tuple(joint.initial.get(r, 0.0) for r in joint.owed)
    updates = [
        tuple(substitute(stage.updates[r], numbers) if r in stage.updates else None for r in joint.owed)
        for stage in joint.stages
    ]
    values = [tuple(substitute(output, numbers) for output in row) for row in outputs]
    uppers: list[list[Expression]] = [[] for _ in updates]
    for number, pair in enumerate(pairs):
        if pair.vetoes:
            steps = tuple(Step(update, row[number]) for update, row in zip(updates, values, strict=True))
            for found, upper in zip(uppers, _uppers(Program(atoms, initial, steps, joint.loop)), strict=True):
                found.append(upper)
    return Composite(
        atoms,
        tuple(names[r] for r in joint.owed),
        initial,
        tuple(CompositeStep(u, v, tuple(b)) for u, v, b in zip(updates, values, uppers, strict=True)),
        joint.loop,
    )


def _uppers(program: Program) -> Iterator[Expression]:
    """For each control state, the largest value still possible after its letter: now, or by going on."""
    later = Bounds(program).upper
    for control, step in enumerate(program.steps):
        # The bound of what comes after reads the registers as this letter leaves them.
        left = {register(k): ZERO if update is None else update for k, update in enumerate(step.updates)}
        yield maximum(step.output, substitute(later[program.successor(control)], left))
