"""Scenes: a picture as plain shapes, which SVG and matplotlib draw alike; and the geometry of curves and arrows."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rewardspec.drawing.text_metrics import width

Point: TypeAlias = tuple[float, float]

_HEAD_LENGTH, _HEAD_SLOPE = 9.5, 0.45
# How far along the quarter circle's tangents its control points lie.
_ROUND = 0.5523


@dataclass(frozen=True)
class Box:
    """A rounded rectangle; a circle where the radius is half of both sides."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str | None
    stroke: str | None = None
    stroke_width: float = 0.0
    dashed: bool = False


@dataclass(frozen=True)
class Curve:
    """Cubic curves one after the other: a start, then three points for each."""

    points: tuple[Point, ...]
    stroke: str
    stroke_width: float
    dashed: bool = False


@dataclass(frozen=True)
class Polygon:
    """A filled polygon."""

    points: tuple[Point, ...]
    fill: str


@dataclass(frozen=True)
class Text:
    """One line of text; `y` is its baseline."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False


Shape: TypeAlias = Box | Curve | Polygon | Text


@dataclass(frozen=True)
class Scene:
    """Shapes, drawn in order, within `(0, 0)` and `(width, height)`; `y` grows downwards."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    title: str
    description: str


# Where shapes are.


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


# Curves.


def point_at(points: Sequence[Point], t: float) -> Point:
    """The point at `t` in [0, 1] of curves one after the other."""
    pieces = (len(points) - 1) // 3
    piece = min(int(t * pieces), pieces - 1)
    s = t * pieces - piece
    a, b, c, d = points[3 * piece : 3 * piece + 4]
    weights = ((1 - s) ** 3, 3 * s * (1 - s) ** 2, 3 * s * s * (1 - s), s**3)
    x, y = (sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1))
    return x, y


def sample(points: Sequence[Point], count: int = 16) -> npt.NDArray[np.float64]:
    """Points along curves one after the other, `count` stretches in each, both ends included."""
    pieces = [_weights(count) @ np.array(points[at : at + 4]) for at in range(0, len(points) - 1, 3)]
    return np.concatenate([*(piece[:-1] for piece in pieces), pieces[-1][-1:]])


@functools.cache
def _weights(count: int) -> npt.NDArray[np.float64]:
    t = np.linspace(0.0, 1.0, count + 1)[:, None]
    return np.concatenate([(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3], axis=1)


def normal_at(points: Sequence[Point], t: float) -> Point:
    """The unit vector to the left of the direction at `t`, for someone who sees `y` grow downwards."""
    (x0, y0), (x1, y1) = point_at(points, max(0.0, t - 0.02)), point_at(points, min(1.0, t + 0.02))
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    return (y1 - y0) / length, -(x1 - x0) / length


def straight(start: Point, end: Point) -> tuple[Point, ...]:
    """A straight line as a curve."""
    return start, _between(start, end, 1 / 3), _between(start, end, 2 / 3), end


def rounded(corners: Sequence[Point], radius: float) -> tuple[Point, ...]:
    """Straight lines from corner to corner, the inner corners rounded."""
    points: list[Point] = [corners[0]]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        bend = min(radius, math.dist(before, corner) / 2, math.dist(corner, after) / 2)
        enter, leave = towards(corner, before, bend), towards(corner, after, bend)
        points += straight(points[-1], enter)[1:]
        points += [towards(enter, corner, bend * _ROUND), towards(leave, corner, bend * _ROUND), leave]
    points += straight(points[-1], corners[-1])[1:]
    return tuple(points)


def arrow(points: Sequence[Point], color: str, width: float) -> list[Shape]:
    """The curve with a head at its end."""
    tip = points[-1]
    # The line ends inside the head, which points where the line's last stretch does.
    shaft = _cut(points, _HEAD_LENGTH * 0.75)
    base = towards(tip, shaft[-1], _HEAD_LENGTH)
    side_x, side_y = ((tip[1] - base[1]) * _HEAD_SLOPE, (base[0] - tip[0]) * _HEAD_SLOPE)
    head = (tip, (base[0] + side_x, base[1] + side_y), shaft[-1], (base[0] - side_x, base[1] - side_y))
    return [Curve(shaft, color, width), Polygon(head, color)]


def _cut(points: Sequence[Point], distance: float) -> tuple[Point, ...]:
    """The curve without what lies within a distance of its end."""
    *before, a, b, c, d = points
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if math.dist(point_at((a, b, c, d), middle), d) > distance else (low, middle)
    ab, bc, cd = _between(a, b, low), _between(b, c, low), _between(c, d, low)
    abc, bcd = _between(ab, bc, low), _between(bc, cd, low)
    return (*before, a, ab, abc, _between(abc, bcd, low))


def _between(start: Point, end: Point, share: float) -> Point:
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def towards(start: Point, end: Point, distance: float) -> Point:
    """The point at a distance from the start on the way to the end."""
    return _between(start, end, distance / (math.dist(start, end) or 1.0))
