"""Explanations as tables: plain records, CSV, aligned text and HTML."""

from __future__ import annotations

import csv
import heapq
import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rewardspec.drawing.html_tables import html_table

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation, Row

MOST_ROWS = 12  # of a table, so that an episode is read at a glance
_WIDEST = 40  # characters of a pair's name in a table
_EXTREMES = (0.0, 1.0, -math.inf, math.inf)
_TOLERANCES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0)  # by how much of their range values in one row may differ


def records(explanation: Explanation) -> list[dict[str, object]]:
    """One flat dictionary for each step."""
    names = explanation.names
    rows = []
    for row in explanation.rows:
        record: dict[str, object] = {
            "step": row.step,
            "reward": row.reward,
            "level": row.level,
            "vetoed_by": None if row.vetoed_by is None else names[row.vetoed_by],
            "decided_by": None if row.decided_by is None else names[row.decided_by],
            "atom": None if row.decider is None else row.decider.literal,
            "atom_step": None if row.decider is None else row.decider.step,
        }
        for k, name in enumerate(names):
            record |= {
                f"{name}: value": row.values[k],
                f"{name}: atom": row.deciders[k].literal,
                f"{name}: step": row.deciders[k].step,
                f"{name}: waiting for": " & ".join(row.waiting[k]) or None,
            }
        rows.append(record)
    return rows


def to_csv(rows: Sequence[dict[str, object]]) -> str:
    """Records as CSV text; what is not there is left empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else ["step"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def to_text(explanation: Explanation, max_rows: int | None) -> str:
    """The table as aligned text; a star marks what counted most."""
    lines = [_header(explanation)]
    for group in _groups(explanation, max_rows):
        cells = _cells(explanation, group)
        for k in _deciding(group):
            cells[k - len(explanation.names)] += " *"
        lines.append(cells)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in lines
    )


def to_html(explanation: Explanation, max_rows: int | None) -> str:
    """The table as HTML; steps after a veto are shaded, and what counted most is set in bold."""
    groups, first = _groups(explanation, max_rows), len(_header(explanation)) - len(explanation.names)
    return html_table(
        _header(explanation),
        [_cells(explanation, group) for group in groups],
        bold={(number, first + k) for number, group in enumerate(groups) for k in _deciding(group)},
        shaded={number for number, group in enumerate(groups) if group[0].vetoed_by is not None},
    )


def _groups(explanation: Explanation, max_rows: int | None) -> list[list[Row]]:
    """Consecutive steps with one explanation; how near their values are depends on how many groups there may be."""
    rows = explanation.rows
    if max_rows is None:
        return [[row] for row in rows]
    numbers = [(row.reward or 0.0, row.level, *row.values) for row in rows]
    spans = [max(column) - min(column) for column in map(_finite, zip(*numbers, strict=True))]
    if explanation.spec.semantics == "degree":
        spans[2:] = [1.0] * len(explanation.names)
    reasons = [_reasons(explanation, row) for row in rows]
    groups: list[list[Row]] = []
    for tolerance in _TOLERANCES:
        groups = []
        for row in rows:
            first = groups[-1][0] if groups else row
            if (
                first.step > 0
                and reasons[first.step] == reasons[row.step]
                and all(
                    a == b or abs(a - b) <= tolerance * span
                    for a, b, span in zip(numbers[first.step], numbers[row.step], spans, strict=True)
                )
            ):
                groups[-1].append(row)
            else:
                groups.append([row])
        if len(groups) <= max_rows:
            break
    return merged(groups, max_rows)


def merged(groups: list[list[Row]], most: int) -> list[list[Row]]:
    """The groups, of which neighbors become one, the shortest first, until there are few enough; not across a veto.

    The first, the state after reset, stays alone.
    """
    rows = [row for group in groups for row in group]
    starts = [group[0].step for group in groups]
    ends = dict(zip(starts, [*starts[1:], len(rows)], strict=True))  # of the groups that are left, by their starts
    before = dict(zip(starts[1:], starts, strict=False))
    queue: list[tuple[int, int, int]] = []

    def offer(start: int) -> None:
        """Put a group and the one after it in the queue."""
        after = ends[start]
        if start > 0 and after in ends and rows[start].vetoed_by == rows[after].vetoed_by:
            heapq.heappush(queue, (ends[after] - start, start, after))

    for start in starts:
        offer(start)
    while len(ends) > most and queue:
        length, start, after = heapq.heappop(queue)
        if after in ends and ends.get(start) == after and ends[after] - start == length:  # neither has grown since
            ends[start] = ends.pop(after)
            before[ends[start]] = start
            offer(start)
            offer(before[start])
    return [rows[start:end] for start, end in ends.items()]


def _reasons(explanation: Explanation, row: Row) -> tuple[Any, ...]:
    """Collect the reasons that all steps of a group share, as far as the table shows them."""
    return row.vetoed_by, row.decided_by, [_reason(explanation, row, k) for k in range(len(row.values))]


def _reason(explanation: Explanation, row: Row, k: int) -> tuple[str | None, tuple[str, ...]]:
    """Describe what decided a formula's value and what it waits for, or return None where that is obvious."""
    decider, waiting = row.deciders[k], row.waiting[k]
    value, start = row.values[k], explanation.rows[0].values[k]
    # What has been false or true from the start was made so by no label in particular.
    if decider.atom is None or (decider.step == 0 and value == start and value in _EXTREMES):
        return None, waiting
    return decider.literal, () if waiting == (decider.literal,) else waiting


def _finite(column: Sequence[float]) -> list[float]:
    return [value for value in column if math.isfinite(value)] or [0.0]


def _header(explanation: Explanation) -> list[str]:
    vetoed = ["vetoed by"] if explanation.rows[-1].vetoed_by is not None else []  # a veto lasts until the end
    level = ["level"] if _shows_level(explanation) else []
    return ["step", "reward", *level, *vetoed, *map(_short, explanation.names)]


def _shows_level(explanation: Explanation) -> bool:
    return any(row.reward != row.level for row in explanation.rows[1:])


def _cells(explanation: Explanation, group: Sequence[Row]) -> list[str]:
    first, last = group[0], group[-1]
    cells = [_span(first.step, last.step)]
    cells.append("–" if first.reward is None else _range([row.reward or 0.0 for row in group]))
    if _shows_level(explanation):
        cells.append(_range([row.level for row in group]))
    if explanation.rows[-1].vetoed_by is not None:
        cells.append("" if first.vetoed_by is None else _short(explanation.names[first.vetoed_by]))
    return cells + [_why(explanation, group, k) for k in range(len(first.values))]


def _why(explanation: Explanation, group: Sequence[Row], k: int) -> str:
    """A formula's value in a group of steps; what made it so and what it waits for, where all of them have the same."""
    text = _range([row.values[k] for row in group])
    literals, waits = (set(column) for column in zip(*(_reason(explanation, row, k) for row in group), strict=True))
    if len(literals) == 1 and None not in literals:
        steps = [row.deciders[k].step for row in group]
        text += f" ← {literals.pop()}@{_span(steps[0], steps[-1])}"
    if len(waits) == 1 and () not in waits:
        text += f", waiting for {' & '.join(waits.pop())}"
    return text


def _deciding(group: Sequence[Row]) -> set[int]:
    """The pair that counted most in all of these steps, if it is one."""
    found = {row.decided_by for row in group}
    return set() if len(found) > 1 else {number for number in found if number is not None}


def _span(first: int | None, last: int | None) -> str:
    return str(first) if first == last else f"{first}–{last}"


def _range(values: Sequence[float]) -> str:
    """One number; or the first and the last where all between lie in their order; or else the least and the most."""
    first, last = _number(values[0]), _number(values[-1])
    if len({_number(value) for value in values}) == 1:
        return first
    if list(values) in (sorted(values), sorted(values, reverse=True)):
        return f"{first} … {last}"
    return f"{_number(min(values))} to {_number(max(values))}"


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.4g}"


def _short(name: str) -> str:
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…"
