"""Writing pictures to files, in the format that the file's name asks for; PNG and PDF by matplotlib."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rewardspec.atomic_files import write_whole
from rewardspec.drawing.diagrams import Diagram, DiagramError
from rewardspec.drawing.dot import to_dot
from rewardspec.drawing.mermaid import to_mermaid
from rewardspec.drawing.pictures import scene_of
from rewardspec.drawing.scene import Box, Curve, Polygon, Shape, Text
from rewardspec.drawing.svg import to_svg
from rewardspec.errors import MissingExtraError, did_you_mean
from rewardspec.types import Plot

_POINTS_PER_INCH = 72.0
_PNG_DPI = 192
# The font that the text was measured with; it comes with matplotlib.
_FONT = "DejaVu Sans"
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}
_DASHES = (0, (3.5, 2.5))

_FORMATS: dict[str, Callable[[Diagram], str | bytes]] = {
    ".svg": to_svg,
    ".png": lambda diagram: to_image(diagram, "png"),
    ".pdf": lambda diagram: to_image(diagram, "pdf"),
    ".dot": to_dot,
    ".gv": to_dot,
    ".mmd": to_mermaid,
    ".md": lambda diagram: f"```mermaid\n{to_mermaid(diagram)}```\n",
}
FORMATS = tuple(_FORMATS)
"""The endings that `render` knows."""


def render(diagram: Diagram, path: str | os.PathLike[str]) -> None:
    """Write a picture; the name's ending says in which format.

    `.svg`, `.dot` and `.gv`, `.mmd` and `.md` (Mermaid, fenced in Markdown) need only Python; `.png` and `.pdf` need
    matplotlib.  The file is written whole or not at all.

    Raises:
        DiagramError: The ending is unknown, or the file cannot be written.
        MissingExtraError: The format needs matplotlib, and it is not installed.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in _FORMATS:
        raise DiagramError(
            f"Cannot tell the picture's format from {target.name!r}. Known endings: {', '.join(FORMATS)}."
            f"{did_you_mean(suffix, FORMATS)}"
        )
    if not target.parent.is_dir():
        raise DiagramError(
            f"Cannot write {str(target)!r}: there is no directory {str(target.parent)!r}. Make it first."
        )
    if target.is_dir():
        raise DiagramError(f"Cannot write {str(target)!r}: it is a directory. Name a file.")
    content = _FORMATS[suffix](diagram)
    try:
        write_whole(target, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise DiagramError(f"Cannot write {str(target)!r}: {error.strerror}.") from None


def to_image(diagram: Diagram, form: str) -> bytes:
    """The diagram as the content of a file, of the form `"png"` or `"pdf"`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(package="matplotlib", extra="plot", purpose="Drawing PNG and PDF files") from None
    scene = scene_of(diagram)
    figure = Figure(figsize=(scene.width / _POINTS_PER_INCH, scene.height / _POINTS_PER_INCH))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0.0, scene.width)
    axes.set_ylim(scene.height, 0.0)
    for shape in scene.shapes:
        _draw(axes, shape)
    content = io.BytesIO()
    # Without dates and versions the same diagram is the same file.
    metadata = {"CreationDate": None, "Producer": None, "Creator": None} if form == "pdf" else {"Software": None}
    figure.savefig(content, format=form, dpi=_PNG_DPI, transparent=True, metadata=metadata | {"Title": scene.title})
    return content.getvalue()


def _draw(axes: Plot, shape: Shape) -> None:
    from matplotlib import patches
    from matplotlib.path import Path

    match shape:
        case Box():
            look: dict[str, Any] = {
                "facecolor": shape.fill or "none",
                "edgecolor": shape.stroke or "none",
                "linewidth": shape.stroke_width,
                "linestyle": _DASHES if shape.dashed else "solid",
            }
            # matplotlib's rounded corners are not quite circular: enough to see in a circle.
            if shape.width == shape.height == 2 * shape.radius:
                axes.add_patch(patches.Circle((shape.x + shape.radius, shape.y + shape.radius), shape.radius, **look))
            else:
                style = patches.BoxStyle.Round(pad=0.0, rounding_size=shape.radius)
                corner = (shape.x, shape.y)
                axes.add_patch(patches.FancyBboxPatch(corner, shape.width, shape.height, boxstyle=style, **look))
        case Curve():
            codes = [Path.MOVETO, *[Path.CURVE4] * (len(shape.points) - 1)]
            axes.add_patch(
                patches.PathPatch(
                    Path(shape.points, codes),
                    facecolor="none",
                    edgecolor=shape.stroke,
                    linewidth=shape.stroke_width,
                    linestyle=_DASHES if shape.dashed else "solid",
                )
            )
        case Polygon():
            axes.add_patch(patches.Polygon(shape.points, closed=True, facecolor=shape.fill, edgecolor="none"))
        case Text():
            axes.text(
                shape.x,
                shape.y,
                shape.text,
                fontsize=shape.size,
                fontfamily=_FONT,
                fontweight="bold" if shape.bold else "normal",
                color=shape.fill,
                horizontalalignment=_ANCHORS[shape.anchor],
                verticalalignment="baseline",
                parse_math=False,
            )
