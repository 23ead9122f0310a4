"""Diagrams in Mermaid's language, which GitHub, GitLab and many notebooks draw by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rewardspec.drawing import theme
from rewardspec.drawing.diagrams import Diagram, Node
from rewardspec.drawing.text_metrics import printable

# What Mermaid would read as more than a character, even inside quotes, in Mermaid's own codes.  Codes do not keep two
# dollars from beginning mathematics, nor a backslash and an n from ending the line: an invisible joiner does.
_CODES = str.maketrans(
    {character: f"#{ord(character)};" for character in '#&<>"`%'} | {"$": "$\u2060", "\\": "#92;\u2060"}
)
# A title takes no codes, and loses what looks like HTML.
_TITLE = str.maketrans("<>&", "‹›＆")


def to_mermaid(diagram: Diagram) -> str:
    """The diagram as a Mermaid flowchart.

    Example:
        >>> from rewardspec.drawing.diagrams import diagram_of
        >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
        >>> print(to_mermaid(diagram_of(synthesize("G F goal"))))
        ---
        title: "G F goal"
        config: {flowchart: {wrappingWidth: 800}}
        ---
        flowchart LR
            start[" "]:::entry --> s0
            s0("state 0<br/><b>reward = goal</b>"):::box
            s0 --> s0
            classDef box fill:#e6e6ff,stroke:#8c8cdc,color:#22223a,text-align:left
            classDef state fill:#d9d9ff,stroke:#8c8cdc,color:#22223a
            classDef muted fill:#f3f3f6,stroke:#b5b5c4,color:#6a6a85,stroke-dasharray:5 4
            classDef entry fill:none,stroke:none
            classDef notes fill:none,stroke:none,text-align:left
        <BLANKLINE>
    """
    diagram.require_graph()
    title = json.dumps(printable(diagram.title).translate(_TITLE), ensure_ascii=False)
    lines = ["---", f"title: {title}", "config: {flowchart: {wrappingWidth: 800}}", "---", "flowchart LR"]
    for node in diagram.nodes:
        if node.initial:
            lines.append(f'    start["{_lines(diagram.entry) or " "}"]:::entry --> {node.id}')
        lines.append(f"    {node.id}{_shape(node)}")
    for edge in diagram.edges:
        label = f'|"{_escape(edge.label)}"|' if edge.label else ""
        lines.append(f"    {edge.source} -->{label} {edge.target}")
    if diagram.notes:
        lines.append(f'    notes["{_lines(diagram.notes)}"]:::notes')
    lines += [
        f"    classDef box fill:{theme.FILL},stroke:{theme.STROKE},color:{theme.INK},text-align:left",
        f"    classDef state fill:{theme.FILL_STATE},stroke:{theme.STROKE},color:{theme.INK}",
        f"    classDef muted fill:{theme.FILL_MUTED},stroke:{theme.STROKE_MUTED},color:{theme.SOFT_INK},"
        "stroke-dasharray:5 4",
        "    classDef entry fill:none,stroke:none",
        "    classDef notes fill:none,stroke:none,text-align:left",
    ]
    return "\n".join(lines) + "\n"


def _shape(node: Node) -> str:
    if node.is_box:
        return f'("{_lines([node.title, *node.lines])}<br/><b>{_escape(node.result)}</b>"):::box'
    text = f'"{_escape(node.title)}"'
    shape = f"((({text})))" if node.accepting else f"(({text}))"
    return f"{shape}:::{'muted' if node.muted else 'state'}"


def _lines(texts: Iterable[str]) -> str:
    return "<br/>".join(map(_escape, texts))


def _escape(text: str) -> str:
    return printable(text).translate(_CODES)
