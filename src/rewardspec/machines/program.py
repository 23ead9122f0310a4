"""Register programs: the one form of every machine.

A program reads the labels of one letter after the other. Its control states are visited in a fixed order, a stem and
then a loop; each updates registers and windows, and computes the outputs. A monitor is a program with one output, the
value; a spec has one for each formula and for each veto.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rewardspec.machines.expressions import ZERO, Expression, Substitution, all_parts, pushed, register, window
from rewardspec.types import Semantics as Semantics


@dataclass(frozen=True)
class Window:
    """The last values of an expression, read through their extremum.

    Attributes:
        name: What it is called.
        length: How many values it holds.
        op: `"max"` or `"min"`; or `"last"`, which gives the oldest of the values.
        neutral: What it holds before anything is pushed: 0, or 1 for minima and what guards raise.
    """

    name: str
    length: int
    op: Literal["max", "min", "last"]
    neutral: float = 0.0


@dataclass(frozen=True)
class Push:
    """The update of a window by one letter.

    Attributes:
        value: What enters the window.
        guard: First, every value in the window becomes its minimum with this (for `"min"` its maximum); None leaves
            them as they are.
    """

    value: Expression
    guard: Expression | None = None


@dataclass(frozen=True)
class Step:
    """The computation of one control state for one letter.

    Attributes:
        updates: For each register its new value, or None where nothing reads it before it is written again.
        outputs: The outputs after the letter.
        pushes: For each window, what enters it.
    """

    updates: tuple[Expression | None, ...]
    outputs: tuple[Expression, ...]
    pushes: tuple[Push, ...] = ()

    def expressions(self) -> Iterator[Expression]:
        """Outputs, updates and what is pushed."""
        yield from self.outputs
        yield from (update for update in self.updates if update is not None)
        for push in self.pushes:
            yield push.value
            if push.guard is not None:
                yield push.guard

    def late(self) -> list[Expression]:
        """The outputs that read windows after the letter."""
        return [e for e in self.outputs if any(part.op == "pushed" for part in e.parts())]

    def early(self) -> list[Expression]:
        """The expressions that are computed before anything is pushed."""
        late = set(self.late())
        return [e for e in self.expressions() if e not in late]

    def map(self, change: Callable[[Expression], Expression]) -> Step:
        """The step with every expression changed."""
        return Step(
            tuple(None if update is None else change(update) for update in self.updates),
            tuple(change(output) for output in self.outputs),
            tuple(Push(change(push.value), None if push.guard is None else change(push.guard)) for push in self.pushes),
        )


@dataclass(frozen=True)
class Program:
    """Control states visited one after the other; the last leads back to number `loop`.

    Attributes:
        atoms: The atoms whose labels a step reads.
        registers: The registers' names.
        initial: Their first values, 0 or 1: the least or the largest value of the semantics.
        steps: One for each control state.
        loop: The control state after the last.
        windows: The windows; each starts filled with its neutral value.
        semantics: Whether labels and values are degrees in [0, 1], the complement of x being 1 - x, or robustness:
            any real number, the complement of x being -x, the least and largest value infinite.
        progress: For each control state, the progress of a trace that is there, where it is more than the value, in
            terms of registers and windows; None where that is not known. `rewardspec.synthesis.quantitative.progress`
            defines it.
    """

    atoms: tuple[str, ...]
    registers: tuple[str, ...]
    initial: tuple[float, ...]
    steps: tuple[Step, ...]
    loop: int
    windows: tuple[Window, ...] = ()
    semantics: Semantics = "degree"
    progress: tuple[Expression, ...] | None = None

    def successor(self, control: int) -> int:
        """The control state after the given one."""
        return control + 1 if control + 1 < len(self.steps) else self.loop

    def expressions(self) -> Iterator[Expression]:
        """Every expression of every control state."""
        for step in self.steps:
            yield from step.expressions()

    @property
    def cost(self) -> tuple[int, int, int]:
        """Registers and windows, control states, operations: what synthesis makes small, in this order."""
        operations = sum(max(1, len(part.operands) - 1) for part in all_parts(self.expressions()) if part.operands)
        return len(self.registers) + len(self.windows), len(self.steps), operations

    @property
    def bottom(self) -> float:
        """The least value."""
        return 0.0 if self.semantics == "degree" else float("-inf")

    @property
    def top(self) -> float:
        """The largest value."""
        return 1.0 if self.semantics == "degree" else float("inf")

    def guarded(self, number: int) -> bool:
        """Return whether the values in a window are ever bounded by a guard."""
        return any(step.pushes[number].guard is not None for step in self.steps)

    def number(self, constant: float) -> float:
        """A constant of an expression as a number of the semantics."""
        if self.semantics == "degree":
            return constant
        return {0.0: self.bottom, 0.5: 0.0, 1.0: self.top}[constant]  # 1/2 is its own complement, as 0 is

    def with_outputs(self, outputs: Sequence[tuple[Expression, ...]]) -> Program:
        """The program with other outputs, given for each control state."""
        steps = tuple(replace(step, outputs=row) for step, row in zip(self.steps, outputs, strict=True))
        return replace(self, steps=steps)

    def output(self, number: int) -> Program:
        """The program with one of its outputs alone."""
        return self.with_outputs([(step.outputs[number],) for step in self.steps])


def side_by_side(programs: Sequence[Program]) -> Program:
    """Several programs as one, with the outputs of all; registers and windows that always agree become one.

    All read the same letters, so their control states advance together: the joint ones are again a stem and a loop.
    """
    registers = [name for program in programs for name in program.registers]
    windows = [each for program in programs for each in program.windows]
    shifted = []
    first_register = first_window = 0
    for program in programs:
        numbers = {register(k): register(first_register + k) for k in range(len(program.registers))}
        for k in range(len(program.windows)):
            numbers |= {window(k): window(first_window + k), pushed(k): pushed(first_window + k)}
        change = Substitution(numbers)
        shifted.append([step.map(change) for step in program.steps])
        first_register += len(program.registers)
        first_window += len(program.windows)
    seen: dict[tuple[int, ...], int] = {}
    steps: list[Step] = []
    positions = (0,) * len(programs)
    while positions not in seen:
        seen[positions] = len(steps)
        current = [own[position] for own, position in zip(shifted, positions, strict=True)]
        steps.append(
            Step(
                tuple(update for step in current for update in step.updates),
                tuple(output for step in current for output in step.outputs),
                tuple(push for step in current for push in step.pushes),
            )
        )
        positions = tuple(program.successor(p) for program, p in zip(programs, positions, strict=True))
    joint = Program(
        tuple(dict.fromkeys(atom for program in programs for atom in program.atoms)),
        tuple(registers),
        tuple(value for program in programs for value in program.initial),
        tuple(steps),
        seen[positions],
        tuple(windows),
        programs[0].semantics if programs else "degree",
    )
    return merge_equivalent_registers(joint)


def merge_equivalent_registers(program: Program) -> Program:
    """Merge registers, and windows, that start alike and are updated alike, by partition refinement."""
    cells = [register(k) for k in range(len(program.registers))] + [window(k) for k in range(len(program.windows))]
    if len(cells) < 2:
        return program
    starts: dict[Expression, object] = dict(zip(cells, program.initial, strict=False))
    starts |= {window(k): (each.length, each.op, each.neutral) for k, each in enumerate(program.windows)}
    parts = list(all_parts(program.expressions()))
    block = dict.fromkeys(cells, 0)
    while True:
        shape = _shapes(parts, block)
        keys = {cell: (block[cell], starts[cell], *_behavior(program, cell, shape)) for cell in cells}
        numbers: dict[object, int] = {}
        refined = {cell: numbers.setdefault(keys[cell], len(numbers)) for cell in cells}
        if len(numbers) == len(set(block.values())):
            break
        block = refined
    chosen: dict[int, Expression] = {}
    for cell in cells:
        chosen.setdefault(block[cell], cell)
    if len(chosen) == len(cells):
        return program
    return keep_cells(program, {cell: chosen[block[cell]] for cell in cells})


def keep_cells(program: Program, stand_in: dict[Expression, Expression]) -> Program:
    """The program that reads some registers and windows in the place of others.

    Those that stand in for themselves stay. Others go, also those that nothing stands in for.
    """
    kept_registers = [k for k in range(len(program.registers)) if stand_in.get(register(k)) == register(k)]
    kept_windows = [k for k in range(len(program.windows)) if stand_in.get(window(k)) == window(k)]
    place = {register(old): register(new) for new, old in enumerate(kept_registers)}
    place |= {window(old): window(new) for new, old in enumerate(kept_windows)}
    changes = {cell: place[other] for cell, other in stand_in.items()}
    changes |= {pushed(cell.args[0]): pushed(to.args[0]) for cell, to in changes.items() if cell.op == "window"}
    change = Substitution(changes)

    def keep(step: Step) -> Step:
        updates, pushes = (step.updates[k] for k in kept_registers), (step.pushes[k] for k in kept_windows)
        return Step(tuple(updates), step.outputs, tuple(pushes)).map(change)

    return replace(
        program,
        registers=tuple(program.registers[k] for k in kept_registers),
        initial=tuple(program.initial[k] for k in kept_registers),
        windows=tuple(program.windows[k] for k in kept_windows),
        steps=tuple(keep(step) for step in program.steps),
        progress=None if program.progress is None else tuple(map(change, program.progress)),
    )


def _behavior(program: Program, cell: Expression, shape: dict[Expression, int]) -> Iterator[object]:
    """Describe the updates of a register or window in each control state, up to the shapes of expressions."""
    number = cell.args[0]
    for step in program.steps:
        if cell.op == "register":
            update = step.updates[number]
            yield None if update is None else shape[update]
        else:
            push = step.pushes[number]
            yield shape[push.value], None if push.guard is None else shape[push.guard]


def _shapes(parts: Sequence[Expression], block: dict[Expression, int]) -> dict[Expression, int]:
    """A number for each part, equal for those that differ only in operand order and in cells of one block."""
    numbers: dict[object, int] = {}
    shapes: dict[Expression, int] = {}
    for part in parts:
        if part.op in ("min", "max"):
            key: object = (part.op, frozenset(shapes[arg] for arg in part.operands))
        elif part.operands:
            key = (part.op, *(shapes[arg] for arg in part.operands), *part.parameters)
        else:
            key = (part.op, block[part]) if part in block else (part.op, part.args)
        shapes[part] = numbers.setdefault(key, len(numbers))
    return shapes


def live_registers(program: Program) -> list[list[bool]]:
    """For each control state, whether each register will be read there or later before it is written again."""
    live = [[False] * len(program.registers) for _ in program.steps]
    for control, step in enumerate(program.steps):
        for k, update in enumerate(step.updates):
            live[program.successor(control)][k] |= update is not None
    if program.loop > 0:
        live[0] = [True] * len(program.registers)  # nothing leads back to the first control state
    return live


def after_letter(program: Program, control: int, expressions: Sequence[Expression]) -> list[Expression]:
    """Expressions of registers and windows after a letter, in terms of those before it and of the letter."""
    step = program.steps[control]
    after = {register(k): ZERO if update is None else update for k, update in enumerate(step.updates)}
    after |= {window(k): pushed(k) for k in range(len(program.windows))}
    change = Substitution(after)
    return [change(expression) for expression in expressions]
