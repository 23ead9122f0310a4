"""Scenes: a picture as plain shapes, which SVG and matplotlib draw alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Point: TypeAlias = tuple[float, float]


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
