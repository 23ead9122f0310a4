"""Tables in HTML, as notebooks show them."""

from __future__ import annotations

import html
from collections.abc import Collection, Sequence

_CELL = "padding:0.15em 0.9em 0.15em 0;text-align:left;vertical-align:top"
_SHADE = "background:rgba(200,60,60,0.15)"


def html_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    bold: Collection[tuple[int, int]] = (),
    shaded: Collection[int] = (),
) -> str:
    """A table that scrolls where it is too wide, in the colors of the page, light or dark.

    Args:
        header: The columns' names.
        rows: The cells, as plain text.
        bold: Which cells are set in bold: row and column.
        shaded: Which rows are shaded.

    Example:
        >>> html_table(["formula"], [["a < b"]]).count("a &lt; b")
        1
    """
    head = "".join(f'<th style="{_CELL}">{html.escape(name)}</th>' for name in header)
    body = []
    for number, row in enumerate(rows):
        texts = map(html.escape, row)
        marked = [f"<b>{text}</b>" if (number, k) in bold else text for k, text in enumerate(texts)]
        shade = f' style="{_SHADE}"' if number in shaded else ""
        cells = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in marked)
        body.append(f"<tr{shade}>{cells}</tr>")
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return f'<div style="overflow-x:auto">{table}</div>'
