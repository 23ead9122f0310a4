"""Write the outputs of a study: tables, curves, summaries and the report."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from rewardspec.atomic_files import write_whole
from rewardspec.errors import Error, MissingExtraError
from rewardspec.lab.experiments.comparisons import compare, highlights, over_environments
from rewardspec.lab.experiments.curves import Curve, curve_of, figure_of_all, to_png, to_svg
from rewardspec.lab.experiments.report import report
from rewardspec.lab.experiments.results import to_stderr
from rewardspec.lab.experiments.study import Cell, Study
from rewardspec.lab.experiments.summaries import Summaries, Summary, as_json_data, summarize
from rewardspec.lab.experiments.table_formats import to_csv, to_latex, to_markdown, to_text
from rewardspec.lab.experiments.table_layout import completion_table, rules_table, tables_of

FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Outputs:
    """The files, the most important first; the first table and that of the rules as text; the main findings."""

    files: tuple[Path, ...]
    table: str
    highlights: tuple[str, ...]


def write_outputs(directory: Path, study: Study, cells: Iterable[Cell], *, width: int = 120) -> Outputs:
    """Write tables, curves, summaries and the report, each file atomically.

    Missing cells leave gaps. Without matplotlib there are no curves. Cells come in any order, are iterated once and
    need not fit in memory together. Lines of the text table have at most `width` characters.
    """
    summaries: list[Summary] = []
    curves: dict[tuple[str, str], Curve] = {}
    further: dict[str, dict[tuple[str, str], Curve]] = {}
    for cell in cells:
        if len(cell.log):  # otherwise no run has finished an episode
            summaries.append(summarize(cell, study))
            task = study.tasks[cell.task]
            curves[cell.task, cell.reward] = curve_of(cell, share=task.measure.share)
            for name in set(list(cell.log.measures)[1:]) & set(task.measures):
                found = curve_of(cell, share=task.measures[name].share, measure=name)
                further.setdefault(name, {})[cell.task, cell.reward] = found
    if not summaries:
        raise Error("No run has finished an episode yet, so there is nothing to report. Train first, or for longer.")
    results = Summaries(study, summaries)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f"Cannot make the directory {str(directory)!r}: {error.strerror}. Give another one.") from None
    files = [_write(directory / name, content) for name, content in contents_of(results, curves, further).items()]
    tables = [completion_table(results), *([rules_table(results)] if study.rules else [])]
    return Outputs(tuple(files), "\n".join(to_text(table, width) for table in tables), tuple(highlights(results)))


def contents_of(
    results: Summaries,
    curves: dict[tuple[str, str], Curve],
    further: Mapping[str, dict[tuple[str, str], Curve]],
) -> dict[str, bytes]:
    """Return the contents of the output files by name; print a message if curves or report are missing.

    `further` are the curves of further measures, by measure.
    """
    tables = tables_of(results)
    pictures: dict[str, bytes] = {}
    svg, hint = None, ""
    more: dict[str, str] = {}
    rules = list(results.study.rules)
    try:
        figure = figure_of_all(results.study, curves)
        svg = to_svg(figure)
        pictures = {"curves.png": to_png(figure), "curves.svg": svg.encode()}
        for name, drawn in sorted(further.items()):
            figure = figure_of_all(results.study, drawn, name)
            more[name] = to_svg(figure)
            numbered = f"rule_{rules.index(name) + 1}" if name in rules else name
            pictures |= {f"curves_{numbered}.png": to_png(figure), f"curves_{numbered}.svg": more[name].encode()}
    except MissingExtraError as error:
        hint = f"{error}, then write this report again with: rewardspec report DIR"
        to_stderr(f"No curves: {hint}")
    texts = {}
    try:
        texts["report.html"] = report(results, curves, svg, hint, more)
    except MissingExtraError as error:
        to_stderr(f"No report: {error}, then write it with: rewardspec report DIR")
    texts |= {
        "table.md": "\n".join(map(to_markdown, tables.values())),
        "table.csv": to_csv(results),
        "table.tex": "\n".join(to_latex(table, f"table:{name}") for name, table in tables.items()),
        "table.txt": "\n".join(map(to_text, tables.values())),
        "summaries.json": json.dumps(_summaries(results), indent=1, ensure_ascii=False, allow_nan=False) + "\n",
    }
    return {name: text.encode() for name, text in texts.items()} | pictures


def _summaries(results: Summaries) -> dict[str, object]:
    """Return all summaries and comparisons as JSON data."""
    return {
        "format": FORMAT,
        "cells": [cell.as_json() | {"star": results.is_starred(cell.task, cell.reward)} for cell in results.all()],
        "comparisons": {
            contrast.name: [{**as_json_data(found), "standing": found.standing} for found in compare(results, contrast)]
            for contrast in results.study.contrasts
        },
        "over_environments": {reward: as_json_data(total) for reward, total in over_environments(results).items()},
    }


def _write(path: Path, content: bytes) -> Path:
    try:
        write_whole(path, content)
    except OSError as error:
        raise Error(
            f"Cannot write {str(path)!r}: {error.strerror}. The results themselves are safe; make room or set the "
            "permissions, and write the report again with: rewardspec report DIR"
        ) from None
    return path
