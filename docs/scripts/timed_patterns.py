"""Draw docs/images/time-*.svg: each pattern about time on a small signal, with its formula and its words.

Run from anywhere: python docs/scripts/timed_patterns.py
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from trace_pictures import Panel, bars, card, rows, text, value

import rewardspec as rs
from rewardspec import patterns
from rewardspec.drawing import theme
from rewardspec.drawing.text_metrics import wrap
from rewardspec.logic.words import paraphrase

IMAGES = Path(__file__).resolve().parents[1] / "images"
WIDTH = 340
PANEL = Panel(left=70, right=WIDTH - 12, steps=16)


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
        Example("held_for(up, 3)", patterns.held_for("up", 3), {"up": "##..###.-######."}),
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
    formula = patterns.now(example.formula) if rs.is_past(example.formula) else example.formula
    written = f"now {example.formula}" if rs.is_past(example.formula) else str(example.formula)
    parts, y = [text(12, 24, example.call, 13.5, theme.INK, bold=True)], 24.0
    for words_of_line in wrap(written, WIDTH - 24, 11.5):
        y += 17
        parts.append(text(12, y, words_of_line, 11.5, theme.STRONG_INK))
    for words_of_line in wrap(words, WIDTH - 24, 11.0):
        y += 15.5
        parts.append(text(12, y, words_of_line, 11, theme.SOFT_INK))
    y += 12
    for atom, marks in example.labels.items():
        parts.append(text(PANEL.left - 8, y + PANEL.strip - 6, atom, 11, theme.SOFT_INK, anchor="end"))
        parts.extend(bars(PANEL, marks, y))
        y += PANEL.strip + 7
    y += 4
    parts.extend(value(PANEL, rows(formula, example.labels), y))
    y += PANEL.value + 20
    return card(WIDTH, y, f"{example.call}: {words}", parts)


if __name__ == "__main__":
    main()
