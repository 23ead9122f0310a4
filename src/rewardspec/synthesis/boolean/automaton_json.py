"""Boolean monitors as JSON.

    {"format": "rewardspec.boolean", "version": 1,
     "formula": "F goal",          what is monitored; its atoms, in order, are numbered from 0
     "atoms": ["goal"],            those atoms
     "accepting": [1],             the accepting states
     "roots": [2, 1],              for each state the place where its decision diagram starts
     "nodes": [[0, 0, 1]]}         nodes: an atom, the place to go to where it is false, and where it is true

With n states, place p below n is the state p, and place n + k is node k.  State 0 is initial.  On every path atoms
increase, so reading a letter always ends in a state.

A file is only data: everything in it is checked, and nothing in it is executed.
"""

from __future__ import annotations

import json
from typing import Any

from rewardspec.errors import FormulaError, MonitorFileError
from rewardspec.logic.parsing import parse
from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor
from rewardspec.synthesis.boolean.decision_diagrams import DecisionTable

FORMAT = "rewardspec.boolean"
VERSION = 1

_FIELDS = ("format", "version", "formula", "atoms", "accepting", "roots", "nodes")


def to_json(monitor: BooleanMonitor, *, indent: int | None = None) -> str:
    """The monitor as text; the same monitor always gives the same text."""
    table = monitor.table
    data = {
        "format": FORMAT,
        "version": VERSION,
        "formula": str(monitor.formula),
        "atoms": monitor.atoms,
        "accepting": sorted(monitor.accepting),
        "roots": table.roots,
        "nodes": list(zip(table.variables, table.lows, table.highs, strict=True)),
    }
    return json.dumps(data, ensure_ascii=False, indent=indent)


def from_json(text: str | bytes) -> BooleanMonitor:
    """The monitor that `to_json` wrote.

    Raises:
        MonitorFileError: The text is not such a monitor; the message says what is wrong with it.

    Example:
        >>> from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
        >>> monitor = synthesize_boolean("F goal")
        >>> from_json(to_json(monitor)) == monitor
        True
    """
    data = _read(text)
    formula = data["formula"]
    if not isinstance(formula, str):
        raise _wrong("`formula` should be text", formula)
    try:
        parsed = parse(formula)
    except FormulaError as error:
        raise MonitorFileError(f"The saved monitor's formula cannot be read: {error}") from error
    atoms = list(parsed.atoms)
    if data["atoms"] != atoms:
        raise _wrong(f"`atoms` should be those of the formula, {atoms}", data["atoms"])
    roots = _list(data, "roots")
    nodes = _list(data, "nodes")
    if not roots:
        raise _wrong("`roots` should have at least one entry, for the initial state", roots)
    places = len(roots) + len(nodes)
    for root in roots:
        _require_number(root, places, "an entry of `roots`")
    for state in _list(data, "accepting"):
        _require_number(state, len(roots), "an entry of `accepting`")
    for index, node in enumerate(nodes):
        _check_node(index, node, len(atoms), roots, nodes)
    table = DecisionTable(
        roots=tuple(roots),
        variables=tuple(node[0] for node in nodes),
        lows=tuple(node[1] for node in nodes),
        highs=tuple(node[2] for node in nodes),
    )
    return BooleanMonitor(parsed, frozenset(data["accepting"]), table)


def _read(text: str | bytes) -> dict[str, Any]:
    if not isinstance(text, str | bytes):
        raise MonitorFileError(f"A saved monitor is text. Received a {type(text).__name__}.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: brackets nested thousands deep
        raise MonitorFileError(f"The saved monitor is not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else data
        raise _wrong(f"A saved Boolean monitor should be an object with `format` {FORMAT!r}", found)
    version = data.get("version")
    if type(version) is not int or version != VERSION:
        raise _wrong(f"`version` should be {VERSION}: this release reads no other", version)
    for field in _FIELDS:
        if field not in data:
            raise MonitorFileError(f"The saved monitor has no `{field}`.")
    for field in data:
        if field not in _FIELDS:
            raise MonitorFileError(f"The saved monitor has a field that this version does not know: {field!r}.")
    return data


def _list(data: dict[str, Any], field: str) -> list[Any]:
    value = data[field]
    if not isinstance(value, list):
        raise _wrong(f"`{field}` should be a list", value)
    return value


def _require_number(value: object, limit: int, what: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < limit:
        allowed = f"an integer from 0 to {limit - 1}" if limit else "absent, for there is nothing it could stand for"
        raise _wrong(f"{what} should be {allowed}", value)


def _check_node(index: int, node: object, atoms: int, roots: list[Any], nodes: list[Any]) -> None:
    if not isinstance(node, list) or len(node) != 3:
        raise _wrong(f"node {index} should be a list of an atom and two places", node)
    _require_number(node[0], atoms, f"the atom of node {index}")
    for place in node[1:]:
        _require_number(place, len(roots) + len(nodes), f"a place in node {index}")
        if place >= len(roots):
            below = nodes[place - len(roots)]
            # A node that is itself malformed is reported in its own turn.
            if isinstance(below, list) and below and isinstance(below[0], int) and below[0] <= node[0]:
                raise _wrong(f"node {index} asks for atom {node[0]} and should lead to later atoms only", node)


def _wrong(what: str, value: object) -> MonitorFileError:
    shown = repr(value)
    shown = shown if len(shown) <= 100 else f"{shown[:97]}…"
    return MonitorFileError(f"The saved monitor is damaged: {what}. Received {shown}.")
