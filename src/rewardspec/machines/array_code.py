"""Programs as array code: one function for a whole batch, in NumPy, JAX, torch or any array-API namespace.

Elements of a batch may be in different control states; what differs between them is chosen by `where`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rewardspec.machines.code import Code
from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.heads import Head, before, given, output
from rewardspec.machines.instructions import INSTRUCTIONS, Instruction, Writer
from rewardspec.machines.label_checks import both_noted, out_of_range
from rewardspec.machines.program import Program
from rewardspec.machines.scalar_code import ScalarState, tuple_of, unpacked
from rewardspec.machines.window_code import BatchWindows, WindowStates
from rewardspec.machines.windows import algebra, queue_extremum, queue_push
from rewardspec.types import Array, ArrayNamespace, DType

ArrayStep: TypeAlias = Callable[..., "tuple[State, Array]"]  # of state, labels, namespace, and the head's inputs


class State(NamedTuple):
    """The state of a batch; a pytree, so that JAX can carry it through `jit`, `vmap` and `scan`.

    Attributes:
        control: The control state of each element, or None where there is only one.
        registers: One array for each register.
        windows: The state of each window; in JAX and torch one `Table` for all of them.
        memory: What the program's head remembers.
        invalid: Note of the labels that have been out of range so far, as `out_of_range` makes it. None if labels are
            checked as they are read, as in NumPy, or not at all.
    """

    control: Array | None
    registers: tuple[Array, ...]
    windows: Array  # of `WindowStates`
    memory: tuple[Array, ...]
    invalid: tuple[Array, ...] | None = None

    @property
    def value(self) -> Array:
        """The value after the last letter, of a monitor; NaN before the first."""
        return self.memory[0]


class _Units(dict[Any, np.ndarray]):
    """For each type the number 1 as an array, which NumPy subtracts from quicker than from a Python number."""

    def __missing__(self, dtype: DType) -> np.ndarray:
        self[dtype] = np.ones((), dtype=dtype)
        return self[dtype]


UNIT = _Units()
_MOST_NESTED = 50  # choices in one expression: Python's parser counts the parentheses


def everywhere(
    program: Program, state: ScalarState, like: Array, xp: ArrayNamespace, check_labels: bool = False
) -> State:
    """The state of one trace for every element of a batch; one without windows, or before the first letter.

    `like` is an array of the batch's shape and type. With `check_labels` the state notes where labels are out of range.
    """
    control, *rest = state
    registers, memory = rest[: len(program.registers)], rest[len(program.registers) + len(program.windows) :]
    return State(
        xp.zeros_like(like, dtype=xp.int32) + control if len(program.steps) > 1 else None,
        tuple(xp.full_like(like, value) for value in registers),
        BatchWindows(program).initial(like, xp),
        tuple(_filled(value, like, xp) for value in memory),
        out_of_range([like] * len(program.atoms), program.semantics, xp) if check_labels and program.atoms else None,
    )


def _filled(value: Any, like: Array, xp: ArrayNamespace) -> Array:
    return tuple(_filled(part, like, xp) for part in value) if isinstance(value, tuple) else xp.full_like(like, value)


def chosen(mask: Array, new: State, old: State, windows: WindowStates, xp: ArrayNamespace) -> State:
    """The batch's state in which the masked elements are those of `new`; its windows are given."""
    invalid = old.invalid
    if invalid is not None and new.invalid is not None:
        invalid = both_noted(invalid, tuple(xp.where(mask, word, xp.zeros_like(word)) for word in new.invalid))
    return State(
        None if old.control is None else xp.where(mask, new.control, old.control),
        tuple(xp.where(mask, a, b) for a, b in zip(new.registers, old.registers, strict=True)),
        windows,
        _where(mask, new.memory, old.memory, xp),
        invalid,
    )


def _where(mask: Array, new: Array, old: Array, xp: ArrayNamespace) -> Array:
    if isinstance(old, tuple):
        return tuple(_where(mask, a, b, xp) for a, b in zip(new, old, strict=True))
    return xp.where(mask, new, old)


def compile_step(program: Program, head: Head, *, reuse: bool = False) -> ArrayStep:
    """The function `(state, labels, namespace, …) -> (state, result)` of a program with a head.

    With `reuse` it writes results over intermediate arrays that are no longer needed, as NumPy's `out` allows.
    """
    names: dict[str, Any] = {f"a{k}": atom for k, atom in enumerate(program.atoms)}
    if reuse:
        names |= {"read": queue_extremum, "push": queue_push}
        names |= {f"on{k}": algebra(window, program, np) for k, window in enumerate(program.windows)}
    else:
        names |= {"read": BatchWindows(program).read, "push": BatchWindows(program).push}
    names |= {
        "State": State,
        "new": tuple.__new__,
        "unit": UNIT,
        "inf": float("inf"),
        "count_nonzero": np.count_nonzero,
        "out_of_range": out_of_range,
        "both_noted": both_noted,
        "semantics": program.semantics,
        "pick": _pick,
        "copyto": np.copyto,
    }
    exec(compile(_source(program, head, reuse), "<array step>", "exec"), names)
    function: ArrayStep = names["step"]
    return function


def _source(program: Program, head: Head, reuse: bool) -> str:
    """The source of the function; like the scalar one it holds only names made here."""
    registers, windows, atoms = range(len(program.registers)), range(len(program.windows)), range(len(program.atoms))
    inputs = "".join(f", {name}" for name, _ in head.inputs)
    memory = "".join(f"{unpacked(field, head)}, " for field in head.fields)
    held = f"({_listed('w', windows)})" if reuse else "windows"
    lines = [
        f"def step(state, labels, xp{inputs}):",
        "    minimum = xp.minimum; maximum = xp.maximum; where = xp.where",
        f"    control, ({_listed('r', registers)}), {held}, ({memory}), invalid = state",
        f"    like = state.{'registers[0]' if program.registers else 'memory[0]'}",
        *(f"    l{k} = labels[a{k}]" for k in atoms),
    ]
    if atoms and not reuse:
        read = _listed("l", atoms)
        noted = f"both_noted(invalid, out_of_range(({read}), semantics, xp))"
        lines.append(f"    if invalid is not None: invalid = {noted}")
    code = _Code(program, reuse)
    lines.extend(f"    {line}" for line in code.lines)

    def column(name: str, expressions: Sequence[Expression | None]) -> None:
        places = [None if e is None else code.place[e] for e in expressions]
        lines.append(f"    {name} = {code.choose(places, name)}")

    for k in registers:
        column(f"n{k}", [step.updates[k] for step in program.steps])
    for k in range(len(program.steps[0].outputs)):
        column(f"o{k}", [step.outputs[k] for step in program.steps])
        code.place[output(k)] = f"o{k}"
    lines.extend(f"    {line}" for line in code.head_lines(head))
    last = len(program.steps) - 1
    control = f"where(control < {last}, control + 1, {program.loop})" if last else "None"
    kept = "".join(f"{tuple_of(field.after, code.place)}, " for field in head.fields)
    # Making a named tuple by its own constructor takes twice as long.
    held = f"({_listed('p', windows)})" if reuse else "pushed" if windows else "windows"
    state = f"new(State, ({control}, ({_listed('n', registers)}), {held}, ({kept}), invalid))"
    lines.append(f"    return {state}, {tuple_of(head.result, code.place)}")
    return "\n".join(lines) + "\n"


def _listed(letter: str, numbers: range) -> str:
    return "".join(f"{letter}{k}, " for k in numbers)


def _pick(control: Array, ends: Sequence[int], candidates: Sequence[Array], where: Callable[..., Array]) -> Array:
    """The candidate of each element, the first for control states below the first end, and so on."""
    result = candidates[-1]
    for end, candidate in zip(reversed(ends), reversed(candidates[:-1]), strict=True):
        result = where(control < end, candidate, result)
    return result


class _Code(Code):
    """The lines that compute each expression of a program once, and where each result is.

    Pushes come as soon as what they need is computed, so that what reads windows after the step comes last.
    """

    def __init__(self, program: Program, reuse: bool) -> None:
        super().__init__(program)
        self._reuse = reuse
        self._results = set(program.expressions())
        late = dict.fromkeys(e for step in program.steps for e in step.late())
        early = [e for e in program.expressions() if e not in late]
        self._last_use = {arg: part for part in all_parts([*early, *late]) for arg in part.operands}
        self.lines = [*self.compute(early), *self._pushes(), *self.compute(late)]

    def _pushes(self) -> list[str]:
        values, guards = [], []
        for k, window in enumerate(self.program.windows):
            pushes = [step.pushes[k] for step in self.program.steps]
            value, guard = self.choose([self.place[push.value] for push in pushes]), "None"
            if any(push.guard is not None for push in pushes):
                identity = f"xp.full_like(like, {self.program.bottom if window.neutral else self.program.top!r})"
                guard = self.choose([identity if p.guard is None else self.place[p.guard] for p in pushes])
            values.append(value)
            guards.append(guard)
        if self._reuse:
            rows = enumerate(zip(self.program.windows, values, guards, strict=True))
            return [
                f"p{k} = push(w{k}, {each.length}, on{k}, {value}, {guard}, xp)" for k, (each, value, guard) in rows
            ]
        # All in one call, which JAX and torch do at once.
        return [f"pushed = push(windows, ({', '.join(values)},), ({', '.join(guards)},), xp)"] if values else []

    def choose(self, candidates: Sequence[str | None], name: str = "") -> str:
        """The candidate of the element's own control state; a None, which nothing will read, agrees with the next."""
        runs: list[tuple[int, str]] = []  # where each run of equal candidates starts
        for control, candidate in enumerate(candidates):
            if candidate is not None and (not runs or runs[-1][1] != candidate):
                runs.append((control if runs else 0, candidate))
        if not runs:
            return f"r{name[1:]}"
        if len(runs) == 1:
            # A label on its own is copied: the caller may write over its array before the next step.
            place = runs[0][1]
            return place if place[0] != "l" else f"{place}.copy()" if self._reuse else f"{place} + 0.0"
        if len(runs) > _MOST_NESTED:
            starts, places = zip(*runs, strict=True)
            return f"pick(control, {starts[1:]}, ({', '.join(places)}), where)"
        result = runs[-1][1]
        for (_, candidate), (end, _) in zip(reversed(runs[:-1]), reversed(runs[1:]), strict=True):
            result = f"where(control < {end}, {candidate}, {result})"
        return result

    def head_lines(self, head: Head) -> list[str]:
        """Lines for the head, whose results all get the batch's shape."""
        tests = [name for name, default in head.inputs if isinstance(default, bool) and given(name) in head.parts]
        lines = [f"{name} = xp.asarray({name})" for name in tests]
        lines += self.compute(head.expressions(), head.nested(tests=False), head.variables())
        for expression in head.expressions():
            self.place[expression] = self._whole(expression)
        return lines

    def _whole(self, expression: Expression) -> str:
        """The place of a result that has the batch's shape, also where it is one number for all."""
        if any(part.op in ("output", "memory") for part in expression.parts()):
            return self.place[expression]
        return f"xp.zeros_like(like) + xp.asarray({self.place[expression]}, dtype=like.dtype)"

    # What arrays write differently.

    def writer(self, row: Instruction) -> Writer:
        return row.arrays

    def leaf(self, part: Expression, name: str) -> tuple[str, list[str]]:
        match part.op:
            case "label":
                return self._label(part), []
            case "register":
                return f"r{part.args[0]}", []
            case "window":
                k = part.args[0]
                text = f"read(w{k}, on{k})" if self._reuse else f"read(windows, {k}, xp)"
            case "pushed":
                k = part.args[0]
                text = f"read(p{k}, on{k})" if self._reuse else f"read(pushed, {k}, xp)"
            case "constant":
                text = f"xp.full_like(like, {self.program.number(part.args[0])!r})"
            case "complement":
                one = "unit[like.dtype]" if self._reuse else "1.0"
                text = f"{f'{one} - ' if self.program.semantics == 'degree' else '-'}{self._label(part)}"
            case "memory":
                return before(part), []
            case _:  # a number or an input
                return str(part.args[0]), []
        return name, [self.assign(name, text)]

    def _label(self, part: Expression) -> str:
        return f"l{self.program.atoms.index(part.args[0])}"

    def nests(self, part: Expression) -> bool:
        return not (self._reuse and part.op == "override")

    def lines_of(self, part: Expression, operands: Sequence[str], name: str) -> list[str]:
        if not (self._reuse and part.op == "override"):
            return super().lines_of(part, operands, name)
        # Looking whether there is anything to write costs less than writing it.
        condition, value, otherwise = part.operands
        first = condition.operands[0] if condition.op == "and" else condition  # it holds wherever both do
        anywhere = INSTRUCTIONS[first.op].anywhere
        lines = [self.assign(name, self._whole(otherwise))]
        where = self.place[condition]
        if anywhere is None and not where.isidentifier():
            lines.append(self.assign(f"where_{name}", where))
            where = f"where_{name}"
        test = f"count_nonzero({where})" if anywhere is None else anywhere(*(self.place[arg] for arg in first.operands))
        return [*lines, f"if {test}: {name} = {name}.copy(); copyto({name}, {self.place[value]}, where={where})"]

    def fold(self, part: Expression, operands: Sequence[str], name: str) -> list[str]:
        # Results of windows may be part of their state, so that only what was computed here is written over.
        free = [
            self.place[arg]
            for arg in part.operands
            if self._reuse
            and (arg.operands or arg.op == "complement")
            and self._last_use.get(arg) == part
            and arg not in self._results
        ]
        target = free[0] if free else None
        if target is not None:  # first, so that it is read before it is written over
            operands = [target, *(other for other in operands if other != target)]
        result, lines = operands[0], []
        for other in operands[1:]:
            out = "" if target is None else f", out={target}"
            lines.append(self.assign(name, self.text(part, (result, other, out))))
            result, target = name, target or (name if self._reuse else None)
        return lines
