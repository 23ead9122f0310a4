"""The report: one page that holds everything it shows, to be opened from a disk, sent by mail or put on the web."""

from __future__ import annotations

from rewardspec.experiments.comparisons import profiles
from rewardspec.experiments.curves import Curves, figure_of_profiles, figure_of_task, to_svg
from rewardspec.experiments.published import PAPER
from rewardspec.experiments.report.html import escape, plot
from rewardspec.experiments.report.page import page
from rewardspec.experiments.report.results import results_section
from rewardspec.experiments.report.setup import duration, method_section, setup_section
from rewardspec.experiments.report.tasks import tasks_section
from rewardspec.experiments.rewards import REWARDS
from rewardspec.experiments.summaries import ALL, Summaries
from rewardspec.tasks import registry

TITLE = "Rewards from temporal specifications: the evaluation, redone"


def report(results: Summaries, curves: Curves, picture: str | None, hint: str = "") -> str:
    """The page as HTML.

    Args:
        results: All summaries.
        curves: The learning curves.
        picture: The figure of all of them as SVG, or None where nothing can be drawn.
        hint: What to say in its place.
    """
    whole, single, profile = ("", {}, "") if picture is None else _pictures(results, curves, picture)
    sections = (
        results_section(results, whole or f'<p class="alert">{escape(hint)}</p>', profile),
        tasks_section(results, single),
        method_section(),
        setup_section(results),
    )
    return page(TITLE, _head(results), sections)


def _pictures(results: Summaries, curves: Curves, picture: str) -> tuple[str, dict[str, str], str]:
    """The figure of all curves, those of single environments, and the profiles, as HTML."""
    said = "Learning curves of task completion for all environments and rewards; the table above has the numbers."
    whole = f'<figure class="wide">{plot(picture, "all", said)}</figure>'
    single = {}
    for task in PAPER:
        own = {reward: curves[task, reward] for reward in REWARDS if (task, reward) in curves}
        if own:
            said = f"Learning curves of task completion in {registry.get(task).title}."
            svg = plot(to_svg(figure_of_task(task, own)), task, said)
            single[task] = f'<figure class="single">{svg}</figure>'
    shares = profiles(results)
    if not shares:
        return whole, single, ""
    said = "For each reward, the share of runs that complete more than a given part of the task."
    profile = plot(to_svg(figure_of_profiles(shares)), "profiles", said)
    return whole, single, f'<figure class="single">{profile}</figure>'


def _head(results: Summaries) -> str:
    cells = results.all()
    lines = [
        '<p class="lead">Twelve environments, each learned from its own reward, from a Boolean and from a quantitative '
        "specification, as in “Expressive Temporal Specifications for Reward Monitoring” (Adalat and Belardinelli, "
        "AAAI-26), and from the best that this library can make of them. The paper's numbers stand beside ours.</p>"
    ]
    short = len(results.short_of_budget())
    if short:
        which = "Trained on small budgets" if short == len(cells) else f"{short} cells were trained on small budgets"
        lines.append(
            f'<p class="alert">{which}: that shows that everything works, and the numbers compare with nothing.</p>'
        )
    if results.missing():
        count = len(results.missing())
        lines.append(f'<p class="alert">No results yet for {count} of {len(ALL)} cells; they are left open.</p>')
    tiles = (
        (f"{len(cells)} of {len(ALL)}", "cells"),
        (f"{sum(cell.runs for cell in cells):,}", "runs"),
        (_large(sum(cell.episodes for cell in cells)), "episodes"),
        (_large(sum(cell.steps for cell in cells)), "steps"),
        (duration(sum(cell.seconds for cell in cells)), "of training"),
    )
    lines.append('<ul class="tiles">' + "".join(f"<li><b>{a}</b><span>{b}</span></li>" for a, b in tiles) + "</ul>")
    return "\n".join(lines)


def _large(number: int) -> str:
    """A large number for people.

    Example:
        >>> _large(12_240), _large(25_095_774), _large(2_747_966_226)
        ('12,240', '25.1 million', '2.75 billion')
    """
    if number >= 10**9:
        return f"{number / 1e9:.3g} billion"
    return f"{number / 1e6:.3g} million" if number >= 10**6 else f"{number:,}"
