"""Places for the states of an automaton: in layers, by their distance from the initial state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from rewardspec.drawing.diagrams import Diagram, Edge
from rewardspec.drawing.scene import Point

RADIUS = 20.0
_LEAST_COLUMN_GAP = 122.0
_LABEL_SPACE = 66.0
_ROW_GAP = 104.0
_SWEEPS = 8


def breadth_first(diagram: Diagram) -> list[list[str]]:
    """The states by their distance from the initial one; those that cannot be reached come last."""
    successors = _successors(diagram)
    seen = {node.id for node in diagram.nodes if node.initial}
    layers = [[node.id for node in diagram.nodes if node.initial]]
    while layers[-1]:
        reached = dict.fromkeys(after for state in layers[-1] for after in successors.get(state, ()))
        layers.append([state for state in reached if state not in seen])
        seen.update(layers[-1])
    layers[-1] = [node.id for node in diagram.nodes if node.id not in seen]
    return [layer for layer in layers if layer]


def longest_path(diagram: Diagram) -> list[list[str]]:
    """The states by the longest way to them that takes no edge back: a sequence of goals becomes one line."""
    successors = _successors(diagram)
    depth: dict[str, int] = {}
    finished: dict[str, None] = {}
    forward: list[tuple[str, str]] = []

    def visit(state: str) -> None:  # as deep as there are states, which are few in a picture
        depth[state] = 0
        for after in successors.get(state, ()):
            if after not in depth:
                visit(after)
            elif after not in finished:
                continue  # an edge back
            forward.append((state, after))
        finished[state] = None

    for node in diagram.nodes:
        if node.id not in depth:
            visit(node.id)
    # In the reverse of the order in which they finished, states come before all that they lead to.
    for state in reversed(finished):
        for source, target in forward:
            if source == state:
                depth[target] = max(depth[target], depth[state] + 1)
    return [[state for state in depth if depth[state] == level] for level in range(max(depth.values()) + 1)]


def staggered(diagram: Diagram) -> list[list[str]]:
    """Breadth-first layers, the larger ones spread over several."""
    return [layer[at : at + 2] for layer in breadth_first(diagram) for at in range(0, len(layer), 2)]


def _successors(diagram: Diagram) -> dict[str, list[str]]:
    successors: dict[str, list[str]] = {}
    for edge in diagram.edges:
        successors.setdefault(edge.source, []).append(edge.target)
    return successors


def positions(
    layers: list[list[str]], edges: Sequence[Edge], label_widths: Sequence[float], scale: float = 1.0
) -> dict[str, Point]:
    """A center for each state, from layers from left to right and the widths of the edges' labels."""
    layers = _order(layers, edges)
    columns = _columns(layers, edges, label_widths)
    layers = _untangle(layers, columns, edges)
    return {state: (x * scale, y * scale) for state, (x, y) in _centers(layers, columns).items()}


def _order(layers: list[list[str]], edges: Sequence[Edge]) -> list[list[str]]:
    """Each layer sorted by the mean height of its neighbors, sweeping forth and back."""
    neighbors: dict[str, list[str]] = {}
    for edge in edges:
        if edge.source != edge.target:
            neighbors.setdefault(edge.source, []).append(edge.target)
            neighbors.setdefault(edge.target, []).append(edge.source)
    layers = [list(layer) for layer in layers]
    height = {state: _height(layer, place) for layer in layers for place, state in enumerate(layer)}
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            inside = set(layer)
            means = {}
            for state in layer:
                others = [height[other] for other in neighbors.get(state, ()) if other not in inside]
                means[state] = sum(others) / len(others) if others else height[state]
            layer.sort(key=means.__getitem__)
            height.update((state, _height(layer, place)) for place, state in enumerate(layer))
    return layers


def _height(layer: Sequence[str], place: int) -> float:
    return (place - (len(layer) - 1) / 2) * _ROW_GAP


def _columns(layers: Sequence[Sequence[str]], edges: Sequence[Edge], label_widths: Sequence[float]) -> list[float]:
    """An x for each layer, with room for the labels between neighboring ones."""
    layer_of = {state: number for number, layer in enumerate(layers) for state in layer}
    gaps = [_LEAST_COLUMN_GAP] * (len(layers) - 1)
    for edge, wide in zip(edges, label_widths, strict=True):
        first, last = sorted((layer_of[edge.source], layer_of[edge.target]))
        if last == first + 1:
            gaps[first] = max(gaps[first], wide + _LABEL_SPACE)
        elif edge.source != edge.target and first == last and first < len(gaps):
            gaps[first] = max(gaps[first], wide / 2 + _LABEL_SPACE)
    return [sum(gaps[:number]) for number in range(len(layers))]


def _centers(layers: Sequence[Sequence[str]], columns: Sequence[float]) -> dict[str, Point]:
    return {
        state: (columns[number], _height(layer, place))
        for number, layer in enumerate(layers)
        for place, state in enumerate(layer)
    }


def _untangle(layers: list[list[str]], columns: Sequence[float], edges: Sequence[Edge]) -> list[list[str]]:
    """Swap states within layers as long as that makes fewer edges cross."""
    best = _tangles(_centers(layers, columns), edges)
    improved = True
    while improved:
        improved = False
        for layer in layers:
            for i, j in combinations(range(len(layer)), 2):
                layer[i], layer[j] = layer[j], layer[i]
                tangles = _tangles(_centers(layers, columns), edges)
                if tangles < best - 1e-9:
                    best, improved = tangles, True
                else:
                    layer[i], layer[j] = layer[j], layer[i]
    return layers


def _tangles(centers: dict[str, Point], edges: Sequence[Edge]) -> float:
    """Score a picture with straight edges; lower is better."""
    pairs = {tuple(sorted((edge.source, edge.target))) for edge in edges if edge.source != edge.target}
    lines = sorted(pairs)
    cost = 0.0
    for (a, b), (c, d) in combinations(lines, 2):
        if len({a, b, c, d}) == 4 and _cross(centers[a], centers[b], centers[c], centers[d]):
            cost += 1.0
    for a, b in lines:
        cost += 1e-3 * math.dist(centers[a], centers[b])
        blocked = [s for s in centers if s not in (a, b) and distance(centers[s], centers[a], centers[b]) < RADIUS + 6]
        cost += 0.8 * len(blocked)
    return cost


def _cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    return _side(a, b, c) * _side(a, b, d) < 0 and _side(c, d, a) * _side(c, d, b) < 0


def _side(a: Point, b: Point, p: Point) -> float:
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def distance(point: Point, start: Point, end: Point) -> float:
    """Compute the distance of a point from the line between two others."""
    (px, py), (x0, y0), (x1, y1) = point, start, end
    square = (x1 - x0) ** 2 + (y1 - y0) ** 2
    share = 0.0 if square == 0 else max(0.0, min(1.0, ((px - x0) * (x1 - x0) + (py - y0) * (y1 - y0)) / square))
    return math.hypot(px - x0 - share * (x1 - x0), py - y0 - share * (y1 - y0))
