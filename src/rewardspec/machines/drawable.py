"""Pictures as methods: what every monitor can be drawn as."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rewardspec.drawing.diagrams import Diagram


class Drawable:
    """A machine with a diagram; the renderers are loaded when first used."""

    def diagram(self) -> Diagram:
        """The machine as boxes and arrows, before any layout."""
        from rewardspec.drawing.diagrams import diagram_of

        return diagram_of(self)  # type: ignore[arg-type]  # the two monitors are the only machines with this base

    def to_dot(self) -> str:
        """Return the machine as Graphviz text."""
        from rewardspec.drawing import to_dot

        return to_dot(self.diagram())

    def to_mermaid(self) -> str:
        """Return the machine as a Mermaid diagram."""
        from rewardspec.drawing import to_mermaid

        return to_mermaid(self.diagram())

    def to_svg(self) -> str:
        """Return the machine as an SVG picture."""
        from rewardspec.drawing import to_svg

        return to_svg(self.diagram())

    def _repr_svg_(self) -> str | None:
        """The picture in a notebook; None, which shows the text, where the machine is too large to draw."""
        from rewardspec.drawing.diagrams import DiagramError

        try:
            return self.to_svg()
        except DiagramError:
            return None
