"""Convergence of the episode returns of a run.

The paper's definition, with the parameters of its appendix. The rewards R_1, R_2, … of a run's episodes are averaged
exponentially, E_t = β E_{t-1} + (1 - β) R_t with β = 1 - 2 / (N + 1) and span N = 32, starting from E_0 = R_1. The
checkpoints are C_i = E_{iN}. A run has converged at checkpoint i when each of the last P = 5 pairs of checkpoints,
relative to the earlier of the two, differs by at most the tolerance. The earliest is after P + 1 checkpoints, which
are 192 episodes.

The paper says that this relative tolerance was "adapted to the recent noise in the checkpoint sequence, clipped to
[0.002, 0.02]". Here that is twice the standard deviation of the same P relative changes, clipped to that range. Of
five changes that cancel out none lies further from 0 than twice their standard deviation, while changes that all go the
same way have hardly any deviation. So changes of up to 0.2 % pass whatever they look like, changes of up to 2 % pass as
noise but not as a trend, and larger ones never pass. As in the paper there is no least level, and rewards may be
negative; next to an average of 0 every change is large, except none at all.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from rewardspec.lab.learning.training_log import TrainingLog
from rewardspec.types import Floats, Ints

SPAN = 32
"""Span N of the moving average, and the number of episodes from one checkpoint to the next."""
PAIRS = 5
"""Number of pairs of checkpoints that must agree."""
TOLERANCE = (0.002, 0.02)
"""Bounds of the relative tolerance."""
NOISE = 2.0
"""Tolerance in standard deviations of the recent changes, within these bounds."""
QUORUM = 0.5
"""Share of the runs that must converge for a cell to converge; otherwise the table shows None."""


@dataclasses.dataclass(frozen=True)
class ConvergenceRule:
    """Convergence criterion of a run, and the mean over runs.

    Attributes:
        span: Span of the moving average, and number of episodes between checkpoints.
        pairs: Number of pairs of checkpoints that must agree.
        most_change: Greatest change between checkpoints; None for the relative tolerance that adapts to noise.
        first: Number of a run's first episode.
        counts_all: Whether a run that does not converge counts as 0 in the mean. Otherwise the mean is over the runs
            that converge, and None if fewer than half do.
    """

    span: int = SPAN
    pairs: int = PAIRS
    most_change: float | None = None
    first: int = 1
    counts_all: bool = False


DEFAULT = ConvergenceRule()


@dataclasses.dataclass(frozen=True)
class Convergence:
    """Convergence of the runs of a cell: episodes until then and each run's share of the seconds, 0 and NaN for none.

    Both have the shape (runs,). The rule defines the means.

    Example:
        >>> seen = Convergence(np.array([192, 0, 256]), np.array([0.1, np.nan, 0.3]))
        >>> seen.mean_episode, seen.share
        (224.0, 0.6666666666666666)
    """

    episodes: Ints
    seconds: Floats
    rule: ConvergenceRule = ConvergenceRule()

    @property
    def share(self) -> float:
        """Share of the runs that converged."""
        return float((self.episodes > 0).mean()) if len(self.episodes) else 0.0

    @property
    def mean_episode(self) -> float | None:
        """Mean episode by the rule; None if too few runs converged."""
        met = self.episodes > 0
        numbers = np.where(met, self.episodes + self.rule.first - 1, 0)
        return self._mean(numbers) if self._enough else None

    @property
    def mean_seconds(self) -> float | None:
        """Mean seconds by the rule; None if too few runs converged."""
        return self._mean(np.nan_to_num(self.seconds)) if self._enough else None

    def _mean(self, numbers: Ints | Floats) -> float:
        return float(numbers.mean() if self.rule.counts_all else numbers[self.episodes > 0].mean())

    @property
    def mean_episode_counting_zero(self) -> float:
        """Mean over all runs, with 0 for runs that did not converge.

        The test cannot hold before 192 episodes, but the paper has means as low as 2.3. This mean can be so low: 2.3 is
        one run of 500 that converged after 1,152 episodes, or six after 192.
        """
        return float(self.episodes.mean()) if len(self.episodes) else 0.0

    @property
    def _enough(self) -> bool:
        return self.share >= (0.0 if self.rule.counts_all else QUORUM) and self.share > 0.0


def convergence_of(log: TrainingLog, seconds: float, rule: ConvergenceRule = DEFAULT) -> Convergence:
    """Find the convergence of the runs of a cell, in episodes and in seconds.

    Runs are trained together, so a run's seconds are amortized: an equal part of `seconds`, the cell's training time,
    times the share that had passed when the run converged.
    """
    rewards, lengths = by_run(log, log.reward)
    episodes = first_convergence(rewards, lengths, rule)
    ends = np.cumsum(lengths)
    found = np.full(log.runs, np.nan)
    met = episodes > 0
    if met.any():
        at = (ends - lengths)[met] + episodes[met] - 1
        last = log.seconds[ends[met] - 1]
        passed = np.divide(log.seconds[at], last, out=np.ones_like(last), where=last > 0)
        found[met] = passed * seconds / log.runs
    return Convergence(episodes, found, rule)


def first_convergence(rewards: Floats, lengths: Ints | None = None, rule: ConvergenceRule = DEFAULT) -> Ints:
    """Return the number of episodes until each run converged, 0 for never, shape (runs,).

    Rewards are the returns of each run's episodes, shape (runs, episodes); `lengths` are the numbers of episodes, shape
    (runs,), the rest being padding, or None for no padding.

    Example:
        >>> first_convergence(np.array([[7.0] * 400, [-7.0] * 400, list(range(400))]))
        array([192, 192,   0])
    """
    averages, pairs = checkpoints(rewards, rule.span), rule.pairs
    changes = _relative_changes(averages) if rule.most_change is None else np.diff(averages, axis=1)
    runs, count = changes.shape
    if count < pairs:
        return np.zeros(runs, dtype=np.int64)
    recent = np.lib.stride_tricks.sliding_window_view(changes, pairs, axis=1)
    with np.errstate(invalid="ignore"):  # an infinite change has no deviation and never passes
        adapted = np.clip(NOISE * recent.std(axis=2), *TOLERANCE)
        tolerance = adapted if rule.most_change is None else np.full_like(adapted, rule.most_change)
        settled = (np.abs(recent) <= tolerance[:, :, None]).all(axis=2)
    if lengths is not None:
        settled &= (np.arange(pairs + 1, count + 2) * rule.span)[None] <= np.asarray(lengths)[:, None]
    first = (settled.argmax(axis=1) + pairs + 1) * rule.span
    return np.where(settled.any(axis=1), first, 0).astype(np.int64)


def checkpoints(rewards: Floats, span: int = SPAN) -> Floats:
    """Compute the moving average of each run's returns after every `span` episodes, shape (runs, episodes // span).

    Example:
        >>> checkpoints(np.array([[1.0, 1.0, 4.0, 4.0]]), span=2).round(2)
        array([[1.  , 3.67]])
    """
    beta = 1.0 - 2.0 / (span + 1)
    runs, episodes = rewards.shape
    count = episodes // span
    # One block of episodes at a time: it adds a weighted sum, and the former average decays by β^span.
    weights = (1.0 - beta) * beta ** np.arange(span - 1, -1, -1)
    added = rewards[:, : count * span].reshape(runs, count, span) @ weights
    averages = np.empty((runs, count))
    average = rewards[:, 0] if episodes else np.zeros(runs)
    for number in range(count):
        average = beta**span * average + added[:, number]
        averages[:, number] = average
    return averages


def by_run(log: TrainingLog, column: Floats) -> tuple[Floats, Ints]:
    """Reshape a column of a log to one row for each run, padded with its last value; also return the row lengths."""
    lengths = np.bincount(log.run, minlength=log.runs).astype(np.int64)
    width = int(lengths.max(initial=0))
    if (lengths == width).all():
        return column.reshape(log.runs, width), lengths
    starts = np.cumsum(lengths) - lengths
    index = starts[:, None] + np.minimum(np.arange(width), np.maximum(lengths - 1, 0)[:, None])
    return column[np.minimum(index, len(column) - 1)], lengths


def _relative_changes(averages: Floats) -> Floats:
    """Compute relative changes between checkpoints; a change from 0 is infinite."""
    before, after = averages[:, :-1], averages[:, 1:]
    change = after - before
    unlimited = np.where(change == 0.0, 0.0, np.inf)
    return np.divide(change, np.abs(before), out=unlimited, where=before != 0.0)
