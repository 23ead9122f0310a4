"""Report of a study: a self-contained HTML page.

This module collects the content; `templates/report.html` lays it out, with all text escaped by Jinja.
"""

from __future__ import annotations

import functools
import html
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias, get_args

from rewardspec.audit.auditing import LEARNER_DISCOUNT, audit_task
from rewardspec.drawing import theme
from rewardspec.errors import Error, MissingExtraError
from rewardspec.finite.products import base_spec
from rewardspec.lab.experiments import comparisons, convergence, curves, statistics
from rewardspec.lab.experiments.comparisons import Comparison, Standing, compare
from rewardspec.lab.experiments.curves import Curves, figure_of_profiles, figure_of_task, to_svg
from rewardspec.lab.experiments.display import compact, duration
from rewardspec.lab.experiments.study import BASE, Contrast, Study
from rewardspec.lab.experiments.summaries import Summaries, Summary
from rewardspec.lab.experiments.table_layout import GAP, Table, episode_text, estimate_text, percent_text, tables_of
from rewardspec.lab.learning.settings import learner_words
from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task
from rewardspec.logic.formulas import Formula
from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.types import JsonObject

if TYPE_CHECKING:
    from markupsafe import Markup

Content: TypeAlias = JsonObject
"""Variables of the template."""
Safe: TypeAlias = "Callable[[str], Markup]"
"""Marks HTML as safe, so that Jinja does not escape it."""

TEMPLATES = Path(__file__).parent / "templates"
_CODE = re.compile("`([^`]+)`")
_TONES = {"ahead": "good", "aligned": "good", "behind": "bad", "misaligned": "bad"}
_PLOT_COLORS = {
    "#ffffff": "clear",
    curves.INK: "ink",
    curves.SOFT_INK: "soft",
    curves.GRID: "line",
    curves.BASE_COLOR: "base",
    **{color: f"s{k}" for k, color in enumerate(curves.PALETTE)},
}
_MACHINE_COLORS = {
    theme.INK: "ink",
    theme.SOFT_INK: "soft",
    theme.STRONG_INK: "accent",
    theme.LINE: "m-line",
    theme.PAPER: "card",
    theme.PAPER_EDGE: "line",
    theme.FILL: "m-fill",
    theme.FILL_STATE: "m-state",
    theme.STROKE: "m-stroke",
    theme.GLOW: "m-glow",
    theme.FILL_MUTED: "m-muted",
    theme.STROKE_MUTED: "m-quiet",
    theme.LINE_MUTED: "m-quiet",
}


def report(
    results: Summaries,
    drawn: Curves,
    picture: str | None,
    hint: str = "",
    further: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Render the report as HTML.

    `picture` is the figure of all learning curves as SVG; None if matplotlib is missing, and then `hint` is shown.
    `further` has the figures of further measures, by measure.
    """
    try:
        import jinja2
        import markupsafe
    except ImportError:
        raise MissingExtraError("jinja2", "reproduce", "Writing a report") from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    study, cells = results.study, results.all()
    tables = tables_of(results)
    contrasts = [_contrast(results, contrast) for contrast in study.contrasts if compare(results, contrast)]
    colors = {reward: _PLOT_COLORS[color] for reward, color in curves.colors_of(study).items()}
    safe = markupsafe.Markup
    shares = all(task.measure.share for task in study.tasks.values())
    totals = comparisons.over_environments(results) if shares else {}
    said = "Learning curves for all environments and rewards; the table above has the numbers."
    profiles = comparisons.profiles(results) if picture is not None and totals else {}
    share_words = f"For each reward, the share of the runs whose {study.measured} is above each level."
    environment.filters["code"] = lambda text: safe(_CODE.sub(r"<code>\1</code>", html.escape(text)))
    page = environment.get_template("report.html").render(
        study=study,
        colors=colors,
        style=safe((TEMPLATES / "report.css").read_text(encoding="utf-8")),
        highlights=list(comparisons.highlights(results)),
        cells=len(cells),
        short=len(results.short_of_budget()),
        missing=len(results.missing()),
        tiles=list(_tiles(results)),
        sections=_sections(study, tables),
        environments=_environments(study),
        tables=tables,
        curves=None if picture is None else safe(plot(picture, "all", said)),
        hint=hint,
        further={name: safe(plot(svg, name, f"Learning curves by {name}.")) for name, svg in further.items()},
        share=shares,
        means={name for task in study.tasks.values() for name, measure in task.measures.items() if measure.mean},
        contrasts=contrasts,
        intervals=results.interval_words,
        interval_known=any(cell.completion_over_runs.known for cell in cells),
        compared={name for contrast in contrasts for name in contrast["by_task"]},
        totals=totals,
        complete=len(results.complete()),
        profiles=safe(plot(to_svg(figure_of_profiles(study, profiles)), "profiles", share_words)) if profiles else None,
        tasks=[_task_page(results, drawn if picture is not None else {}, name, safe) for name in study.tasks],
        statistics=statistics,
        convergence=convergence if results.shows_convergence else None,
        settings=list(_settings(results)),
        commands=list(dict.fromkeys(command for cell in cells for command in cell.commands)),
        versions=_versions(cells),
        devices=list(dict.fromkeys(device for cell in cells for device in cell.devices)),
        duration=duration(sum(cell.seconds for cell in cells)),
    )
    return page[page.index("<!doctype html>") :] + "\n"


def _sections(study: Study, tables: Mapping[str, Table]) -> list[Content]:
    """Build the table of contents, with the ids of the template."""

    def section(key: str, title: str, *parts: Content) -> Content:
        return {"id": key, "title": title, "parts": parts}

    first, *others = (section(name, table.title) for name, table in tables.items())
    return [
        section(
            "results",
            "Results",
            first,
            section("curves", "Learning curves"),
            *others,
            section("comparisons", "Which reward is better"),
        ),
        section(
            "environments", _environments(study), *(section(name, task.title) for name, task in study.tasks.items())
        ),
        section("method", "How it was measured"),
        section(
            "configuration",
            "Configuration",
            section("settings", "Settings"),
            section("provenance", "Commands, versions, machines"),
        ),
    ]


def _environments(study: Study) -> str:
    return "Environments" if len(study.tasks) > 1 else "Environment"


def _tiles(results: Summaries) -> Iterator[tuple[str, str]]:
    cells = results.all()
    yield f"{len(cells)} of {len(results.study.cells)}", f"{results.study.cell_word}s"
    yield f"{sum(cell.runs for cell in cells):,}", "runs"
    yield compact(sum(cell.episodes for cell in cells)), "episodes"
    yield compact(sum(cell.steps for cell in cells)), "steps"
    yield duration(sum(cell.seconds for cell in cells)), "of training"


def _contrast(results: Summaries, contrast: Contrast) -> Content:
    found = compare(results, contrast)
    counts = {name: sum(one.standing == name for one in found) for name in get_args(Standing)}
    tally = ", ".join(
        f"{comparisons.SHOWN.get(name, name)} in {count}"
        for name, count in counts.items()
        if count or name != "too few runs"
    )
    return {
        "title": contrast.title,
        "tally": f"{tally} of {len(found)}",
        "by_task": {one.task: _compared(results.study, one, named=len(contrast.others) > 1) for one in found},
    }


def _compared(study: Study, found: Comparison, *, named: bool) -> Content:
    share, difference = comparisons.is_share(study, found), found.difference
    scale = 100 if share else 1
    text = f"{scale * difference.value:+.2f}".replace("-", "−")
    if share and (difference.low < -1.0 or difference.high > 1.0):
        text = "".join(comparisons.texts(difference, share))
    elif difference.known:
        text += f" ± {scale * difference.half_width:.2f}"
    return {
        "text": text,
        "standing": comparisons.SHOWN.get(found.standing, found.standing),
        "tone": _TONES.get(found.standing, ""),
        "other": study.rewards[found.other] if named else "",
    }


# Tasks.


def _task_page(results: Summaries, drawn: Curves, name: str, safe: Safe) -> Content:
    """Build the section of a task: description, results and rewards."""
    study, task = results.study, results.study.tasks[name]
    several = len(study.tasks) > 1  # otherwise the curves are those of the results
    own = {reward: drawn[name, reward] for reward in study.rewards if several and (name, reward) in drawn}
    said = f"Learning curves of {task.title}."
    unsafe = " Unsafe is the share of those episodes that violated a veto of the spec." * _has_vetoes(study, task)
    limit = "" if task.max_episode_steps is None else f"; episodes of at most {task.max_episode_steps:,} steps"
    return {
        "task": task,
        "facts": (
            ("Arguments", task.arguments),
            ("Its own reward", task.base_reward),
            (study.measured.capitalize(), task.measure.words),
            ("Learner", f"{learner_words(task.learner)}{limit}"),
        ),
        "made_by": task.made_by,
        "figure": safe(plot(to_svg(figure_of_task(study, name, own)), name, said)) if own else None,
        "heads": _heads(results, task),
        "rows": [_row(results, task, reward) for reward in study.rewards] if results.of(name) else [],
        "note": f"Numbers are means over runs; {study.measured} is {results.interval_words()}. Paid is what an episode "
        f"of the last tenth was paid, own return what the environment's own reward would have been for it.{unsafe}",
        "rewards": [_card(study, task, reward, safe) for reward in study.rewards if reward != BASE],
        "verdicts": list(_verdicts(study, task)) if task.learner == "q-learning" and task.intent is not None else [],
        "discount": LEARNER_DISCOUNT,
    }


def _heads(results: Summaries, task: Task) -> list[str]:
    study = results.study
    measured = [f"{study.measured.capitalize()}, all of training", "last tenth"]
    if study.references:
        measured = ["Completion", "Paper", "Last tenth"]
    ends = ["IQM", *["Converged at", "of runs"] * results.shows_convergence, "Paid", "Own return"]
    ends += ["Unsafe"] * _has_vetoes(study, task)
    further = (name.replace("_", " ").capitalize() for name in _further(study, task))
    return ["Reward", *measured, *further, *ends]


def _further(study: Study, task: Task) -> dict[str, Measure]:
    """Return the measures after the first, without the rules, which have a table of their own."""
    return {name: measure for name, measure in list(task.measures.items())[1:] if name not in study.rules}


def _row(results: Summaries, task: Task, reward: str) -> list[str]:
    cell = results.get(task.name, reward)
    published = results.study.references.get(task.name, {}).get(reward)
    paper = ["" if published is None else f"{published.completion:.2f}"] * bool(results.study.references)
    title = results.study.rewards[reward]
    if cell is None:
        return [title, GAP, *paper, *[GAP] * (len(_heads(results, task)) - len(paper) - 2)]
    share = task.measure.share
    return [
        title,
        percent_text(cell.completion_over_runs) if share else estimate_text(cell.completion_over_runs, share=False),
        *paper,
        estimate_text(cell.final, share),
        *(
            estimate_text(cell.final_measures[name], measure.share) if name in cell.final_measures else GAP
            for name, measure in _further(results.study, task).items()
        ),
        f"{100 * cell.iqm.value:.2f}" if share else f"{cell.iqm.value:.4g}",
        *[episode_text(cell.convergence_episode), f"{100 * cell.converged:.0f} %"] * results.shows_convergence,
        _amount(cell.final_over_runs["reward"]),
        _amount(cell.final_over_runs["base_reward"]),
        *["" if cell.payment is None else f"{100 * cell.final_over_runs['violated']:.1f} %"]
        * _has_vetoes(results.study, task),
    ]


def _has_vetoes(study: Study, task: Task) -> bool:
    """Return whether a pair of some reward of a task vetoes."""
    specs = (study.reward(task, reward).spec for reward in study.rewards)
    return any(pair.vetoes for spec in specs if spec is not None for pair in spec.pairs)


def _amount(value: float) -> str:
    return GAP if math.isnan(value) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _card(study: Study, task: Task, reward: str, safe: Safe) -> Content:
    setup = study.reward(task, reward)
    formulas = () if setup.spec is None else tuple(dict.fromkeys(pair.formula for pair in setup.spec.pairs))
    return {
        "reward": reward,
        "title": study.rewards[reward],
        "spec": setup.spec,
        "observe": setup.observe,
        "note": setup.note,
        "machines": [safe(_machine_or_reason(formula, reward == "boolean")) for formula in formulas],
    }


def _machine_or_reason(formula: Formula, automaton: bool) -> str:
    try:
        return _machine(formula, automaton)
    except Error as error:  # too large to draw or to synthesize
        return f'<p class="note">{html.escape(str(error))}</p>'


@functools.cache
def _machine(formula: Formula, automaton: bool) -> str:
    """Draw the machine of a formula; many tasks share formulas."""
    monitor = synthesize_boolean(formula) if automaton else synthesize(formula)
    return machine(monitor.to_svg())


def _verdicts(study: Study, task: Task) -> Iterator[tuple[str, str, str, str]]:
    """Audit the rewards of this study; yield the reason for those that cannot be solved."""
    for reward in study.rewards:
        try:
            for found in audit_task(task, {reward: study.reward(task, reward).spec or base_spec()}):
                yield reward, found.verdict, _TONES.get(found.verdict, ""), found.sentence
        except Error as error:  # too large, no transition table, or atoms that were not imported
            yield reward, "", "", str(error)


# Settings and where the results come from.


def _settings(results: Summaries) -> Iterator[Content]:
    cells = results.all()
    groups: dict[str, list[Summary]] = {}
    for cell in cells:
        groups.setdefault(json.dumps(cell.as_json()["config"], sort_keys=True), []).append(cell)
    for config, members in groups.items():
        names = []
        for task in dict.fromkeys(cell.task for cell in members):
            rewards = [cell.reward for cell in members if cell.task == task]
            # Name the rewards only if the settings differ within a row.
            whole = len(rewards) == sum(cell.task == task for cell in cells)
            names.append(results.study.tasks[task].title + ("" if whole else f" ({', '.join(rewards)})"))
        yield {
            "names": ", ".join(names),
            "runs": " or ".join(f"{number:,}" for number in sorted({cell.runs for cell in members})),
            "config": [(key, _value(value)) for key, value in json.loads(config).items()],
        }


def _value(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _versions(cells: list[Summary]) -> list[tuple[str, str]]:
    versions: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, version in cell.versions.items():
            versions.setdefault(name, {})[version] = None
    return [(name, ", ".join(found)) for name, found in versions.items()]


# Pictures that follow the page's colors.


def plot(svg: str, key: str, description: str) -> str:
    """Prepare a plot for the page: page colors, and ids that start with `key`, its unique name on the page."""
    body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", _without_prologue(svg), flags=re.DOTALL)
    used = set(re.findall(r"(?:url\(#|href=\"#)([^\")]+)", body))
    body = re.sub(r' id="([^"]*)"', lambda m: f' id="{key}-{m[1]}"' if m[1] in used else "", body)
    body = re.sub(r"(url\(#|href=\"#)([^\")]+)", rf"\1{key}-\2", body)
    body = re.sub(r"\n\s*", "\n", body)
    frame = f'<svg class="plot" role="img" aria-label="{html.escape(description)}"'
    framed = re.sub(r'<svg\b(?: width="[^"]*")?(?: height="[^"]*")?', frame, body, count=1)
    return _recolored(framed, _PLOT_COLORS)


def machine(svg: str) -> str:
    """Prepare a monitor's diagram for the page: page colors, and scrolling if it is wide."""
    own_colors = re.compile("<style>.*?</style>", flags=re.DOTALL)
    body = _recolored(own_colors.sub("", _without_prologue(svg)), _MACHINE_COLORS)
    width = re.search(r'\bwidth="([\d.]+)"', body)
    least = f' style="min-width: {0.75 * float(width[1]):.0f}px"' if width else ""
    return f'<div class="machine">{body.replace("<svg", f"<svg{least}", 1)}</div>'


def _without_prologue(svg: str) -> str:
    """Remove the XML prologue and the namespaces, which HTML does not need."""
    return re.sub(r' (?:xmlns(?::\w+)?|version)="[^"]*"', "", svg[svg.index("<svg") :]).strip()


def _recolored(svg: str, colors: Mapping[str, str]) -> str:
    pattern = re.compile("|".join(map(re.escape, colors)), flags=re.IGNORECASE)
    return pattern.sub(lambda found: f"var(--{colors[found[0].lower()]})", svg)
