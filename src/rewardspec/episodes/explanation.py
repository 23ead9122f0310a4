"""Explanations: for every step of an episode, which formula, which atom and which earlier step decided the reward."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.atomic_files import write_whole
from rewardspec.episodes import explanation_tables as tables
from rewardspec.episodes.causes import Causes, Decider
from rewardspec.episodes.progress_causes import progress_prefixes
from rewardspec.episodes.recordings import (
    field,
    leading,
    read_ends,
    read_episode,
    read_infos,
    stacked,
    take,
)
from rewardspec.episodes.waiting import Outstanding
from rewardspec.errors import LabelError, RecordingError, did_you_mean
from rewardspec.logic.formulas import TRUE, And, Atom, Formula
from rewardspec.logic.semantics import Semantics, read_trace
from rewardspec.machines.monitor import Monitor
from rewardspec.spec.atoms.batch_info import BatchInfo
from rewardspec.synthesis.quantitative.synthesize import synthesize

if TYPE_CHECKING:
    from rewardspec.spec.spec import Spec


@dataclass(frozen=True, slots=True)
class Row:
    """Why one step paid what it paid.

    Attributes:
        step: The step; 0 is the state after reset.
        reward: What it paid; None for the state after reset.
        level: The weighted sum of the values, or the penalty after a veto.
        vetoed_by: The number of the pair whose violation sets the level; None before any.
        decided_by: The number of the pair that counted most: the vetoing one, or else the one with the largest share
            of the level, or of its change where that is what is paid. None for a spec without pairs.
        values: The value of each pair's formula, or its progress where that is what is paid for.
        deciders: For each, the newest label that made the value, or the progress, what it is.
        waiting: For each, the literals that it waits for, where the value is low because something is still owed, and
            its weight is not negative.
    """

    step: int
    reward: float | None
    level: float
    vetoed_by: int | None
    decided_by: int | None
    values: tuple[float, ...]
    deciders: tuple[Decider, ...]
    waiting: tuple[tuple[str, ...], ...]

    @property
    def decider(self) -> Decider | None:
        """What decided the pair that counted most."""
        return None if self.decided_by is None else self.deciders[self.decided_by]


def explain(spec: Spec, episode: Any) -> Explanation:
    """Say for every step of an episode which formula, atom and earlier step decided the reward.

    Args:
        spec: The spec.
        episode: For each atom its labels, from reset to the last step. For a spec with atoms' functions also a mapping
            or an object with `observations`, one more than steps, and `actions`. Either may have `rewards`,
            `terminations` and `truncations`; without the latter two the episode was cut short at its last step.

    Raises:
        LabelError: A label is missing or not in [0, 1].
        RecordingError: The recorded arrays do not fit together.

    Example:
        >>> from rewardspec.spec import Spec
        >>> spec = Spec([("F goal", 2), ("G safe", 1)], penalty=-1)
        >>> print(explain(spec, {"goal": [0.0, 0.5, 0.25, 0.25], "safe": [1.0, 1.0, 0.75, 0.0]}))
        step  reward  vetoed by  F goal               G safe
        0     –                  0, waiting for goal  1 *
        1     2                  0.5 ← goal@1 *       1
        2     1.75               0.5 ← goal@1 *       0.75 ← safe@2
        3     -1      G safe     0.5 ← goal@1         0 ← safe@3 *
    """
    labels = _labels(spec, episode)
    ends = read_ends(_without(episode, spec.atoms), _length(labels, episode) - 1)
    return explain_labels(spec, labels, *ends)


def explain_labels(
    spec: Spec,
    labels: Mapping[str, Sequence[float]],
    rewards: NDArray[np.float64],
    terminations: NDArray[np.bool_],
    truncations: NDArray[np.bool_],
) -> Explanation:
    """The same for labels that have been checked, with what else is known of each transition."""
    if spec.semantics == "robustness" and spec.bound is None:
        spec = spec.replace(bound=math.inf)  # what is explained need not be paid, and may be infinite
    length = len(rewards) + 1
    letters = _letters(labels, length)
    reasons = [_reasons(spec, number, labels, letters) for number in range(len(spec.pairs))]
    vetoes = _vetoes(spec, letters)
    payments, values = _payments(spec, letters, (rewards, terminations, truncations))
    rows = []
    for step, (now, veto) in enumerate(zip(values, vetoes, strict=True)):
        reward = None if step == 0 else payments[step - 1]
        level = _level(spec, now, veto)
        deciders = tuple(causes[step] for causes, _ in reasons)
        waiting = tuple(waits[step] for _, waits in reasons)
        rows.append(Row(step, reward, level, veto, _decided_by(spec, step, values, veto), now, deciders, waiting))
    return Explanation(spec, labels, tuple(rows))


class Explanation(Sequence[Row]):
    """Why every step of an episode paid what it paid: a sequence of rows, shown as a table or a plot.

    Attributes:
        spec: The spec.
        labels: For each atom its labels, from reset to the last step.
        rows: One for each step, the state after reset first.
    """

    def __init__(self, spec: Spec, labels: Mapping[str, Sequence[float]], rows: tuple[Row, ...]) -> None:
        self.spec = spec
        self.labels = labels
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """What the pairs are called, each differently."""
        return self.spec.names

    def to_rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries with flat entries, as data frames and CSV files want them."""
        return tables.records(self)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """The rows as CSV text, which is also written to the path if there is one."""
        text = tables.to_csv(self.to_rows())
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_html(self, path: str | os.PathLike[str] | None = None, frames: Sequence[Any] | None = None) -> str:
        """The episode as one page with a slider over its steps, which needs nothing else; also written to the path.

        Several episodes in one page: `rewardspec.pages.write_episodes`.

        Args:
            path: The file, if there should be one.
            frames: Pictures of the states, arrays of red, green and blue: one after reset, and one after each step, as
                `env.render()` gives them with `render_mode="rgb_array_list"`.

        Raises:
            Error: The frames do not fit.
        """
        from rewardspec.pages.episode_page import episodes_html

        text = episodes_html({"episode": self}, None if frames is None else {"episode": frames})
        if path is not None:
            write_whole(path, text.encode())
        return text

    def plot(self) -> Any:
        """A matplotlib figure of the atoms, the formulas' values, the reward, and where a veto fell."""
        from rewardspec.episodes.explanation_plot import plot_explanation

        return plot_explanation(self)

    def to_text(self, max_rows: int | None = tables.MOST_ROWS) -> str:
        """The steps as aligned text: steps with the same explanation in one row, so that there are at most `max_rows`.

        Args:
            max_rows: The most rows. The more there would be, the less equal are the values of steps in one row. With
                None every step has its own.
        """
        return tables.to_text(self, max_rows)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<Explanation of {len(self) - 1} steps of {self.spec!r}>"

    def _repr_html_(self) -> str:
        return tables.to_html(self, tables.MOST_ROWS)


def _labels(spec: Spec, episode: Any) -> dict[str, list[float]]:
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
            later = spec.batch_labels(steps).of(chunk.obs, chunk.actions, chunk.next_obs, info=chunk.next_info)
        except LabelError:
            for step in range(steps):  # one at a time, so that the error names the step
                obs, action, next_obs = (take(t, step) for t in (chunk.obs, chunk.actions, chunk.next_obs))
                spec.labels(obs, action, next_obs, chunk.info_at(step), step=step + 1)
            raise
        for name, column in later.items():
            labels[name].extend(column.tolist())
    return labels


def _check_names(spec: Spec, episode: Any) -> None:
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


def _length(labels: Mapping[str, Sequence[float]], episode: Any) -> int:
    if labels:
        return len(next(iter(labels.values())))
    # A spec that reads no atom still pays every step.
    for name in ("actions", "rewards", "terminations", "truncations"):
        column = field(episode, name)
        if column is not None:
            return leading(column) + 1
    return 1


def _without(episode: Any, names: Sequence[str]) -> Any:
    """The episode without its labels, whose names may be anything, such as "rewards"."""
    return {k: v for k, v in episode.items() if k not in names} if isinstance(episode, Mapping) else episode


def _reasons(
    spec: Spec, number: int, labels: Mapping[str, Sequence[float]], letters: Sequence[Mapping[str, float]]
) -> tuple[list[Decider], list[tuple[str, ...]]]:
    """For each step what made the value of a pair what it is, or its progress, and what it waits for."""
    pair = spec.pairs[number]
    monitor, outstanding = _machines(pair.formula, spec.semantics, spec.max_registers)
    following = Causes(monitor, outstanding)
    causes, waiting = [], []
    for letter in letters:
        causes.append(following.read(letter)[1])
        # Of what costs something, nobody waits for more.
        waiting.append(() if pair.weight < 0.0 else outstanding.waited_for(following.owed))
    if pair.progress:
        _, causes = progress_prefixes(spec, number, labels, len(letters))
    return causes, waiting


# Episodes of one spec are often explained one after the other, and building machines takes longer than running them.


@functools.lru_cache(maxsize=256)
def _machines(formula: Formula, semantics: Semantics, max_registers: int) -> tuple[Monitor, Outstanding]:
    monitor = synthesize(formula, semantics=semantics, max_registers=max_registers)
    return monitor, Outstanding(formula, semantics, max_registers)


@functools.lru_cache(maxsize=256)
def _alone(spec: Spec, number: int) -> Spec:
    """One pair of a spec, on labels that are given."""
    return spec.replace(pairs=[spec.pairs[number]], atoms=None, payment="value")


def _payments(
    spec: Spec, letters: Sequence[Mapping[str, float]], ends: Sequence[Any]
) -> tuple[list[float], list[tuple[float, ...]]]:
    """The reward of every step, and what each pair is paid for, from the reset on."""
    state, rewards = spec.start(letters[0]), []
    paid_for = [spec.values(state)]
    for letter, base, terminated, truncated in zip(letters[1:], *(end.tolist() for end in ends), strict=True):
        state, reward = spec.step(state, letter, base, terminated, truncated)
        rewards.append(float(reward))
        paid_for.append(spec.values(state))
    return rewards, paid_for


def _vetoes(spec: Spec, letters: Sequence[Mapping[str, float]]) -> list[int | None]:
    """For each step the number of the violated pair with the lowest penalty; among those, the first violated."""
    found: list[tuple[float, int, int]] = []  # penalty, first step, pair
    for number, pair in enumerate(spec.pairs):
        if pair.vetoes:
            alone, state = _alone(spec, number), None
            for step, letter in enumerate(letters):
                state = alone.start(letter) if state is None else alone.step(state, letter)[0]
                if alone.violated(state):
                    found.append((spec.penalty if pair.penalty is None else pair.penalty, step, number))
                    break
    return [min((veto for veto in found if veto[1] <= step), default=(0.0, 0, None))[2] for step in range(len(letters))]


def _letters(labels: Mapping[str, Sequence[float]], length: int) -> list[dict[str, float]]:
    if not labels:
        return [{} for _ in range(length)]
    return [dict(zip(labels, letter, strict=True)) for letter in zip(*labels.values(), strict=True)]


def _level(spec: Spec, values: Sequence[float], veto: int | None) -> float:
    if veto is not None:
        penalty = spec.pairs[veto].penalty
        return spec.penalty if penalty is None else penalty
    return float(np.dot(spec.weights, values)) if values else 0.0


def _decided_by(spec: Spec, step: int, values: Sequence[Sequence[float]], veto: int | None) -> int | None:
    """The number of the pair that counted most at a step; None for a spec without pairs."""
    if veto is not None or not spec.pairs:
        return veto
    shares = []
    for number, (weight, payment) in enumerate(zip(spec.weights, spec.payments, strict=True)):
        # By change is paid from the step before; what "delta" pays first is paid from 0.
        first = {"delta": 2, "potential": 1}.get(payment)
        before = values[step - 1][number] if first is not None and step >= first else 0.0
        shares.append(abs(weight * (values[step][number] - before)))
    # Where nothing counts, the heaviest pair says what was missing.
    return max(range(len(shares)), key=lambda k: (shares[k], abs(spec.weights[k]), -k))
