"""Programs as array code: one function for a whole batch, in NumPy, JAX, torch or any array-API namespace.

Elements of a batch may be in different control states; what differs between them is chosen by `where`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.program import Program

Array: TypeAlias = Any  # an array of whichever library the caller uses
Namespace: TypeAlias = Any
ArrayStep: TypeAlias = Callable[["State", Mapping[str, Array], Namespace], "State"]


class _Units(dict[Any, np.ndarray]):
    """For each type the number 1 as an array, which NumPy subtracts from quicker than from a Python number."""

    def __missing__(self, dtype: Any) -> np.ndarray:
        self[dtype] = np.ones((), dtype=dtype)
        return self[dtype]


UNIT = _Units()


class State(NamedTuple):
    """The state of a batch; a pytree, so that JAX can carry it through `jit`, `vmap` and `scan`.

    Attributes:
        control: The control state of each element, or None where there is only one.
        registers: One array for each register.
        value: The value after the last letter; NaN before the first.
    """

    control: Array | None
    registers: tuple[Array, ...]
    value: Array


def initial_state(program: Program, shape: tuple[int, ...], xp: Namespace, **options: Any) -> State:
    """The state before the first letter, for a batch of the given shape."""
    control = xp.zeros(shape, dtype=xp.int32) if len(program.steps) > 1 else None
    registers = tuple(xp.ones(shape, **options) if value else xp.zeros(shape, **options) for value in program.initial)
    return State(control, registers, xp.full(shape, float("nan"), **options))


def reset(program: Program, state: State, mask: Array, xp: Namespace) -> State:
    """The state with the masked elements back at the start."""
    control = None if state.control is None else xp.where(mask, xp.zeros_like(state.control), state.control)
    registers = tuple(
        xp.where(mask, xp.ones_like(old) if value else xp.zeros_like(old), old)
        for old, value in zip(state.registers, program.initial, strict=True)
    )
    return State(control, registers, xp.where(mask, xp.full_like(state.value, float("nan")), state.value))


def compile_step(program: Program, *, reuse: bool = False) -> ArrayStep:
    """The function `(state, labels, namespace) -> state` of a program.

    Args:
        program: The program.
        reuse: Write results over intermediate arrays that are no longer needed, as NumPy's `out` allows.
    """
    namespace: dict[str, Any] = {f"a{k}": atom for k, atom in enumerate(program.atoms)}
    namespace |= {"State": State, "unit": UNIT}
    exec(compile(step_source(program, reuse=reuse), "<array step>", "exec"), namespace)
    function: ArrayStep = namespace["step"]
    return function


def step_source(program: Program, *, reuse: bool = False) -> str:
    """The source of the function; like the scalar one it holds only names made here."""
    atoms = {atom: f"l{k}" for k, atom in enumerate(program.atoms)}
    registers = [f"r{k}" for k in range(len(program.initial))]
    lines = [
        "def step(state, labels, xp):",
        "    minimum = xp.minimum; maximum = xp.maximum; where = xp.where",
        f"    control, ({''.join(f'{r}, ' for r in registers)}), previous = state",
        *(f"    {name} = labels[a{name[1:]}]" for name in atoms.values()),
    ]
    code = Code(list(program.expressions()), atoms, reuse)
    lines.extend(f"    {line}" for line in code.lines)
    columns: list[list[Expression | None]] = [[step.output for step in program.steps]]
    columns.extend([step.updates[k] for step in program.steps] for k in range(len(registers)))
    for name, column in zip(["value", *(f"n{k}" for k in range(len(registers)))], columns, strict=True):
        lines.append(f"    {name} = {choose([None if e is None else code.place[e] for e in column], atoms, reuse)}")
    new = "".join(f"n{k}, " for k in range(len(registers)))
    lines.append(f"    return State({_next_control(program)}, ({new}), value)")
    return "\n".join(lines) + "\n"


def _next_control(program: Program) -> str:
    last = len(program.steps) - 1
    return f"where(control < {last}, control + 1, {program.loop})" if last else "None"


def choose(candidates: list[str | None], atoms: Mapping[str, str], reuse: bool) -> str:
    """The candidate of the element's own control state; a None, which nothing will read, agrees with its neighbour."""
    runs: list[tuple[int, str]] = []  # where each run of equal candidates starts
    for control, candidate in enumerate(candidates):
        if candidate is not None and (not runs or runs[-1][1] != candidate):
            runs.append((control if runs else 0, candidate))
    if not runs:
        return "previous"
    if len(runs) == 1:
        # A label on its own is copied: the caller may write over its array before the next step.
        name = runs[0][1]
        copied = f"{name}.copy()" if reuse else f"{name} + 0.0"
        return copied if name in atoms.values() else name
    chosen = runs[-1][1]
    for (_, candidate), (end, _) in zip(reversed(runs[:-1]), reversed(runs[1:]), strict=True):
        chosen = f"where(control < {end}, {candidate}, {chosen})"
    return chosen


class Code:
    """The lines that compute each of several expressions once, and where each result is.

    Args:
        expressions: What is wanted.
        atoms: The variable that holds each atom's labels.
        reuse: Whether to write results over intermediate arrays that are no longer needed.
    """

    def __init__(self, expressions: Sequence[Expression], atoms: Mapping[str, str], reuse: bool) -> None:
        self.place: dict[Expression, str] = {}
        self.lines: list[str] = []
        parts = list(all_parts(expressions))
        last_use = {arg: number for number, part in enumerate(parts) for arg in part.operands}
        results = set(expressions)
        for number, part in enumerate(parts):
            match part.op:
                case "label":
                    self.place[part] = atoms[part.args[0]]
                case "register":
                    self.place[part] = f"r{part.args[0]}"
                case "constant":
                    self._assign(part, number, f"xp.{'ones' if part.args[0] else 'zeros'}_like(previous)")
                case "complement":
                    self._assign(part, number, f"{'unit[previous.dtype]' if reuse else '1.0'} - {atoms[part.args[0]]}")
                case "min" | "max":
                    spare = [
                        self.place[arg]
                        for arg in part.operands
                        if reuse and self.place[arg][0] == "t" and last_use[arg] == number and arg not in results
                    ]
                    self._combine(part, number, spare[0] if spare else None, reuse)

    def _combine(self, part: Expression, number: int, spare: str | None, reuse: bool) -> None:
        function = "minimum" if part.op == "min" else "maximum"
        operands = [self.place[arg] for arg in part.operands]
        if spare is not None:  # first, so that it is read before it is written over
            operands.remove(spare)
            operands.insert(0, spare)
        result = operands[0]
        for position, other in enumerate(operands[1:]):
            target = spare or (f"t{number}" if reuse and position else None)
            result = f"{function}({result}, {other}{f', out={target}' if target else ''})"
            if position + 2 < len(operands) and target is None and reuse:
                self.lines.append(f"t{number} = {result}")
                result = f"t{number}"
        self._assign(part, number, result)

    def _assign(self, part: Expression, number: int, source: str) -> None:
        self.place[part] = f"t{number}"
        self.lines.append(f"t{number} = {source}")
