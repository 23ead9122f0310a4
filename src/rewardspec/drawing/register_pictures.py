"""Pictures of register machines: boxes of equations in a row, one arrow after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rewardspec.drawing import theme
from rewardspec.drawing.diagrams import Diagram, Edge, Node
from rewardspec.drawing.scene import Box, Point, Shape, Text, arrow, rounded, straight
from rewardspec.drawing.text_metrics import printable, width, wrap

_WIDEST_LINE = 620.0
_WIDEST_ROW = 1150.0
_PADDING_X, _PADDING_Y = 16.0, 11.0
_GAP = 52.0
_ROW_GAP = 76.0
_LOOP_WIDTH, _LOOP_HEIGHT = 32.0, 29.0
_CORNER = 14.0
_GLOW = 7.0
_LINE = theme.TEXT_SIZE * theme.LINE_HEIGHT
_HANGING = "        "


@dataclass(frozen=True)
class _Placed:
    """A box at its place; `x` and `y` are its left and its middle."""

    node: Node
    lines: tuple[str, ...]
    result: tuple[str, ...]
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    row: int = 0

    @property
    def rim(self) -> float:
        """Distance from the box to its outer line, where arrows touch it."""
        return _GLOW / 2 if self.node.initial else theme.STROKE_WIDTH / 2

    @property
    def left(self) -> Point:
        return self.x - self.rim, self.y

    @property
    def right(self) -> Point:
        return self.x + self.width + self.rim, self.y

    def top(self, dx: float = 0.0) -> Point:
        return self.x + self.width / 2 + dx, self.y - self.height / 2 - self.rim

    def bottom(self, dx: float = 0.0) -> Point:
        return self.x + self.width / 2 + dx, self.y + self.height / 2 + self.rim


def row_shapes(diagram: Diagram) -> list[Shape]:
    """The shapes of a diagram whose states follow each other."""
    boxes = _place([_measure(node) for node in diagram.nodes])
    by_id = {box.node.id: box for box in boxes}
    shapes = _entry(boxes[0], diagram.entry)
    for edge in diagram.edges:
        shapes += arrow(_route(edge, by_id, boxes), theme.LINE, theme.EDGE_WIDTH)
    for box in boxes:
        shapes += _box_shapes(box)
    return shapes


def _measure(node: Node) -> _Placed:
    lines = [
        part for line in node.lines for part in wrap(printable(line), _WIDEST_LINE, theme.TEXT_SIZE, hanging=_HANGING)
    ]
    result = wrap(printable(node.result), _WIDEST_LINE, theme.TEXT_SIZE, bold=True, hanging=_HANGING)
    wide = max(
        [width(node.title, theme.SMALL_SIZE), *(width(line, theme.TEXT_SIZE) for line in lines)]
        + [width(line, theme.TEXT_SIZE, bold=True) for line in result]
    )
    height = (len(lines) + len(result)) * _LINE + theme.SMALL_SIZE * theme.LINE_HEIGHT
    return _Placed(node, tuple(lines), tuple(result), wide + 2 * _PADDING_X, height + 2 * _PADDING_Y)


def _place(boxes: list[_Placed]) -> list[_Placed]:
    """The boxes in rows, each row's middles at one height."""
    rows: list[list[_Placed]] = [[]]
    for box in boxes:
        used = sum(other.width + _GAP for other in rows[-1])
        if rows[-1] and used + box.width > _WIDEST_ROW:
            rows.append([])
        rows[-1].append(box)
    placed: list[_Placed] = []
    y = 0.0
    for number, row in enumerate(rows):
        height = max(box.height for box in row)
        x = 0.0
        for box in row:
            placed.append(replace(box, x=x, y=y + height / 2, row=number))
            x += box.width + _GAP
        y += height + _ROW_GAP
    return placed


def _route(edge: Edge, by_id: dict[str, _Placed], boxes: list[_Placed]) -> tuple[Point, ...]:
    source, target = by_id[edge.source], by_id[edge.target]
    if source is target:
        (x0, y0), (x1, _) = source.top(_LOOP_WIDTH / 2), source.top(-_LOOP_WIDTH / 2)
        lift = y0 - _LOOP_HEIGHT * 4 / 3
        return (x0, y0), (x0 + 10, lift), (x1 - 10, lift), (x1, y0)
    if source.row == target.row and source.x < target.x:
        return straight(source.right, target.left)
    row_bottom = max(box.y + box.height / 2 for box in boxes if box.row == source.row)
    below = row_bottom + _ROW_GAP * 0.42
    if source.row == target.row:
        (x0, y0), (x1, y1) = source.bottom(), target.bottom(10.0)
        return rounded([(x0, y0), (x0, below), (x1, below), (x1, y1)], _CORNER)
    if source.row < target.row:
        (x0, y0), (x1, y1) = source.right, target.left
        middle = row_bottom + 26
        corners = [(x0, y0), (x0 + 24, y0), (x0 + 24, middle), (x1 - 32, middle), (x1 - 32, y1), (x1, y1)]
        return rounded(corners, _CORNER)
    # Back to an earlier row: down, around the left side, and into the top.
    outside = min(box.x for box in boxes) - 48
    above = min(box.y - box.height / 2 for box in boxes if box.row == target.row) - 30
    (x0, y0), (x1, y1) = source.bottom(), target.top(-_LOOP_WIDTH)
    corners = [(x0, y0), (x0, below), (outside, below), (outside, above), (x1, above), (x1, y1)]
    return rounded(corners, _CORNER)


def _entry(first: _Placed, lines: tuple[str, ...]) -> list[Shape]:
    """The arrow into the first box, with the registers' first values at its tail."""
    x, y = first.left
    tail = x - 44
    shapes = arrow(straight((tail, y), (x, y)), theme.LINE, theme.EDGE_WIDTH)
    top = y - len(lines) * _LINE / 2
    for number, line in enumerate(lines):
        baseline = top + (number + 0.5) * _LINE + 0.35 * theme.TEXT_SIZE
        shapes.append(Text(tail - 9, baseline, printable(line), theme.TEXT_SIZE, theme.INK, "end"))
    return shapes


def _box_shapes(box: _Placed) -> list[Shape]:
    x, y = box.x, box.y - box.height / 2
    shapes: list[Shape] = []
    if box.node.initial:
        shapes.append(Box(x, y, box.width, box.height, 11, None, theme.GLOW, _GLOW))
    shapes.append(Box(x, y, box.width, box.height, 11, theme.FILL, theme.STROKE, theme.STROKE_WIDTH))
    left = x + _PADDING_X
    y += _PADDING_Y + theme.SMALL_SIZE * 1.05
    shapes.append(Text(left, y, printable(box.node.title), theme.SMALL_SIZE, theme.SOFT_INK))
    y += theme.SMALL_SIZE * (theme.LINE_HEIGHT - 1.05) - 0.35 * _LINE
    for line in box.lines:
        y += _LINE
        shapes.append(_indented(left, y, line, theme.INK))
    for line in box.result:
        y += _LINE
        shapes.append(_indented(left, y, line, theme.STRONG_INK, bold=True))
    return shapes


def _indented(x: float, y: float, line: str, color: str, *, bold: bool = False) -> Text:
    # Leading spaces would be dropped by SVG viewers: they become an offset.
    text = line.lstrip(" ")
    offset = width(" " * (len(line) - len(text)), theme.TEXT_SIZE)
    return Text(x + offset, y, text, theme.TEXT_SIZE, color, bold=bold)
