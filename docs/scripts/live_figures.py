"""Write docs/_static/live/*.html: figures that can be played with, each a page that needs nothing else.

Run from anywhere: python docs/scripts/live_figures.py
"""

from __future__ import annotations

from pathlib import Path

import rewardspec as rs
from rewardspec.pages.live_figure import figure_html

FOLDER = Path(__file__).resolve().parents[1] / "_static" / "live"
STEPS = 60


def pulses(*spans: tuple[int, int], height: float = 1.0) -> list[float]:
    """A signal that is high from one step up to another, again and again."""
    return [height if any(first <= step < last for first, last in spans) else 0.0 for step in range(STEPS)]


def rising(first: int, last: int) -> list[float]:
    """A signal that grows from 0 to 1, and stays there."""
    return [min(1.0, max(0.0, (step - first) / (last - first))) for step in range(STEPS)]


def figures() -> dict[str, str]:
    """The figures' pages, by name."""
    near = [round(x * (0.75 if 25 < step < 34 else 1.0), 3) for step, x in enumerate(rising(4, 50))]
    return {
        "payment": figure_html(
            rs.Spec([("F goal", 1)], payment="delta"), {"goal": near}, "One formula, paid in four ways"
        ),
        "deadline": figure_html(
            rs.Spec([rs.Pair("G(request -> F[0,12] grant)", 1, veto=False)]),
            {"request": pulses((5, 8), (26, 28)), "grant": pulses((14, 16), (44, 47))},
            "A deadline that is met once, and missed once",
            reward=False,
        ),
        "progress": figure_html(
            rs.Spec([rs.Pair("F(key & F(door & F goal))", 1, progress=True)], payment="delta"),
            {"key": pulses((10, 13)), "door": pulses((4, 6), (28, 32)), "goal": pulses((20, 22), (48, 50))},
            "One thing after another, and how far it has come",
        ),
        "veto": figure_html(
            rs.Spec([("F goal", 2), ("G safe", 1)], penalty=-1),
            {
                "goal": rising(6, 40),
                "safe": [0.0 if 44 <= s < 46 else 0.6 if 20 <= s < 24 else 1.0 for s in range(STEPS)],
            },
            "A violation that vetoes what comes after it",
        ),
    }


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in figures().items():
        (FOLDER / f"{name}.html").write_text(page, encoding="utf-8")
        print(f"wrote {name}.html, {len(page):,} characters")


if __name__ == "__main__":
    main()
