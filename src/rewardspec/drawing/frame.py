"""The frame of a picture: title above, notes below, white paper behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rewardspec.drawing import theme
from rewardspec.drawing.diagrams import Diagram
from rewardspec.drawing.legends import Entry, legend_shapes
from rewardspec.drawing.scene import Box, Curve, Point, Polygon, Scene, Shape, Text
from rewardspec.drawing.splines import sample
from rewardspec.drawing.text_metrics import printable, width, wrap

_MARGIN = 18.0
_GAP = 16.0
_LEAST_TEXT_WIDTH = 460.0


def framed(diagram: Diagram, shapes: Sequence[Shape], legend: Sequence[Entry] = ()) -> Scene:
    """The finished picture of shapes placed anywhere."""
    left, top, right, bottom = bounding_box(shapes)
    limit = max(right - left, _LEAST_TEXT_WIDTH)
    title = wrap(printable(diagram.title), limit, theme.TITLE_SIZE, bold=True, hanging="    ")
    notes = [line for note in diagram.notes for line in wrap(printable(note), limit, theme.SMALL_SIZE, hanging="    ")]
    text_width = max(
        [width(line, theme.TITLE_SIZE, bold=True) for line in title] + [width(line, theme.SMALL_SIZE) for line in notes]
    )
    inner = max(right - left, text_width)
    y = _MARGIN
    above: list[Shape] = []
    for line in title:
        y += theme.TITLE_SIZE * theme.LINE_HEIGHT
        above.append(Text(_MARGIN, y - 0.4 * theme.TITLE_SIZE, line, theme.TITLE_SIZE, theme.INK, bold=True))
    y += _GAP
    dx, dy = _MARGIN + (inner - (right - left)) / 2 - left, y - top
    y += bottom - top
    entries, height = legend_shapes(legend, inner)
    below = [moved(shape, _MARGIN, y + _GAP) for shape in entries]
    y += height + _GAP * bool(entries) + _GAP * bool(notes)
    for line in notes:
        y += theme.SMALL_SIZE * theme.LINE_HEIGHT
        below.append(Text(_MARGIN, y - 0.4 * theme.SMALL_SIZE, line, theme.SMALL_SIZE, theme.SOFT_INK))
    total_width, total_height = inner + 2 * _MARGIN, y + _MARGIN
    paper = Box(0.5, 0.5, total_width - 1, total_height - 1, 10, theme.PAPER, theme.PAPER_EDGE, 1.0)
    placed = tuple(moved(shape, dx, dy) for shape in shapes)
    return Scene(
        total_width,
        total_height,
        (paper, *above, *placed, *below),
        printable(diagram.title),
        printable(diagram.description),
    )


def bounding_box(shapes: Iterable[Shape]) -> tuple[float, float, float, float]:
    """The least rectangle around the shapes: left, top, right, bottom."""
    corners: list[Point] = []
    for shape in shapes:
        match shape:
            case Box():
                edge = shape.stroke_width / 2
                corners += [
                    (shape.x - edge, shape.y - edge),
                    (shape.x + shape.width + edge, shape.y + shape.height + edge),
                ]
            case Text():
                wide = width(shape.text, shape.size, bold=shape.bold)
                left = shape.x - wide * {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor]
                corners += [(left, shape.y - shape.size), (left + wide, shape.y + 0.3 * shape.size)]
            case Curve():
                corners += [(float(x), float(y)) for x, y in sample(shape.points)]
            case Polygon():
                corners += shape.points
    xs, ys = zip(*corners, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def moved(shape: Shape, dx: float, dy: float) -> Shape:
    """The shape somewhere else."""
    if isinstance(shape, Curve | Polygon):
        return replace(shape, points=tuple((x + dx, y + dy) for x, y in shape.points))
    return replace(shape, x=shape.x + dx, y=shape.y + dy)
