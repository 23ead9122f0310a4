"""Monitors as JSON text.

A file has the formula, and the machine as a table for other tools, in which expressions are nodes that refer to
earlier ones. Reading uses the formula alone and synthesizes the machine again, so that a damaged or hostile file cannot
make a monitor compute anything else.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from rewardspec.errors import FormulaError, MonitorFileError
from rewardspec.logic.formulas import Formula
from rewardspec.logic.parsing import parse
from rewardspec.logic.quantifiers import with_plain_atoms
from rewardspec.machines.expressions import Expression, all_parts
from rewardspec.machines.program import Program
from rewardspec.types import Json, JsonObject

FORMAT = "rewardspec.monitor"
VERSION = 2


def to_json(formula: Formula, program: Program, *, indent: int | None = None) -> str:
    """Write a machine as JSON text: its formula, and the machine as data for other tools."""
    nodes: dict[Expression, int] = {}
    table: list[list[Json]] = []
    for part in all_parts([*program.expressions(), *(program.progress or ())]):
        nodes[part] = len(table)
        table.append([part.op, *(nodes[arg] if isinstance(arg, Expression) else arg for arg in part.args)])
    document = {
        "format": FORMAT,
        "version": VERSION,
        "formula": str(with_plain_atoms(formula)),
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


def read_document(text: str | bytes, form: str, version: int, fields: Sequence[str]) -> tuple[JsonObject, Formula]:
    """Read a saved monitor of a format and a version: the document, which has some fields, and its formula.

    Raises:
        MonitorFileError: It is something else, or damaged.
    """
    if not isinstance(text, str | bytes):
        raise MonitorFileError(f"A saved monitor is JSON text. Received a {type(text).__name__}.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: brackets nested thousands deep
        raise MonitorFileError(f"This is not JSON, or it was cut short: {error}.") from None
    if not isinstance(document, dict) or document.get("format") != form:
        found = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise MonitorFileError(f"This is not a saved monitor of format {form!r}. Received format {found!r}.")
    if type(document.get("version")) is not int or document["version"] != version:
        raise MonitorFileError(
            f"This monitor was saved as version {document.get('version')!r}; this release of rewardspec reads version "
            f"{version}. Synthesize it anew from its formula."
        )
    for field in ("formula", *fields):
        if field not in document:
            raise MonitorFileError(f"The saved monitor is damaged: it has no `{field}`.")
    if not isinstance(document["formula"], str):
        raise MonitorFileError(f"The saved monitor's `formula` should be text. Received {document['formula']!r}.")
    try:
        return document, parse(document["formula"])
    except FormulaError as error:
        raise MonitorFileError(f"The saved monitor's formula cannot be read: {error}") from None
