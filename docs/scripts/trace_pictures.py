"""Drawing for timed_patterns.py and recipes.py: the labels of an episode, and a formula's value below them."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import NamedTuple

import rewardspec as rs
from rewardspec.drawing import theme

SHOWN = {"#": 1.0, "+": 0.7, "-": 0.3, ".": 0.0}
"""The labels that the marks of an episode stand for."""

Row = tuple[float, float, float]
"""The value after a step, and the least and the most that it can still become."""


class Panel(NamedTuple):
    """The part of a picture that shows one episode.

    Attributes:
        left: Where the first step begins.
        right: Where the last step ends.
        steps: The number of steps.
        strip: The height of an atom's labels.
        value: The height of the formula's value.
    """

    left: float
    right: float
    steps: int
    strip: float = 20
    value: float = 56

    @property
    def pace(self) -> float:
        """The width of a step."""
        return (self.right - self.left) / self.steps

    def x(self, step: int) -> float:
        """The middle of a step."""
        return self.left + self.pace * (step + 0.5)


def trace(labels: dict[str, str]) -> dict[str, list[float]]:
    """Return the labels that the marks of an episode stand for."""
    return {atom: [SHOWN[mark] for mark in marks] for atom, marks in labels.items()}


def rows(formula: rs.Formula, labels: dict[str, str]) -> list[Row]:
    """Return the value and its bounds after each step."""
    monitor = rs.synthesize(formula)
    state, found = monitor.initial_state(), []
    for letter in zip(*trace(labels).values(), strict=True):
        state, value = monitor.step(state, dict(zip(labels, letter, strict=True)))
        found.append((value, *monitor.bounds(state)))
    return found


def bars(panel: Panel, marks: str, top: float) -> Iterator[str]:
    """Draw the labels of an atom."""
    for step, mark in enumerate(marks):
        height = max(SHOWN[mark] * panel.strip, 1.2)
        yield box(panel.x(step) - panel.pace * 0.36, top + panel.strip - height, panel.pace * 0.72, height)


def value(panel: Panel, found: list[Row], top: float, *, captions: bool = True) -> Iterator[str]:
    """Draw the value after each step, in front of what it can still become."""

    def height(level: float) -> float:
        return top + panel.value * (1.0 - level)

    half = panel.pace / 2
    for step, (_, lower, upper) in enumerate(found):
        if upper > lower:
            yield box(panel.x(step) - half, height(upper), 2 * half, panel.value * (upper - lower), theme.FILL_STATE)
    for level in (0, 1):
        if captions:
            yield text(panel.left - 8, height(level) + 4, str(level), 11, theme.SOFT_INK, anchor="end")
        yield line([(panel.left, height(level)), (panel.right, height(level))], theme.PAPER_EDGE, 1)
    if captions:
        yield text(panel.left - 8, height(0.5) + 4, "value", 11, theme.STRONG_INK, anchor="end")
    corners = [(panel.x(step) + side * half, height(row[0])) for step, row in enumerate(found) for side in (-1, 1)]
    yield line(corners, theme.STRONG_INK, 2.2)
    for step in range(0, len(found), 5):
        yield text(panel.x(step), top + panel.value + 14, str(step), 10, theme.SOFT_INK, anchor="middle")


def card(width: float, height: float, title: str, parts: list[str]) -> str:
    """Put drawn parts on a card, with colors for light and for dark pages."""
    colors = (
        theme.PAPER,
        theme.PAPER_EDGE,
        theme.INK,
        theme.SOFT_INK,
        theme.STRONG_INK,
        theme.STROKE,
        theme.FILL_STATE,
    )
    light = "".join(f"--rs-{theme.DARK[color][0]}:{color};" for color in colors)
    dark = "".join("--rs-{}:{};".format(*theme.DARK[color]) for color in colors)
    opening = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rewardspec" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="{theme.FONT}">',
        f"<title>{escape(title)}</title>",
        f"<style>.rewardspec{{{light}}}@media (prefers-color-scheme:dark){{.rewardspec{{{dark}}}}}</style>",
        f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="8" '
        f'style="fill:{_color(theme.PAPER)};stroke:{_color(theme.PAPER_EDGE)}"/>',
    ]
    return "\n".join([*opening, *parts, "</svg>\n"])


def box(x: float, y: float, width: float, height: float, color: str = theme.STROKE) -> str:
    """Draw a filled rectangle."""
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" style="fill:{_color(color)}" '
        'shape-rendering="crispEdges"/>'
    )


def line(points: list[tuple[float, float]], color: str, width: float) -> str:
    """Draw a line through points."""
    drawn = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    return f'<polyline points="{drawn}" style="fill:none;stroke:{_color(color)};stroke-width:{width:g}"/>'


def text(
    x: float, y: float, content: str, size: float, color: str, *, bold: bool = False, anchor: str = "start"
) -> str:
    """Draw a line of text."""
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-size="{size:g}" text-anchor="{anchor}"{weight} '
        f'style="fill:{_color(color)}">{escape(content)}</text>'
    )


def _color(color: str) -> str:
    return f"var(--rs-{theme.DARK[color][0]},{color})"
