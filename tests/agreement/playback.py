"""Episodes of a case as environments that play them back, and as arrays of lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from tests.spec_cases import Case
from tests.spec_definition import Bools, Floats


class Playback(gym.Env[Any, Any]):
    """Plays some episodes of a case, one after the other and then anew, whatever the agent does."""

    observation_space = Box(-np.inf, np.inf, (2,), np.float64)
    action_space = Box(-8.0, 8.0, (1,), np.float64)

    def __init__(self, case: Case, episodes: Sequence[int]) -> None:
        self.case, self.episodes = case, list(episodes)
        self.begun, self.at = -1, 0

    @property
    def episode(self) -> int:
        return self.episodes[self.begun % len(self.episodes)]

    def next_action(self) -> NDArray[np.float64]:
        """The action that was recorded next; anything where the episode is over."""
        at = min(self.at + 1, len(self.case.base_rewards))
        return self.case.labels["c"][at, self.episode : self.episode + 1]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.begun, self.at = self.begun + 1, 0
        return self._seen()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += 1
        obs, info = self._seen()
        case, t, e = self.case, self.at - 1, self.episode
        return obs, float(case.base_rewards[t, e]), bool(case.terminated[t, e]), bool(case.truncated[t, e]), info

    def _seen(self) -> tuple[Any, dict[str, Any]]:
        labels = {name: column[self.at, self.episode] for name, column in self.case.labels.items()}
        return np.array([labels["a"], labels["c"]]), info_of(labels)


class OnDevice(VectorWrapper):
    """A vector environment whose arrays are those of another library; final observations are of the whole batch."""

    def __init__(self, env: Any, array: Callable[[Any], Any]) -> None:
        super().__init__(env)
        self.array = array

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._converted(observations), self._converted(infos)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observations, *others, infos = self.env.step(np.asarray(actions))
        finals = infos.get("final_obs")
        if finals is not None:
            rows = zip(finals, observations, strict=True)
            infos["final_obs"] = np.stack([row if final is None else final for final, row in rows])
        return tuple(map(self._converted, (observations, *others, infos)))

    def _converted(self, tree: Any) -> Any:
        if isinstance(tree, dict):
            return {key: self._converted(part) for key, part in tree.items()}
        return self.array(np.array(tree))  # a copy, because the environments write over theirs


def info_of(labels: Mapping[str, Any]) -> dict[str, Any]:
    """The labels that come from `info`: `b`, and as one array, things last, those of each atom about things."""
    predicates = dict.fromkeys(name.partition("(")[0] for name in labels if "(" in name)
    of_things = {p: np.stack([v for name, v in labels.items() if name.startswith(f"{p}(")], -1) for p in predicates}
    return {"b": labels["b"], **of_things}


def ended_episodes(case: Case) -> NDArray[np.intp]:
    """The episodes that say themselves that they have ended, as an environment that resets itself has to."""
    return np.flatnonzero((case.terminated | case.truncated).any(axis=0))


@dataclass(frozen=True)
class Lanes:
    """Episodes of a case, several in a row in each lane of a batch.

    Attributes:
        episode: Which episode each lane plays, of shape (steps, lanes).
        step: Which of its steps, from 1, likewise.
        ends: Where it is the last one, likewise.
        first: The episode that each lane begins with, of shape (lanes,).
        following: The episode that begins where one has ended, of shape (steps, lanes); any elsewhere.
    """

    episode: NDArray[np.intp]
    step: NDArray[np.intp]
    ends: Bools
    first: NDArray[np.intp]
    following: NDArray[np.intp]

    def labels(self, case: Case) -> dict[str, Floats]:
        """The labels after each step."""
        return {name: column[self.step, self.episode] for name, column in case.labels.items()}

    def first_labels(self, case: Case, episode: NDArray[np.intp]) -> dict[str, Floats]:
        """The labels after a reset."""
        return {name: column[0, episode] for name, column in case.labels.items()}


def lanes(case: Case, count: int, steps: int) -> Lanes:
    """A number of lanes, of so many steps each."""
    columns = [list(_lane(case, lane, steps)) for lane in range(count)]
    table = np.array([[list(row) for row in column] for column in columns]).transpose(2, 1, 0)
    episode, step, ends, following = table
    first = np.array([column[0][0] for column in columns])
    return Lanes(episode, step, ends.astype(bool), first, following)


def _lane(case: Case, lane: int, steps: int) -> Iterator[tuple[int, int, int, int]]:
    total = len(case.lengths)
    number, step = lane, 0
    for _ in range(steps):
        step += 1
        episode = number % total
        ends = step == case.lengths[episode]
        # Lanes take different ways through the episodes, so that they end at different times.
        following = number + 1 + lane // total
        yield episode, step, int(ends), following % total
        if ends:
            number, step = following, 0
