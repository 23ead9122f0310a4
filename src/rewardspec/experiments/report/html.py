"""Small parts of a page: escaped text, tables, pictures that follow the page's colours."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from rewardspec.drawing import theme
from rewardspec.experiments import curves

escape = html.escape

_PLOT_COLOURS = {
    "#ffffff": "--clear",
    curves.INK: "--ink",
    curves.SOFT_INK: "--soft",
    curves.GRID: "--line",
    **{colour: f"--{reward}" for reward, colour in curves.COLOURS.items()},
}
_MACHINE_COLOURS = {
    theme.INK: "--ink",
    theme.SOFT_INK: "--soft",
    theme.STRONG_INK: "--accent",
    theme.LINE: "--m-line",
    theme.PAPER: "--card",
    theme.PAPER_EDGE: "--line",
    theme.FILL: "--m-fill",
    theme.FILL_STATE: "--m-state",
    theme.STROKE: "--m-stroke",
    theme.GLOW: "--m-glow",
    theme.FILL_MUTED: "--m-muted",
    theme.STROKE_MUTED: "--m-quiet",
    theme.LINE_MUTED: "--m-quiet",
}


def plot(svg: str, key: str, description: str) -> str:
    """A plot for the page, in the page's own colours, with names of its parts that no other plot has.

    Args:
        svg: The plot's SVG document.
        key: A name that no other plot of the page has.
        description: What it shows, for people who cannot see it.
    """
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", _without_prologue(svg), flags=re.DOTALL)
    used = set(re.findall(r"(?:url\(#|href=\"#)([^\")]+)", body))
    body = re.sub(r' id="([^"]*)"', lambda m: f' id="{key}-{m[1]}"' if m[1] in used else "", body)
    body = re.sub(r"(url\(#|href=\"#)([^\")]+)", rf"\1{key}-\2", body)
    body = re.sub(r"\n\s*", "\n", body)
    frame = f'<svg class="plot" role="img" aria-label="{escape(description)}"'
    return _recoloured(
        re.sub(r"<svg\b(?: width=\"[^\"]*\")?(?: height=\"[^\"]*\")?", frame, body, count=1), _PLOT_COLOURS
    )


def machine(svg: str) -> str:
    """A monitor's diagram for the page, in the page's own colours; a wide one is scrolled rather than made tiny."""
    body = _recoloured(_without_prologue(svg), _MACHINE_COLOURS)
    width = re.search(r'\bwidth="([\d.]+)"', body)
    least = f' style="min-width: {0.75 * float(width[1]):.0f}px"' if width else ""
    return f'<div class="machine">{body.replace("<svg", f"<svg{least}", 1)}</div>'


def _without_prologue(svg: str) -> str:
    """The picture itself; inside a page it needs neither an XML prologue nor namespaces."""
    return re.sub(r' (?:xmlns(?::\w+)?|version)="[^"]*"', "", svg[svg.index("<svg") :]).strip()


def _recoloured(svg: str, colours: dict[str, str]) -> str:
    pattern = re.compile("|".join(map(re.escape, colours)), flags=re.IGNORECASE)
    return pattern.sub(lambda found: f"var({colours[found[0].lower()]})", svg)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = (), css: str = "") -> str:
    """A table from cells that are HTML already; the first of each row is its head.

    Args:
        heads: The columns' heads.
        rows: The rows.
        numbers: Which columns hold numbers, and are set right.
        css: A class for the table.
    """
    marks = ['class="number"' if place in numbers else "" for place in range(len(heads))]
    head = "".join(f'<th scope="col"{" " * bool(m)}{m}>{text}</th>' for text, m in zip(heads, marks, strict=True))
    lines = []
    for first, *rest in rows:
        cells = "".join(f"<td{' ' * bool(m)}{m}>{text}</td>" for text, m in zip(rest, marks[1:], strict=True))
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    body = "\n".join(lines)
    name = f' class="{css}"' if css else ""
    return f'<div class="scroll"><table{name}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def paragraphs(texts: Iterable[str]) -> str:
    """A paragraph of small print for each text."""
    return "\n".join(f'<p class="note">{escape(text)}</p>' for text in texts)


def bullets(texts: Iterable[str]) -> str:
    """A list."""
    return "<ul>\n" + "\n".join(f"<li>{escape(text)}</li>" for text in texts) + "\n</ul>"


def details(summary: str, content: str) -> str:
    """Something that can be opened."""
    return f"<details><summary>{summary}</summary>\n{content}\n</details>"


def chip(text: str, tone: str = "") -> str:
    """A word in a pill; its tone is `good`, `bad` or neither."""
    return f'<span class="chip {tone}">{escape(text)}</span>' if tone else f'<span class="chip">{escape(text)}</span>'
