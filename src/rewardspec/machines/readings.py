"""Reading states: their parts, and expressions of registers and windows, of one trace or of a batch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from rewardspec.machines.array_code import State
from rewardspec.machines.expressions import Expression
from rewardspec.machines.namespaces import namespace_of
from rewardspec.machines.program import Program
from rewardspec.machines.window_code import BatchWindows
from rewardspec.machines.window_tables import Table
from rewardspec.types import Array, ArrayNamespace, MachineState, Number


def parts_of(program: Program, state: MachineState) -> tuple[State, ArrayNamespace]:
    """The parts of a state of one trace or of a batch, and the array library of a batch."""
    if type(state) is not tuple:
        return state, namespace_of(like_of(state)) or np
    first = 1 + len(program.registers)
    last = first + len(program.windows)
    return State(state[0], state[1:first], state[first:last], state[last:]), None


def like_of(state: State) -> Array:
    """An array of the shape and type of a batch."""
    return state.registers[0] if state.registers else leaves(state.memory)[0]


def leaves(memory: Sequence[Any]) -> list[Any]:
    """The numbers or arrays of a head's memory, in order."""
    return [leaf for part in memory for leaf in (leaves(part) if isinstance(part, tuple) else [part])]


def evaluate_tables(
    program: Program, parts: State, xp: ArrayNamespace, tables: Sequence[Sequence[Expression]]
) -> list[Number]:
    """The values, in a state, of tables that have an expression for each control state; see `parts_of`."""
    windows = BatchWindows(program)
    known: dict[int, list[Any]] = {}

    def contents(number: int) -> list[Any]:
        if number not in known:
            known[number] = windows.contents(parts.windows, number, xp)
        return known[number]

    def leaf(part: Expression) -> Number:
        match part.op:
            case "constant":
                number = program.number(part.args[0])
                return number if xp is None else xp.full_like(parts.memory[0], number)
            case "register":
                return parts.registers[part.args[0]]
            case "window":
                return windows.read(parts.windows, part.args[0], xp)
            case "content":
                return contents(part.args[0])[part.args[1]]
        number, least = part.args  # the extreme of all that a window holds
        if isinstance(parts.windows, Table):
            # Sound, and quicker than reading all of a long window.
            return xp.full_like(parts.memory[0], program.bottom if least else program.top)
        smallest, largest = (min, max) if xp is None else (xp.minimum, xp.maximum)
        return functools.reduce(smallest if least else largest, contents(number))

    if xp is None:
        return [table[parts.control or 0].evaluate(leaf) for table in tables]
    found = []
    for table in tables:
        values = [expression.evaluate(leaf, xp.minimum, xp.maximum) for expression in table]
        chosen = values[0]
        for control, value in enumerate(values[1:], start=1):
            chosen = xp.where(parts.control == control, value, chosen)
        found.append(chosen)
    return found
