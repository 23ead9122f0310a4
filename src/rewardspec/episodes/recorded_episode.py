"""Recorded inputs of a spec, kept so that episodes can be explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rewardspec.errors import SpecError
from rewardspec.machines.machine import Places
from rewardspec.spec import Spec
from rewardspec.types import Labels, Number

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation


class RecordedEpisode:
    """The labels of an episode as the atoms gave them, with what else its rewards depend on.

    Labels and not observations: nothing has to be read again, so that atoms written for one observation, or that give
    something else at every call, are explained as they were paid. Begins with those of the state after reset.
    """

    def __init__(self, labels: Mapping[str, float]) -> None:
        self._labels = {name: [label] for name, label in labels.items()}
        self._ends: list[tuple[float, bool, bool]] = []  # base reward, whether terminated, whether truncated

    def add(self, labels: Mapping[str, float], base_reward: float, terminated: bool, truncated: bool) -> None:
        """One step more."""
        for name, label in labels.items():
            self._labels[name].append(label)
        self._ends.append((base_reward, terminated, truncated))

    @property
    def steps(self) -> int:
        """Number of steps so far."""
        return len(self._ends)

    def explain(self, spec: Spec) -> Explanation:
        """Explain the reward of every step so far."""
        from rewardspec.episodes.explanation import explain_labels  # here, because few wrappers are asked

        labels = {name: list(labels) for name, labels in self._labels.items()}
        rewards, terminations, truncations = np.array(self._ends, dtype=np.float64).reshape(-1, 3).T
        return explain_labels(spec, labels, rewards, terminations.astype(np.bool_), truncations.astype(np.bool_))


class RecordedEpisodes:
    """The newest episode of some environments, given by their numbers, of a vector environment that has `count`."""

    def __init__(self, record: Sequence[int], count: int) -> None:
        whole = isinstance(record, Sequence | np.ndarray) and not isinstance(record, str)
        if not whole or not all(isinstance(k, int | np.integer) and 0 <= k < count for k in record):
            raise SpecError(
                f"`record` should be the numbers of environments to keep the labels of, from 0 to {count - 1}, such as "
                f"[0] or range({count}). Received {record!r}."
            )
        self._played: dict[int, RecordedEpisode | None] = {int(k): None for k in record}
        self._before: dict[int, RecordedEpisode] = {}

    def __bool__(self) -> bool:
        return bool(self._played)

    def begin(self, where: Places, labels: Labels) -> None:
        """Environments were reset; the labels are those of their first states, in the same order."""
        for row, k in enumerate(where.tolist()):
            if k in self._played:
                episode = self._played[k]
                if episode is not None and episode.steps:
                    self._before[k] = episode
                self._played[k] = RecordedEpisode({name: float(column[row]) for name, column in labels.items()})

    def add(self, labels: Labels, base_rewards: Number, terminated: Number, truncated: Number, began: Places) -> None:
        """All environments made a step, or began an episode with it."""
        self.begin(began, {name: np.asarray(column)[began] for name, column in labels.items()})
        for k, episode in self._played.items():
            if episode is not None and k not in began:
                now = {name: float(column[k]) for name, column in labels.items()}
                episode.add(now, float(base_rewards[k]), bool(terminated[k]), bool(truncated[k]))

    def newest(self, number: int) -> RecordedEpisode | None:
        """The episode being played; where that has only begun, the one before it, if there is one."""
        if number not in self._played:
            kept = f"Kept are those of {', '.join(map(str, self._played))}." if self._played else "None are kept."
            raise SpecError(
                f"The episodes of environment {number!r} are not kept. {kept} Make the wrapper with "
                f"record=[{number!r}]."
            )
        episode = self._played[number]
        return self._before.get(number, episode) if episode is None or not episode.steps else episode
