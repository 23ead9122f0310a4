"""Boolean monitors as JSON.

    {"format": "rewardspec.boolean", "version": 1,
     "formula": "F goal",          what is monitored; its atoms, in order, are numbered from 0
     "atoms": ["goal"],            those atoms
     "accepting": [1],             the accepting states
     "roots": [2, 1],              for each state the place where its decision diagram starts
     "nodes": [[0, 0, 1]]}         nodes: an atom, the place to go to where it is false, and where it is true

With n states, place p below n is the state p, and place n + k is node k.  State 0 is initial.  On every path atoms
increase, so reading a letter always ends in a state.

Reading uses the formula alone, and builds the automaton again.
"""

from __future__ import annotations

import json

from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor

FORMAT = "rewardspec.boolean"
VERSION = 1


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
