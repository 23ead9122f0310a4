"""The report's first part: what came out, in tables, comparisons and curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rewardspec.experiments import comparisons
from rewardspec.experiments.cells import TITLES
from rewardspec.experiments.comparisons import Comparison
from rewardspec.experiments.published import PAPER
from rewardspec.experiments.report.html import chip, escape, paragraphs, table
from rewardspec.experiments.report.page import Section
from rewardspec.experiments.rewards import REWARDS
from rewardspec.experiments.summaries import Summaries
from rewardspec.experiments.table import Entry, Table, main_table, second_table
from rewardspec.tasks import registry

_TONES = {"ahead": "good", "level": "", "behind": "bad"}


def results_section(results: Summaries, curves: str, profiles: str) -> Section:
    """The results.

    Args:
        results: All summaries.
        curves: The figure of all learning curves as HTML, or what is said in its place.
        profiles: The figure of the performance profiles as HTML, or nothing.
    """
    first, second = main_table(results), second_table(results)
    return Section(
        "results",
        "Results",
        "",
        (
            Section("table", first.title, results_table(first) + paragraphs(first.notes)),
            Section("curves", "Learning curves", curves),
            Section("end", second.title, results_table(second) + paragraphs(second.notes)),
            Section("comparisons", "Which reward is better", "\n".join(_comparisons(results, profiles))),
        ),
    )


def swatch(reward: str) -> str:
    """The colour that stands for a reward in the curves."""
    return f'<span class="swatch" style="background: var(--{reward})"></span>'


def results_table(shown: Table) -> str:
    """A table laid out like the paper's, the paper's numbers small below ours."""
    width = len(REWARDS)
    groups = "".join(f'<th class="start" colspan="{width}" scope="colgroup">{escape(g)}</th>' for g in shown.groups)
    heads = "".join(
        f'<th scope="col"{_start(place)}><span style="border-bottom: 2px solid var(--{reward})">{TITLES[reward]}</span>'
        "</th>"
        for _ in shown.groups
        for place, reward in enumerate(REWARDS)
    )
    lines = [
        f'<tr><th rowspan="2" scope="col">Environment</th>{groups}</tr>',
        f"<tr>{heads}</tr>",
        "</thead>",
        "<tbody>",
    ]
    for family, rows in shown.families().items():
        lines.append(f'<tr class="family"><th colspan="{1 + width * len(shown.groups)}">{escape(family)}</th></tr>')
        papers = {line.task: line.groups for line in rows if line.source == "paper"}
        ours = (line for line in rows if line.source == "ours")
        lines.extend(_row(line.task, line.groups, papers.get(line.task)) for line in ours)
    body = "\n".join(lines)
    return f'<div class="scroll"><table class="results">\n<thead>{body}\n</tbody></table></div>'


def _row(task: str, ours: Sequence[Sequence[Entry]], papers: Sequence[Sequence[Entry]] | None) -> str:
    cells = []
    for number, group in enumerate(ours):
        for place, entry in enumerate(group):
            below = "" if papers is None else f"<small>{_entry(papers[number][place])}</small>"
            cells.append(f"<td{_start(place)}>{_entry(entry)}{below}</td>")
    name = f'<a href="#{task}">{escape(registry.get(task).title)}</a>'
    label = "<small>paper</small>" if papers is not None else ""
    return f'<tr><th scope="row">{name}{label}</th>{"".join(cells)}</tr>'


def _entry(entry: Entry) -> str:
    text = escape(entry.text) + "*" * entry.star
    return f"<b>{text}</b>" if entry.bold and text else text


def _start(place: int) -> str:
    return ' class="start"' if place == 0 else ""


# Comparisons.


def _comparisons(results: Summaries, profiles: str) -> Iterator[str]:
    pairs = comparisons.quantitative_and_boolean(results)
    bests = comparisons.best_and_others(results)
    if not pairs and not bests:
        yield "<p>There is nothing to compare yet.</p>"
        return
    yield (
        "<p>Differences of mean task completion in percentage points, each mean taken over runs, with the 95&nbsp;% "
        "interval of the difference. <em>Level</em> is where that interval does not tell which is better.</p>"
    )
    yield f'<ul class="summary">{_tally("Quantitative beside Boolean", pairs)}'
    yield f"{_tally('Best beside the best of the three', bests)}</ul>"
    by_task = {found.task: found for found in pairs}, {found.task: found for found in bests}
    rows = [
        [escape(registry.get(task).title), *_cells(by_task[0].get(task)), *_cells(by_task[1].get(task), named=True)]
        for task in PAPER
        if task in by_task[0] or task in by_task[1]
    ]
    heads = ["Environment", "Quant. − Boolean", "", "Best − best of three", ""]
    yield table(heads, rows, numbers=(1, 3), css="lines")
    totals = comparisons.over_environments(results)
    if totals:
        count = len(comparisons.complete(results))
        yield "<h4>Over all environments</h4>"
        yield (
            f"<p>Interquartile mean of task completion in the last tenth of training over the runs of "
            f"{count} environment{'s' * (count != 1)}, each of which weighs the same, with the 95&nbsp;% interval of a "
            "stratified bootstrap.</p>"
        )
        yield '<div class="bars">'
        for reward, total in totals.items():
            whisker = f"left: {100 * total.low:.2f}%; width: {100 * (total.high - total.low):.2f}%"
            bar = (
                f'<i style="width: {100 * total.value:.2f}%; background: var(--{reward})"></i><s style="{whisker}"></s>'
            )
            yield f'<span>{TITLES[reward]}</span><span class="bar">{bar}</span>'
            yield f"<span>{100 * total.value:.1f}&nbsp;% [{100 * total.low:.1f}, {100 * total.high:.1f}]</span>"
        yield "</div>"
        yield profiles


def _tally(title: str, found: Sequence[Comparison]) -> str:
    if not found:
        return ""
    counts = {name: sum(one.standing == name for one in found) for name in _TONES}
    said = ", ".join(f"{name} in {count}" for name, count in counts.items())
    return f"<li>{title}: {said} of {len(found)}.</li>"


def _cells(found: Comparison | None, *, named: bool = False) -> tuple[str, str]:
    if found is None:
        return "–", ""
    difference = found.difference
    half = "" if difference.half_width != difference.half_width else f" ± {100 * difference.half_width:.2f}"
    other = f' <span class="note">of {TITLES[found.other]}</span>' if named else ""
    value = f"{100 * difference.value:+.2f}".replace("-", "−")
    return value + half, chip(found.standing, _TONES[found.standing]) + other
