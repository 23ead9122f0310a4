"""Saving quantitative monitors as JSON, and reading them back.

Reading checks everything: the format and its version, types, ranges and references.  The text is only ever data; no
part of it is executed.  Expressions are a table of nodes, each referring to earlier ones, so shared parts stay shared.
"""

from __future__ import annotations

import json
import math
from typing import Any, cast

from rewardspec.errors import FormulaError, MonitorFileError
from rewardspec.logic.formulas import Formula
from rewardspec.logic.parsing import parse
from rewardspec.machines.expressions import (
    Expression,
    affine,
    all_parts,
    complement,
    constant,
    discount,
    label,
    maximum,
    minimum,
    register,
    window,
)
from rewardspec.machines.program import Program, Push, Step, Window
from rewardspec.machines.windows import MOST_HELD

FORMAT = "rewardspec.monitor"
VERSION = 2


def to_json(formula: Formula, program: Program, *, indent: int | None = None) -> str:
    """The machine as JSON text."""
    nodes: dict[Expression, int] = {}
    table: list[list[Any]] = []
    for part in all_parts([*program.expressions(), *(program.progress or ())]):
        nodes[part] = len(table)
        table.append([part.op, *(nodes[arg] if isinstance(arg, Expression) else arg for arg in part.args)])
    document = {
        "format": FORMAT,
        "version": VERSION,
        "formula": str(formula),
        "semantics": program.semantics,
        "atoms": list(program.atoms),
        "registers": [{"name": n, "initial": v} for n, v in zip(program.registers, program.initial, strict=True)],
        "windows": [{"name": w.name, "length": w.length, "op": w.op, "initial": w.neutral} for w in program.windows],
        "nodes": table,
        "states": [
            {
                "updates": [None if u is None else nodes[u] for u in step.updates],
                "pushes": [[nodes[p.value], None if p.guard is None else nodes[p.guard]] for p in step.pushes],
                "output": nodes[step.outputs[0]],
                **({} if program.progress is None else {"progress": nodes[program.progress[control]]}),
            }
            for control, step in enumerate(program.steps)
        ],
        "loop": program.loop,
    }
    return json.dumps(document, indent=indent, ensure_ascii=False)


def from_json(text: str | bytes) -> tuple[Formula, Program]:
    """The parts of a saved machine.

    Raises:
        MonitorFileError: The text is not a monitor saved by this version or an earlier one.
    """
    document = _document(text)
    try:
        formula = parse(_field(document, "formula", str))
    except FormulaError as error:
        raise MonitorFileError(f"The saved formula cannot be read: {error}") from None
    semantics = document.get("semantics")
    if semantics not in ("degree", "robustness"):
        raise _damaged(f"`semantics` is {semantics!r}")
    atoms = _strings(_field(document, "atoms", list), "atoms")
    if set(atoms) != set(formula.atoms):
        raise _damaged(f"`atoms` {atoms} are not those of the formula, {list(formula.atoms)}")
    names, initial = _registers(_field(document, "registers", list))
    windows = tuple(_window(entry) for entry in _field(document, "windows", list))
    values = sum(each.length for each in windows)
    if values > MOST_HELD:
        raise _damaged(f"its windows hold {values:,} values, and at most {MOST_HELD:,} are allowed")
    nodes = _nodes(_field(document, "nodes", list), atoms, len(names), len(windows))
    steps = tuple(_step(state, nodes, len(names), len(windows)) for state in _field(document, "states", list))
    if not steps:
        raise _damaged("`states` is empty")
    loop = _field(document, "loop", int)
    if not 0 <= loop < len(steps):
        raise _damaged(f"`loop` is {loop}, with {len(steps)} states")
    progress = _progress(document["states"], nodes)
    return formula, Program(tuple(atoms), names, initial, steps, loop, windows, semantics, progress)


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
            "Synthesize it anew from its formula."
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


def _window(entry: Any) -> Window:
    if not isinstance(entry, dict):
        raise _damaged(f"a window is {entry!r}")
    name, length, op = _field(entry, "name", str), _field(entry, "length", int), entry.get("op")
    neutral = entry.get("initial")
    starts = {"max": (0,), "min": (1,), "last": (0, 1)}.get(op, ()) if isinstance(op, str) else ()
    if length < 1 or isinstance(neutral, bool) or neutral not in starts:
        raise _damaged(f"window {name!r} is {entry!r}")
    return Window(name, length, cast(Any, op), float(cast(float, neutral)))


def _nodes(entries: list[Any], atoms: list[str], registers: int, windows: int) -> list[Expression]:
    nodes: list[Expression] = []
    for number, entry in enumerate(entries):
        match entry:
            case ["constant", value] if _is_number(value) and 0 <= value <= 1:
                nodes.append(constant(value))
            case ["label", str() as atom] if atom in atoms:
                nodes.append(label(atom))
            case ["complement", str() as atom] if atom in atoms:
                nodes.append(complement(atom))
            case ["register", r] if _refers(r, registers):
                nodes.append(register(r))
            case ["window", w] if _refers(w, windows):
                nodes.append(window(w))
            case ["affine", arg, scale, offset] if _refers(arg, number) and _is_map(scale, offset):
                nodes.append(affine(nodes[arg], scale, offset))
            case ["discount", arg, weight, bool() as raised] if _refers(arg, number) and _refers(weight, number):
                nodes.append(discount(nodes[arg], nodes[weight], raised))
            case ["min" | "max" as op, *args] if len(args) >= 2 and all(_refers(arg, number) for arg in args):
                operation = minimum if op == "min" else maximum
                nodes.append(operation(*(nodes[arg] for arg in args)))
            case _:
                raise _damaged(f"node {number} is {entry!r}")
    return nodes


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_map(scale: Any, offset: Any) -> bool:
    return _is_number(scale) and _is_number(offset) and scale > 0 and offset >= 0 and scale + offset <= 1 + 1e-9


def _step(entry: Any, nodes: list[Expression], registers: int, windows: int) -> Step:
    if not isinstance(entry, dict):
        raise _damaged(f"a state is {entry!r}")
    updates, pushes, output = _field(entry, "updates", list), _field(entry, "pushes", list), entry.get("output")

    def known(value: Any) -> bool:
        return value is None or _refers(value, len(nodes))

    if len(updates) != registers or not all(known(update) for update in updates):
        raise _damaged(f"a state's updates are {updates!r}")
    if len(pushes) != windows:
        raise _damaged(f"a state's pushes are {pushes!r}")
    found = []
    for push in pushes:
        if not (isinstance(push, list) and len(push) == 2 and _refers(push[0], len(nodes)) and known(push[1])):
            raise _damaged(f"a state's pushes are {pushes!r}")
        found.append(Push(nodes[push[0]], None if push[1] is None else nodes[push[1]]))
    if not _refers(output, len(nodes)):
        raise _damaged(f"a state's output is {output!r}")
    return Step(tuple(None if u is None else nodes[u] for u in updates), (nodes[cast(int, output)],), tuple(found))


def _progress(states: list[dict[str, Any]], nodes: list[Expression]) -> tuple[Expression, ...] | None:
    found = [state["progress"] for state in states if "progress" in state]
    if not found:
        return None
    if len(found) != len(states) or not all(_refers(node, len(nodes)) for node in found):
        raise _damaged(f"the states' progress is {found!r}")
    if any(part.op in ("label", "complement") for part in all_parts(nodes[node] for node in found)):
        raise _damaged("a state's progress reads labels")
    return tuple(nodes[node] for node in found)


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
    return MonitorFileError(f"The saved monitor is damaged: {what}. Synthesize it anew from its formula.")
