"""Pictures as SVG text, with nothing but Python."""

from __future__ import annotations

from collections.abc import Iterable

from rewardspec.drawing import theme
from rewardspec.drawing.diagrams import Diagram
from rewardspec.drawing.scene import Box, Curve, Point, Polygon, Shape, Text
from rewardspec.drawing.scenes import scene_of


def to_svg(diagram: Diagram) -> str:
    """The diagram as an SVG document.

    Example:
        >>> from rewardspec.drawing.diagrams import diagram_of
        >>> from rewardspec.synthesis.quantitative.synthesize import synthesize
        >>> to_svg(diagram_of(synthesize("F goal"))).splitlines()[1]
        '<title>F goal</title>'
    """
    scene = scene_of(diagram)
    width, height = _number(scene.width), _number(scene.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{theme.FONT}">',
        f"<title>{_escape(scene.title)}</title>",
        f"<desc>{_escape(scene.description)}</desc>",
        *map(_element, scene.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _element(shape: Shape) -> str:
    match shape:
        case Box():
            return (
                f'<rect x="{_number(shape.x)}" y="{_number(shape.y)}" width="{_number(shape.width)}" '
                f'height="{_number(shape.height)}" rx="{_number(shape.radius)}" fill="{shape.fill or "none"}"'
                f"{_stroke(shape)}/>"
            )
        case Curve():
            start, *rest = map(_pair, shape.points)
            return f'<path d="M{start} C{" ".join(rest)}" fill="none"{_stroke(shape)}/>'
        case Polygon():
            return f'<polygon points="{_pairs(shape.points)}" fill="{shape.fill}"/>'
        case Text():
            anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
            weight = ' font-weight="bold"' if shape.bold else ""
            return (
                f'<text x="{_number(shape.x)}" y="{_number(shape.y)}" font-size="{_number(shape.size)}" '
                f'fill="{shape.fill}"{anchor}{weight}>{_escape(shape.text)}</text>'
            )


def _stroke(shape: Box | Curve) -> str:
    if shape.stroke is None:
        return ""
    dashes = ' stroke-dasharray="5 3.5"' if shape.dashed else ""
    return f' stroke="{shape.stroke}" stroke-width="{_number(shape.stroke_width)}"{dashes}'


def _number(value: float) -> str:
    """At most two decimals, so that files are small and do not differ in the last bits."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _pair(point: Point) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _pairs(points: Iterable[Point]) -> str:
    return " ".join(map(_pair, points))


def _escape(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text
