"""The report's sections on the environments: what each is about, how its runs went, and what its rewards are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from rewardspec.experiments.published import PAPER
from rewardspec.experiments.report.html import bullets, details, escape, table
from rewardspec.experiments.report.page import Section
from rewardspec.experiments.report.results import swatch
from rewardspec.experiments.report.specs import specs, verdicts
from rewardspec.experiments.rewards import REWARDS
from rewardspec.experiments.summaries import Summaries, Summary
from rewardspec.experiments.table import GAP, episode_text, percent_text
from rewardspec.tasks import registry
from rewardspec.tasks.task import Task

_NAMES = {"base": "Base", "boolean": "Boolean", "quantitative": "Quantitative", "best": "Best"}


def tasks_section(results: Summaries, figures: Mapping[str, str]) -> Section:
    """The environments, each with its own section.

    Args:
        results: All summaries.
        figures: The environments' learning curves as HTML, where they could be drawn.
    """
    parts = [
        Section(task, registry.get(task).title, "\n".join(_content(registry.get(task), results, figures.get(task, ""))))
        for task in PAPER
    ]
    return Section("environments", "Environments", "", tuple(parts))


def _content(task: Task, results: Summaries, figure: str) -> Iterator[str]:
    yield f"<p>{escape(task.goal)}</p>"
    yield '<dl class="facts">'
    for name, text in (
        ("Its own reward", task.base_reward),
        ("Task completion", task.measure.words),
        ("Learner", f"{'Q-learning' if task.learner == 'q-learning' else 'PPO'}, {task.max_episode_steps} steps"),
    ):
        yield f"<dt>{name}</dt><dd>{escape(text)}</dd>"
    yield f"<dt>Made by</dt><dd><code>gymnasium.make(&quot;{escape(task.id or str(task.env))}&quot;)</code></dd></dl>"
    yield figure
    if results.of(task.name):
        yield _numbers(task, results)
    yield "<h4>What the rewards are</h4>"
    yield specs(task)
    if task.learner == "q-learning":
        yield "<h4>What they ask for</h4>"
        yield verdicts(task)
    if task.notes:
        lists = [f"<h5>{title}</h5>{bullets(points)}" for title, points in task.notes.items()]
        yield details("Where this differs from the paper", "\n".join(lists))


def _numbers(task: Task, results: Summaries) -> str:
    row = results.of(task.name)
    heads = ["Reward", "Completion (%)", "Paper", "Last tenth (%)", "IQM (%)", "Converged at", "of runs", "Return"]
    heads += ["Own return", "Unsafe"]
    rows = []
    for reward in REWARDS:
        name = swatch(reward) + _NAMES[reward]
        cell = row.get(reward)
        printed = PAPER[task.name].get(reward)
        paper = "" if printed is None else f"{printed.completion:.2f}"
        rows.append([name, *(_cells(cell, paper) if cell else [GAP, paper, *[GAP] * 7])])
    note = (
        '<p class="note">Completion is the mean over runs, ± its 95&nbsp;% interval over runs. Return is what an '
        "episode of the last tenth was paid, own return what the environment's own reward would have been for it. "
        "Unsafe is the share of those episodes that violated a safety objective of the spec.</p>"
    )
    return table(heads, rows, numbers=range(1, len(heads))) + note


def _cells(cell: Summary, paper: str) -> list[str]:
    return [
        percent_text(cell.completion_over_runs),
        paper,
        percent_text(cell.final),
        f"{100 * cell.iqm.value:.2f}",
        episode_text(cell.convergence_episode),
        f"{100 * cell.converged:.0f}&nbsp;%",
        _amount(cell.final_reward),
        _amount(cell.final_base_reward),
        "" if cell.payment is None else f"{100 * cell.final_violated:.1f}&nbsp;%",
    ]


def _amount(value: float) -> str:
    return GAP if math.isnan(value) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
