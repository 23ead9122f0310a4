"""Draw docs/images/time-*.svg: each pattern about time on a small signal, with its formula and its words.

Run from anywhere: python docs/scripts/timed_patterns.py
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

import rewardspec as rs
from rewardspec import patterns
from rewardspec.drawing import theme
from rewardspec.drawing.text_metrics import wrap
from rewardspec.logic.words import paraphrase

IMAGES = Path(__file__).resolve().parents[1] / "images"
WIDTH, LEFT, STRIP, VALUE = 340, 70, 20, 56
SHOWN = {"#": 1.0, "+": 0.7, "-": 0.3, ".": 0.0}


class Example(NamedTuple):
    """A pattern with its arguments, and the labels it is shown on: `#` is 1, `+` is 0.7, `-` is 0.3 and `.` is 0.

    What a formula says of the past is shown as it is at each step, so with `now` before it.
    """

    call: str
    formula: rs.Formula
    labels: dict[str, str]


EXAMPLES = {
    example.call.partition("(")[0]: example
    for example in (
        Example("within(goal, 5)", patterns.within("goal", 5), {"goal": "..-.+......#...."}),
        Example("soon(goal, discount=0.9)", patterns.soon("goal", discount=0.9), {"goal": "....-....#......"}),
        Example("not_before(leave, 6)", patterns.not_before("leave", 6), {"leave": "...-......##...."}),
        Example(
            "response_within(call, answer, 4)",
            patterns.response_within("call", "answer", 4),
            {"call": ".#......#.......", "answer": "....#.........#."},
        ),
        Example(
            "precedence_within(key, open, 4)",
            patterns.precedence_within("key", "open", 4),
            {"key": "..#.............", "open": ".....#.....-..#."},
        ),
        Example(
            "recurrence_within(charge, 5)", patterns.recurrence_within("charge", 5), {"charge": "...#....#......."}
        ),
        Example("lasts(up, 5)", patterns.lasts("up", 5), {"up": "##+###.###......"}),
        Example(
            "holds_for(alarm, open, 3)",
            patterns.holds_for("alarm", "open", 3),
            {"alarm": "..#......#......", "open": "..####...#++...."},
        ),
        Example(
            "absence_for(move, 3, after=red)",
            patterns.absence_for("move", 3, after="red"),
            {"red": "..#.....#.......", "move": "##....##..-....."},
        ),
        Example("minimum_duration(green, 3)", patterns.minimum_duration("green", 3), {"green": "..#####....##..."}),
        Example("maximum_duration(hot, 3)", patterns.maximum_duration("hot", 3), {"hot": ".###....+#######"}),
        Example("at_least(visit, 3)", patterns.at_least("visit", 3), {"visit": ".#...+....#..#.."}),
        Example("at_most(retry, 2)", patterns.at_most("retry", 2), {"retry": ".#....#...-..#.."}),
        Example("exactly(press, 2)", patterns.exactly("press", 2), {"press": "..#...#.....#..."}),
        Example("all_but(road, 2)", patterns.all_but("road", 2), {"road": "##.###.###+##.##"}),
        Example("nearly_always(road, 2)", patterns.nearly_always("road", 2), {"road": "##.###.###+##.##"}),
        Example("recently(key, 4)", patterns.recently("key", 4), {"key": "..#......+......"}),
        Example("for_the_last(quiet, 3)", patterns.for_the_last("quiet", 3), {"quiet": "##..######+#####"}),
    )
}


def main() -> None:
    """Write the pictures."""
    for name in EXAMPLES:
        path(name).write_text(picture(name), encoding="utf-8")
    print(f"wrote {len(EXAMPLES)} pictures, images/time-*.svg")


def path(name: str) -> Path:
    """Where the picture of a pattern is."""
    return IMAGES / f"time-{name}.svg"


def picture(name: str) -> str:
    """The picture of a pattern."""
    example = EXAMPLES[name]
    words = paraphrase(example.formula) or ""
    written = f"now {example.formula}" if rs.is_past(example.formula) else str(example.formula)
    parts, y = [_text(12, 24, example.call, 13.5, theme.INK, bold=True)], 24.0
    for line in wrap(written, WIDTH - 24, 11.5):
        y += 17
        parts.append(_text(12, y, line, 11.5, theme.STRONG_INK))
    for line in wrap(words, WIDTH - 24, 11.0):
        y += 15.5
        parts.append(_text(12, y, line, 11, theme.SOFT_INK))
    y += 12
    for atom, marks in example.labels.items():
        parts.append(_text(LEFT - 8, y + STRIP - 6, atom, 11, theme.SOFT_INK, anchor="end"))
        for step, mark in enumerate(marks):
            height = max(SHOWN[mark] * STRIP, 1.2)
            parts.append(_box(_x(step) - _pace(marks) * 0.36, y + STRIP - height, _pace(marks) * 0.72, height))
        y += STRIP + 7
    y += 4
    parts.extend(_value(example, y))
    y += VALUE + 20
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
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rewardspec" role="img" width="{WIDTH}" height="{y:g}" '
        f'viewBox="0 0 {WIDTH} {y:g}" font-family="{theme.FONT}">',
        f"<title>{escape(example.call)}: {escape(words)}</title>",
        f"<style>.rewardspec{{{light}}}@media (prefers-color-scheme:dark){{.rewardspec{{{dark}}}}}</style>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{y - 1:g}" rx="8" style="fill:{_color(theme.PAPER)};'
        f'stroke:{_color(theme.PAPER_EDGE)}"/>',
    ]
    return "\n".join([*opening, *parts, "</svg>\n"])


def _value(example: Example, top: float) -> Iterator[str]:
    """The value after each step, with what it can still become behind it."""
    formula = example.formula
    monitor = rs.synthesize(patterns.now(formula) if rs.is_past(formula) else formula)
    state, rows = monitor.initial_state(), []
    for marks in zip(*example.labels.values(), strict=True):
        labels = {atom: SHOWN[mark] for atom, mark in zip(example.labels, marks, strict=True)}
        state, value = monitor.step(state, labels)
        rows.append((value, *monitor.bounds(state)))

    def height(value: float) -> float:
        return top + VALUE * (1.0 - value)

    half = _pace(rows) / 2
    for step, (_, lower, upper) in enumerate(rows):
        if upper > lower:
            yield _box(_x(step) - half, height(upper), 2 * half, VALUE * (upper - lower), theme.FILL_STATE)
    for level in (0, 1):
        yield _text(LEFT - 8, height(level) + 4, str(level), 11, theme.SOFT_INK, anchor="end")
        yield _line([(LEFT, height(level)), (WIDTH - 12, height(level))], theme.PAPER_EDGE, 1)
    yield _text(LEFT - 8, height(0.5) + 4, "value", 11, theme.STRONG_INK, anchor="end")
    corners = [(_x(step) + side * half, height(row[0])) for step, row in enumerate(rows) for side in (-1, 1)]
    yield _line(corners, theme.STRONG_INK, 2.2)
    for step in range(0, len(rows), 5):
        yield _text(_x(step), top + VALUE + 14, str(step), 10, theme.SOFT_INK, anchor="middle")


def _pace(steps: str | list[tuple[float, ...]]) -> float:
    return (WIDTH - 12 - LEFT) / len(steps)


def _x(step: int) -> float:
    return LEFT + (WIDTH - 12 - LEFT) / 16 * (step + 0.5)


def _color(color: str) -> str:
    return f"var(--rs-{theme.DARK[color][0]},{color})"


def _box(x: float, y: float, width: float, height: float, color: str = theme.STROKE) -> str:
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}" style="fill:{_color(color)}" '
        'shape-rendering="crispEdges"/>'
    )


def _line(points: list[tuple[float, float]], color: str, width: float) -> str:
    drawn = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    return f'<polyline points="{drawn}" style="fill:none;stroke:{_color(color)};stroke-width:{width:g}"/>'


def _text(x: float, y: float, text: str, size: float, color: str, *, bold: bool = False, anchor: str = "start") -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-size="{size:g}" text-anchor="{anchor}"{weight} '
        f'style="fill:{_color(color)}">{escape(text)}</text>'
    )


if __name__ == "__main__":
    main()
