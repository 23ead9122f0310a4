"""Curves between the states of an automaton: around other states, apart from each other, with few crossings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rewardspec.drawing.diagrams import Edge
from rewardspec.drawing.layers import RADIUS
from rewardspec.drawing.scene import Point
from rewardspec.drawing.splines import sample

Route: TypeAlias = tuple[Point, ...]
Samples: TypeAlias = npt.NDArray[np.float64]

# How far the middle of a curve lies beside the straight line, in parts of its length.
_BENDS = (0.0, 0.14, -0.14, 0.26, -0.26, 0.4, -0.4, 0.56, -0.56, 0.75, -0.75)
_LEAST_BEND = 17.0
_TIP_GAP = 2.0
_CLEARANCE = RADIUS + 9.0
_STEPS = 15
_PASSES = 3
# Comparing every curve with every other would take seconds; larger machines only keep clear of the states.
_MOST_EDGES_TO_COMPARE = 70
_LOOP_SPREAD = math.radians(24)
_LOOP_REACH = 44.0
_LOOP_DIRECTIONS = tuple(math.radians(angle) for angle in (-90, 90, -60, 60, -120, 120, -40, 40, 0, -140, 140))


def route_edges(edges: Sequence[Edge], centres: Mapping[str, Point], scale: float = 1.0) -> tuple[list[Route], float]:
    """A curve for each edge, loops included, and how bad they are together.

    Args:
        edges: The transitions.
        centres: The states.
        scale: How far the states are spread, so that detours count the same at every size.
    """
    chosen: dict[int, _Candidate] = {}
    candidates: dict[int, list[_Candidate]] = {}
    for number, edge in enumerate(edges):
        obstacles = [centre for state, centre in centres.items() if state not in (edge.source, edge.target)]
        if edge.source != edge.target:
            routes = _candidates(centres[edge.source], centres[edge.target])
            candidates[number] = [_candidate(route, obstacles, scale) for route in routes]
    # Short edges first: they have the least choice.
    order = sorted(candidates, key=lambda number: (math.dist(*_ends(edges[number], centres)), number))
    compare = len(order) <= _MOST_EDGES_TO_COMPARE
    total = 0.0
    for _ in range(_PASSES):
        before, total = dict(chosen), 0.0
        for number in order:
            others = _others(chosen, number) if compare else None
            costs = [candidate.cost + _conflict(candidate, others) for candidate in candidates[number]]
            best = min(range(len(costs)), key=costs.__getitem__)
            chosen[number] = candidates[number][best]
            total += costs[best]
        if before == chosen or not compare:
            break
    routes_of = {number: candidate.route for number, candidate in chosen.items()}
    taken = [candidate.samples for candidate in chosen.values()]
    for number, edge in enumerate(edges):
        if edge.source == edge.target:
            touching = [c.samples for n, c in chosen.items() if edge.source in (edges[n].source, edges[n].target)]
            routes_of[number], crowding = _loop(edge.source, centres, taken, touching)
            total += crowding
            taken.append(sample(routes_of[number], _STEPS))
    return [routes_of[number] for number in range(len(edges))], total


@dataclass(frozen=True, eq=False)
class _Candidate:
    """One way to go, and what is wrong with it by itself."""

    route: Route
    samples: Samples
    cost: float


def _ends(edge: Edge, centres: Mapping[str, Point]) -> tuple[Point, Point]:
    return centres[edge.source], centres[edge.target]


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
        routes.append((_leave(source, first, RADIUS), first, second, _leave(target, second, RADIUS + _TIP_GAP)))
    return routes


def _leave(centre: Point, towards: Point, radius: float) -> Point:
    distance = math.dist(centre, towards)
    return (
        centre[0] + (towards[0] - centre[0]) * radius / distance,
        centre[1] + (towards[1] - centre[1]) * radius / distance,
    )


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
    """What is wrong between a curve and the others: crossings, and running close together."""
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
    state: str, centres: Mapping[str, Point], taken: Sequence[Samples], touching: Sequence[Samples]
) -> tuple[Route, float]:
    """A loop where there is most room, above the state where that is as good as anywhere; and how crowded it is."""
    x, y = centre = centres[state]
    obstacles = np.array([other for name, other in centres.items() if name != state]).reshape(-1, 2)
    points = np.concatenate([obstacles, *taken])
    ends = [end - np.array(centre) for samples in touching for end in (samples[1], samples[-2])]
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
        _polar(centre, RADIUS, start),
        _polar(centre, reach, best + _LOOP_SPREAD * 1.15),
        _polar(centre, reach, best - _LOOP_SPREAD * 1.15),
        _polar(centre, RADIUS + _TIP_GAP, end),
    )
    return route, crowding(best)


def _turn(first: float, second: float) -> float:
    """The angle between two directions, in (-π, π]."""
    return (first - second + math.pi) % (2 * math.pi) - math.pi


def _polar(centre: Point, radius: float, angle: float) -> Point:
    return centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)
