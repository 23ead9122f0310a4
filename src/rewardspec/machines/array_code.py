"""Programs as array code: one function for a whole batch, in NumPy, JAX, torch or any array-API namespace.

Elements of a batch may be in different control states; what differs between them is chosen by `where`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.label_checks import out_of_range
from rewardspec.machines.program import Program
from rewardspec.machines.scalar_code import ScalarState, ValueHead
from rewardspec.machines.window_code import array_windows

Array: TypeAlias = Any  # an array of whichever library the caller uses
Namespace: TypeAlias = Any
ArrayStep: TypeAlias = Callable[..., "tuple[State, Array]"]  # of state, labels, namespace, and the head's parameters


class State(NamedTuple):
    """The state of a batch; a pytree, so that JAX can carry it through `jit`, `vmap` and `scan`.

    Attributes:
        control: The control state of each element, or None where there is only one.
        registers: One array for each register.
        windows: The state of each window.
        memory: What the program's head remembers.
        invalid: Where a label has been out of range so far: Booleans of shape (atoms, *batch). None where labels are
            checked as they are read, as in NumPy, or not at all.
    """

    control: Array | None
    registers: tuple[Array, ...]
    windows: tuple[Any, ...]
    memory: tuple[Any, ...]
    invalid: Array | None = None

    @property
    def value(self) -> Array:
        """The value after the last letter, of a monitor; NaN before the first."""
        return self.memory[0]


class ArrayHead(Protocol):
    """What becomes of a program's outputs, on arrays."""

    parameters: tuple[tuple[str, str], ...]
    names: Mapping[str, Any]

    def unpacked(self) -> Sequence[str]:
        """The variables that hold the memory before the step."""

    def array_lines(self, outputs: Sequence[str], reuse: bool) -> tuple[list[str], Sequence[str], str]:
        """Lines for a batch, the new memory, and the result."""


class ArrayValueHead(ValueHead):
    """The head of a monitor."""

    def array_lines(self, outputs: Sequence[str], reuse: bool) -> tuple[list[str], Sequence[str], str]:
        """Nothing to compute."""
        return [], outputs[:1], outputs[0]


VALUE_HEAD = ArrayValueHead()


class _Units(dict[Any, np.ndarray]):
    """For each type the number 1 as an array, which NumPy subtracts from quicker than from a Python number."""

    def __missing__(self, dtype: Any) -> np.ndarray:
        self[dtype] = np.ones((), dtype=dtype)
        return self[dtype]


UNIT = _Units()
_MOST_NESTED = 50  # choices in one expression: Python's parser counts the parentheses


def everywhere(program: Program, state: ScalarState, like: Array, xp: Namespace, check_labels: bool = False) -> State:
    """The state of one trace for every element of a batch; one without windows, or before the first letter.

    Args:
        program: The program.
        state: The state of one trace.
        like: An array of the batch's shape and type.
        xp: Its library.
        check_labels: Whether the state notes where labels are out of range.
    """
    control, *rest = state
    registers, memory = rest[: len(program.registers)], rest[len(program.registers) + len(program.windows) :]
    return State(
        xp.zeros_like(like, dtype=xp.int32) + control if len(program.steps) > 1 else None,
        tuple(xp.full_like(like, value) for value in registers),
        tuple(window.initial(like, xp) for window in array_windows(program)),
        tuple(_filled(value, like, xp) for value in memory),
        out_of_range([like] * len(program.atoms), program.semantics, xp) if check_labels and program.atoms else None,
    )


def _filled(value: Any, like: Array, xp: Namespace) -> Any:
    return tuple(_filled(part, like, xp) for part in value) if isinstance(value, tuple) else xp.full_like(like, value)


def begin(program: Program, mask: Array, initial: State, state: State, xp: Namespace) -> State:
    """The batch's state in which the masked elements have read nothing yet, as `initial` has not.

    Args:
        program: The program.
        mask: Which elements.
        initial: The state of the whole batch before the first letter.
        state: The batch's state.
        xp: The array library.
    """
    windows = zip(array_windows(program), state.windows, strict=True)
    return _chosen(mask, initial, state, tuple(window.begin(old, mask, xp) for window, old in windows), xp)


def restart(program: Program, mask: Array, started: State, state: State, xp: Namespace) -> State:
    """The batch's state in which the masked elements have read their first letter alone, as all of `started` have."""
    windows = zip(array_windows(program), state.windows, started.windows, strict=True)
    renewed = (window.restart(old, window.newest(new, xp), mask, xp) for window, old, new in windows)
    return _chosen(mask, started, state, tuple(renewed), xp)


def _chosen(mask: Array, new: State, old: State, windows: tuple[Any, ...], xp: Namespace) -> State:
    return State(
        None if old.control is None else xp.where(mask, new.control, old.control),
        tuple(xp.where(mask, a, b) for a, b in zip(new.registers, old.registers, strict=True)),
        windows,
        _where(mask, new.memory, old.memory, xp),
        old.invalid if old.invalid is None or new.invalid is None else old.invalid | (new.invalid & mask),
    )


def _where(mask: Array, new: Any, old: Any, xp: Namespace) -> Any:
    if isinstance(old, tuple):
        return tuple(_where(mask, a, b, xp) for a, b in zip(new, old, strict=True))
    return xp.where(mask, new, old)


def compile_step(program: Program, head: ArrayHead, *, reuse: bool = False) -> ArrayStep:
    """The function `(state, labels, namespace, …) -> (state, result)` of a program.

    Args:
        program: The program.
        head: What becomes of its outputs.
        reuse: Write results over intermediate arrays that are no longer needed, as NumPy's `out` allows.
    """
    names: dict[str, Any] = {f"a{k}": atom for k, atom in enumerate(program.atoms)}
    for k, window in enumerate(array_windows(program)):
        names |= {f"read{k}": window.read, f"push{k}": window.push}
    names |= {"State": State, "new": tuple.__new__, "unit": UNIT, "inf": float("inf"), **head.names}
    names |= {"out_of_range": out_of_range, "semantics": program.semantics, "pick": _pick}
    exec(compile(_source(program, head, reuse), "<array step>", "exec"), names)
    function: ArrayStep = names["step"]
    return function


def _source(program: Program, head: ArrayHead, reuse: bool) -> str:
    """The source of the function; like the scalar one it holds only names made here."""
    registers, windows = range(len(program.registers)), range(len(program.windows))
    atoms = {atom: f"l{k}" for k, atom in enumerate(program.atoms)}
    parameters = "".join(f", {name}" for name, _ in head.parameters)
    memory = "".join(f"{name}, " for name in head.unpacked())
    lines = [
        f"def step(state, labels, xp{parameters}):",
        "    minimum = xp.minimum; maximum = xp.maximum; where = xp.where",
        f"    control, ({_listed('r', registers)}), ({_listed('w', windows)}), ({memory}), invalid = state",
        f"    like = state.{'registers[0]' if program.registers else 'memory[0]'}",
        *(f"    {name} = labels[a{name[1:]}]" for name in atoms.values()),
    ]
    if atoms and not reuse:
        read = _listed("l", range(len(atoms)))
        lines.append(f"    if invalid is not None: invalid = invalid | out_of_range(({read}), semantics, xp)")
    code = _Code(program, head, atoms, reuse)
    lines.extend(f"    {line}" for line in code.lines)

    def column(name: str, expressions: Sequence[Expression | None]) -> None:
        places = [None if e is None else code.place[e] for e in expressions]
        lines.append(f"    {name} = {_choose(places, code.labels, reuse, name)}")

    for k in registers:
        column(f"n{k}", [step.updates[k] for step in program.steps])
    count = len(program.steps[0].outputs)
    for k in range(count):
        column(f"o{k}", [step.outputs[k] for step in program.steps])
    added, kept, result = head.array_lines([f"o{k}" for k in range(count)], reuse)
    lines.extend(f"    {line}" for line in added)
    last = len(program.steps) - 1
    control = f"where(control < {last}, control + 1, {program.loop})" if last else "None"
    memory = "".join(f"{name}, " for name in kept)
    # Making a named tuple by its own constructor takes twice as long.
    state = f"new(State, ({control}, ({_listed('n', registers)}), ({_listed('p', windows)}), ({memory}), invalid))"
    lines.append(f"    return {state}, {result}")
    return "\n".join(lines) + "\n"


def _listed(letter: str, numbers: range) -> str:
    return "".join(f"{letter}{k}, " for k in numbers)


def _choose(candidates: list[str | None], labels: frozenset[str], reuse: bool, name: str) -> str:
    """The candidate of the element's own control state; a None, which nothing will read, agrees with its neighbor."""
    runs: list[tuple[int, str]] = []  # where each run of equal candidates starts
    for control, candidate in enumerate(candidates):
        if candidate is not None and (not runs or runs[-1][1] != candidate):
            runs.append((control if runs else 0, candidate))
    if not runs:
        return f"r{name[1:]}"
    if len(runs) == 1:
        # A label on its own is copied: the caller may write over its array before the next step.
        place = runs[0][1]
        return place if place not in labels else f"{place}.copy()" if reuse else f"{place} + 0.0"
    if len(runs) > _MOST_NESTED:
        starts, places = zip(*runs, strict=True)
        return f"pick(control, {starts[1:]}, ({', '.join(places)}), where)"
    result = runs[-1][1]
    for (_, candidate), (end, _) in zip(reversed(runs[:-1]), reversed(runs[1:]), strict=True):
        result = f"where(control < {end}, {candidate}, {result})"
    return result


def _pick(control: Array, ends: Sequence[int], candidates: Sequence[Array], where: Callable[..., Array]) -> Array:
    """The candidate of each element, the first for control states below the first end, and so on."""
    result = candidates[-1]
    for end, candidate in zip(reversed(ends), reversed(candidates[:-1]), strict=True):
        result = where(control < end, candidate, result)
    return result


class _Code:
    """The lines that compute each expression of a program once, and where each result is.

    Pushes come as soon as what they need is computed, so that what reads windows after the step comes last.
    """

    def __init__(self, program: Program, head: ArrayHead, atoms: Mapping[str, str], reuse: bool) -> None:
        self.program = program
        self.place: dict[Expression, str] = {}
        self.labels = frozenset(atoms.values())
        self.lines: list[str] = []
        self._atoms = atoms
        self._reuse = reuse
        everything = list(program.expressions())
        late = [e for e in everything if any(part.op == "pushed" for part in e.parts())]
        early = [e for e in everything if e not in set(late)]
        parts = list(all_parts([*early, *late]))
        self._last_use = {arg: number for number, part in enumerate(parts) for arg in part.operands}
        self._results = set(everything)
        waiting = len(list(all_parts(early)))
        for number, part in enumerate(parts):
            if number == waiting:
                self._push()
            self._part(number, part)
        if waiting == len(parts):
            self._push()

    def _push(self) -> None:
        for k in range(len(self.program.windows)):
            pushes = [step.pushes[k] for step in self.program.steps]
            value = _choose([self.place[push.value] for push in pushes], self.labels, self._reuse, "")
            guard = "None"
            if any(push.guard is not None for push in pushes):
                identity = repr(self.program.bottom if self.program.windows[k].neutral else self.program.top)
                places = [f"xp.full_like(like, {identity})" if p.guard is None else self.place[p.guard] for p in pushes]
                guard = _choose(list(places), self.labels, self._reuse, "")
            self.lines.append(f"p{k} = push{k}(w{k}, {value}, {guard}, xp)")

    def _part(self, number: int, part: Expression) -> None:
        match part.op:
            case "label":
                self.place[part] = self._atoms[part.args[0]]
            case "register":
                self.place[part] = f"r{part.args[0]}"
            case "window":
                self._assign(part, number, f"read{part.args[0]}(w{part.args[0]}, xp)")
            case "pushed":
                self._assign(part, number, f"read{part.args[0]}(p{part.args[0]}, xp)")
            case "constant":
                self._assign(part, number, f"xp.full_like(like, {self.program.number(part.args[0])!r})")
            case "complement":
                one = "unit[like.dtype]" if self._reuse else "1.0"
                minus = f"{one} - " if self.program.semantics == "degree" else "-"
                self._assign(part, number, f"{minus}{self._atoms[part.args[0]]}")
            case "affine":
                self._assign(part, number, f"{self.place[part.args[0]]} * {part.args[1]!r} + {part.args[2]!r}")
            case "discount":
                x, weight = (self.place[arg] for arg in part.operands)
                self._assign(part, number, f"1.0 - {weight} * (1.0 - {x})" if part.args[2] else f"{weight} * {x}")
            case "min" | "max":
                self._combine(part, number)

    def _combine(self, part: Expression, number: int) -> None:
        # Results of windows may be part of their state, so that only what was computed here is written over.
        free = [
            self.place[arg]
            for arg in part.operands
            if self._reuse
            and arg.op in ("min", "max", "complement", "affine", "discount")
            and self._last_use[arg] == number
            and arg not in self._results
        ]
        spare = free[0] if free else None
        function = "minimum" if part.op == "min" else "maximum"
        operands = [self.place[arg] for arg in part.operands]
        if spare is not None:  # first, so that it is read before it is written over
            operands.remove(spare)
            operands.insert(0, spare)
        result = operands[0]
        for position, other in enumerate(operands[1:]):
            target = spare or (f"t{number}" if self._reuse and position else None)
            result = f"{function}({result}, {other}{f', out={target}' if target else ''})"
            if position + 2 < len(operands) and target is None and self._reuse:
                self.lines.append(f"t{number} = {result}")
                result = f"t{number}"
        self._assign(part, number, result)

    def _assign(self, part: Expression, number: int, source: str) -> None:
        self.place[part] = f"t{number}"
        self.lines.append(f"t{number} = {source}")
