"""Explanations: for every step of an episode, which formula, which atom and which earlier step decided the reward."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.atomic_files import write_whole
from rewardspec.episodes import explanation_tables as tables
from rewardspec.episodes.causes import Causes, Decider
from rewardspec.episodes.episode_labels import first_steps, read_labels_and_ends, with_an_axis
from rewardspec.episodes.progress_causes import progress_prefixes
from rewardspec.episodes.waiting import Outstanding
from rewardspec.logic.formulas import Formula
from rewardspec.logic.quantifiers import Mean, Quantified
from rewardspec.logic.semantics import Semantics
from rewardspec.machines.monitor import Monitor
from rewardspec.spec.pairs import about_one
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.spec import Spec, alone
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.types import Array, EpisodeRecord, Plot


@dataclass(frozen=True, slots=True)
class Row:
    """Explanation of one step's reward.

    Attributes:
        step: The step; 0 is the state after reset.
        reward: What it paid; None for the state after reset.
        level: The weighted sum of the values, or the penalty after a veto.
        vetoed_by: The number of the pair whose violation sets the level; None before any.
        decided_by: The number of the pair that counted most: the vetoing one, or else the one with the largest share
            of the reward or, after reset, of the level. Where no pair counts, the heaviest. None for a spec without
            pairs.
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
        """Decider of the pair with the largest share of the reward."""
        return None if self.decided_by is None else self.deciders[self.decided_by]


def explain(spec: Spec, episode: EpisodeRecord) -> Explanation:
    """Say for every step of an episode which formula, atom and earlier step decided the reward.

    Args:
        spec: The spec.
        episode: For each atom its labels, from reset to the last step. For a spec with atoms' functions also a mapping
            or an object with `observations`, one more than steps, and `actions`. Either may have `rewards`,
            `terminations` and `truncations`; without the latter, an episode that does not end by itself was cut off at
            its last step.

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
    return explain_labels(spec, *read_labels_and_ends(spec, episode))


def explain_labels(
    spec: Spec,
    labels: Mapping[str, Sequence[float]],
    rewards: NDArray[np.float64],
    terminations: NDArray[np.bool_],
    truncations: NDArray[np.bool_],
) -> Explanation:
    """Explain labels that have been checked, given further facts about each transition; see `explain`."""
    if spec.semantics == "robustness" and spec.bound is None:
        spec = spec.replace(bound=math.inf)  # what is explained need not be paid, and may be infinite
    length = len(rewards) + 1
    letters = _letters(labels, length)
    payments, values = _payments(spec, letters, (rewards, terminations, truncations))
    given = spec, labels
    since: dict[str, list[int]] = {}
    if not all(spec.sorts.values()):
        since = first_steps(spec, labels)
        spec, labels = with_an_axis(spec, labels)
        letters = _letters(labels, length)
    reasons = [_reasons(spec, number, labels, letters, since) for number in range(len(spec.pairs))]
    vetoes = _vetoes(spec, letters)
    endings = [(False, False), *zip(terminations.tolist(), truncations.tolist(), strict=True)]
    rows = []
    for step, (now, veto) in enumerate(zip(values, vetoes, strict=True)):
        reward = None if step == 0 else payments[step - 1]
        level = _level(spec, now, veto)
        deciders = tuple(causes[step] for causes, _ in reasons)
        waiting = tuple(waits[step] for _, waits in reasons)
        decided_by = _decided_by(spec, step, values, veto, *endings[step])
        rows.append(Row(step, reward, level, veto, decided_by, now, deciders, waiting))
    return Explanation(spec, labels, tuple(rows), (rewards, terminations, truncations), given)


class Explanation(Sequence[Row]):
    """Explanation of an episode's rewards: a sequence of rows, shown as a table or a plot.

    Attributes:
        spec: The spec. A sort of names has as its things those that the episode has named, and one for all others.
        labels: For each atom its labels, from reset to the last step.
        rows: One for each step, the state after reset first.
        paid_spec: The spec as it was given.
    """

    def __init__(
        self,
        spec: Spec,
        labels: Mapping[str, Sequence[float]],
        rows: tuple[Row, ...],
        ends: tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]],
        given: tuple[Spec, Mapping[str, Sequence[Any]]],
    ) -> None:
        self.spec = spec
        self.labels = labels
        self.rows = rows
        self._ends = ends
        self.paid_spec, self._paid_labels = given

    def about(self, **things: str | int) -> Explanation:
        """Return the explanation of single things: each formula about a sort, for the thing that is named.

        Args:
            **things: For each sort that is narrowed down, the thing.

        Example:
            >>> spec = Spec([("forall box: F placed(box)", 1)], sorts={"box": 2})
            >>> explanation = explain(spec, {"placed": [[0, 0], [0, 1]]})
            >>> print(explanation.about(box=1))
            step  reward  F placed(1)
            0     –       0, waiting for placed(1) *
            1     1       1 ← placed(1)@1 *
        """
        spec, labels = self.paid_spec, self._paid_labels
        # The other sorts are as they were: a mean is over the things that have been named so far.
        sorts = {sort: own for sort, own in spec.sorts.items() if sort not in things}
        narrowed = self.spec.about(**things).replace(sorts=sorts)
        still_named = {atom: labels[atom] for atom in narrowed.axes.named}
        return explain_labels(narrowed, {**self.labels, **still_named}, *self._ends)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Unique names of the pairs."""
        return self.spec.names

    def progress(self, number: int) -> list[float]:
        """The progress of a pair's formula after every step, whether it is paid or not."""
        spec, labels = self.paid_spec, self._paid_labels
        pair = dataclasses.replace(spec.pairs[number], progress=True, payment=None, veto=False, penalty=None)
        one, state, found = alone(spec, pair), None, []
        for letter in _letters(labels, len(self)):
            state = one.start(letter) if state is None else one.step(state, letter)[0]
            found.append(float(one.values(state)[0]))
        return found

    def to_rows(self) -> list[dict[str, object]]:
        """Return the rows as flat dictionaries, for data frames and CSV files."""
        return tables.records(self)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the rows as CSV text, and write it to the path if one is given."""
        text = tables.to_csv(self.to_rows())
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_html(
        self,
        path: str | os.PathLike[str] | None = None,
        frames: Sequence[Array] | None = None,
        title: str | None = None,
    ) -> str:
        """Return the episode as one self-contained page with a slider over its steps; write it to the path, if any.

        Several episodes in one page: `rewardspec.pages.write_episodes`.

        Args:
            path: The file, if there should be one.
            frames: Pictures of the states, arrays of red, green and blue: one after reset, and one after each step, as
                `env.render()` gives them with `render_mode="rgb_array_list"`.
            title: What the episode is called, such as its environment and seed.

        Raises:
            Error: The frames do not fit.
        """
        from rewardspec.pages.episode_page import UNTITLED, episodes_html

        title = title or UNTITLED
        text = episodes_html({title: self}, None if frames is None else {title: frames})
        if path is not None:
            write_whole(path, text.encode())
        return text

    def plot(self) -> Plot:
        """Return a matplotlib figure of the labels, the formulas' values, the reward, and the first step of a veto."""
        from rewardspec.episodes.explanation_plot import plot_explanation

        return plot_explanation(self)

    def to_text(self, max_rows: int | None = tables.MOST_ROWS) -> str:
        """Return the steps as aligned text of at most `max_rows` rows; steps with the same explanation share a row.

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


def _reasons(
    spec: Spec,
    number: int,
    labels: Mapping[str, Sequence[float]],
    letters: Sequence[Mapping[str, float]],
    since: Mapping[str, Sequence[int]],
) -> tuple[list[Decider], list[tuple[str, ...]]]:
    """For each step what made the value of a pair what it is, or its progress, and what it waits for.

    Of a pair about several things, for the thing that decides: the one with the largest value where one is enough, else
    the one with the least; it stays the same while no other takes its place. `since` has the first steps that name the
    things of sorts of names: a mean is over those that have been named so far.
    """
    formula = spec.pairs[number].formula
    if not isinstance(formula, Quantified):
        return _reasons_for_one(spec, number, labels, letters)[1:]
    things = spec.things(number)
    each = [_reasons_for_one(alone(spec, about_one(spec.pairs[number], x)), 0, labels, letters) for x in things]
    extreme = max if formula.quantifier == "exists" else min
    first_steps = since.get(formula.variable, ()) if isinstance(formula, Mean) else ()
    every = range(len(things))
    chosen, causes, waiting = 0, [], []
    for step in range(len(letters)):
        counted: Sequence[int] = [k for k, first in enumerate(first_steps) if first <= step]
        if not counted:  # the last thing stands for all others
            counted = every[-1:] if first_steps else every
        best = extreme(each[k][0][step] for k in counted)
        if chosen not in counted or each[chosen][0][step] != best:
            chosen = next(k for k in counted if each[k][0][step] == best)
        causes.append(dataclasses.replace(each[chosen][1][step], thing=(formula.variable, things[chosen])))
        waiting.append(each[chosen][2][step])
    return causes, waiting


def _reasons_for_one(
    spec: Spec, number: int, labels: Mapping[str, Sequence[float]], letters: Sequence[Mapping[str, float]]
) -> tuple[Sequence[float], list[Decider], list[tuple[str, ...]]]:
    """For each step the value of a pair without a quantifier, or its progress; what made it, and what it waits for."""
    pair = spec.pairs[number]
    monitor, outstanding = _machines(pair.formula, spec.semantics, spec.max_registers)
    following = Causes(monitor, outstanding)
    values, causes, waiting = [], [], []
    for letter in letters:
        value, cause = following.read(letter)
        values.append(value)
        causes.append(cause)
        # Of what costs something, nobody waits for more.
        waiting.append(() if pair.weight < 0.0 else outstanding.waited_for(following.owed))
    if pair.progress:
        values, causes = progress_prefixes(spec, number, labels, len(letters))
    return values, causes, waiting


# Episodes of one spec are often explained one after the other, and building machines takes longer than running them.
@functools.lru_cache(maxsize=256)
def _machines(formula: Formula, semantics: Semantics, max_registers: int) -> tuple[Monitor, Outstanding]:
    monitor = synthesize(formula, semantics=semantics, max_registers=max_registers)
    return monitor, Outstanding(formula, semantics, max_registers)


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
            one, state = alone(spec, pair), None
            for step, letter in enumerate(letters):
                state = one.start(letter) if state is None else one.step(state, letter)[0]
                if one.violated(state):
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


def _decided_by(
    spec: Spec, step: int, values: Sequence[Sequence[float]], veto: int | None, terminated: bool, truncated: bool
) -> int | None:
    """The number of the pair that counted most at a step; None for a spec without pairs."""
    if veto is not None or not spec.pairs:
        return veto
    shares = []
    for number, (weight, payment) in enumerate(zip(spec.weights, spec.payments, strict=True)):
        # Payments by change are paid from the step before, and in the first step perhaps from 0.
        rule = PAYMENTS[payment]
        from_before = rule.pays_from_start or (rule.reads_before and step > 1)
        before = values[step - 1][number] if from_before and step > 0 else 0.0
        now = values[step][number]
        if step > 0 and rule.reads_truncation and not (terminated or truncated):
            now = 0.0  # nothing is paid before the end
        elif step > 0 and rule.reads_discount:
            now = 0.0 if terminated else spec.discount * now
        shares.append(abs(weight * (now - before)))
    # Where nothing counts, the heaviest pair says what was missing.
    return max(range(len(shares)), key=lambda k: (shares[k], abs(spec.weights[k]), -k))
