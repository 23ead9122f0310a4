"""Offline data: a spec's rewards for episodes that were recorded earlier.

Rewards are what the wrapper would have paid online.  Many episodes run at once: the t-th transitions of all episodes
that are long enough form one batch, so that nothing is padded, and a chunk of episodes is in memory at a time.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.recordings import Chunk, episode_chunks, flat_chunks, take
from rewardspec.errors import LabelError, MissingExtraError, RecordingError
from rewardspec.renamed import warn_renamed
from rewardspec.types import EpisodeRecord, Labels, Tree

if TYPE_CHECKING:
    from rewardspec.spec.spec import Spec

CHUNK = 1_000_000  # transitions
_BATCH_COST = 30  # what a step of a small batch costs, in steps of a single episode


@dataclass(frozen=True)
class Relabeled:
    """A spec's rewards for recorded transitions.

    Attributes:
        rewards: The reward of each transition, in the order of the recording.
        values: The value of each pair's formula after it, of shape `(transitions, pairs)`.
        violated: Whether a vetoing pair had been violated by then.
        lengths: The number of transitions in each episode.
    """

    rewards: NDArray[np.float64]
    values: NDArray[np.float64]
    violated: NDArray[np.bool_]
    lengths: NDArray[np.int64]

    @property
    def episodes(self) -> list[NDArray[np.float64]]:
        """The rewards of each episode."""
        return np.split(self.rewards, np.cumsum(self.lengths)[:-1]) if len(self.lengths) else []

    @property
    def returns(self) -> NDArray[np.float64]:
        """The sum of each episode's rewards."""
        episode = np.repeat(np.arange(len(self.lengths)), self.lengths)
        return np.bincount(episode, weights=self.rewards, minlength=len(self.lengths)).astype(np.float64)


def relabel(
    spec: Spec,
    observations: Tree,
    actions: Tree,
    terminations: Tree,
    truncations: Tree = None,
    rewards: Tree = None,
    *,
    next_observations: Tree = None,
    infos: Tree = None,
    chunk: int = CHUNK,
) -> Relabeled:
    """Compute the rewards of a spec for recorded episodes.

    Args:
        spec: The spec; it needs atoms' functions.
        observations: Flat: all episodes' observations one after the other, the last one of each included; or, with
            `next_observations`, one for each transition. Otherwise a list with the observations of each episode.
        actions: Flat, or a list with those of each episode.
        terminations: For each transition whether the episode ended there. In a list, one flag for an episode is about
            its last transition.
        truncations: Likewise, whether it was cut short there (D4RL's `timeouts`); None where none was.
        rewards: The recorded rewards, which `potential` adds to; 0 where None.
        next_observations: Flat only: the observation after each transition.
        infos: The info that came with each observation, for atoms that read it: a dict of arrays, or a list of dicts;
            or a list with those of each episode.
        chunk: How many transitions to hold at a time; an episode is never split.

    Raises:
        LabelError: A label is not in [0, 1]; names atom, value, step and episode.
        RecordingError: The arrays do not fit together.

    Example:
        >>> from rewardspec.spec import Spec
        >>> spec = Spec([("F high", 1)], atoms={"high": lambda obs, action, next_obs: next_obs[..., 0]})
        >>> observations = np.array([[0.0], [0.5], [0.25], [0.0], [0.75]])  # two episodes, of 2 and 1 steps
        >>> relabeled = relabel(spec, observations, np.zeros(3), [False, True, False], [False, False, True])
        >>> relabeled.rewards
        array([0.5 , 0.5 , 0.75])
    """
    if isinstance(observations, list) and not isinstance(terminations, np.ndarray) and _holds_episodes(observations):
        if next_observations is not None:
            raise RecordingError("`next_observations` goes with flat arrays. A list's episodes hold theirs.")
        columns = (observations, actions, terminations, truncations, rewards, infos)
        return relabel_episodes(spec, _episodes(*columns), chunk=chunk)
    return _relabel(
        spec, flat_chunks(observations, actions, terminations, truncations, rewards, next_observations, infos, chunk)
    )


def relabel_episodes(spec: Spec, episodes: Iterable[EpisodeRecord], *, chunk: int = CHUNK) -> Relabeled:
    """Compute the rewards of a spec for episodes that come one at a time, for example from files.

    Args:
        spec: The spec; it needs atoms' functions.
        episodes: Mappings or objects with `observations` (one more than steps), `actions`, and, where they are kept,
            `rewards`, `terminations`, `truncations` and `infos` (one more than steps).
        chunk: How many transitions to hold at a time.
    """
    return _relabel(spec, episode_chunks(episodes, chunk))


def relabel_minari(spec: Spec, dataset: Any, *, chunk: int = CHUNK) -> Relabeled:
    """Compute the rewards of a spec for a Minari dataset.

    Args:
        spec: The spec; it needs atoms' functions.
        dataset: A `minari.MinariDataset`, or the name of one that has been downloaded.
        chunk: How many transitions to hold at a time.
    """
    try:
        minari = importlib.import_module("minari")
    except ImportError:
        raise MissingExtraError("minari", "minari", "Reading a Minari dataset") from None
    if isinstance(dataset, str):
        dataset = minari.load_dataset(dataset)
    return relabel_episodes(spec, dataset.iterate_episodes(), chunk=chunk)


def _holds_episodes(observations: list[Tree]) -> bool:
    return all(isinstance(entry, dict | tuple) or np.ndim(entry) > 0 for entry in observations)


def _episodes(observations: Tree, actions: Tree, *rest: Tree) -> Iterator[EpisodeRecord]:
    names = ("terminations", "truncations", "rewards", "infos")
    columns: list[Sequence[Tree]] = [observations, actions]
    columns.extend([None] * len(observations) if column is None else column for column in rest)
    counts = [len(column) for column in columns]
    if len(set(counts)) > 1:
        raise RecordingError(f"Every list should have one entry for each episode. Received {counts} entries.")
    for row in zip(*columns, strict=True):
        yield dict(zip(("observations", "actions", *names), row, strict=True))


def _relabel(spec: Spec, chunks: Iterator[Chunk]) -> Relabeled:
    results = [Relabeled(np.empty(0), np.empty((0, len(spec.pairs))), np.empty(0, bool), np.empty(0, np.int64))]
    done = 0
    for chunk in chunks:
        results.append(_relabel_chunk(spec, chunk, done))
        done += len(chunk.lengths)
    parts = zip(*(vars(result).values() for result in results), strict=True)
    return Relabeled(*(np.concatenate(part) for part in parts))


def _relabel_chunk(spec: Spec, chunk: Chunk, first_episode: int) -> Relabeled:
    kept = chunk.lengths  # episodes that ended before their first step have nothing to relabel
    lengths = kept[kept > 0]
    starts = np.cumsum(lengths) - lengths
    total = int(lengths.sum())
    first_obs = take(chunk.obs, starts)
    first_info = None if chunk.info is None else take(chunk.info, starts)
    try:
        first = spec.batch_reader.read(first_obs, None, first_obs, len(lengths), first_info)
        later = spec.batch_reader.read(chunk.obs, chunk.actions, chunk.next_obs, total, chunk.next_info)
    except LabelError as error:
        _raise_where(spec, chunk, starts, first_episode, error)
    result = Relabeled(np.empty(total), np.empty((total, len(spec.pairs))), np.empty(total, bool), kept)
    longest_first = np.argsort(-lengths, kind="stable")
    ordered = lengths[longest_first]
    # The few longest episodes go one by one where that is quicker than batches with little in them.
    costs = np.append(0, np.cumsum(ordered)) + _BATCH_COST * np.append(ordered, 0)
    alone = int(np.argmin(costs)) if spec.atoms else len(lengths)
    for episode in longest_first[:alone].tolist():
        _run_one(spec, chunk, first, later, episode, slice(starts[episode], starts[episode] + lengths[episode]), result)
    if alone < len(lengths):
        _run_batch(spec, chunk, first, later, longest_first[alone:], starts, lengths, result)
    return result


def _run_one(
    spec: Spec, chunk: Chunk, first: Labels, later: Labels, episode: int, where: slice, result: Relabeled
) -> None:
    state = spec.start({name: float(column[episode]) for name, column in first.items()})
    columns = [later[name][where].tolist() for name in later]
    ends = zip(*(c[where].tolist() for c in (chunk.rewards, chunk.terminations, chunk.truncations)), strict=True)
    rewards, values, violated = [], [], []
    for number, (base, terminated, truncated) in enumerate(ends):
        labels = {name: column[number] for name, column in zip(later, columns, strict=True)}
        state, reward = spec.step(state, labels, base, terminated, truncated)
        rewards.append(reward)
        values.append(spec.values(state))
        violated.append(spec.violated(state))
    result.rewards[where], result.values[where], result.violated[where] = rewards, values, violated


def _run_batch(
    spec: Spec,
    chunk: Chunk,
    first: Labels,
    later: Labels,
    episodes: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    result: Relabeled,
) -> None:
    """Run episodes, longest first, side by side; after each step the batch shrinks to those that go on."""
    lengths = lengths[episodes]
    widths = len(lengths) - np.searchsorted(lengths[::-1], np.arange(lengths[0]), side="right")
    # Rows of the recording, sorted by step and then by episode: the batch of a step is a slice of them.
    step = np.concatenate([np.full(width, t) for t, width in enumerate(widths)])
    rank = np.arange(len(step)) - np.repeat(np.cumsum(widths) - widths, widths)
    rows = starts[episodes][rank] + step
    sorted_labels = {name: column[rows] for name, column in later.items()}
    base, terminated, truncated = (c[rows] for c in (chunk.rewards, chunk.terminations, chunk.truncations))
    rewards, violated = np.empty(len(rows)), np.empty(len(rows), bool)
    values = np.empty((len(rows), len(spec.pairs)))
    state = spec.start({name: column[episodes] for name, column in first.items()})
    stop, before = 0, len(lengths)
    for width in widths.tolist():
        if width < before:
            state, before = spec.machine.first(state, width), width
        start, stop = stop, stop + width
        labels = {name: column[start:stop] for name, column in sorted_labels.items()}
        state, rewards[start:stop] = spec.step(
            state, labels, base[start:stop], terminated[start:stop], truncated[start:stop]
        )
        violated[start:stop] = spec.violated(state)
        for number, column in enumerate(spec.values(state)):
            values[start:stop, number] = column
    result.rewards[rows], result.values[rows], result.violated[rows] = rewards, values, violated


def _raise_where(
    spec: Spec, chunk: Chunk, starts: NDArray[np.int64], first_episode: int, error: LabelError
) -> NoReturn:
    """Raise the error of the transition that caused it; label by label, since this happens once."""
    numbers = np.flatnonzero(chunk.lengths)
    for number, start in zip(numbers.tolist(), starts.tolist(), strict=True):
        try:
            obs = take(chunk.obs, start)
            spec.labels(obs, None, obs, chunk.info_at(start, first=True), step=0)
            for step in range(chunk.lengths[number]):
                obs, action, next_obs = (take(t, start + step) for t in (chunk.obs, chunk.actions, chunk.next_obs))
                spec.labels(obs, action, next_obs, chunk.info_at(start + step), step=step + 1)
        except LabelError as single:
            raise LabelError(f"In episode {first_episode + number}: {single}") from None
    raise error


def __getattr__(name: str) -> object:
    if name != "Relabelled":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_renamed("rewardspec.episodes.relabeling.Relabelled", "rewardspec.episodes.relabeling.Relabeled")
    return Relabeled
