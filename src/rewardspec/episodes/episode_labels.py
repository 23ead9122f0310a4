"""Labels of a recorded episode, as explanations read them: one sequence for each atom, from reset to the last step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.episodes.recordings import field, leading, read_ends, read_episode, read_infos, stacked, take
from rewardspec.errors import LabelError, RecordingError, did_you_mean
from rewardspec.logic.formulas import TRUE, And, Atom
from rewardspec.logic.semantics import read_trace
from rewardspec.machines.label_checks import require_atoms
from rewardspec.spec.atoms.batch_info import BatchInfo
from rewardspec.spec.sorts import MOST_THINGS, Thing, named_labels
from rewardspec.spec.spec import Spec
from rewardspec.types import EpisodeRecord

OTHERS = "any other"
"""Name of the thing that stands for all things of a sort of names that an episode has not named."""


def read_labels_and_ends(
    spec: Spec, episode: EpisodeRecord
) -> tuple[dict[str, list[Any]], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the labels of a recorded episode, and the base rewards, terminations and truncations of its steps.

    Labels are lists of length steps + 1, the other arrays of shape (steps,). The labels of an atom about a sort of
    names are mappings from things to numbers.

    Raises:
        LabelError: A label is missing or not in [0, 1].
        RecordingError: The recorded arrays do not fit together.
    """
    if isinstance(episode, Mapping):
        episode = _split(spec, episode)
    labels = _labels(spec, episode)
    labels |= _named(spec, episode, labels)
    return labels, *read_ends(_without(episode, spec.atoms), _length(labels, episode) - 1)


def first_steps(spec: Spec, labels: Mapping[str, Sequence[Any]]) -> dict[str, list[int]]:
    """For each sort of names the first steps that name its things, in the order of `with_an_axis`."""
    return {sort: list(_things_named(spec, labels, sort).values()) for sort, things in spec.sorts.items() if not things}


def with_an_axis(spec: Spec, labels: Mapping[str, Sequence[Any]]) -> tuple[Spec, dict[str, list[float]]]:
    """The spec about the things that an episode has named, and one more for all others; and their labels.

    Raises:
        RecordingError: The episode names too many things.
    """
    sorts = dict(spec.sorts)
    found: dict[str, list[float]] = {name: list(labels[name]) for name in spec.axes.names}
    for sort in [name for name, own in spec.sorts.items() if not own]:
        atoms = [atom for atom, own in spec.axes.named.items() if own == sort]
        things = _things_named(spec, labels, sort)
        if len(things) >= MOST_THINGS:
            raise RecordingError(
                f"An episode can be explained if it names fewer than {MOST_THINGS:,} things of a sort. This one names "
                f"{len(things):,} of the sort {sort!r}. Explain a part of it, or leave out the labels of some things."
            )
        called = {thing: str(thing) for thing in things}
        if len(set(called.values()) - {"", OTHERS}) < len(called):
            called = {thing: repr(thing) for thing in things}
        sorts[sort] = (*called.values(), OTHERS)
        for atom in atoms:
            for thing, name in called.items():
                found[f"{atom}({name})"] = [step.get(thing, 0.0) for step in labels[atom]]
            found[f"{atom}({OTHERS})"] = [0.0] * len(labels[atom])
    dense = spec.replace(sorts=sorts, atoms=None)
    return dense, {name: found[name] for name in dense.atoms}


def _labels(spec: Spec, episode: EpisodeRecord) -> dict[str, list[float]]:
    """The labels of the spec's atoms, given or computed from what was recorded."""
    if isinstance(episode, Mapping) and all(name in episode for name in spec.atoms):
        given = {name: episode[name] for name in spec.atoms}
        if given:
            read, _ = read_trace(And(*map(Atom, spec.atoms)), given, spec.semantics)
            return read
        return {}
    if field(episode, "observations") is None:
        _check_names(spec, episode)
        return read_trace(And(TRUE, *map(Atom, spec.atoms)), episode, spec.semantics)[
            0
        ]  # says which labels are missing
    observations = stacked(field(episode, "observations"))
    if leading(observations) == 0:
        raise RecordingError("The episode has no observations. Even one that ended at once has that of its reset.")
    first = take(observations, 0)
    infos = read_infos(field(episode, "infos"), leading(observations), "The episode's infos")
    info = None if infos is None else BatchInfo(infos, leading(observations)).row(0)
    labels = {name: [label] for name, label in spec.labels(first, None, first, info, step=0).items()}
    chunk = read_episode(episode)
    steps = int(chunk.lengths[0])
    if steps:
        try:
            later = spec.batch_reader.read(chunk.obs, chunk.actions, chunk.next_obs, steps, chunk.next_info)
        except LabelError:
            for step in range(steps):  # one at a time, so that the error names the step
                obs, action, next_obs = (take(t, step) for t in (chunk.obs, chunk.actions, chunk.next_obs))
                spec.labels(obs, action, next_obs, chunk.info_at(step), step=step + 1)
            raise
        for name, column in later.items():
            labels[name].extend(column.tolist())
    return labels


def _split(spec: Spec, episode: Mapping[str, Any]) -> Mapping[str, Any]:
    """The episode with labels of shape (steps + 1, things) as those of single things."""
    given = {name: np.asarray(episode[name]) for name in spec.axes.sort_of if name in episode}
    for name, labels in given.items():
        if labels.ndim != 2:
            raise spec.axes.misshapen(name, labels.shape)
    return {**{k: v for k, v in episode.items() if k not in given}, **spec.axes.split(given)}


def _named(spec: Spec, episode: Any, others: Mapping[str, Sequence[float]]) -> dict[str, list[Any]]:
    """The labels of things of sorts of names: for each step a mapping from things to numbers.

    `others` are the labels of the other atoms, as many for each.
    """
    if not spec.axes.named:
        return {}
    if not isinstance(episode, Mapping) or field(episode, "observations") is not None:
        raise RecordingError(
            "An episode of a spec about things of a sort of names is explained from its labels, as `record=True` keeps "
            f"them. Give those of {', '.join(spec.axes.named)} too, for each step a mapping from things to numbers."
        )
    require_atoms(episode, spec.axes.named)
    columns = {atom: episode[atom] for atom in spec.axes.named}
    read_trace(TRUE, {**others, **columns})  # says which lengths differ
    return {
        atom: [named_labels(atom, labels, f" at step {step}") for step, labels in enumerate(column)]
        for atom, column in columns.items()
    }


def _things_named(spec: Spec, labels: Mapping[str, Sequence[Any]], sort: str) -> dict[Thing, int]:
    """The things of a sort of names that an episode has named, each with the first step that names it."""
    found: dict[Thing, int] = {}
    for atom, own in spec.axes.named.items():
        for step, things in enumerate(labels[atom] if own == sort else ()):
            for thing in things:
                found[thing] = min(step, found.get(thing, step))
    return found


def _check_names(spec: Spec, episode: EpisodeRecord) -> None:
    """Raise a RecordingError for what has no atom's labels and looks like a recorded episode."""
    if not isinstance(episode, Mapping):
        return
    parts = ("observations", "actions", "rewards", "terminations", "truncations", "infos")
    strangers = [str(name) for name in episode if name not in spec.atoms]
    known = [name for name in strangers if name in parts or did_you_mean(name, parts)]
    if known and len(strangers) == len(episode):
        hint = did_you_mean(next((name for name in strangers if name not in parts), ""), parts)
        raise RecordingError(
            "A recorded episode has `observations`, one more than steps, and `actions`; an episode of labels has those "
            f"of each atom: {', '.join(spec.atoms)}. Received {', '.join(map(repr, strangers))}.{hint}"
        )


def _length(labels: Mapping[str, Sequence[float]], episode: EpisodeRecord) -> int:
    if labels:
        return len(next(iter(labels.values())))
    # A spec that reads no atom still pays every step.
    for name in ("actions", "rewards", "terminations", "truncations"):
        column = field(episode, name)
        if column is not None:
            return leading(column) + 1
    return 1


def _without(episode: EpisodeRecord, names: Sequence[str]) -> EpisodeRecord:
    """The episode without its labels, whose names may be anything, such as "rewards"."""
    return {k: v for k, v in episode.items() if k not in names} if isinstance(episode, Mapping) else episode
