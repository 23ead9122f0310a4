"""From diagrams to scenes: which layout draws what."""

from __future__ import annotations

from rewardspec.drawing.automaton_pictures import graph_shapes, layered
from rewardspec.drawing.diagrams import Diagram
from rewardspec.drawing.frame import framed
from rewardspec.drawing.graphviz import laid_out_by_dot
from rewardspec.drawing.legends import with_keys
from rewardspec.drawing.register_pictures import row_shapes
from rewardspec.drawing.scene import Scene

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
