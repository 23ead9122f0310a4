"""Curves between the states of an automaton, and places for their labels.

Curves go around other states, apart from each other, with few crossings.  A label is by its own curve, off the states,
the other curves and the other labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rewardspec.drawing.diagrams import Edge
from rewardspec.drawing.layers import RADIUS
from rewardspec.drawing.scene import Point, normal_at, point_at, sample, towards

Route: TypeAlias = tuple[Point, ...]
Samples: TypeAlias = npt.NDArray[np.float64]

# How far the middle of a curve lies beside the straight line, in parts of its length.
_BENDS = (0.0, 0.14, -0.14, 0.26, -0.26, 0.4, -0.4, 0.56, -0.56, 0.75, -0.75)
_LEAST_BEND = 17.0
_TIP_GAP = 2.0
_CLEARANCE = RADIUS + 9.0
_STEPS = 15
_ROUTE_PASSES = 3
_LOOP_SPREAD = math.radians(24)
_LOOP_REACH = 44.0
_LOOP_DIRECTIONS = tuple(math.radians(angle) for angle in (-90, 90, -60, 60, -120, 120, -40, 40, 0, -140, 140))


def route_edges(edges: Sequence[Edge], centers: Mapping[str, Point], scale: float = 1.0) -> tuple[list[Route], float]:
    """A curve for each edge, loops included, and how bad they are together.

    `scale` is how far the states are spread, so that detours count the same at every size.
    """
    chosen: dict[int, _Candidate] = {}
    candidates: dict[int, list[_Candidate]] = {}
    for number, edge in enumerate(edges):
        obstacles = [center for state, center in centers.items() if state not in (edge.source, edge.target)]
        if edge.source != edge.target:
            routes = _candidates(centers[edge.source], centers[edge.target])
            candidates[number] = [_candidate(route, obstacles, scale) for route in routes]
    # Short edges first: they have the least choice.
    order = sorted(candidates, key=lambda number: (math.dist(*_ends(edges[number], centers)), number))
    total = 0.0
    for _ in range(_ROUTE_PASSES):
        before, total = dict(chosen), 0.0
        for number in order:
            others = _others(chosen, number)
            costs = [candidate.cost + _conflict(candidate, others) for candidate in candidates[number]]
            best = min(range(len(costs)), key=costs.__getitem__)
            chosen[number] = candidates[number][best]
            total += costs[best]
        if before == chosen:
            break
    routes_of = {number: candidate.route for number, candidate in chosen.items()}
    taken = [candidate.samples for candidate in chosen.values()]
    for number, edge in enumerate(edges):
        if edge.source == edge.target:
            touching = [c.samples for n, c in chosen.items() if edge.source in (edges[n].source, edges[n].target)]
            routes_of[number], crowding = _loop(edge.source, centers, taken, touching)
            total += crowding
            taken.append(sample(routes_of[number], _STEPS))
    return [routes_of[number] for number in range(len(edges))], total


@dataclass(frozen=True, eq=False)
class _Candidate:
    """One way to go, and what is wrong with it by itself."""

    route: Route
    samples: Samples
    cost: float


def _ends(edge: Edge, centers: Mapping[str, Point]) -> tuple[Point, Point]:
    return centers[edge.source], centers[edge.target]


def _candidates(source: Point, target: Point) -> list[Route]:
    length = math.dist(source, target)
    along = ((target[0] - source[0]) / length, (target[1] - source[1]) / length)
    left = (along[1], -along[0])
    routes: list[Route] = []
    for share in _BENDS:
        bend = math.copysign(max(_LEAST_BEND, abs(share) * length), share) if share else 0.0
        # Both control points at 4/3 of the bend put the middle of the curve at the bend.
        out, reach = bend * 4 / 3, length * (0.3 if abs(share) < 0.5 else 0.2)
        first = (source[0] + along[0] * reach + left[0] * out, source[1] + along[1] * reach + left[1] * out)
        second = (target[0] - along[0] * reach + left[0] * out, target[1] - along[1] * reach + left[1] * out)
        routes.append((towards(source, first, RADIUS), first, second, towards(target, second, RADIUS + _TIP_GAP)))
    return routes


def _candidate(route: Route, obstacles: Sequence[Point], scale: float) -> _Candidate:
    samples = sample(route, _STEPS)
    length = float(np.hypot(*np.diff(samples, axis=0).T).sum())
    cost = 0.9 * (length - math.dist(route[0], route[-1])) / scale
    if obstacles:
        cost += float(np.clip(_CLEARANCE - _distances(samples, np.array(obstacles)), 0.0, None).sum()) * 15.0
    return _Candidate(route, samples, cost)


def _others(chosen: Mapping[int, _Candidate], number: int) -> tuple[Samples, Samples] | None:
    """All stretches of the other curves: their starts and their ends."""
    samples = [candidate.samples for other, candidate in chosen.items() if other != number]
    if not samples:
        return None
    return np.concatenate([s[:-1] for s in samples]), np.concatenate([s[1:] for s in samples])


def _conflict(candidate: _Candidate, others: tuple[Samples, Samples] | None) -> float:
    """Measure the conflict between a curve and the others: crossings, and running close together."""
    if others is None:
        return 0.0
    samples = candidate.samples
    a, b = samples[:-1, None, :], samples[1:, None, :]
    c, d = others[0][None, :, :], others[1][None, :, :]
    crossings = (_side(a, b, c) * _side(a, b, d) < 0) & (_side(c, d, a) * _side(c, d, b) < 0)
    # Where two curves share a state they must come close: only the middle counts.
    gaps = _distances(samples[3:-3], others[0]).min(axis=1)
    return 45.0 * float(crossings.sum()) + 2.0 * float(np.clip(16.0 - gaps, 0.0, None).sum())


def _distances(first: Samples, second: Samples) -> Samples:
    difference = first[:, None, :] - second[None, :, :]
    result: Samples = np.hypot(difference[..., 0], difference[..., 1])
    return result


def _side(a: Samples, b: Samples, p: Samples) -> Samples:
    result: Samples = (b[..., 0] - a[..., 0]) * (p[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (
        p[..., 0] - a[..., 0]
    )
    return result


def _loop(
    state: str, centers: Mapping[str, Point], taken: Sequence[Samples], touching: Sequence[Samples]
) -> tuple[Route, float]:
    """A loop where there is most room, above the state where that is as good as anywhere; and how crowded it is."""
    x, y = center = centers[state]
    obstacles = np.array([other for name, other in centers.items() if name != state]).reshape(-1, 2)
    points = np.concatenate([obstacles, *taken])
    ends = [end - np.array(center) for samples in touching for end in (samples[1], samples[-2])]
    angles = [math.atan2(dy, dx) for dx, dy in ends if math.hypot(dx, dy) < 3 * RADIUS]

    def crowding(direction: float) -> float:
        # A disc where the loop and its label will be, and the angle to the curves that meet the state.
        spot = np.array([[x + 56 * math.cos(direction), y + 56 * math.sin(direction)]])
        near = float(np.clip(44.0 - _distances(points, spot), 0.0, None).sum())
        narrow = sum(max(0.0, 50.0 - abs(math.degrees(_turn(angle, direction)))) for angle in angles)
        return 0.5 * near + 4.0 * narrow + 2.0 * _LOOP_DIRECTIONS.index(direction)

    best = min(_LOOP_DIRECTIONS, key=crowding)
    start, end = best + _LOOP_SPREAD, best - _LOOP_SPREAD
    reach = RADIUS + _LOOP_REACH
    route = (
        _polar(center, RADIUS, start),
        _polar(center, reach, best + _LOOP_SPREAD * 1.15),
        _polar(center, reach, best - _LOOP_SPREAD * 1.15),
        _polar(center, RADIUS + _TIP_GAP, end),
    )
    return route, crowding(best)


def _turn(first: float, second: float) -> float:
    """The angle between two directions, in (-π, π]."""
    return (first - second + math.pi) % (2 * math.pi) - math.pi


def _polar(center: Point, radius: float, angle: float) -> Point:
    return center[0] + radius * math.cos(angle), center[1] + radius * math.sin(angle)


# Labels.

# Where along its curve a label can be.
_PLACES = (0.5, 0.44, 0.56, 0.38, 0.62, 0.31, 0.69, 0.25, 0.75)
_AIR = 4.0
_LABEL_PASSES = 3


def place_labels(
    routes: Sequence[Route], loops: Sequence[bool], sizes: Sequence[Point], centers: Mapping[str, Point]
) -> tuple[list[Point], float]:
    """A center for each label, by its width and height, and how bad the places are together."""
    states = np.array(list(centers.values()))
    curves = [sample(route, 24) for route in routes]
    halves = np.array(sizes) / 2
    # For each label its possible centers and what is wrong with each, whatever the other labels do.
    spots: list[Samples] = []
    costs: list[Samples] = []
    for number, route in enumerate(routes):
        proposed = np.array((_loop_spots if loops[number] else _edge_spots)(route, sizes[number]))
        spots.append(proposed[:, :2])
        costs.append(proposed[:, 2] + _obstruction(proposed[:, :2], halves[number], number, curves, states))
    chosen = np.array([spot[np.argmin(cost)] for spot, cost in zip(spots, costs, strict=True)])
    total = 0.0
    for _ in range(_LABEL_PASSES):
        total = 0.0
        for number in range(len(routes)):
            totals = costs[number] + _overlap(spots[number], number, chosen, halves)
            best = int(np.argmin(totals))
            chosen[number] = spots[number][best]
            total += float(totals[best])
    return [(float(x), float(y)) for x, y in chosen], total


def _edge_spots(route: Route, size: Point) -> list[tuple[float, float, float]]:
    """Centers and costs for the label of an edge between two states."""
    wide, high = size
    spots = []
    for t in _PLACES:
        x, y = point_at(route, t)
        nx, ny = normal_at(route, t)
        away = 60.0 * abs(t - 0.5)
        # A label on a level line hides it; on a steep one it hides little and cannot be mistaken for another's.
        spots.append((x, y, away + 5.0 + 0.7 * wide * max(0.0, abs(ny) - 0.4)))
        beside = abs(nx) * wide / 2 + abs(ny) * high / 2 + _AIR
        for side in (1.0, -1.0):
            below = side * ny > 0
            cost = away + 4.0 + 34.0 * abs(nx) + below
            spots.append((x + side * nx * beside, y + side * ny * beside, cost))
    return spots


def _loop_spots(route: Route, size: Point) -> list[tuple[float, float, float]]:
    """Centers and costs for the label of a loop: beyond it, or at its sides."""
    wide, high = size
    (x, y), (x0, y0), (x1, y1) = point_at(route, 0.5), route[0], route[-1]
    dx, dy = x - (x0 + x1) / 2, y - (y0 + y1) / 2
    length = float(np.hypot(dx, dy))
    dx, dy = dx / length, dy / length
    beyond = abs(dx) * wide / 2 + abs(dy) * high / 2 + 3.0
    spots = [(x + dx * beyond, y + dy * beyond, 0.0)]
    for side in (1.0, -1.0):
        beside = abs(dy) * wide / 2 + abs(dx) * high / 2 + 15.0
        spots.append((x - side * dy * beside - 12 * dx, y + side * dx * beside - 12 * dy, 12.0))
    return spots


def _obstruction(spots: Samples, half: Samples, own: int, curves: Sequence[Samples], states: Samples) -> Samples:
    """Measure what each spot hides: states, and curves other than its own."""
    outside = np.clip(np.abs(states[None] - spots[:, None]) - half, 0.0, None)
    depth = np.clip(RADIUS + 5.0 - np.hypot(outside[..., 0], outside[..., 1]), 0.0, None)
    cost: Samples = 40.0 * depth.sum(axis=1)
    others = [curve for number, curve in enumerate(curves) if number != own]
    if others:
        offsets = np.abs(np.concatenate(others)[None] - spots[:, None]) - half
        # On another curve it hides that; close to one it seems to belong there.
        cost = cost + 9.0 * (offsets < 1.0).all(axis=2).sum(axis=1) + 2.0 * (offsets < 5.0).all(axis=2).sum(axis=1)
    return cost


def _overlap(spots: Samples, own: int, chosen: Samples, halves: Samples) -> Samples:
    """Measure the overlap of each spot with the other labels at their current places."""
    room = halves[own] + halves + _AIR - np.abs(spots[:, None] - chosen[None])
    area = np.where((room > 0).all(axis=2), 60.0 + room[..., 0] * room[..., 1], 0.0)
    area[:, own] = 0.0
    total: Samples = area.sum(axis=1)
    return total
