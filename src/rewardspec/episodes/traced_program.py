"""Register programs on values that remember which label they are.

Every value is a pair of a number and a rank, compared first by the number and then by the rank. That is a total order,
so that min and max of pairs obey all the laws that the synthesis relies on, and the label found is the formula's,
whatever form its program has. The rank of a label says when it came; within a step, literals that the formula mentions
earlier count as newer. The least and the largest value are the least and the largest pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

from rewardspec.logic.formulas import Atom, Formula, Not
from rewardspec.logic.normal_form import to_nnf
from rewardspec.logic.operators import TEMPORAL
from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.program import Program
from rewardspec.machines.windows import Algebra, Queue, empty_queue, queue_extremum, queue_push

Pair: TypeAlias = tuple[float, float]
State: TypeAlias = tuple[int, Sequence[Pair], Sequence[Queue]]

_PAIRS = SimpleNamespace(full_like=lambda like, value: value)  # all that windows ask of an array library


class ProvenanceRun:
    """A program with one output, on pairs.

    With `newest_first`, the newest of values that tie passes through a min and the oldest through a max; else the other
    way round. The program computes the formula, and has no outputs that read windows after the step.

    Attributes:
        literals: The literals that the program reads, each an atom and whether it is negated, in the formula's order.
        extreme: The least value, for `newest_first`, or else the greatest: one that a literal can be set to.
        initial: The state before the first letter.
        is_temporal: Whether the formula speaks of more than one step, so that the trace's end can decide its value.
    """

    def __init__(self, program: Program, formula: Formula, *, newest_first: bool) -> None:
        self.program = program
        self._sign = -1 if newest_first else 1
        self.is_temporal = any(isinstance(part, TEMPORAL) for part in formula.subformulas())
        used = {
            (part.args[0], part.op == "complement")
            for part in all_parts(program.expressions())
            if part.op in ("label", "complement")
        }
        mentioned = [
            (atom.name, atom is not part)
            for part in to_nnf(formula).subformulas()
            for atom in [part.args[0] if isinstance(part, Not) else part]
            if isinstance(atom, Atom)
        ]
        self.literals: list[tuple[str, bool]] = [x for x in dict.fromkeys([*mentioned, *sorted(used)]) if x in used]
        places = {atom: k for k, atom in enumerate(program.atoms)}
        self._read = [(places[atom], negated) for atom, negated in self.literals]
        self._total = 1.0 if program.semantics == "degree" else 0.0
        self.extreme = self.constant(0.0 if newest_first else 1.0)
        self._algebras = [self._algebra(window.neutral > 0.0, window.op == "last") for window in program.windows]
        self._codes = [_StepCode(self, control) for control in range(len(program.steps))]
        registers = [self.constant(value) for value in program.initial]
        windows = [empty_queue(on) for on in self._algebras]
        self.initial: State = (0, registers, windows)

    def _algebra(self, minima: bool, oldest: bool) -> Algebra:
        bottom, top = self.constant(0.0), self.constant(1.0)
        outer, inner, neutral, identity = (min, max, top, bottom) if minima else (max, min, bottom, top)
        return Algebra(outer, inner, neutral, identity, oldest)  # type: ignore[arg-type]

    def constant(self, value: float) -> Pair:
        """The pair of a constant of the program."""
        # Others than the least and the largest are older than all labels.
        return self.program.number(value), {0.0: -math.inf, 1.0: math.inf}.get(value, -self._sign)

    def literals_of(self, letter: Sequence[float], step: int) -> list[Pair]:
        """The values of the literals at a step, from the labels of the program's atoms."""
        count, sign, total = len(self._read), self._sign, self._total
        newest = (step + 1) * count - 1
        return [
            (total - letter[place] if negated else letter[place], sign * (newest - k))
            for k, (place, negated) in enumerate(self._read)
        ]

    def step(self, state: State, literals: Sequence[Pair]) -> tuple[State, Pair]:
        """Read one letter: the new state, and the output. The state given is not changed."""
        control, registers, windows = state
        code = self._codes[control]
        read = [queue_extremum(queue, on) for queue, on in zip(windows, self._algebras, strict=True)]
        slots = code.run(literals, registers, read)
        new = [registers[k] if slot is None else slots[slot] for k, slot in enumerate(code.updates)]
        queues = [
            queue_push(queue, window.length, on, slots[value], None if guard is None else slots[guard], _PAIRS)
            for queue, window, on, (value, guard) in zip(
                windows, self.program.windows, self._algebras, code.pushes, strict=True
            )
        ]
        return (self.program.successor(control), new, queues), slots[code.output]

    def label_of(self, rank: float) -> tuple[int, str, bool] | None:
        """The step, the atom, and whether its negation counts, of the label that a value is; None where it is none."""
        if math.isinf(rank) or self._sign * rank < 0:
            return None
        step, place = divmod(int(self._sign * rank), len(self.literals))
        return step, *self.literals[-1 - place]


class _StepCode:
    """The computation of one control state, as instructions on a list of slots.

    Attributes:
        updates: For each register the slot of its new value, or None where it keeps the old one.
        pushes: For each window the slots of what enters and of its guard.
        output: The slot of the output.
    """

    def __init__(self, run: ProvenanceRun, control: int) -> None:
        step = run.program.steps[control]
        place = {literal: k for k, literal in enumerate(run.literals)}
        first = len(place)
        self._instructions: list[tuple[str, tuple[Any, ...]]] = []
        self._constants: list[Pair] = []
        slots: dict[Expression, int] = {}
        parts = list(all_parts(step.expressions()))
        constants = [part for part in parts if part.op == "constant"]
        cells = len(run.program.registers), len(run.program.windows)
        start = first + sum(cells) + len(constants)
        for part in parts:
            match part.op:
                case "label" | "complement":
                    slots[part] = place[part.args[0], part.op == "complement"]
                case "register":
                    slots[part] = first + part.args[0]
                case "window":
                    slots[part] = first + cells[0] + part.args[0]
                case "constant":
                    slots[part] = first + sum(cells) + len(self._constants)
                    self._constants.append(run.constant(part.args[0]))
                case "min" | "max" | "affine" | "discount":
                    slots[part] = start + len(self._instructions)
                    more = part.args[len(part.operands) :] if part.op in ("affine", "discount") else ()
                    self._instructions.append((part.op, (*(slots[arg] for arg in part.operands), *more)))
                case _:
                    raise AssertionError(f"a value that is known only after the step: {part}")
        self.updates = [None if update is None else slots[update] for update in step.updates]
        self.pushes = [(slots[push.value], None if push.guard is None else slots[push.guard]) for push in step.pushes]
        self.output = slots[step.outputs[0]]

    def run(self, literals: Sequence[Pair], registers: Sequence[Pair], windows: Sequence[Pair]) -> list[Pair]:
        """The value of every part."""
        slots = [*literals, *registers, *windows, *self._constants]
        for op, args in self._instructions:
            if op == "min":
                slots.append(min([slots[k] for k in args]))
            elif op == "max":
                slots.append(max([slots[k] for k in args]))
            elif op == "affine":
                value, rank = slots[args[0]]
                slots.append((args[1] * value + args[2], rank))
            else:
                (value, rank), (weight, _) = slots[args[0]], slots[args[1]]
                slots.append((1.0 - weight * (1.0 - value) if args[2] else weight * value, rank))
        return slots
