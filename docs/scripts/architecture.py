"""Draw docs/images/architecture.svg: library and lab, their layers, and the path of one step through them.

Run from anywhere: python docs/scripts/architecture.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parents[1] / "images" / "architecture.svg"
INK, QUIET, LINE, STEP, PALE = "#22223a", "#6a6a85", "#d9d9e8", "#5b3fa8", "#f0ecfb"
WIDTH, TOP, ROW, BOX, GAP = 900, 66, 58, 42, 62

# From the layer that imports no other to the one that imports them all; tests/test_docs.py compares with the package.
LIBRARY = {
    "logic": "what can be said",
    "machines": "what runs",
    "synthesis": "how it is made",
    "drawing": "what it looks like",
    "spec": "what is paid",
    "export": "what runs elsewhere",
    "episodes": "what happened",
    "transcripts": "what agents did",
    "pages": "what is looked at",
    "finite": "what can be solved",
    "wrappers": "where it plugs in",
    "jax": "the same, compiled",
    "torch": "the same, for robots",
    "pettingzoo": "the same, for teams",
    "audit": "what is asked for",
    "cli": "its commands",
}
LAB = {
    "lab.tasks": "what is played",
    "lab.learning": "who learns",
    "lab.experiments": "what is shown",
    "lab.paper": "one evaluation",
    "lab.cli": "its commands",
}
LAYERS = LIBRARY | LAB

# The layer, from where to where, and the text of everything on the right; what has a number happens at every step.
PLACES: dict[str, tuple[str, int, int, str]] = {
    "parse": ("logic", 410, 770, "text → formula"),
    "5": ("machines", 330, 870, "compiled program: labels → new registers, values"),
    "synthesize": ("synthesis", 410, 770, "formula → control states, registers, bounds"),
    "4": ("spec", 330, 580, "atoms: transition → labels"),
    "6": ("spec", 620, 870, "veto, payment → reward"),
    "export": ("export", 330, 580, "program → C, JavaScript"),
    "page": ("pages", 330, 580, "an episode → one page with a slider"),
    "product": ("finite", 330, 580, "table P × spec → finite product"),
    "2": ("wrappers", 330, 580, "MonitorReward.step"),
    "7": ("wrappers", 620, 870, "registers → observation, info"),
    "3": ("lab.tasks", 390, 580, "the environment steps"),
    "1": ("lab.learning", 330, 580, "chooses an action"),
    "8": ("lab.learning", 620, 870, "learns from the reward"),
    "runs": ("lab.experiments", 410, 770, "jobs → results → table, figure, report"),
}
ROUTES = (
    ("1→2", ((355, "lab.learning", -1), (355, "wrappers", 1))),
    ("2→3", ((480, "wrappers", 1), (480, "lab.tasks", -1))),
    ("3→4", ((580, "lab.tasks", 0), (600, "lab.tasks", 0), (600, "spec", 0), (580, "spec", 0))),
    ("4→5", ((355, "spec", -1), (355, "machines", 1))),
    ("5→6", ((845, "machines", 1), (845, "spec", -1))),
    ("6→7", ((845, "spec", 1), (845, "wrappers", -1))),
    ("7→8", ((845, "wrappers", 1), (845, "lab.learning", -1))),
)


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(picture(), encoding="utf-8")
    print(f"wrote {PICTURE.name}")


def picture() -> str:
    """The picture."""
    height = TOP + ROW * len(LAYERS) + GAP + 14
    border = TOP + ROW * len(LIBRARY) + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="Helvetica, Arial, \'DejaVu Sans\', sans-serif">',
        "<title>Library and lab, their layers, and the path of one step through them</title>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="10" fill="#ffffff" stroke="#e4e4ef"/>',
        _text(28, 34, "Library", 15, INK, bold=True),
        _text(28, 52, "each layer imports those above it", 11.5, QUIET),
        f'<line x1="20" y1="{border}" x2="{WIDTH - 20}" y2="{border}" stroke="{LINE}" stroke-width="1.4"/>',
        _text(28, border + 26, "Lab", 15, INK, bold=True),
        _text(28, border + 44, "rewardspec.lab; the library never imports it", 11.5, QUIET),
        _text(330, 34, "One step", 15, INK, bold=True),
        _text(330, 52, "1 to 8: at every step; dashed: once", 11.5, QUIET),
    ]
    for name, meaning in LAYERS.items():
        y = _middle(name)
        parts.append(_box(20, y, 270, INK, "#ffffff"))
        parts.append(
            _text(34, y + 4.5, name.removeprefix("lab."), 14, INK, bold=True)
            + _text(140, y + 4.5, meaning, 12.5, QUIET)
        )
    for _, route in ROUTES:
        points = [(x, _middle(layer) + side * BOX / 2) for x, layer, side in route]
        parts.append(_arrow(points))
    for key, (layer, left, right, words) in PLACES.items():
        y, every = _middle(layer), key.isdigit()
        parts.append(
            _box(left, y, right - left, STEP if every else QUIET, PALE if every else "#ffffff", dashed=not every)
        )
        if every:
            parts.append(f'<circle cx="{left + 21}" cy="{y}" r="11" fill="{STEP}"/>')
            parts.append(_text(left + 21, y + 4.5, key, 12.5, "#ffffff", bold=True, anchor="middle"))
        parts.append(_text(left + (40 if every else 16), y + 4.5, words, 12.5, INK if every else QUIET))
    return "\n".join([*parts, "</svg>\n"])


def _middle(layer: str) -> float:
    return TOP + ROW * (list(LAYERS).index(layer) + 0.5) + GAP * (layer in LAB)


def _box(x: float, y: float, width: float, stroke: str, fill: str, *, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="4 3"' if dashed else ""
    line = stroke if stroke != INK else LINE
    return (
        f'<rect x="{x}" y="{y - BOX / 2}" width="{width}" height="{BOX}" rx="9" fill="{fill}" stroke="{line}" '
        f'stroke-width="1.4"{dashes}/>'
    )


def _text(x: float, y: float, words: str, size: float, fill: str, *, bold: bool = False, anchor: str = "start") -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}" text-anchor="{anchor}"{weight}>{escape(words)}</text>'
    )


def _arrow(points: list[tuple[float, float]]) -> str:
    (x0, y0), (x, y) = points[-2:]
    across, down = (x > x0) - (x < x0), (y > y0) - (y < y0)
    base = (x - 8 * across, y - 8 * down)
    line = " ".join(f"{px},{py}" for px, py in [*points[:-1], base])
    tip = f"{x},{y} {base[0] + 4.5 * down},{base[1] + 4.5 * across} {base[0] - 4.5 * down},{base[1] - 4.5 * across}"
    path = f'<polyline points="{line}" fill="none" stroke="{STEP}" stroke-width="1.6"/>'
    return f'{path}<polygon points="{tip}" fill="{STEP}"/>'


if __name__ == "__main__":
    main()
