"""Colors and sizes of the pictures: a calm purple that prints well, and its counterpart for dark pages."""

from __future__ import annotations

INK = "#22223a"
SOFT_INK = "#6a6a85"
STRONG_INK = "#4b3fa3"
LINE = "#4a4a68"
PAPER = "#ffffff"
PAPER_EDGE = "#e4e4ef"
FILL = "#e6e6ff"
FILL_STATE = "#d9d9ff"
STROKE = "#8c8cdc"
GLOW = "#d2d2f7"
FILL_MUTED = "#f3f3f6"
STROKE_MUTED = "#b5b5c4"
LINE_MUTED = "#a9a9ba"

DARK = {
    INK: ("ink", "#e6e6f2"),
    SOFT_INK: ("soft-ink", "#a6a6c0"),
    STRONG_INK: ("strong-ink", "#bdb4ff"),
    LINE: ("line", "#b4b4d0"),
    PAPER: ("paper", "#191a23"),
    PAPER_EDGE: ("paper-edge", "#363748"),
    FILL: ("fill", "#2a2b47"),
    FILL_STATE: ("fill-state", "#34356a"),
    STROKE: ("stroke", "#8585d8"),
    GLOW: ("glow", "#44457c"),
    FILL_MUTED: ("fill-muted", "#24252f"),
    STROKE_MUTED: ("stroke-muted", "#5f6074"),
    LINE_MUTED: ("line-muted", "#6c6d82"),
}
"""For each color its name, and what it becomes on a dark page."""

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
TITLE_SIZE = 15.0
TEXT_SIZE = 13.0
SMALL_SIZE = 11.5
LINE_HEIGHT = 1.5

STROKE_WIDTH = 1.6
EDGE_WIDTH = 1.5
"""Width of the lines around states, and of the lines between them."""
