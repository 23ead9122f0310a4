"""Programs as plain Python code for one trace: one straight-line function for each control state.

The generated source holds only names made here (`r0`, `t3`, `l1`) and numbers; atoms' names reach it as values, never
as code, so a program from a file can be compiled without executing anything that the file says.

A state is the tuple of control state, registers, windows, and what the program's head remembers; see
`rewardspec.machines.heads`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from rewardspec.machines.code import Code
from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.heads import Field, Head, before, memory, output
from rewardspec.machines.instructions import Instruction, Writer
from rewardspec.machines.program import Program
from rewardspec.machines.window_code import scalar_initial, scalar_names, scalar_push, scalar_read

ScalarState: TypeAlias = tuple[Any, ...]
ScalarStep: TypeAlias = Callable[..., tuple[ScalarState, Any]]


def initial_state(program: Program, head: Head) -> ScalarState:
    """The state before the first letter."""
    registers = [program.number(value) for value in program.initial]
    windows = [scalar_initial(program, number) for number in range(len(program.windows))]
    return (0, *registers, *windows, *head.memory)


def compile_step(program: Program, head: Head, otherwise: ScalarStep) -> ScalarStep:
    """The function `(state, labels, …) -> (state, result)` of a program with a head.

    It calls `otherwise` when the state is not a scalar one, or a label is missing, out of range or not a number.
    """
    given = "".join(f", {name}={default!r}" for name, default in head.inputs)
    passed = "".join(f", {name}" for name, _ in head.inputs)
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


def compile_reading(
    program: Program, head: Head, calls: Sequence[tuple[str, int]], names: Mapping[str, Any]
) -> ScalarStep:
    """The function `(state, obs, action, next_obs, info, …) -> (state, result)`, which reads the labels itself.

    That saves building a dict of them in every step. A label outside the range raises a ValueError that says no more.

    `calls` has for each atom the code that reads its label, and 0; for one about things, the code that gives a tuple of
    floats, and how many there are. `names` has what the code refers to.
    """
    given = "".join(f", {name}" for name, _ in head.inputs)
    reads, first = [], 0
    for call, width in calls:
        targets = "".join(f"l{first + k}, " for k in range(width))
        reads.append(f"{targets}= {call}" if width else f"l{first} = float({call})")
        first += width or 1
    opening = [
        f"def step(state, obs, action, next_obs, info{given}):",
        *(f"    {line}" for line in reads),
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
    shared = {**names, "inf": float("inf")}
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
    cells = [*(f"r{k}" for k in range(len(program.registers))), *(f"w{k}" for k in range(len(program.windows)))]
    lines = [f"{', '.join(['_', *cells, *(unpacked(field, head) for field in head.fields)])}, = state"]
    for k, window in enumerate(program.windows):
        lines.extend(scalar_read(f"w{k}", window, program.guarded(k)))
    code = _Code(program)
    lines.extend(code.compute(step.early()))
    for k, (window, push) in enumerate(zip(program.windows, step.pushes, strict=True)):
        guard = None if push.guard is None else code.place[push.guard]
        lines.extend(scalar_push(f"w{k}", window, code.place[push.value], guard, program.guarded(k)))
    late = step.late()
    for k in sorted({part.args[0] for part in all_parts(late) if part.op == "pushed"}):
        lines.extend([f"v{k} = w{k}", *scalar_read(f"v{k}", program.windows[k], program.guarded(k))])
    lines.extend(code.compute(late))
    code.place |= {output(k): code.place[expression] for k, expression in enumerate(step.outputs)}
    lines.extend(code.compute(head.expressions(), head.nested(tests=True), head.variables()))
    registers = [f"r{k}" if u is None else code.place[u] for k, u in enumerate(step.updates)]
    windows = [f"w{k}" for k in range(len(program.windows))]
    kept = [tuple_of(field.after, code.place) for field in head.fields]
    state = ", ".join([str(program.successor(control)), *registers, *windows, *kept])
    return [*lines, f"return ({state},), {tuple_of(head.result, code.place)}"]


def unpacked(field: Field, head: Head) -> str:
    """The target that a field of the memory is unpacked into, `_` where nothing reads it."""
    leaves = [memory(field.name, index) for _, index, _ in field.items()]
    if head.parts.isdisjoint(leaves):
        return "_"
    names = [before(leaf) for leaf in leaves]
    return names[0] if isinstance(field.after, Expression) else f"({', '.join(names)},)"


def tuple_of(expressions: Expression | Sequence[Expression], place: Mapping[Expression, str]) -> str:
    """The code of an expression, or of a tuple of several."""
    if isinstance(expressions, Expression):
        return place[expressions]
    return f"({''.join(f'{place[expression]}, ' for expression in expressions)})"


class _Code(Code):
    """Lines for one trace."""

    def writer(self, row: Instruction) -> Writer:
        return row.python

    def leaf(self, part: Expression, name: str) -> tuple[str, list[str]]:
        match part.op:
            case "constant":
                return repr(self.program.number(part.args[0])), []
            case "label":
                return self._label(part), []
            case "complement":
                minus = "1.0 - " if self.program.semantics == "degree" else "-"
                return name, [f"{name} = {minus}{self._label(part)}"]
            case "register":
                return f"r{part.args[0]}", []
            case "window" | "pushed":
                return f"{'w' if part.op == 'window' else 'v'}{part.args[0]}_x", []
            case "memory":
                return before(part), []
        return str(part.args[0]), []  # a number or an input

    def _label(self, part: Expression) -> str:
        return f"l{self.program.atoms.index(part.args[0])}"

    def nests(self, part: Expression) -> bool:
        return part.op != "override"

    def lines_of(self, part: Expression, operands: Sequence[str], name: str) -> list[str]:
        if part.op != "override":
            return super().lines_of(part, operands, name)
        condition, value, otherwise = operands  # a condition that seldom holds is quickest like this
        return [f"{name} = {otherwise}", f"if {condition}: {name} = {value}"]

    def fold(self, part: Expression, operands: Sequence[str], name: str) -> list[str]:
        # Comparing by hand is several times quicker than calling min and max.
        first, second, *rest = operands
        lines = [self.assign(name, self.text(part, (first, second)))]
        return [*lines, *(self.assign(name, self.text(part, (other, name))) for other in rest)]
