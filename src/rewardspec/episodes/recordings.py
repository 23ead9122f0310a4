"""Recorded episodes, in the layouts in which people keep them, cut into chunks of bounded size.

Observations and actions may be arrays, or dictionaries and tuples of arrays, as Gymnasium's spaces give them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import RecordingError
from rewardspec.spec.atoms.batch_info import BatchInfo, stack_infos
from rewardspec.types import Array, EpisodeRecord, Info, InfoDict, Observation, Tree


@dataclass(frozen=True)
class Chunk:
    """Some whole episodes, one after the other: arrays, or trees of them, with a row for each transition.

    Attributes:
        obs: The observation before each transition.
        next_obs: The observation after it.
        lengths: Each episode's number of transitions.
        info: The info that came with `obs`, a dict of arrays; None where none was kept.
        next_info: The info that came with `next_obs`, likewise.
    """

    obs: Observation
    actions: Tree
    next_obs: Observation
    lengths: NDArray[np.int64]
    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    info: Info | None = None
    next_info: Info | None = None

    def info_at(self, number: int, first: bool = False) -> InfoDict | None:
        """The info that came with the observation after a transition, or before it: that of one step."""
        infos = self.info if first else self.next_info
        return None if infos is None else BatchInfo(infos, len(self.rewards)).row(number)


def flat_chunks(
    observations: Tree,
    actions: Tree,
    terminations: Array,
    truncations: Array,
    rewards: Array,
    next_observations: Tree,
    infos: Tree,
    size: int,
) -> Iterator[Chunk]:
    """Chunks of about `size` transitions from episodes that were put one after the other in flat arrays."""
    terminations = np.asarray(terminations, dtype=bool).reshape(-1)
    total = len(terminations)
    truncations = (
        np.zeros(total, dtype=bool) if truncations is None else _column(truncations, total, "truncations").astype(bool)
    )
    rewards = np.zeros(total) if rewards is None else _column(rewards, total, "rewards").astype(np.float64)
    if leading(actions) != total:
        raise RecordingError(f"`actions` should have {total} rows, as `terminations` has. Received {leading(actions)}.")
    ends = np.flatnonzero(terminations | truncations) + 1
    if total and (not ends.size or ends[-1] != total):
        ends = np.append(ends, total)  # a last episode that the recording broke off
    lengths = np.diff(ends, prepend=0)
    rows = leading(observations)
    if next_observations is not None:
        if rows != total or leading(next_observations) != total:
            received = f"Received {rows} and {leading(next_observations)}"
            raise RecordingError(f"`observations` and `next_observations` should have {total} rows each. {received}.")
    elif rows != total + len(lengths):
        raise RecordingError(
            f"{total} transitions of {len(lengths)} episodes have {total + len(lengths)} observations, the last one of "
            f"each episode included. Received {rows}. Pass `next_observations` where these last ones are kept apart."
        )
    infos = read_infos(infos, rows, "`infos`")
    if infos is not None and next_observations is not None:
        raise RecordingError(
            "`infos` have a row for each observation, the last one of each episode included. Give the observations so "
            "too, without `next_observations`."
        )
    for first, last in _spans(lengths, size):
        start, stop = int(ends[first] - lengths[first]), int(ends[last - 1])
        before = np.arange(start, stop) + np.repeat(np.arange(first, last), lengths[first:last])
        if next_observations is not None:
            obs, next_obs = (take(tree, slice(start, stop)) for tree in (observations, next_observations))
        else:
            obs, next_obs = take(observations, before), take(observations, before + 1)
        part = slice(start, stop)
        yield Chunk(
            obs,
            take(actions, part),
            next_obs,
            lengths[first:last],
            rewards[part],
            terminations[part],
            truncations[part],
            *(None if infos is None else take(infos, rows) for rows in (before, before + 1)),
        )


def episode_chunks(episodes: Iterable[EpisodeRecord], size: int) -> Iterator[Chunk]:
    """Chunks of about `size` transitions from episodes one at a time; see `rewardspec.types.EpisodeRecord`.

    There is one more of observations and infos than of steps. Without truncations, an episode that does not end by
    itself was cut off at its last step.
    """
    waiting: list[Chunk] = []
    held = 0
    for number, episode in enumerate(episodes):
        chunk = read_episode(episode, number)
        waiting.append(chunk)
        held += int(chunk.lengths[0])
        if held >= size:
            yield _join(waiting)
            waiting, held = [], 0
    if waiting:
        yield _join(waiting)


def field(episode: EpisodeRecord, name: str) -> Tree:
    """A part of an episode that is a mapping or an object; None where it has none."""
    return episode.get(name) if isinstance(episode, Mapping) else getattr(episode, name, None)


def take(tree: Tree, index: Array | slice) -> Tree:
    """The rows at an index, of an array or of every array in a dictionary or tuple."""
    if isinstance(tree, Mapping):
        return {key: take(part, index) for key, part in tree.items()}
    if isinstance(tree, tuple):
        return tuple(take(part, index) for part in tree)
    return np.asarray(tree)[index]


def stacked(steps: Tree) -> Tree:
    """Turn a list of one dictionary or tuple per step into one dictionary or tuple of columns."""
    if not isinstance(steps, list) or not steps or not isinstance(steps[0], Mapping | tuple):
        return steps
    first = steps[0]
    if isinstance(first, Mapping):
        return {key: stacked([step[key] for step in steps]) for key in first}
    return tuple(stacked(list(parts)) for parts in zip(*steps, strict=True))


def leading(tree: Tree) -> int:
    """The number of rows."""
    while isinstance(tree, Mapping | tuple):
        tree = next(iter(tree.values() if isinstance(tree, Mapping) else tree))
    return len(tree)


def read_episode(episode: EpisodeRecord, number: int | None = None) -> Chunk:
    """One episode as a chunk; `number` is for error messages."""
    which = "The episode" if number is None else f"Episode {number}"
    observations, actions = (stacked(field(episode, name)) for name in ("observations", "actions"))
    if observations is None or actions is None:
        raise RecordingError(f"{which} has no {'observations' if observations is None else 'actions'}.")
    steps = leading(actions)
    if leading(observations) != steps + 1:
        raise RecordingError(
            f"{which} has {steps} actions, so it should have {steps + 1} observations, from reset to the last. "
            f"Received {leading(observations)}."
        )
    infos = read_infos(field(episode, "infos"), steps + 1, f"{which}'s infos")
    return Chunk(
        take(observations, slice(0, -1)),
        take(actions, slice(None)),
        take(observations, slice(1, None)),
        np.array([steps]),
        *read_ends(episode, steps),
        *(None if infos is None else take(infos, part) for part in (slice(0, -1), slice(1, None))),
    )


def read_infos(infos: Tree, rows: int, name: str) -> InfoDict | None:
    """Recorded infos as a dict of arrays, with masks of the rows that have a key; None where there are none.

    They are given so, as Minari keeps them, or as a dict for each of the observations. `name` is for error messages.
    """
    if infos is None or len(infos) == 0:
        return None
    columns = infos if isinstance(infos, Mapping) else stack_infos(infos)
    for key, column in columns.items():
        if isinstance(column, Mapping):
            read_infos(column, rows, f"{name}[{key!r}]")
        elif len(column) != rows:
            raise RecordingError(
                f"{name} should have {rows} entries, one for each observation. Received {len(column)} for {key!r}."
            )
    return dict(columns)


def read_ends(episode: EpisodeRecord, steps: int) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the rewards, terminations and truncations of an episode.

    Without truncations, an episode that does not end by itself was cut off at its last step.
    """
    rewards, *ends = (field(episode, name) for name in ("rewards", "terminations", "truncations"))
    at_last = np.arange(steps) == steps - 1
    terminated = _ends(ends[0], at_last, "terminations")
    return (
        np.zeros(steps) if rewards is None else _column(rewards, steps, "rewards").astype(np.float64),
        terminated,
        at_last & ~terminated if ends[1] is None else _ends(ends[1], at_last, "truncations"),
    )


def _ends(end: Array, at_last: NDArray[np.bool_], name: str) -> NDArray[np.bool_]:
    """Flags for each step; a single flag is about the last."""
    if end is None:
        return np.zeros_like(at_last)
    flags = np.asarray(end, dtype=bool)
    return at_last & flags if flags.ndim == 0 else _column(flags, len(at_last), name).astype(bool)


def _join(chunks: Sequence[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    rows = [len(chunk.rewards) for chunk in chunks]
    parts = {name: [getattr(chunk, name) for chunk in chunks] for name in vars(chunks[0])}
    for name in ("info", "next_info"):
        parts[name] = _with_all_keys(parts[name], rows)
    return Chunk(**{name: _concatenate(part) for name, part in parts.items()})


def _with_all_keys(infos: list[Tree], rows: Sequence[int]) -> list[Tree]:
    """Infos of so many rows each, all with the keys that have a mask in any; it is false where one lacks the key."""
    if not all(isinstance(info, Mapping) for info in infos):
        return infos
    found = [dict(info) for info in infos]
    for key in dict.fromkeys(key for info in infos for key in info if f"_{key}" in info):
        some = next(info[key] for info in infos if key in info)
        for info, count in zip(found, rows, strict=True):
            info.setdefault(f"_{key}", np.full(count, key in info))
            if key not in info:
                empty = isinstance(some, Mapping)
                info[key] = {} if empty else np.zeros((count, *np.shape(some)[1:]), np.asarray(some).dtype)
        for info, part in zip(found, _with_all_keys([info[key] for info in found], rows), strict=True):
            info[key] = part
    return found


def _concatenate(trees: list[Tree]) -> Tree:
    first = trees[0]
    if any(tree is None or (isinstance(tree, Mapping) and tree.keys() != first.keys()) for tree in trees):
        if all(tree is None for tree in trees):
            return None
        raise RecordingError("All episodes should have the same parts and keys. Received some with and some without.")
    if isinstance(first, Mapping):
        return {key: _concatenate([tree[key] for tree in trees]) for key in first}
    if isinstance(first, tuple):
        return tuple(_concatenate(list(parts)) for parts in zip(*trees, strict=True))
    return np.concatenate(trees)


def _spans(lengths: NDArray[np.int64], size: int) -> Iterator[tuple[int, int]]:
    """Ranges of episodes that hold about `size` transitions each."""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        before = int(ends[first] - lengths[first])
        last = max(first + 1, int(np.searchsorted(ends, before + size, side="right")))
        yield first, last
        first = last


def _column(values: Array, length: int, name: str) -> np.ndarray:
    column = np.asarray(values).reshape(-1)
    if len(column) != length:
        raise RecordingError(f"`{name}` should have {length} entries, one for each transition. Received {len(column)}.")
    return column
