"""Statistics of runs: means with intervals, the interquartile mean with a bootstrap, moving averages, profiles.

The methods are those of Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (2021),
implemented here because SciPy's bootstrap has no strata. Episodes of one run are dependent, so the interval over all
episodes pooled, as in the paper, is too narrow. Intervals over runs take each run's mean as one observation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from rewardspec.errors import Error
from rewardspec.lab.learning.settings import Unit
from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.types import Bools, Floats, Ints

NORMAL_95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
FINAL_SHARE = 0.1
"""Share of training that counts as its end."""
WINDOW = 21
"""The paper's window for smoothing curves, in episodes."""
FEWEST_RUNS = 3
"""The fewest runs of which an interval says anything: of two it is 13 times as wide as their difference."""
FEW_EPISODES = 5
"""Episodes a run in the last tenth, below which they are too few to judge by."""
RESAMPLES = 2000
"""Number of bootstrap samples."""


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval, whose ends are NaN if it is unknown."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low)

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return 0.5 * (self.high - self.low)

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


def pooled_mean(values: Floats) -> Estimate:
    """Compute the mean of all values and its normal 95 % interval, as if they were independent, as in the paper.

    Example:
        >>> print(pooled_mean(np.array([0.0, 1.0] * 50)))
        0.5 [0.4015, 0.5985]
    """
    return _with_interval(values, NORMAL_95)


def mean_over_runs(run_means: Floats) -> Estimate:
    """Compute the mean of the runs' means and its 95 % interval by Student's t, which is NaN for fewer than three runs.

    Example:
        >>> print(mean_over_runs(np.array([0.4, 0.5, 0.6])))
        0.5 [0.2516, 0.7484]
    """
    if len(run_means) < FEWEST_RUNS:
        return Estimate(float(np.mean(run_means)), math.nan, math.nan)
    return _with_interval(run_means, t_quantile(len(run_means) - 1))


def t_quantile(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t.

    Example:
        >>> [round(t_quantile(n), 3) for n in (1, 2, 4, 9, 499)]
        [12.706, 4.303, 2.776, 2.262, 1.965]
    """
    from scipy.special import stdtrit  # installed with JAX, and slow to import

    return float(stdtrit(freedom, 0.975))


def run_means(log: TrainingLog, column: Floats, chosen: Bools | None = None) -> Floats:
    """Compute each run's mean of a column over the chosen episodes; runs without any are left out."""
    run = log.run if chosen is None else log.run[chosen]
    values = column if chosen is None else column[chosen]
    counts = np.bincount(run, minlength=log.runs)
    sums = np.bincount(run, weights=values, minlength=log.runs)
    means: Floats = sums[counts > 0] / counts[counts > 0]
    return means


def in_the_end(log: TrainingLog, unit: Unit, share: float = FINAL_SHARE) -> Bools:
    """Select the episodes in the last share of their run, by episodes or steps; always the last one.

    Example:
        >>> from rewardspec.lab.learning.training_log import COLUMNS
        >>> columns = dict.fromkeys((*COLUMNS, "score"), [0] * 4) | {"end_step": [5, 80, 95, 100]}
        >>> log = TrainingLog.from_columns(1, columns)
        >>> in_the_end(log, "steps"), in_the_end(log, "episodes")
        (array([False, False,  True,  True]), array([False, False, False,  True]))
    """
    position, total = _places(log, unit)
    late = position > (1.0 - share) * total
    late[np.searchsorted(log.run, np.unique(log.run), side="right") - 1] = True
    return np.asarray(late)


def few_words(ended: int, runs: int, rewards: str = "") -> str:
    """Say that too few episodes ended in the last tenth of runs to judge by; nothing if they are enough.

    `rewards` follows the number of runs.

    Example:
        >>> few_words(9, 2, " (Base)")
        'Only 9 episodes ended in the last tenth of 2 runs (Base), too few to judge by.'
        >>> few_words(10, 2)
        ''
    """
    if ended >= FEW_EPISODES * runs:
        return ""
    return (
        f"Only {ended} episode{'s' * (ended != 1)} ended in the last tenth of {runs} run{'s' * (runs != 1)}{rewards}, "
        "too few to judge by."
    )


def at_the_start(log: TrainingLog, unit: Unit, share: float = FINAL_SHARE) -> Bools:
    """Select the episodes in the first share of their run, by episodes or steps; always the first one."""
    position, total = _places(log, unit)
    early = position <= share * total
    early[np.searchsorted(log.run, np.unique(log.run))] = True
    return np.asarray(early)


def _places(log: TrainingLog, unit: Unit) -> tuple[Ints, Ints]:
    """Return the position of each episode in its run, and that of the run's last episode."""
    counts = np.bincount(log.run, minlength=log.runs)
    ends = np.cumsum(counts)
    position = log.end_step if unit == "steps" else np.arange(len(log)) - (ends - counts)[log.run] + 1
    return position, position[ends[log.run] - 1]


# The interquartile mean.


def bootstrapped_iqm(strata: Sequence[Floats], *, resamples: int = RESAMPLES, seed: int = 0) -> Estimate:
    """Compute the interquartile mean over runs with its 95 % percentile interval by the stratified bootstrap.

    Runs are drawn anew within each stratum, such as an environment, and every stratum weighs the same however many
    runs it has. The interval is NaN where a stratum has fewer than three runs.

    Example:
        >>> print(bootstrapped_iqm([np.full(4, 0.5), np.full(3, 0.5)]))
        0.5 [0.5, 0.5]
    """
    sizes = [len(stratum) for stratum in strata]
    if not sizes or 0 in sizes:
        raise Error(f"Every stratum should have a run to draw. Received strata of {sizes} runs. Leave out empty ones.")
    order = np.argsort(np.concatenate(strata), kind="stable")
    ordered = np.concatenate(strata)[order]
    even = np.concatenate([np.full(len(s), 1.0 / (len(s) * len(strata))) for s in strata])[order]
    value = float(_middle_means(ordered, even[None])[0])
    if min(sizes) < FEWEST_RUNS:
        return Estimate(value, math.nan, math.nan)
    rng = np.random.default_rng(seed)
    draws = []
    for start in range(0, resamples, 250):  # a part at a time: all at once would need the memory of all
        count = min(250, resamples - start)
        drawn = np.concatenate([_times_drawn(rng, count, len(stratum)) for stratum in strata], axis=1)
        draws.append(_middle_means(ordered, drawn[:, order] * even))
    low, high = np.quantile(np.concatenate(draws), (0.025, 0.975))
    return Estimate(value, float(low), float(high))


def _times_drawn(rng: np.random.Generator, count: int, runs: int) -> Ints:
    """Count how often each run is drawn, which avoids sorting the draws; shape (count, runs)."""
    drawn = rng.integers(runs, size=(count, runs)) + runs * np.arange(count)[:, None]
    return np.bincount(drawn.ravel(), minlength=count * runs).reshape(count, runs)


def _middle_means(ordered: Floats, weights: Floats) -> Floats:
    """Compute the mean of the middle half of the mass for each row of weights, which sum to 1."""
    reached = np.cumsum(weights, axis=1)
    inside = np.diff(np.clip(reached, 0.25, 0.75), axis=1, prepend=0.25)
    means: Floats = 2.0 * (inside @ ordered)
    return means


# Curves.


def moving_average(values: Floats, window: int = WINDOW) -> Floats:
    """Compute the centered moving average along the last axis, with a truncated window at the ends.

    Example:
        >>> moving_average(np.array([0.0, 3.0, 6.0, 9.0]), window=3)
        array([1.5, 3. , 6. , 7.5])
    """
    count = values.shape[-1]
    sums = np.concatenate([np.zeros((*values.shape[:-1], 1)), np.cumsum(values, axis=-1)], axis=-1)
    low = np.maximum(np.arange(count) - window // 2, 0)
    high = np.minimum(np.arange(count) + (window + 1) // 2, count)
    return np.asarray((sums[..., high] - sums[..., low]) / (high - low))


def performance_profile(scores: Floats, thresholds: Floats) -> Floats:
    """Compute the share of the runs that score more than each threshold.

    Example:
        >>> performance_profile(np.array([0.2, 0.4, 0.6]), np.array([0.0, 0.4, 1.0])).round(2)
        array([1.  , 0.33, 0.  ])
    """
    return np.asarray(1.0 - np.searchsorted(np.sort(scores), thresholds, side="right") / len(scores))


def _with_interval(values: Floats, quantile: float) -> Estimate:
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, math.nan, math.nan)
    half = quantile * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half)
