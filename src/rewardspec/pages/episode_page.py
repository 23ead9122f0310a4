"""The page of an episode: one file with a slider over its steps, for `Explanation.to_html`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rewardspec.atomic_files import write_whole
from rewardspec.errors import Error, SynthesisError
from rewardspec.logic.words import paraphrase
from rewardspec.pages.frames import as_data_urls
from rewardspec.pages.front_files import whole_page
from rewardspec.pages.machine_views import machine_view, run_of, short
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.types import Array, JsonObject

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation
    from rewardspec.machines.monitor import Monitor
    from rewardspec.spec.spec import Spec


UNTITLED = "episode"
"""The title of an episode that has none of its own."""


def write_episodes(
    path: str | os.PathLike[str],
    explanations: Mapping[str, Explanation],
    frames: Mapping[str, Sequence[Array]] | None = None,
) -> None:
    """Write several episodes of one spec as one self-contained page.

    Args:
        path: The file.
        explanations: The explanation of each episode, by a title.
        frames: For each episode that has them, by its title, pictures of its states: arrays of red, green and blue, one
            for the state after reset and one after each step, as `env.render()` gives with "rgb_array_list".

    Raises:
        Error: There are no episodes, they are of different specs, or frames do not fit.
    """
    write_whole(path, episodes_html(explanations, frames).encode())


def episodes_html(explanations: Mapping[str, Explanation], frames: Mapping[str, Sequence[Array]] | None = None) -> str:
    """The page's text; see `write_episodes`."""
    if not explanations:
        raise Error("A page needs an episode. Received none.")
    spec = next(iter(explanations.values())).spec
    if len({each.paid_spec for each in explanations.values()}) > 1:
        raise Error("The episodes of a page should be of one spec. Received those of several: write a page for each.")
    strangers = [title for title in frames or {} if title not in explanations]
    if strangers:
        raise Error(f"Frames are given for {strangers[0]!r}, which is none of the episodes: {', '.join(explanations)}.")
    monitors = [_monitor(spec, number) for number in range(len(spec.pairs))]
    title = _title(spec, list(explanations))
    # Of a sort of names, each episode has named its own things.
    atoms = list(dict.fromkeys(atom for each in explanations.values() for atom in each.spec.atoms))
    data = {
        "title": title,
        "lead": _lead(spec),
        "spec": _spec(spec, monitors) | {"atoms": atoms},
        "episodes": [
            _episode(title, each, atoms, monitors, (frames or {}).get(title)) for title, each in explanations.items()
        ],
    }
    return whole_page("episode.html", ["timeline.js", "episode.js"], data, title)


def _title(spec: Spec, episodes: Sequence[str]) -> str:
    shown = ", ".join(spec.names[:3]) + (" …" if len(spec.names) > 3 else "")
    if len(episodes) == 1 and episodes[0] != UNTITLED:
        return f"{episodes[0]}: {shown}" if shown else episodes[0]
    return f"An episode of {shown}" if shown else "An episode"


def _lead(spec: Spec) -> str:
    vetoing = [name for name, pair in zip(spec.names, spec.pairs, strict=True) if pair.vetoes]
    vetoes = dict(zip(vetoing, spec.penalties, strict=True))
    if not vetoes:
        return f"Paid by {spec.payment}."
    amounts = dict.fromkeys(vetoes.values())
    if len(amounts) == 1:
        return f"Paid by {spec.payment}, penalty {next(iter(amounts)):g} after a veto."
    by_pair = ", ".join(f"{penalty:g} by {name}" for name, penalty in vetoes.items())
    return f"Paid by {spec.payment}; penalty after a veto: {by_pair}."


def _monitor(spec: Spec, number: int) -> Monitor | None:
    pair = spec.pairs[number]
    if pair.formula.quantifier:
        return None  # there is one for each thing: `Explanation.about` shows one
    try:
        return synthesize(
            pair.formula,
            semantics=spec.semantics,
            max_registers=spec.max_registers,
            progress=spec.semantics == "degree",
        )
    except SynthesisError:
        return None  # the spec runs it as a part of one program, which may be smaller


def _spec(spec: Spec, monitors: Sequence[Monitor | None]) -> JsonObject:
    pairs = [
        {
            "name": name,
            "formula": str(pair.formula),
            "words": paraphrase(pair.formula),
            "weight": pair.weight,
            "progress": pair.progress,
            "machine": None if monitor is None else machine_view(monitor),
        }
        for name, pair, monitor in zip(spec.names, spec.pairs, monitors, strict=True)
    ]
    return {"pairs": pairs, "payment": spec.payment, "semantics": spec.semantics}


def _episode(
    title: str,
    explanation: Explanation,
    atoms: Sequence[str],
    monitors: Sequence[Monitor | None],
    frames: Sequence[Array] | None,
) -> JsonObject:
    rows, length = explanation.rows, len(explanation)
    if frames is not None and len(frames) != length:
        raise Error(
            f"An episode of {length - 1} steps has {length} frames, the first of the state after reset. "
            f"Received {len(frames)}."
        )
    pairs = []
    for number, monitor in enumerate(monitors):
        told: JsonObject = {"values": [short(row.values[number]) for row in rows]}
        if monitor is not None:
            bound = explanation.spec.bound
            told = run_of(monitor, explanation.labels, length, np.inf if bound is None else bound)
        deciders = [row.deciders[number] for row in rows]
        told["causes"] = [None if d.atom is None else [d.literal, d.step] for d in deciders]
        told["waiting"] = [list(row.waiting[number]) for row in rows]
        pairs.append(told)
    return {
        "title": title,
        "length": length,
        "labels": {atom: [short(x) for x in explanation.labels.get(atom, [0.0] * length)] for atom in atoms},
        "rewards": [float("nan") if row.reward is None else short(row.reward) for row in rows],
        "vetoed": [row.vetoed_by for row in rows],
        "decided": [row.decided_by for row in rows],
        "pairs": pairs,
        "frames": None if frames is None else as_data_urls([np.asarray(frame) for frame in frames]),
    }
