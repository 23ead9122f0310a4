"""Drawing diagrams of machines: as text for Graphviz and Mermaid, and as pictures."""

from rewardspec.drawing.dot import to_dot
from rewardspec.drawing.mermaid import to_mermaid
from rewardspec.drawing.picture_files import FORMATS, render
from rewardspec.drawing.svg import to_svg

__all__ = ["FORMATS", "render", "to_dot", "to_mermaid", "to_svg"]
