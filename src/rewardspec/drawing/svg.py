"""Pictures as SVG text, with nothing but Python.

Colors follow the viewer's: each is a CSS variable such as `--rs-ink`, which has another value where dark pages are
preferred.  A page that shows a picture inline can set the variables on `svg.rewardspec` itself.  Viewers that know no
CSS variables use the light colors, which every shape has as its own.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from rewardspec.drawing import theme
from rewardspec.drawing.diagrams import Diagram
from rewardspec.drawing.pictures import scene_of
from rewardspec.drawing.scene import Box, Curve, Point, Polygon, Shape, Text


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
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rewardspec" role="img" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{theme.FONT}">',
        f"<title>{_escape(scene.title)}</title>",
        f"<desc>{_escape(scene.description)}</desc>",
        _style(scene.shapes),
        *map(_element, scene.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _style(shapes: Iterable[Shape]) -> str:
    """The colors in use as variables, light and dark."""
    parts = dict.fromkeys((getattr(shape, part, None), part) for shape in shapes for part in ("fill", "stroke"))
    used = dict.fromkeys(color for color, _ in parts if color is not None)
    light = "".join(f"--rs-{theme.DARK[color][0]}:{color};" for color in used)
    dark = "".join("--rs-{}:{};".format(*theme.DARK[color]) for color in used)
    painted = [(part, theme.DARK[color][0]) for color, part in parts if color is not None]
    return "\n".join(
        [
            "<style>",
            f".rewardspec{{{light}}}",
            f"@media (prefers-color-scheme:dark){{.rewardspec{{{dark}}}}}",
            "@supports (fill:var(--rs-ink)){",  # others would take the variable for an unknown color, and paint black
            *(f".rewardspec .{part[0]}-{name}{{{part}:var(--rs-{name})}}" for part, name in painted),
            "}",
            "</style>",
        ]
    )


def _element(shape: Shape) -> str:
    match shape:
        case Box():
            return (
                f'<rect x="{_number(shape.x)}" y="{_number(shape.y)}" width="{_number(shape.width)}" '
                f'height="{_number(shape.height)}" rx="{_number(shape.radius)}"{_paint(shape.fill, shape)}/>'
            )
        case Curve():
            start, *rest = map(_pair, shape.points)
            return f'<path d="M{start} C{" ".join(rest)}"{_paint(None, shape)}/>'
        case Polygon():
            return f'<polygon points="{" ".join(map(_pair, shape.points))}"{_paint(shape.fill)}/>'
        case Text():
            anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
            weight = ' font-weight="bold"' if shape.bold else ""
            return (
                f'<text x="{_number(shape.x)}" y="{_number(shape.y)}" font-size="{_number(shape.size)}"'
                f"{_paint(shape.fill)}{anchor}{weight}>{_escape(shape.text)}</text>"
            )


def _paint(fill: str | None, outlined: Box | Curve | None = None) -> str:
    """The attributes of a shape's colors."""
    classes = [] if fill is None else [f"f-{theme.DARK[fill][0]}"]
    text = f' fill="{fill or "none"}"'
    if outlined is not None and outlined.stroke is not None:
        classes.append(f"s-{theme.DARK[outlined.stroke][0]}")
        dashes = ' stroke-dasharray="5 3.5"' if outlined.dashed else ""
        text += f' stroke="{outlined.stroke}" stroke-width="{_number(outlined.stroke_width)}"{dashes}'
    return f' class="{" ".join(classes)}"{text}' if classes else text


def _number(value: float) -> str:
    """At most two decimals, so that files are small and do not differ in the last bits."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _pair(point: Point) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _escape(text: str) -> str:
    return html.escape(text, quote=False).replace('"', "&quot;")
