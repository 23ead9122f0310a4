"""From diagrams to pictures: a graph, a table or a row of boxes, in a frame of title and notes."""

from __future__ import annotations

from collections.abc import Sequence

from rewardspec.drawing import theme
from rewardspec.drawing.automaton_pictures import graph_shapes
from rewardspec.drawing.diagrams import Diagram
from rewardspec.drawing.register_pictures import row_shapes
from rewardspec.drawing.scene import Box, Scene, Shape, Text, bounding_box, moved
from rewardspec.drawing.table_pictures import table_shapes
from rewardspec.drawing.text_metrics import printable, width, wrap

_MARGIN = 18.0
_GAP = 16.0
_LEAST_TEXT_WIDTH = 460.0


def scene_of(diagram: Diagram) -> Scene:
    """The diagram as shapes at their places."""
    if diagram.rows:
        return _framed(diagram, table_shapes(diagram.rows))
    return _framed(diagram, row_shapes(diagram) if diagram.is_sequence else graph_shapes(diagram))


def _framed(diagram: Diagram, shapes: Sequence[Shape]) -> Scene:
    """The picture of shapes placed anywhere: title above, notes below, paper behind."""
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
    below: list[Shape] = []
    y += _GAP * bool(notes)
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
