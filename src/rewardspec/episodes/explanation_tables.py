"""Explanations as tables: plain records, CSV, aligned text and HTML."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation, Row

_WIDEST = 40  # characters of a pair's name in a table


def records(explanation: Explanation) -> list[dict[str, Any]]:
    """One flat dictionary for each step."""
    names = explanation.names
    rows = []
    for row in explanation.rows:
        record: dict[str, Any] = {
            "step": row.step,
            "reward": row.reward,
            "level": row.level,
            "vetoed_by": None if row.vetoed_by is None else names[row.vetoed_by],
            "decided_by": None if row.decided_by is None else names[row.decided_by],
            "atom": None if row.decider is None else _literal(row.decider),
            "atom_step": None if row.decider is None else row.decider.step,
        }
        for name, value, decider in zip(names, row.values, row.deciders, strict=True):
            record |= {f"{name}: value": value, f"{name}: atom": _literal(decider), f"{name}: step": decider.step}
        rows.append(record)
    return rows


def to_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Records as CSV text; what is not there is left empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else ["step"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def to_text(explanation: Explanation, max_rows: int | None) -> str:
    """The table as aligned text."""
    lines = [_header(explanation), *(cells for cells, _ in _body(explanation, max_rows))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in lines
    )


def to_html(explanation: Explanation, max_rows: int | None) -> str:
    """The table as HTML; steps after a veto are shaded, and the pair that decided is set in bold."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in _header(explanation))
    body = []
    for cells, row in _body(explanation, max_rows):
        marked = [html.escape(cell) for cell in cells]
        if row is not None and row.decided_by is not None:
            marked[4 + row.decided_by] = f"<b>{marked[4 + row.decided_by]}</b>"
        shade = ' style="background:rgba(200,60,60,0.15)"' if row is not None and row.vetoed_by is not None else ""
        body.append(f"<tr{shade}>{''.join(f'<td>{cell}</td>' for cell in marked)}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _header(explanation: Explanation) -> list[str]:
    names = [_short(name) for name in explanation.names]
    return ["step", "reward", "level", "decided by", *names, *(["vetoed by"] if _vetoed(explanation) else [])]


def _body(explanation: Explanation, max_rows: int | None) -> Iterator[tuple[list[str], Row | None]]:
    rows: Sequence[Row | None] = explanation.rows
    if max_rows is not None and len(rows) > max_rows:
        rows = [*rows[: max_rows // 2], None, *rows[len(rows) - (max_rows + 1) // 2 :]]
    names = [_short(name) for name in explanation.names]
    for row in rows:
        if row is None:
            yield ["…"] * len(_header(explanation)), None
            continue
        cells = [str(row.step), "–" if row.reward is None else _number(row.reward), _number(row.level)]
        cells.append("–" if row.decided_by is None else f"{names[row.decided_by]}: {row.decider}")
        cells.extend(f"{_number(value)} ← {why}" for value, why in zip(row.values, row.deciders, strict=True))
        if _vetoed(explanation):
            cells.append("" if row.vetoed_by is None else names[row.vetoed_by])
        yield cells, row


def _vetoed(explanation: Explanation) -> bool:
    return explanation.rows[-1].vetoed_by is not None  # a veto lasts until the end


def _literal(decider: Any) -> str:
    return str(decider).rpartition("@")[0] or str(decider)


def _number(value: float) -> str:
    return f"{value:.4g}"


def _short(name: str) -> str:
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 1]}…"
