"""Places for the labels of edges: by their own curve, off the states, the other curves and the other labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rewardspec.drawing.layers import RADIUS
from rewardspec.drawing.routes import Route, Samples
from rewardspec.drawing.scene import Point
from rewardspec.drawing.splines import normal_at, point_at, sample

# Where along its curve a label can be.
_PLACES = (0.5, 0.44, 0.56, 0.38, 0.62, 0.31, 0.69, 0.25, 0.75)
_AIR = 4.0
_PASSES = 3
_MANY = 70


def place_labels(
    routes: Sequence[Route], loops: Sequence[bool], sizes: Sequence[Point], centres: Mapping[str, Point]
) -> tuple[list[Point], float]:
    """A centre for each label, and how bad the places are together.

    Args:
        routes: The edges' curves.
        loops: Whether each edge is a loop.
        sizes: Each label's width and height.
        centres: The states.
    """
    states = np.array(list(centres.values()))
    curves = [sample(route, 24 if len(routes) <= _MANY else 8) for route in routes]
    halves = np.array(sizes) / 2
    # For each label its possible centres and what is wrong with each, whatever the other labels do.
    spots: list[Samples] = []
    costs: list[Samples] = []
    for number, route in enumerate(routes):
        proposed = np.array((_loop_spots if loops[number] else _edge_spots)(route, sizes[number]))
        spots.append(proposed[:, :2])
        costs.append(proposed[:, 2] + _obstruction(proposed[:, :2], halves[number], number, curves, states))
    chosen = np.array([spot[np.argmin(cost)] for spot, cost in zip(spots, costs, strict=True)])
    total = 0.0
    for _ in range(_PASSES):
        total = 0.0
        for number in range(len(routes)):
            totals = costs[number] + _overlap(spots[number], number, chosen, halves)
            best = int(np.argmin(totals))
            chosen[number] = spots[number][best]
            total += float(totals[best])
    return [(float(x), float(y)) for x, y in chosen], total


def _edge_spots(route: Route, size: Point) -> list[tuple[float, float, float]]:
    """Centres and costs for the label of an edge between two states."""
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
    """Centres and costs for the label of a loop: beyond it, or at its sides."""
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
    """What each spot hides: states, and curves other than its own."""
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
    """How much each spot would overlap the other labels where they are."""
    room = halves[own] + halves + _AIR - np.abs(spots[:, None] - chosen[None])
    area = np.where((room > 0).all(axis=2), 60.0 + room[..., 0] * room[..., 1], 0.0)
    area[:, own] = 0.0
    total: Samples = area.sum(axis=1)
    return total
