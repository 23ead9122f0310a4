"""What a spec read of one episode, kept to be explained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rewardspec.spec import Spec

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation


class RecordedEpisode:
    """The labels of an episode as the atoms gave them, with what else its rewards depend on.

    Labels and not observations: nothing has to be read again, so that atoms written for one observation, or that give
    something else at every call, are explained as they were paid.

    Args:
        labels: Those of the state after reset.
    """

    def __init__(self, labels: Mapping[str, float]) -> None:
        self._labels = {name: [label] for name, label in labels.items()}
        self._rewards: list[float] = []
        self._terminations: list[bool] = []
        self._truncations: list[bool] = []

    def add(self, labels: Mapping[str, float], base_reward: float, terminated: bool, truncated: bool) -> None:
        """One step more."""
        for name, label in labels.items():
            self._labels[name].append(label)
        self._rewards.append(base_reward)
        self._terminations.append(terminated)
        self._truncations.append(truncated)

    def explain(self, spec: Spec) -> Explanation:
        """Why every step so far paid what it paid."""
        from rewardspec.episodes.explanation import explain_labels  # here, because few wrappers are asked

        return explain_labels(
            spec,
            {name: list(labels) for name, labels in self._labels.items()},
            np.array(self._rewards, dtype=np.float64),
            np.array(self._terminations, dtype=np.bool_),
            np.array(self._truncations, dtype=np.bool_),
        )
