"""Programs as plain Python code: one straight-line function for each control state.

The generated source holds only names made here (`r0`, `t3`, `l1`) and numbers; atoms' names reach it as values, never
as code, so a program from a file can be compiled without executing anything that the file says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.program import Program

ScalarState: TypeAlias = tuple[Any, ...]  # control state, registers …, value
ScalarStep: TypeAlias = Callable[[ScalarState, Mapping[str, float]], tuple[ScalarState, float]]


def initial_state(program: Program) -> ScalarState:
    """The state before the first letter; its value is NaN, for there is none yet."""
    return (0, *program.initial, float("nan"))


def compile_step(program: Program, otherwise: ScalarStep) -> ScalarStep:
    """The function `(state, labels) -> (state, value)` of a program.

    Args:
        program: The program.
        otherwise: Called in its place when the state is not a scalar one, or a label is missing, out of range or
            not a number.
    """
    table = [_compile(program, control, otherwise) for control in range(len(program.steps))]
    if len(table) == 1:
        return table[0]

    def step(state: ScalarState, labels: Mapping[str, float]) -> tuple[ScalarState, float]:
        if state.__class__ is not tuple:
            return otherwise(state, labels)
        return table[state[0]](state, labels)

    return step


def step_source(program: Program, control: int) -> str:
    """The source of one control state's function."""
    step = program.steps[control]
    wanted = [step.output, *(update for update in step.updates if update is not None)]
    # Every atom is looked up and checked, though this control state may not read it: bad labels never go unnoticed.
    atoms = {atom: f"l{k}" for k, atom in enumerate(program.atoms)}
    names = ["_", *(f"r{k}" for k in range(len(program.initial))), "_"]
    inside = " and ".join(f"0.0 <= {name} <= 1.0" for name in atoms.values()) or "True"
    lines = [
        "def step(state, labels):",
        "    if state.__class__ is not tuple:",
        "        return otherwise(state, labels)",
        f"    {', '.join(names)} = state",
        "    try:",
        *(f"        {line}" for name in atoms.values() for line in label_lines(name, f"labels[a{name[1:]}]")),
        f"        good = {inside}",
        "    except Exception:",
        "        good = False",
        "    if not good:",
        "        return otherwise(state, labels)",
    ]
    values: dict[Expression, str] = {}
    for part in all_parts(wanted):
        lines.extend(f"    {line}" for line in part_lines(part, values, atoms))
    registers = [f"r{k}" if update is None else values[update] for k, update in enumerate(step.updates)]
    state = ", ".join([str(program.successor(control)), *registers, values[step.output]])
    lines.append(f"    return ({state}), {values[step.output]}")
    return "\n".join(lines) + "\n"


def label_lines(name: str, source: str) -> list[str]:
    """The lines that read a label as a float: a Boolean or an 8-bit integer would compute otherwise."""
    return [f"{name} = {source}", f"if {name}.__class__ is not float: {name} = number({name})"]


def number(value: Any) -> float:
    """A single label as a float; raises for arrays, text and whatever else is no number."""
    if getattr(value, "ndim", 0) or isinstance(value, str | bytes):
        raise TypeError
    return float(value)


def part_lines(part: Expression, values: dict[Expression, str], atoms: dict[str, str]) -> list[str]:
    """The lines that compute one part; its place is noted in `values`."""
    match part.op:
        case "constant":
            values[part] = repr(float(part.args[0]))
            return []
        case "label":
            values[part] = atoms[part.args[0]]
            return []
        case "register":
            values[part] = f"r{part.args[0]}"
            return []
    name = values[part] = f"t{len(values)}"
    if part.op == "complement":
        return [f"{name} = 1.0 - {atoms[part.args[0]]}"]
    # Comparing by hand is several times quicker than calling min and max.
    better = "<" if part.op == "min" else ">"
    first, *rest = (values[arg] for arg in part.operands)
    lines = [f"{name} = {first} if {first} {better} {rest[0]} else {rest[0]}"]
    lines.extend(f"if {other} {better} {name}: {name} = {other}" for other in rest[1:])
    return lines


def _compile(program: Program, control: int, otherwise: ScalarStep) -> ScalarStep:
    namespace: dict[str, Any] = {f"a{k}": atom for k, atom in enumerate(program.atoms)}
    namespace |= {"otherwise": otherwise, "number": number}
    exec(compile(step_source(program, control), f"<control state {control}>", "exec"), namespace)
    function: ScalarStep = namespace["step"]
    return function
