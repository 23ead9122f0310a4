"""Summaries of cells, and the table of all summaries."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping

import numpy as np

from rewardspec.errors import Error
from rewardspec.lab.experiments.convergence import convergence_of
from rewardspec.lab.experiments.statistics import (
    FEWEST_RUNS,
    Estimate,
    bootstrapped_iqm,
    in_the_end,
    mean_over_runs,
    pooled_mean,
    run_means,
)
from rewardspec.lab.experiments.study import Cell, Provenance, Study
from rewardspec.types import Floats, Json, JsonObject


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summary(Provenance):
    """Summary of a cell. Task completion is the task's first measure of success.

    Attributes:
        full_budget: Whether the cell had the budget of the study's references.
        episodes: Number of finished episodes of all runs.
        completion: Mean task completion over all episodes of all runs; the interval treats episodes as independent.
        completion_over_runs: Mean of the runs' means, with the interval over runs.
        iqm: Interquartile mean of the runs' means, with a bootstrapped interval.
        final_episodes: Number of finished episodes in the last tenth of training, of all runs.
        final: Task completion in the last tenth of training: mean of the runs' means, with the interval over runs.
        final_reward: Mean return of the learner in the last tenth, over all its episodes.
        final_base_reward: Mean return by the environment's own reward in the last tenth, likewise.
        further_measures: Further measures of success over all of training, by name: means over runs.
        final_measures: Further measures in the last tenth.
        violated: Share of all episodes that violated a veto of the spec.
        final_violated: The same in the last tenth.
        final_over_runs: Means over runs in the last tenth, as those of measures: `reward`, `base_reward`, `violated`.
        convergence_episode: Mean episode of convergence by the study's rule; None if too few runs converged.
        convergence_seconds: Mean seconds until convergence, of a run's share of the time.
        converged: Share of the runs that converged.
        convergence_episode_counting_zero: Mean over all runs, with 0 for runs that did not converge.
        final_scores: Each run's mean task completion in the last tenth, shape (runs,).
    """

    full_budget: bool
    runs: int
    episodes: int
    steps: int
    completion: Estimate
    completion_over_runs: Estimate
    iqm: Estimate
    final_episodes: int
    final: Estimate
    final_reward: float
    final_base_reward: float
    further_measures: Mapping[str, Estimate]
    final_measures: Mapping[str, Estimate]
    violated: float
    final_violated: float
    final_over_runs: Mapping[str, float]
    convergence_episode: float | None
    convergence_seconds: float | None
    converged: float
    convergence_episode_counting_zero: float
    final_scores: Floats

    def as_json(self) -> JsonObject:
        """Return the summary as JSON data, without the scores of single runs; unknown values are null."""
        return {
            field.name: as_json_data(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if field.name != "final_scores"
        }


def summarize(cell: Cell, study: Study) -> Summary:
    """Summarize a cell of a study in which a run finished an episode."""
    log = cell.log
    if not len(log):
        raise Error(f"No run of {cell.task} with the reward {cell.reward!r} finished an episode. Train it for longer.")
    late = in_the_end(log, cell.unit)
    # A log also has the formulas of a study that has since been given a spec with other atoms of the same names.
    known = study.tasks[cell.task].measures
    further = {name: column for name, column in list(log.measures.items())[1:] if name in known}
    columns = {"reward": log.reward, "base_reward": log.base_reward, "violated": log.violated.astype(np.float64)}
    scores, final_scores = run_means(log, log.task_completion), run_means(log, log.task_completion, late)
    seen = convergence_of(log, cell.seconds, study.convergence(study.tasks[cell.task]))
    provenance = {field.name: getattr(cell, field.name) for field in dataclasses.fields(Provenance)}
    return Summary(
        **provenance,
        full_budget=study.is_full(study.tasks[cell.task], cell.config, log.runs),
        runs=log.runs,
        episodes=len(log),
        steps=int(log.length.sum(dtype=np.int64)),
        completion=pooled_mean(log.task_completion),
        completion_over_runs=mean_over_runs(scores),
        iqm=bootstrapped_iqm([scores]),
        final_episodes=int(late.sum()),
        final=mean_over_runs(final_scores),
        final_reward=float(log.reward[late].mean()),
        final_base_reward=float(log.base_reward[late].mean()),
        further_measures={name: mean_over_runs(run_means(log, column)) for name, column in further.items()},
        final_measures={name: mean_over_runs(run_means(log, column, late)) for name, column in further.items()},
        violated=float(log.violated.mean()),
        final_violated=float(log.violated[late].mean()),
        final_over_runs={name: float(run_means(log, column, late).mean()) for name, column in columns.items()},
        convergence_episode=seen.mean_episode,
        convergence_seconds=seen.mean_seconds,
        converged=seen.share,
        convergence_episode_counting_zero=seen.mean_episode_counting_zero,
        final_scores=final_scores,
    )


class Summaries:
    """Summaries of the finished cells of a study, given in any order."""

    def __init__(self, study: Study, summaries: Iterable[Summary]) -> None:
        self.study = study
        self._cells: dict[tuple[str, str], Summary] = {}
        for summary in summaries:
            key = (summary.task, summary.reward)
            if key not in study.cells:
                raise Error(f"The table has no place for {summary.task!r} with the reward {summary.reward!r}.")
            if key in self._cells:
                raise Error(
                    f"There are two results for {summary.task} with the reward {summary.reward!r}, perhaps of "
                    "different settings. Keep results of different settings in different directories."
                )
            self._cells[key] = summary

    def get(self, task: str, reward: str) -> Summary | None:
        """Return the summary of a cell, or None."""
        return self._cells.get((task, reward))

    def of(self, task: str) -> dict[str, Summary]:
        """Return the summaries of a task by reward."""
        return {reward: self._cells[task, reward] for reward in self.study.rewards if (task, reward) in self._cells}

    def tasks(self) -> list[str]:
        """Return the names of the tasks with results, in the study's order."""
        return [task for task in self.study.tasks if self.of(task)]

    def all(self) -> list[Summary]:
        """Return all summaries in the order of the table."""
        return [self._cells[key] for key in self.study.cells if key in self._cells]

    def complete(self) -> list[dict[str, Summary]]:
        """Return the rows with results of every reward."""
        return [row for row in map(self.of, self.study.tasks) if len(row) == len(self.study.rewards)]

    def missing(self) -> list[tuple[str, str]]:
        """Return the cells without results."""
        return [key for key in self.study.cells if key not in self._cells]

    def short_of_budget(self) -> list[Summary]:
        """Return the cells with less than the budget of the references, which are not comparable with them."""
        return [summary for summary in self.all() if not summary.full_budget]

    @property
    def shows_convergence(self) -> bool:
        """Whether convergence is worth a word: some run converged, or there are published numbers of it."""
        return bool(self.study.references) or any(cell.converged for cell in self.all())

    @property
    def has_intervals(self) -> bool:
        """Whether some cell has enough runs for an interval."""
        return any(cell.runs >= FEWEST_RUNS for cell in self.all())

    def interval_words(self, interval: str = "the 95 % interval over runs") -> str:
        """Say that the numbers have an interval, or why they have none; the end of a sentence about them."""
        runs = [cell.runs for cell in self.all()]
        if runs and not self.has_intervals:
            return f"without an interval, for which there are too few runs: it takes at least {FEWEST_RUNS}"
        return f"with {interval}" + f" where there are at least {FEWEST_RUNS}" * (min(runs, default=0) < FEWEST_RUNS)

    def is_starred(self, task: str, reward: str) -> bool:
        """Return whether a cell converged to a suboptimal policy: a rival completes more of the task."""
        cell = self.get(task, reward)
        if cell is None or cell.convergence_episode is None:
            return False
        others = [self.get(task, other) for other in self.study.rivals if other != reward]
        return any(other is not None and other.completion.value > cell.completion.value for other in others)


def as_json_data(value: object) -> Json:
    """Convert a value to JSON data; NaN and infinity become null.

    Example:
        >>> as_json_data(Estimate(0.5, math.nan, np.float64(0.75)))
        {'value': 0.5, 'low': None, 'high': 0.75}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json_data(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_json_data(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json_data(entry) for entry in value]
    if isinstance(value, np.generic):
        return as_json_data(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
