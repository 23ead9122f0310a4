"""Pictures of automata: circles, curves between them, and guards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewardspec.drawing import theme
from rewardspec.drawing.diagrams import Diagram, Node
from rewardspec.drawing.edges import Route, place_labels, route_edges
from rewardspec.drawing.layers import RADIUS, breadth_first, longest_path, positions, staggered
from rewardspec.drawing.scene import Box, Point, Shape, Text, arrow, straight
from rewardspec.drawing.text_metrics import printable, width, wrap

_WIDEST_LABEL = 150.0
_SCALES = (1.0, 1.2, 1.45)
_SPREAD_COST = 20.0
_LINE = theme.TEXT_SIZE * 1.3
_GLOW = 6.0
_INNER_RING = 4.0


@dataclass(frozen=True)
class Layout:
    """Positions of all elements; routes and label centers are in the order of the edges."""

    centers: dict[str, Point]
    routes: Sequence[Route]
    label_centers: Sequence[Point]
    cost: float = 0.0


def label_lines(text: str) -> list[str]:
    """A guard in the lines it is drawn in."""
    lines: list[str] = []
    for number, alternative in enumerate(printable(text).split(" ∨ ")):
        more = f"∨ {alternative}" if number else alternative
        if lines and width(f"{lines[-1]} {more}", theme.TEXT_SIZE) <= _WIDEST_LABEL:
            lines[-1] += f" {more}"
        else:
            lines += wrap(more, _WIDEST_LABEL, theme.TEXT_SIZE)
    return lines


def label_size(lines: Sequence[str]) -> Point:
    """The width and height of a label."""
    return max(width(line, theme.TEXT_SIZE) for line in lines), len(lines) * _LINE


def layered(diagram: Diagram) -> Layout:
    """The best of several layouts in layers, spread out until its labels have room."""
    layerings: list[list[list[str]]] = []
    for method in (breadth_first, longest_path, staggered):
        if (layering := method(diagram)) not in layerings:
            layerings.append(layering)
    tries = [(scale, _lay_out(diagram, layers, scale)) for layers in layerings for scale in _SCALES]
    # Spreading out always helps a little: it has to help more than the picture grows.
    spread = _SPREAD_COST * len(diagram.edges)
    return min(tries, key=lambda attempt: attempt[1].cost + spread * (attempt[0] - 1.0))[1]


def _lay_out(diagram: Diagram, layers: list[list[str]], scale: float) -> Layout:
    sizes = [label_size(label_lines(edge.label)) for edge in diagram.edges]
    centers = positions(layers, diagram.edges, [wide for wide, _ in sizes], scale)
    routes, route_cost = route_edges(diagram.edges, centers, scale)
    loops = [edge.source == edge.target for edge in diagram.edges]
    label_centers, label_cost = place_labels(routes, loops, sizes, centers)
    return Layout(centers, routes, label_centers, route_cost + label_cost)


def graph_shapes(diagram: Diagram) -> list[Shape]:
    """The shapes of an automaton."""
    layout = layered(diagram)
    muted = {node.id for node in diagram.nodes if node.muted}
    shapes: list[Shape] = []
    for edge, route in zip(diagram.edges, layout.routes, strict=True):
        shapes += arrow(route, theme.LINE_MUTED if edge.target in muted else theme.LINE, theme.EDGE_WIDTH)
    for node in diagram.nodes:
        shapes += _node_shapes(node, layout.centers[node.id])
    for edge, center in zip(diagram.edges, layout.label_centers, strict=True):
        shapes += _label_shapes(label_lines(edge.label), center, muted=edge.target in muted)
    return shapes


def _node_shapes(node: Node, center: Point) -> list[Shape]:
    x, y = center
    fill, stroke = (theme.FILL_MUTED, theme.STROKE_MUTED) if node.muted else (theme.FILL_STATE, theme.STROKE)
    shapes: list[Shape] = []
    if node.initial:
        shapes += arrow(straight((x - RADIUS - 38, y), (x - RADIUS - _GLOW / 2 - 1, y)), theme.LINE, theme.EDGE_WIDTH)
        shapes.append(_circle(x, y, RADIUS, None, theme.GLOW, _GLOW))
    shapes.append(_circle(x, y, RADIUS, fill, stroke, theme.STROKE_WIDTH, dashed=node.muted))
    if node.accepting:
        shapes.append(_circle(x, y, RADIUS - _INNER_RING, None, stroke, theme.STROKE_WIDTH))
    ink = theme.SOFT_INK if node.muted else theme.INK
    shapes.append(Text(x, y + 0.35 * theme.TEXT_SIZE, printable(node.title), theme.TEXT_SIZE, ink, "middle"))
    return shapes


def _circle(x: float, y: float, r: float, fill: str | None, stroke: str, line: float, *, dashed: bool = False) -> Box:
    return Box(x - r, y - r, 2 * r, 2 * r, r, fill, stroke, line, dashed)


def _label_shapes(lines: Sequence[str], center: Point, *, muted: bool) -> list[Shape]:
    if not any(lines):
        return []
    x, y = center
    wide, high = label_size(lines)
    shapes: list[Shape] = [Box(x - wide / 2 - 1, y - high / 2, wide + 2, high, 4, theme.PAPER)]
    ink = theme.SOFT_INK if muted else theme.INK
    for number, line in enumerate(lines):
        baseline = y - high / 2 + (number + 0.5) * _LINE + 0.35 * theme.TEXT_SIZE
        shapes.append(Text(x, baseline, line, theme.TEXT_SIZE, ink, "middle"))
    return shapes
