"""Legends: in a crowded picture, short keys on the edges and their guards in columns below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rewardspec.drawing import theme
from rewardspec.drawing.diagrams import Diagram
from rewardspec.drawing.scene import Shape, Text
from rewardspec.drawing.text_metrics import printable, width, wrap

# With fewer edges, or with labels this short, the guards themselves fit beside the edges.
_FEW_EDGES = 24
_SHORT_LABEL = 45.0
_WIDEST_COLUMN = 300.0
_COLUMN_GAP = 28.0
_LINE = theme.SMALL_SIZE * theme.LINE_HEIGHT


@dataclass(frozen=True)
class Entry:
    """A key and the guard it stands for."""

    key: str
    guard: str


def with_keys(diagram: Diagram) -> tuple[Diagram, tuple[Entry, ...]]:
    """The diagram with keys in place of long labels where it is crowded, and what the keys stand for."""
    if len(diagram.edges) <= _FEW_EDGES:
        return diagram, ()
    long = dict.fromkeys(e.label for e in diagram.edges if width(e.label, theme.TEXT_SIZE) > _SHORT_LABEL)
    keys = {label: f"g{number}" for number, label in enumerate(long, start=1)}
    edges = tuple(replace(edge, label=keys.get(edge.label, edge.label)) for edge in diagram.edges)
    return replace(diagram, edges=edges), tuple(Entry(key, label) for label, key in keys.items())


def legend_shapes(entries: Sequence[Entry], total_width: float) -> tuple[list[Shape], float]:
    """The legend in columns from `(0, 0)` down, and its height."""
    if not entries:
        return [], 0.0
    key_width = max(width(entry.key, theme.SMALL_SIZE) for entry in entries) + 10
    guards = [wrap(printable(entry.guard), _WIDEST_COLUMN, theme.SMALL_SIZE) for entry in entries]
    guard_width = max(width(line, theme.SMALL_SIZE) for lines in guards for line in lines)
    column_width = key_width + guard_width + _COLUMN_GAP
    columns = max(1, int((total_width + _COLUMN_GAP) // column_width))
    tallest = -(-sum(map(len, guards)) // columns)
    shapes: list[Shape] = []
    x = y = height = 0.0
    for entry, lines in zip(entries, guards, strict=True):
        if y and y + len(lines) * _LINE > (tallest + 1) * _LINE and x + 2 * column_width - _COLUMN_GAP <= total_width:
            x, y = x + column_width, 0.0
        shapes.append(Text(x, y + 0.75 * _LINE, entry.key, theme.SMALL_SIZE, theme.STRONG_INK, bold=True))
        for line in lines:
            shapes.append(Text(x + key_width, y + 0.75 * _LINE, line, theme.SMALL_SIZE, theme.INK))
            y += _LINE
        height = max(height, y)
    return shapes, height
