"""Pictures of automata: circles, curves between them, and guards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rewardspec.drawing import theme
from rewardspec.drawing.diagrams import Diagram
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
        x, y = layout.centers[node.id]
        circle = Box(x - RADIUS, y - RADIUS, 2 * RADIUS, 2 * RADIUS, RADIUS, None)
        shapes += state_shapes(
            node.title, circle, _INNER_RING, initial=node.initial, accepting=node.accepting, muted=node.muted
        )
    for edge, center in zip(diagram.edges, layout.label_centers, strict=True):
        shapes += _label_shapes(label_lines(edge.label), center, muted=edge.target in muted)
    return shapes


def state_shapes(
    title: str, box: Box, ring: float, *, initial: bool = False, accepting: bool = False, muted: bool = False
) -> list[Shape]:
    """A state's number in its frame, as `Node` says; `ring` is its distance to the inner frame of one that accepts."""
    x, y = box.x, box.y + box.height / 2
    fill, stroke = (theme.FILL_MUTED, theme.STROKE_MUTED) if muted else (theme.FILL_STATE, theme.STROKE)
    shapes: list[Shape] = []
    if initial:
        shapes += arrow(straight((x - 38, y), (x - _GLOW / 2 - 1, y)), theme.LINE, theme.EDGE_WIDTH)
        shapes.append(replace(box, stroke=theme.GLOW, stroke_width=_GLOW))
    shapes.append(replace(box, fill=fill, stroke=stroke, stroke_width=theme.STROKE_WIDTH, dashed=muted))
    if accepting:
        wide, high = box.width - 2 * ring, box.height - 2 * ring
        shapes.append(Box(x + ring, box.y + ring, wide, high, high / 2, None, stroke, theme.STROKE_WIDTH))
    ink = theme.SOFT_INK if muted else theme.INK
    middle = x + box.width / 2, y + 0.35 * theme.TEXT_SIZE
    shapes.append(Text(*middle, printable(title), theme.TEXT_SIZE, ink, "middle"))
    return shapes


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
