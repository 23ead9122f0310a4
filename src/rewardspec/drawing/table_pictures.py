"""Pictures of automata as tables: a line for each state, with what letters do there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewardspec.drawing import theme
from rewardspec.drawing.automaton_pictures import state_shapes
from rewardspec.drawing.diagrams import TableRow
from rewardspec.drawing.scene import Box, Shape, Text
from rewardspec.drawing.text_metrics import printable, width, wrap

_WIDEST_GUARD = 300.0
_WIDEST_TABLE = 900.0
_LINE = theme.TEXT_SIZE * theme.LINE_HEIGHT
_PADDING = 7.0
_GAP = 30.0
_PILL = 26.0
_INNER_RING = 3.5
_ARROW_GAP = 5.0


@dataclass(frozen=True)
class _Entry:
    """A guard in lines, the last with an arrow, and where it leads."""

    lines: tuple[str, ...]
    target: str

    @property
    def guard_width(self) -> float:
        return max(width(line, theme.TEXT_SIZE) for line in self.lines)


def table_shapes(rows: Sequence[TableRow]) -> list[Shape]:
    """The shapes of a table: guards to the left of their arrows, targets to the right, in columns."""
    entries = [[_measured(guard, target) for guard, target in row.entries] for row in rows]
    everything = [entry for own in entries for entry in own]
    guard_width = max((entry.guard_width for entry in everything), default=0.0)
    target_width = max((width(entry.target, theme.TEXT_SIZE, bold=True) for entry in everything), default=0.0)
    column = guard_width + _ARROW_GAP + target_width + _GAP
    columns = max(1, min(int(_WIDEST_TABLE // column), max(map(len, entries))))
    pill = max(max(width(printable(row.title), theme.TEXT_SIZE) for row in rows) + 20.0, _PILL + 10.0)
    left = pill + _GAP
    right = left + columns * column
    shapes: list[Shape] = [
        Text(pill / 2, 0.0, "state", theme.SMALL_SIZE, theme.SOFT_INK, "middle"),
        Text(left + guard_width, 0.0, "letter →", theme.SMALL_SIZE, theme.SOFT_INK, "end"),
        Text(left + guard_width + _ARROW_GAP, 0.0, "state", theme.SMALL_SIZE, theme.SOFT_INK),
    ]
    y = _PADDING
    for row, own in zip(rows, entries, strict=True):
        shapes.append(Box(0.0, y, right, 1.0, 0.0, theme.PAPER_EDGE))
        y += _PADDING
        frame = Box(0.0, y + _LINE / 2 - _PILL / 2, pill, _PILL, _PILL / 2, None)
        shapes += state_shapes(row.title, frame, _INNER_RING, initial=row.initial, accepting=row.accepting)
        for start in range(0, max(len(own), 1), columns):
            line = own[start : start + columns]
            for number, entry in enumerate(line):
                shapes += _entry(entry, left + number * column + guard_width, y)
            y += max([len(entry.lines) for entry in line], default=1) * _LINE
        y += _PADDING
    return shapes


def _measured(guard: str, target: str) -> _Entry:
    *lines, last = wrap(printable(guard), _WIDEST_GUARD, theme.TEXT_SIZE)
    return _Entry((*lines, f"{last} →"), target)


def _entry(entry: _Entry, x: float, y: float) -> list[Shape]:
    """An entry whose arrow ends at `x`."""
    baselines = [y + (number + 0.5) * _LINE + 0.35 * theme.TEXT_SIZE for number in range(len(entry.lines))]
    shapes: list[Shape] = [
        Text(x, baseline, line, theme.TEXT_SIZE, theme.INK, "end")
        for baseline, line in zip(baselines, entry.lines, strict=True)
    ]
    target = Text(x + _ARROW_GAP, baselines[-1], entry.target, theme.TEXT_SIZE, theme.STRONG_INK, bold=True)
    return [*shapes, target]
