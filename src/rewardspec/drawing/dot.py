"""Diagrams in Graphviz's DOT language."""

from __future__ import annotations

from collections.abc import Iterable

from rewardspec.drawing import theme
from rewardspec.drawing.diagrams import Diagram, Node
from rewardspec.drawing.text_metrics import printable


def to_dot(diagram: Diagram) -> str:
    """The diagram as DOT text, for Graphviz and the many tools that read its language.

    Example:
        >>> from rewardspec.drawing.diagrams import diagram_of
        >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
        >>> print(to_dot(diagram_of(synthesize("F goal"))).splitlines()[-2])
            s0 -> s0;
    """
    diagram.require_graph()
    lines = [
        "digraph monitor {",
        f'    rankdir=LR; labelloc=t; fontname="Helvetica"; fontsize=15; label={_quoted([diagram.title])};',
        f'    node [fontname="Helvetica", fontsize=12, style=filled, fillcolor="{theme.FILL}", color="{theme.STROKE}",'
        f' fontcolor="{theme.INK}"];',
        f'    edge [fontname="Helvetica", fontsize=12, color="{theme.LINE}", fontcolor="{theme.INK}"];',
        "    subgraph cluster_machine {",
        # The notes are this cluster's label, since a graph has only one.
        f'        peripheries=0; labelloc=b; fontsize=11; fontcolor="{theme.SOFT_INK}";'
        f" label={_quoted(diagram.notes, end=_LEFT)};",
    ]
    for node in diagram.nodes:
        if node.initial:
            lines.append(f"        start [shape=plaintext, style=solid, label={_quoted(diagram.entry, end=_RIGHT)}];")
            lines.append(f"        start -> {node.id};")
        lines.append(f"        {node.id} [{_attributes(node)}];")
    lines.append("    }")
    for edge in diagram.edges:
        label = f" [label={_quoted([edge.label])}]" if edge.label else ""
        lines.append(f"    {edge.source} -> {edge.target}{label};")
    return "\n".join([*lines, "}"]) + "\n"


# How DOT ends a line: centered, or to the left or right.
_CENTER, _LEFT, _RIGHT = "\\n", "\\l", "\\r"


def _attributes(node: Node) -> str:
    if node.is_box:
        text = _quoted([node.title, *node.lines, node.result], end=_LEFT)
        return f'shape=box, style="rounded,filled", label={text}'
    shape = "doublecircle" if node.accepting else "circle"
    muted = f', style="filled,dashed", fillcolor="{theme.FILL_MUTED}", color="{theme.STROKE_MUTED}"'
    return f"shape={shape}, label={_quoted([node.title])}{muted if node.muted else ''}"


def _quoted(texts: Iterable[str], end: str = _CENTER) -> str:
    lines = [_escape(text) for text in texts]
    return '"' + (end.join(lines) if end == _CENTER else "".join(line + end for line in lines)) + '"'


def _escape(text: str) -> str:
    # In labels a backslash begins an escape and an ampersand an HTML entity, so both are written as themselves.
    return printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
