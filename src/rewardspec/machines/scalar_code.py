"""Programs as plain Python code for one trace: one straight-line function for each control state.

The generated source holds only names made here (`r0`, `t3`, `l1`) and numbers; atoms' names reach it as values, never
as code, so a program from a file can be compiled without executing anything that the file says.

A state is the tuple of control state, registers, windows, and what the program's *head* remembers. A head turns the
outputs into the step's result: `ValueHead` gives the value of a monitor, `rewardspec.spec.veto_and_reward` the reward
of a spec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.program import Program
from rewardspec.machines.window_code import scalar_initial, scalar_names, scalar_push, scalar_read

ScalarState: TypeAlias = tuple[Any, ...]
ScalarStep: TypeAlias = Callable[..., tuple[ScalarState, Any]]


class Head(Protocol):
    """What becomes of a program's outputs.

    Attributes:
        memory: The first values of what a state remembers, after registers and windows.
        parameters: Parameters of a step beyond state and labels, with their defaults.
        names: What the code refers to, beyond what the program needs.
    """

    memory: tuple[Any, ...]
    parameters: tuple[tuple[str, str], ...]
    names: Mapping[str, Any]

    def unpacked(self) -> Sequence[str]:
        """The variables that hold the memory before the step."""

    def scalar_lines(self, outputs: Sequence[str]) -> tuple[list[str], Sequence[str], str]:
        """Lines for one trace, the new memory, and the result."""


class ValueHead:
    """The head of a monitor: the result is the program's only output, and is remembered."""

    memory = (float("nan"),)  # there is no value before the first letter
    parameters = ()
    names: Mapping[str, Any] = {}

    def unpacked(self) -> Sequence[str]:
        """The value before the step, which nothing needs."""
        return ("_",)

    def scalar_lines(self, outputs: Sequence[str]) -> tuple[list[str], Sequence[str], str]:
        """Nothing to compute."""
        return [], outputs[:1], outputs[0]


def initial_state(program: Program, head: Head) -> ScalarState:
    """The state before the first letter."""
    registers = [program.number(value) for value in program.initial]
    windows = [scalar_initial(program, number) for number in range(len(program.windows))]
    return (0, *registers, *windows, *head.memory)


def compile_step(program: Program, head: Head, otherwise: ScalarStep) -> ScalarStep:
    """The function `(state, labels, …) -> (state, result)` of a program.

    Args:
        program: The program.
        head: What becomes of its outputs.
        otherwise: Called in its place when the state is not a scalar one, or a label is missing, out of range or
            not a number.
    """
    given = "".join(f", {name}={default}" for name, default in head.parameters)
    passed = "".join(f", {name}" for name, _ in head.parameters)
    fallback = f"        return otherwise(state, labels{passed})"
    atoms = range(len(program.atoms))
    opening = [
        f"def step(state, labels{given}):",
        "    if state.__class__ is not tuple:",
        fallback,
        "    try:",
        *(f"        l{k} = labels[a{k}]" for k in atoms),
        # A Boolean or an 8-bit integer would compute otherwise.
        f"        if not ({' and '.join(f'l{k}.__class__ is float' for k in atoms) or True}):",
        f"            {'; '.join(f'l{k} = number(l{k})' for k in atoms) or 'pass'}",
        "    except Exception:",
        fallback,
        f"    if not ({_inside(program)}):",
        fallback,
    ]
    names: dict[str, Any] = {f"a{k}": atom for k, atom in enumerate(program.atoms)}
    table = _table(program, head, opening, names | {"otherwise": otherwise, "number": number})
    if len(table) == 1:
        return table[0]

    def step(state: ScalarState, labels: Mapping[str, float], *args: Any, **kwargs: Any) -> tuple[ScalarState, Any]:
        if state.__class__ is not tuple:
            return otherwise(state, labels, *args, **kwargs)
        return table[state[0]](state, labels, *args, **kwargs)

    return step


def compile_reading(program: Program, head: Head, calls: Sequence[str], names: Mapping[str, Any]) -> ScalarStep:
    """The function `(state, obs, action, next_obs, info, …) -> (state, result)`, which reads the labels itself.

    That saves building a dict of them in every step. A label outside the range raises a ValueError that says no more.

    Args:
        program: The program.
        head: What becomes of its outputs.
        calls: For each atom, the expression that reads its label.
        names: What these refer to.
    """
    given = "".join(f", {name}" for name, _ in head.parameters)
    opening = [
        f"def step(state, obs, action, next_obs, info{given}):",
        *(f"    l{k} = float({call})" for k, call in enumerate(calls)),
        f"    if not ({_inside(program)}): raise ValueError('a label is out of range')",
    ]
    table = _table(program, head, opening, names)
    if len(table) == 1:
        return table[0]
    return lambda state, *transition: table[state[0]](state, *transition)


def number(value: Any) -> float:
    """A single label as a float; raises for arrays, text and whatever else is no real number."""
    if getattr(value, "ndim", 0) or isinstance(value, str | bytes):
        raise TypeError
    return float(value)


def _inside(program: Program) -> str:
    low, high = ("0.0 <=", "<= 1.0") if program.semantics == "degree" else ("-inf <", "< inf")
    return " and ".join(f"{low} l{k} {high}" for k in range(len(program.atoms))) or "True"


def _table(program: Program, head: Head, opening: Sequence[str], names: Mapping[str, Any]) -> list[ScalarStep]:
    """One function for each control state, each with the same opening, which reads the labels."""
    shared = {**names, **head.names, "inf": float("inf")}
    for k, window in enumerate(program.windows):
        shared |= scalar_names(f"w{k}", window, program, program.guarded(k))
    table: list[ScalarStep] = []
    for control in range(len(program.steps)):
        namespace = dict(shared)
        source = "\n".join([*opening, *(f"    {line}" for line in _body(program, control, head))]) + "\n"
        exec(compile(source, f"<control state {control}>", "exec"), namespace)
        table.append(namespace["step"])
    return table


def _body(program: Program, control: int, head: Head) -> list[str]:
    """The lines that compute the new state and the result from the labels in `l0`, `l1` and so on."""
    step = program.steps[control]
    lines = [f"{', '.join(['_', *_cells(program), *head.unpacked()])} = state"]
    for k, window in enumerate(program.windows):
        lines.extend(scalar_read(f"w{k}", window, program.guarded(k)))
    code = _Code(program)
    early = [e for e in step.expressions() if not _reads_pushed(e)]
    lines.extend(code.lines(early))
    for k, (window, push) in enumerate(zip(program.windows, step.pushes, strict=True)):
        guard = None if push.guard is None else code.place[push.guard]
        lines.extend(scalar_push(f"w{k}", window, code.place[push.value], guard, program.guarded(k)))
    late = [e for e in step.outputs if _reads_pushed(e)]
    for k in sorted({part.args[0] for part in all_parts(late) if part.op == "pushed"}):
        lines.extend([f"v{k} = w{k}", *scalar_read(f"v{k}", program.windows[k], program.guarded(k))])
    lines.extend(code.lines(late))
    added, memory, result = head.scalar_lines([code.place[output] for output in step.outputs])
    registers = [f"r{k}" if u is None else code.place[u] for k, u in enumerate(step.updates)]
    windows = [f"w{k}" for k in range(len(program.windows))]
    state = ", ".join([str(program.successor(control)), *registers, *windows, *memory])
    return [*lines, *added, f"return ({state}), {result}"]


def _cells(program: Program) -> list[str]:
    return [*(f"r{k}" for k in range(len(program.registers))), *(f"w{k}" for k in range(len(program.windows)))]


def _reads_pushed(expression: Expression) -> bool:
    return any(part.op == "pushed" for part in expression.parts())


def _discounted(operands: Sequence[str], raised: bool) -> str:
    x, weight = operands
    return f"1.0 - {weight} * (1.0 - {x})" if raised else f"{weight} * {x}"


class _Code:
    """Lines that compute each of several expressions once, and where each result is."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.place: dict[Expression, str] = {}
        self._atoms = {atom: f"l{k}" for k, atom in enumerate(program.atoms)}

    def lines(self, expressions: Sequence[Expression]) -> list[str]:
        return [line for part in all_parts(expressions) if part not in self.place for line in self._part(part)]

    def _part(self, part: Expression) -> list[str]:
        place = self.place
        match part.op:
            case "constant":
                place[part] = repr(self.program.number(part.args[0]))
                return []
            case "label":
                place[part] = self._atoms[part.args[0]]
                return []
            case "register":
                place[part] = f"r{part.args[0]}"
                return []
            case "window" | "pushed":
                place[part] = f"{part.op[0].replace('p', 'v')}{part.args[0]}_x"
                return []
        operands = [place[arg] for arg in part.operands]
        name = place[part] = f"t{len(place)}"
        match part.op:
            case "complement":
                minus = "1.0 - " if self.program.semantics == "degree" else "-"
                return [f"{name} = {minus}{self._atoms[part.args[0]]}"]
            case "affine":
                return [f"{name} = {part.args[1]!r} * {operands[0]} + {part.args[2]!r}"]
            case "discount":
                return [f"{name} = {_discounted(operands, part.args[2])}"]
        # Comparing by hand is several times quicker than calling min and max.
        better = "<" if part.op == "min" else ">"
        first, second, *rest = operands
        lines = [f"{name} = {first} if {first} {better} {second} else {second}"]
        lines.extend(f"if {other} {better} {name}: {name} = {other}" for other in rest)
        return lines
