"""From diagrams to scenes: which layout draws what."""

from __future__ import annotations

from rewardspec.monitors.diagrams import Diagram
from rewardspec.monitors.drawing.frame import framed
from rewardspec.monitors.drawing.graphs import graph_shapes, layered
from rewardspec.monitors.drawing.graphviz import laid_out_by_dot
from rewardspec.monitors.drawing.legends import with_keys
from rewardspec.monitors.drawing.rows import row_shapes
from rewardspec.monitors.drawing.scene import Scene

# Up to about as many edges between different states the layout of our own is the clearer one, and quick enough.
_TANGLED = 40


def scene_of(diagram: Diagram) -> Scene:
    """The diagram as shapes at their places."""
    if diagram.is_row:
        return framed(diagram, row_shapes(diagram))
    shown, legend = with_keys(diagram)
    tangled = sum(edge.source != edge.target for edge in shown.edges) > _TANGLED
    layout = (laid_out_by_dot(shown) if tangled else None) or layered(shown)
    return framed(shown, graph_shapes(shown, layout), legend)
