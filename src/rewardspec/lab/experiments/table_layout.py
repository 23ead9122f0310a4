"""Tables of a study: a line for each task, a column for each reward, and published numbers below ours.

A `Table` holds texts and marks; `table_formats` formats it. The tables show task completion with the paper's interval
over all episodes, convergence, further measures, and the end of training with intervals over runs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from rewardspec.lab.experiments.statistics import Estimate, few_words
from rewardspec.lab.experiments.study import Reference, Study
from rewardspec.lab.experiments.summaries import Summaries, Summary
from rewardspec.lab.tasks.task import Task

Source: TypeAlias = Literal["ours", "paper"]
GAP = "–"
"""Text of a missing result."""
NEVER = "None"
"""Text of a cell that did not converge."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """One number of a table as text, whether it is of a suboptimal policy, and whether it is the best of its row."""

    text: str = ""
    star: bool = False
    bold: bool = False


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a table: the numbers of a task by group and reward, and their source."""

    task: Task
    source: Source
    groups: tuple[tuple[Entry, ...], ...]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table, independent of its format.

    Each group of columns has a column for every reward. Lines are in the study's order, published ones after ours.
    """

    title: str
    groups: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]

    def families(self) -> dict[str, list[Line]]:
        """Group the lines by the task's family; a single family has an empty name."""
        found: dict[str, list[Line]] = {}
        for line in self.lines:
            found.setdefault(line.task.family, []).append(line)
        return found if len(found) > 1 else {"": list(self.lines)}


def tables_of(results: Summaries) -> dict[str, Table]:
    """Make the tables of a study by name, the most important first."""
    study = results.study
    tables = {"table": completion_table(results)}
    if study.references:
        tables["differences"] = differences_table(results)
    if results.shows_convergence:
        tables["convergence"] = convergence_table(results)
    further = dict.fromkeys(name for cell in results.all() for name in cell.final_measures)
    tables |= {name: further_table(results, name) for name in further if name not in study.rules}
    if any(name in study.rules for name in further):
        tables["rules"] = rules_table(results)
    return tables | {"ends": ends_table(results)}


def completion_table(results: Summaries) -> Table:
    """Make the table of task completion: with published numbers, means over episodes; else means over runs."""
    study = results.study
    if study.references:
        groups = [
            _Group(
                _measured(study),
                lambda cell, _: percent_text(cell.completion),
                lambda cell: cell.completion,
                lambda published: (f"{published.completion:.2f} ± {published.half_width:.2f}", False),
            )
        ]
        notes = [
            "Lines marked “paper” are the paper's own numbers"
            + ("; “best” is a column of ours." if "best" in study.rewards else "."),
            "Mean over all episodes of all runs, in percent, ± the 95 % interval over episodes, as in the paper. Bold: "
            "the best of the row.",
        ]
    else:
        # Failed episodes may be longer, so a run that never succeeds would have less weight in a mean over episodes.
        title = _measured(study)
        groups = [
            _Group(f"{title}, last tenth", lambda cell, task: _text(cell.final, task), lambda cell: cell.final),
            _Group(
                f"{title}, all of training",
                lambda cell, task: _text(cell.completion_over_runs, task),
                lambda cell: cell.completion_over_runs,
            ),
        ]
        notes = [
            *filter(None, [study.definition]),
            "Mean over runs of a run's mean over its episodes in the last tenth of training, and in all of it, "
            f"{results.interval_words()}. Episodes are those of training, exploration included.{_best_words(results)}",
            *filter(None, [_few_words(results)]),
        ]
    return _table(results, _measured(study), groups, notes)


def differences_table(results: Summaries) -> Table:
    """Make the table of differences to the published numbers, in percentage points."""
    study = results.study
    found = [
        100.0 * cell.completion.value - study.references[cell.task][cell.reward].completion
        for cell in results.all()
        if cell.reward in study.references.get(cell.task, {})
    ]
    near = sum(abs(difference) <= 3.0 for difference in found)
    notes = [
        f"Our task completion less the paper's, in percentage points. Of {len(found)} cells, {near} lie within 3 "
        f"points; the mean distance is {sum(map(abs, found)) / max(len(found), 1):.2f} points."
    ]

    def show(cell: Summary, task: Task) -> str:
        published = study.references.get(cell.task, {}).get(cell.reward)
        return "" if published is None else f"{100.0 * cell.completion.value - published.completion:+.2f}"

    return _table(results, "Ours beside the paper's", [_Group("Ours less the paper's (points)", show)], notes)


def convergence_table(results: Summaries) -> Table:
    """Make the table of convergence in episodes and seconds."""
    groups = [
        _Group(
            "Mean episode",
            lambda cell, _: episode_text(cell.convergence_episode),
            reference=lambda published: (episode_text(published.episode), published.episode_star),
            starred=True,
        ),
        _Group(
            "Mean seconds",
            lambda cell, _: seconds_text(cell.convergence_seconds),
            reference=lambda published: (seconds_text(published.seconds), published.seconds_star),
            starred=True,
        ),
    ]
    rivals = "another of the paper's rewards" if results.study.references else "another reward"
    notes = [
        f"Episode and seconds of convergence: {_counting(results.study)}. Runs are trained together, and seconds are a "
        f"run's equal part of the wall-clock time. Star: converged, and {rivals} completes more."
    ]
    return _table(results, "Convergence", groups, notes)


def further_table(results: Summaries, name: str) -> Table:
    """Make the table of a further measure of success, over all of training and at its end."""
    words = {
        task.title: measure.words.rstrip(".")
        for task in results.study.tasks.values()
        if (measure := task.measures.get(name)) is not None
    }
    notes = [f"Means over runs, {results.interval_words()}; shares in percent.{_best_words(results)}"]
    if len(words) > 1:
        notes.append("What is measured: " + "; ".join(f"{title}: {text}" for title, text in words.items()) + ".")
    groups = [_further(name, "All of training", late=False), _further(name, "Last tenth", late=True)]
    groups = groups if results.study.references else groups[::-1]
    return _table(results, name.replace("_", " ").capitalize(), groups, notes)


def rules_table(results: Summaries) -> Table:
    """Make the table of the specs' formulas, with a line for each: its value at the end of an episode."""
    study = results.study
    groups = {name: [_further(name, "Last tenth (%)", late=True)] for name in study.rules}
    lines = [
        dataclasses.replace(line, task=line.task.replace(title=study.rules[name]))
        for task in results.tasks()
        for name in study.rules
        for line in [_ours(results, task, groups[name])]
    ]
    notes = (
        "For each formula of the specs, its value at the end of an episode, whatever the reward was; of `now φ` its "
        "mean over the steps of the episode, unless φ is about later steps. Numbers are means over "
        f"runs in the last tenth of training, in percent, {results.interval_words()}.{_best_words(results)}",
    )
    return Table("Which rule is kept", ("Last tenth (%)",), tuple(study.rewards.values()), tuple(lines), notes)


def _counting(study: Study) -> str:
    """Describe the means of convergence."""
    all_runs = "mean over all runs, one that did not converge counting as 0, and None where none did"
    converged = "mean over the runs whose rewards converged; None where fewer than half did"
    counts = {study.convergence(task).counts_all: task.learner for task in study.tasks.values()}
    if len(counts) == 2:
        return f"for {counts[True]} {all_runs}; for {counts[False]} {converged}"
    return all_runs if True in counts else converged


def ends_table(results: Summaries) -> Table:
    """Make the table of the end of training, the interquartile mean and the share of converged runs."""
    unit = _unit(results.study)
    groups = [_Group(f"IQM{unit}", lambda cell, task: _text(cell.iqm, task), lambda cell: cell.iqm)]
    bootstrap = results.interval_words("the 95 % interval of a bootstrap over runs")
    title, words = (
        "Interquartile mean",
        f"IQM: interquartile mean of the runs' means over all of training, {bootstrap}.",
    )
    if results.shows_convergence:
        title += " and convergence"
        words += " Converged: the share of the runs whose rewards did."
        groups.append(_Group("Converged (%)", lambda cell, _: f"{100 * cell.converged:.0f}"))
    notes = [words + _best_words(results)]
    if not results.study.references:  # the first table has the last tenth
        return _table(results, title, groups, notes)
    last = _Group(f"Last tenth{unit}", lambda cell, task: _text(cell.final, task), lambda cell: cell.final)
    said = "Last tenth: the same over the last tenth of training (episodes for Q-learning, else steps), "
    notes = [f"{said}{results.interval_words()}. {notes[0]}"]
    return _table(results, "How training ends", [last, *groups], notes)


# Groups of columns.


@dataclasses.dataclass(frozen=True)
class _Group:
    """A group of columns: the texts of our and of published cells, and the measure whose best is bold."""

    title: str
    show: Callable[[Summary, Task], str]
    measure: Callable[[Summary], Estimate | None] | None = None
    reference: Callable[[Reference], tuple[str, bool]] | None = None
    starred: bool = False


def _further(name: str, title: str, *, late: bool) -> _Group:
    """Make the group of a further measure, which some tasks may lack."""

    def found(cell: Summary) -> Estimate | None:
        return (cell.final_measures if late else cell.further_measures).get(name)

    def show(cell: Summary, task: Task) -> str:
        estimate = found(cell)
        return GAP if estimate is None else estimate_text(estimate, task.measures[name].share)

    return _Group(title, show, found)


def _unit(study: Study) -> str:
    return " (%)" if all(task.measure.share for task in study.tasks.values()) else ""


def _measured(study: Study) -> str:
    """Return the title of the first measure."""
    return study.measured.capitalize() + _unit(study)


def _text(estimate: Estimate, task: Task) -> str:
    return estimate_text(estimate, task.measure.share)


# Lines.


def _table(results: Summaries, title: str, groups: list[_Group], notes: list[str]) -> Table:
    study = results.study
    lines = []
    for name in results.tasks() or study.tasks:
        lines.append(_ours(results, name, groups))
        if name in study.references and all(group.reference for group in groups):
            lines.append(_published(study, name, groups))
    return Table(
        title,
        tuple(group.title for group in groups),
        tuple(study.rewards.values()),
        tuple(lines),
        (*notes, *_remarks(results)),
    )


def _ours(results: Summaries, name: str, groups: list[_Group]) -> Line:
    row, task = results.of(name), results.study.tasks[name]

    def entries(group: _Group) -> Iterator[Entry]:
        measure = group.measure
        known = {} if measure is None else {key: one for key, cell in row.items() if (one := measure(cell)) is not None}
        best = _best(known, certain=not results.study.references)
        for reward in results.study.rewards:
            if reward in row:
                starred = group.starred and results.is_starred(name, reward)
                yield Entry(group.show(row[reward], task), starred, reward in best)
            else:
                yield Entry(GAP)

    return Line(task, "ours", tuple(tuple(entries(group)) for group in groups))


def _best(row: Mapping[str, Estimate], *, certain: bool) -> set[str]:
    """Return the rewards with the largest number; if `certain`, the one whose interval is above those of all others.

    Example:
        >>> row = {"a": Estimate(0.5, 0.4, 0.6), "b": Estimate(0.7, 0.55, 0.85)}
        >>> _best(row, certain=False), _best(row, certain=True)
        ({'b'}, set())
    """
    if not certain:
        return {reward for reward, one in row.items() if one.value == max(other.value for other in row.values())}
    return {
        reward
        for reward, one in row.items()
        if len(row) > 1 and all(one.low > other.high for key, other in row.items() if key != reward)
    }


def _best_words(results: Summaries) -> str:
    """Say what is bold, after a space; nothing if no number can be, for want of intervals or of rewards to compare."""
    if results.study.references:
        return " Bold: the best of the row."
    if len(results.study.rewards) < 2 or not results.has_intervals:
        return ""
    return " Bold: the best of the row, where its interval lies above those of all others."


def _few_words(results: Summaries) -> str:
    """Say of which rewards too few episodes ended to judge by; nothing if they are enough of each."""
    cells = [cell for cell in results.all() if few_words(cell.final_episodes, cell.runs)]
    if not cells:
        return ""
    rewards = ", ".join(dict.fromkeys(results.study.rewards[cell.reward] for cell in cells))
    ended, runs = sum(cell.final_episodes for cell in cells), sum(cell.runs for cell in cells)
    return f"{few_words(ended, runs, f' ({rewards})')} Train for longer."


def _published(study: Study, name: str, groups: list[_Group]) -> Line:
    row = study.references[name]
    best = max(row, key=lambda reward: row[reward].completion)

    def entries(group: _Group) -> Iterator[Entry]:
        for reward in study.rewards:
            if reward in row and group.reference is not None:
                yield Entry(*group.reference(row[reward]), reward == best and group.measure is not None)
            else:
                yield Entry()

    return Line(study.tasks[name], "paper", tuple(tuple(entries(group)) for group in groups))


def _remarks(results: Summaries) -> Iterator[str]:
    study, short, missing = results.study, results.short_of_budget(), results.missing()
    if short and len(short) == len(results.all()):
        yield "Trained on small budgets, so that only differences within a row can be read off, and not all of them."
    elif short:
        yield f"On smaller budgets than the paper's: {_named(study, ((cell.task, cell.reward) for cell in short))}."
    if missing:
        all_shown = len(results.tasks()) in (0, len(study.tasks))
        gaps = GAP if all_shown else f"{GAP}, or no line where an environment has none"
        among = f"{len(missing)} of {len(study.cells)} {study.cell_word}s"
        yield f"No results yet ({gaps}) for {among}: {_named(study, missing)}."


def _named(study: Study, cells: Iterable[tuple[str, str]]) -> str:
    """List cells by task."""
    rows: dict[str, list[str]] = {}
    for task, reward in cells:
        rows.setdefault(task, []).append(reward)
    return "; ".join(
        study.tasks[task].title + ("" if len(rewards) == len(study.rewards) else f" ({', '.join(rewards)})")
        for task, rewards in rows.items()
    )


# Numbers as text.


def episode_text(value: float | None) -> str:
    """Format a number of episodes.

    Example:
        >>> episode_text(2.304), episode_text(1301.4), episode_text(None)
        ('2.3', '1301', 'None')
    """
    return NEVER if value is None else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def seconds_text(value: float | None) -> str:
    """Format seconds with two decimals, or two digits for small values.

    Example:
        >>> seconds_text(133.951), seconds_text(0.04), seconds_text(0.00312), seconds_text(None)
        ('133.95', '0.04', '0.0031', 'None')
    """
    if value is None:
        return NEVER
    digits = 2 if value >= 0.095 or value <= 0.0 else 1 - math.floor(math.log10(value))
    text = f"{value:.{digits}f}"
    return text if value >= 0.095 else text.rstrip("0").rstrip(".") or "0"


def percent_text(estimate: Estimate) -> str:
    """Format a share in percent with half the width of its interval, or with the interval clipped to [0, 100].

    Example:
        >>> percent_text(Estimate(0.5, 0.49, 0.51)), percent_text(Estimate(0.4, -0.7, 1.5))
        ('50.00 ± 1.00', '40.0 [0.0, 100.0]')
        >>> percent_text(Estimate(0.5, math.nan, math.nan))
        '50.00'
    """
    if estimate.low < 0.0 or estimate.high > 1.0:
        return estimate_text(estimate, share=True)
    half = estimate.half_width
    return f"{100 * estimate.value:.2f}" + (f" ± {100 * half:.2f}" if estimate.known else "")


def estimate_text(estimate: Estimate, share: bool) -> str:
    """Format a number with its interval; a share in percent, clipped to [0, 100].

    Example:
        >>> estimate_text(Estimate(0.416, -0.67, 1.5), share=True)
        '41.6 [0.0, 100.0]'
        >>> estimate_text(Estimate(-98.76, -101.2, -95.7), share=False)
        '-98.76 [-101.2, -95.7]'
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    if share:
        return f"{100 * value:.1f}" + f" [{100 * max(low, 0.0):.1f}, {100 * min(high, 1.0):.1f}]" * estimate.known
    return f"{value:.4g}" + f" [{low:.4g}, {high:.4g}]" * estimate.known
