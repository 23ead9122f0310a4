"""Saving quantitative monitors as JSON, and reading them back.

Reading checks everything: the format and its version, types, ranges and references.  The text is only ever data; no
part of it is executed.  Expressions are a table of nodes, each referring to earlier ones, so shared parts stay shared.
"""

from __future__ import annotations

import json
from typing import Any, cast

from rewardspec.errors import FormulaError, MonitorFileError
from rewardspec.logic.formulas import Formula
from rewardspec.logic.parsing import parse
from rewardspec.machines.expressions import (
    Expression,
    all_parts,
    complement,
    constant,
    label,
    maximum,
    minimum,
    register,
)
from rewardspec.machines.program import Program, Step

FORMAT = "rewardspec.monitor"
VERSION = 1


def to_json(formula: Formula, program: Program, registers: tuple[str, ...], *, indent: int | None = None) -> str:
    """The machine as JSON text."""
    nodes: dict[Expression, int] = {}
    table: list[list[Any]] = []
    for part in all_parts(program.expressions()):
        nodes[part] = len(table)
        args = [nodes[arg] for arg in part.operands] if part.operands else list(part.args)
        table.append([part.op, *args])
    document = {
        "format": FORMAT,
        "version": VERSION,
        "formula": str(formula),
        "atoms": list(program.atoms),
        "registers": [{"name": n, "initial": v} for n, v in zip(registers, program.initial, strict=True)],
        "nodes": table,
        "states": [
            {"updates": [None if u is None else nodes[u] for u in step.updates], "output": nodes[step.output]}
            for step in program.steps
        ],
        "loop": program.loop,
    }
    return json.dumps(document, indent=indent, ensure_ascii=False)


def from_json(text: str | bytes) -> tuple[Formula, Program, tuple[str, ...]]:
    """The parts of a saved machine.

    Raises:
        MonitorFileError: The text is not a monitor saved by this version or an earlier one.
    """
    document = _document(text)
    try:
        formula = parse(_field(document, "formula", str))
    except FormulaError as error:
        raise MonitorFileError(f"The saved formula cannot be read: {error}") from None
    atoms = _strings(_field(document, "atoms", list), "atoms")
    if set(atoms) != set(formula.atoms):
        raise _damaged(f"`atoms` {atoms} are not those of the formula, {list(formula.atoms)}")
    names, initial = _registers(_field(document, "registers", list))
    nodes = _nodes(_field(document, "nodes", list), atoms, len(names))
    steps = tuple(_step(state, nodes, len(names)) for state in _field(document, "states", list))
    if not steps:
        raise _damaged("`states` is empty")
    loop = _field(document, "loop", int)
    if not 0 <= loop < len(steps):
        raise _damaged(f"`loop` is {loop}, with {len(steps)} states")
    return formula, Program(tuple(atoms), initial, steps, loop), names


def _document(text: str | bytes) -> dict[str, Any]:
    if not isinstance(text, str | bytes):
        raise MonitorFileError(f"A saved monitor is JSON text. Received a {type(text).__name__}.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MonitorFileError(f"This is not JSON, or it was cut short: {error}.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        found = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise MonitorFileError(
            f"This is not a saved quantitative monitor: expected format {FORMAT!r}, found {found!r}."
        )
    version = document.get("version")
    if version != VERSION:
        raise MonitorFileError(
            f"This monitor was saved as version {version!r}; this release of rewardspec reads version {VERSION}. "
            "Synthesise it anew from its formula."
        )
    return cast(dict[str, Any], document)


def _registers(entries: list[Any]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    names, initial = [], []
    for entry in entries:
        if not isinstance(entry, dict):
            raise _damaged(f"a register is {entry!r}")
        names.append(_field(entry, "name", str))
        value = entry.get("initial")
        if isinstance(value, bool) or not isinstance(value, int | float) or value not in (0, 1):
            raise _damaged(f"register {names[-1]!r} starts at {value!r}, not at 0 or 1")
        initial.append(float(value))
    if len(set(names)) != len(names):
        raise _damaged("two registers have the same name")
    return tuple(names), tuple(initial)


def _nodes(entries: list[Any], atoms: list[str], registers: int) -> list[Expression]:
    nodes: list[Expression] = []
    for number, entry in enumerate(entries):
        match entry:
            case ["constant", int() | float() as value] if value in (0, 1) and not isinstance(value, bool):
                nodes.append(constant(value))
            case ["label", str() as atom] if atom in atoms:
                nodes.append(label(atom))
            case ["complement", str() as atom] if atom in atoms:
                nodes.append(complement(atom))
            case ["register", int() as r] if 0 <= r < registers and not isinstance(r, bool):
                nodes.append(register(r))
            case ["min" | "max" as op, *args] if len(args) >= 2 and all(_refers(arg, number) for arg in args):
                operation = minimum if op == "min" else maximum
                nodes.append(operation(*(nodes[arg] for arg in args)))
            case _:
                raise _damaged(f"node {number} is {entry!r}")
    return nodes


def _step(entry: Any, nodes: list[Expression], registers: int) -> Step:
    if not isinstance(entry, dict):
        raise _damaged(f"a state is {entry!r}")
    updates, output = _field(entry, "updates", list), entry.get("output")
    if len(updates) != registers or not all(u is None or _refers(u, len(nodes)) for u in updates):
        raise _damaged(f"a state's updates are {updates!r}")
    if not _refers(output, len(nodes)):
        raise _damaged(f"a state's output is {output!r}")
    return Step(tuple(None if u is None else nodes[u] for u in updates), nodes[cast(int, output)])


def _refers(value: Any, below: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def _strings(values: list[Any], name: str) -> list[str]:
    if not all(isinstance(value, str) for value in values) or len(set(values)) != len(values):
        raise _damaged(f"`{name}` should be different strings")
    return values


def _field(document: dict[str, Any], name: str, kind: type) -> Any:
    value = document.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _damaged(f"`{name}` should be a {kind.__name__} and is {value!r}" if name in document else f"no `{name}`")
    return value


def _damaged(what: str) -> MonitorFileError:
    return MonitorFileError(f"The saved monitor is damaged: {what}. Synthesise it anew from its formula.")
