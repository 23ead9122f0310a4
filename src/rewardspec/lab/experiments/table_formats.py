"""Format tables as Markdown, LaTeX and plain text, and all numbers as CSV."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Iterator, Sequence

from rewardspec.lab.experiments.statistics import Estimate
from rewardspec.lab.experiments.summaries import Summaries
from rewardspec.lab.experiments.table_layout import Entry, Line, Table

# Markdown.


def to_markdown(table: Table) -> str:
    """Format a table as Markdown, with its title above and its notes below."""
    heads = [f"{group}: {column}" for group in table.groups for column in table.columns]
    heads = list(table.columns) if len(table.groups) == 1 else heads
    beside = any(line.source != "ours" for line in table.lines)  # then each line names its source
    lines = [f"### {table.title}", "", _markdown_row(["", *[""] * beside, *heads])]
    lines.append(f"|---|{'---|' * beside}{'--:|' * len(heads)}")
    for line in table.lines:
        first = [line.task.title if line.source == "ours" else "", *[line.source] * beside]
        lines.append(_markdown_row([*first, *(_markdown(entry) for group in line.groups for entry in group)]))
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes)]) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(entry: Entry) -> str:
    text = entry.text + r"\*" * entry.star
    return f"**{text}**" if entry.bold and text else text


# LaTeX.

_PREAMBLE = r"""% Needs in the preamble: \usepackage{booktabs,multirow,graphicx}
\providecommand{\thepaper}[1]{{\footnotesize\itshape #1}}
"""


def to_latex(table: Table, label: str) -> str:
    r"""Format a table for `\input`, in the layout of the paper's table, with its numbers in small italics."""
    width = len(table.columns)
    groups = [rf"\multicolumn{{{width}}}{{c}}{{\textbf{{{_tex(group)}}}}}" for group in table.groups]
    first = range(3, 3 + width * len(groups), width)
    rules = "".join(rf"\cmidrule(lr){{{start}-{start + width - 1}}}" for start in first)
    heads = [rf"\textbf{{{_tex(column)}}}" for _ in groups for column in table.columns]
    lines = [
        r"\begin{table*}[ht]",
        r"  \centering",
        r"  \resizebox{\textwidth}{!}{",
        rf"  \begin{{tabular}}{{ll {' '.join(['c' * width] * len(groups))}}}",
        r"    \toprule",
        rf"     & & {' & '.join(groups)} \\",
        f"    {rules}",
        rf"     & & {' & '.join(heads)} \\",
    ]
    for number, (family, rows) in enumerate(table.families().items()):
        lines.append(r"    \midrule" if number == 0 else rf"    \cmidrule(lr){{1-{2 + width * len(groups)}}}")
        if family:
            lines.append(rf"    \multirow{{{len(rows)}}}{{*}}{{\textbf{{{_tex(family)}}}}}")
        lines.extend(f"      {_tex_row(line)}" for line in rows)
    lines += [
        r"    \bottomrule",
        r"  \end{tabular}}",
        rf"  \caption{{{_tex(table.title)}. {' '.join(map(_tex, table.notes))}}}",
        rf"  \label{{{label}}}",
        r"\end{table*}",
    ]
    return _PREAMBLE + "\n".join(lines) + "\n"


def _tex_row(line: Line) -> str:
    entries = [_tex_entry(entry, line.source == "paper") for group in line.groups for entry in group]
    name = _tex(line.task.title) if line.source == "ours" else r"\quad\thepaper{paper}"
    return rf"& {name} & {' & '.join(entries)} \\"


def _tex_entry(entry: Entry, small: bool) -> str:
    if not entry.text:
        return ""
    text = _tex(entry.text) + "*" * entry.star
    text = rf"\textbf{{{text}}}" if entry.bold else text
    return rf"\thepaper{{{text}}}" if small else text


_TEX = str.maketrans(
    {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "$": r"\$", "±": r"$\pm$", "–": "--", "“": "``", "”": "''"}
)


def _tex(text: str) -> str:
    return re.sub("`([^`]+)`", r"\\texttt{\1}", text).translate(_TEX)


# Plain text.

_MARK = "•"  # mark of the best of a row, instead of bold


def to_text(table: Table, width: int = 120) -> str:
    """Format a table as text; groups of columns that do not fit into the width follow below."""
    blocks: list[list[str]] = []
    chosen: list[int] = []
    for number in range(len(table.groups)):
        wider = list(_text_block(table, [*chosen, number]))
        if chosen and max(map(len, wider)) <= width:
            chosen.append(number)
            blocks[-1] = wider
        else:
            chosen = [number]
            blocks.append(list(_text_block(table, chosen)))
    notes = [note.replace("Bold:", f"{_MARK}:") for note in table.notes]
    filled = (textwrap.fill(note, width, initial_indent="  ", subsequent_indent="  ") for note in notes)
    return "\n\n".join([table.title, *map("\n".join, blocks), "\n".join(filled)]) + "\n"


def _text_block(table: Table, numbers: Sequence[int]) -> Iterator[str]:
    rows = [[[_text(entry) for entry in line.groups[number]] for number in numbers] for line in table.lines]
    heads = [list(table.columns) for _ in numbers]
    widths = [
        [max(len(row[place][column]) for row in [heads, *rows]) for column in range(len(table.columns))]
        for place in range(len(numbers))
    ]
    names = [line.task.title if line.source == "ours" else "  paper" for line in table.lines]
    first = max(map(len, names))

    def joined(name: str, row: Sequence[Sequence[str]]) -> str:
        groups = (
            " ".join(text.rjust(size) for text, size in zip(texts, sizes, strict=True))
            for texts, sizes in zip(row, widths, strict=True)
        )
        return "  ".join([name.ljust(first), *groups]).rstrip()

    spans = [sum(sizes) + len(sizes) - 1 for sizes in widths]
    titles = (table.groups[number].center(span, "─") for number, span in zip(numbers, spans, strict=True))
    yield "  ".join([" " * first, *titles])
    yield joined("", heads)
    texts = iter(zip(names, rows, strict=True))
    for family, lines in table.families().items():
        yield from [family.upper()] * bool(family)
        for _ in lines:
            yield joined(*next(texts))


def _text(entry: Entry) -> str:
    return _MARK * entry.bold + entry.text.replace(" ± ", "±") + "*" * entry.star


# CSV.

_ESTIMATES = ("completion", "completion_over_runs", "iqm", "final")
_NUMBERS = ("runs", "episodes", "steps", "seconds", "convergence_episode", "convergence_seconds", "converged")
_SHARES = ("convergence_episode_counting_zero", "violated", "final_violated", "final_reward", "final_base_reward")
_PAPER = ("episode", "seconds", "completion", "half_width")


def to_csv(results: Summaries) -> str:
    """Format all numbers as CSV, one line for each cell; shares are in [0, 1], missing values empty."""
    further = tuple(dict.fromkeys(name for cell in results.all() for name in cell.final_measures))
    heads = ["environment", "reward", *_NUMBERS, *_SHARES]
    estimates = (*_ESTIMATES, *(f"final_{results.study.rules.get(name, name)}" for name in further))
    heads += [f"{name}_{part}" for name in estimates for part in ("mean", "low", "high")]
    heads += ["star"]
    if results.study.references:
        heads += [*(f"paper_{name}" for name in _PAPER), "paper_star"]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(heads)
    for task, reward in results.study.cells:
        published = _csv_published(results, task, reward) if results.study.references else ()
        writer.writerow([task, reward, *_csv_ours(results, task, reward, further), *published])
    return buffer.getvalue()


def _csv_ours(results: Summaries, task: str, reward: str, further: Sequence[str]) -> Iterator[str]:
    cell = results.get(task, reward)
    for name in (*_NUMBERS, *_SHARES):
        yield _csv(None if cell is None else getattr(cell, name))
    estimates: list[Estimate | None] = [None if cell is None else getattr(cell, name) for name in _ESTIMATES]
    estimates += [None if cell is None else cell.final_measures.get(name) for name in further]
    for estimate in estimates:
        yield from map(_csv, (None,) * 3 if estimate is None else (estimate.value, estimate.low, estimate.high))
    yield "" if cell is None else str(int(results.is_starred(task, reward)))


def _csv_published(results: Summaries, task: str, reward: str) -> Iterator[str]:
    cell = results.study.references.get(task, {}).get(reward)
    if cell is None:
        yield from [""] * 5
        return
    yield from map(_csv, (cell.episode, cell.seconds, cell.completion / 100, cell.half_width / 100))
    yield str(int(cell.episode_star))


def _csv(value: float | None) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
