"""Pictures by matplotlib, for PNG and PDF files: the same shapes as in the SVG."""

from __future__ import annotations

import io
from typing import Any

from rewardspec.drawing.diagrams import Diagram
from rewardspec.drawing.scene import Box, Curve, Polygon, Scene, Shape, Text
from rewardspec.drawing.scenes import scene_of
from rewardspec.errors import MissingExtraError

_POINTS_PER_INCH = 72.0
_PNG_DPI = 192
# The font that the text was measured with; it comes with matplotlib.
_FONT = "DejaVu Sans"
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}
_DASHES = (0, (3.5, 2.5))


def to_image(diagram: Diagram, form: str) -> bytes:
    """The diagram as the content of a file.

    Args:
        diagram: What to draw.
        form: `"png"` or `"pdf"`.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
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
    figure.savefig(content, format=form, dpi=_PNG_DPI, transparent=True, metadata=metadata | _title(scene))
    return content.getvalue()


def _title(scene: Scene) -> dict[str, str]:
    return {"Title": scene.title}


def _draw(axes: Any, shape: Shape) -> None:
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
