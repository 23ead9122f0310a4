"""Layouts by Graphviz, where its `dot` program is installed: for machines too tangled for the layout of our own."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

from rewardspec.drawing.automaton_pictures import Layout, label_lines, label_size
from rewardspec.drawing.diagrams import Diagram
from rewardspec.drawing.layers import RADIUS
from rewardspec.drawing.routes import Route
from rewardspec.drawing.scene import Point

_PATIENCE_S = 10.0
_POINTS_PER_INCH = 72.0


def laid_out_by_dot(diagram: Diagram) -> Layout | None:
    """The layout that `dot` finds, or None where it is absent, too slow or fails."""
    program = shutil.which("dot")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-Tjson"],
            input=_request(diagram),
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=True,
        )
        return _read(diagram, json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        # Whatever went wrong, the own layout draws the same machine.
        return None


def _request(diagram: Diagram) -> str:
    """The graph with sizes in place of text: the text is drawn here."""
    side = 2 * RADIUS / _POINTS_PER_INCH
    lines = [
        "digraph {",
        "rankdir=LR; nodesep=0.5; ranksep=0.7;",
        f'node [shape=circle, fixedsize=true, width={side:.4f}, height={side:.4f}, label=""];',
    ]
    lines += [f"{node.id};" for node in diagram.nodes]
    for number, edge in enumerate(diagram.edges):
        wide, high = label_size(label_lines(edge.label))
        cell = f'<td fixedsize="true" width="{wide + 8:.0f}" height="{high + 4:.0f}"></td>'
        label = f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>{cell}</tr></table>>'
        lines.append(f'{edge.source} -> {edge.target} [label={label}, comment="{number}"];')
    return "\n".join([*lines, "}"])


def _read(diagram: Diagram, answer: dict[str, Any]) -> Layout:
    centres = {thing["name"]: _point(thing["pos"]) for thing in answer["objects"]}
    routes: dict[int, Route] = {}
    labels: dict[int, Point] = {}
    for thing in answer["edges"]:
        number = int(thing["comment"])
        labels[number] = _point(thing["lp"])
        # "e,x,y" is the arrow's tip, which comes first and belongs at the end of the curve.
        tip, *points = thing["pos"].split(" ")
        curve = [_point(point) for point in points]
        curve[-1] = _point(tip.removeprefix("e,"))
        routes[number] = tuple(curve)
    order = range(len(diagram.edges))
    return Layout(centres, [routes[number] for number in order], [labels[number] for number in order])


def _point(text: str) -> Point:
    x, y = text.split(",")
    return float(x), -float(y)
