"""Drawing diagrams of machines: as text for Graphviz and Mermaid, and as pictures."""

from rewardspec.monitors.drawing.dot import to_dot
from rewardspec.monitors.drawing.files import FORMATS, render
from rewardspec.monitors.drawing.mermaid import to_mermaid
from rewardspec.monitors.drawing.svg import to_svg

__all__ = ["FORMATS", "render", "to_dot", "to_mermaid", "to_svg"]
