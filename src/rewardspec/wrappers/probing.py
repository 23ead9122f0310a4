"""Probes: what a spec says of a few episodes, before an agent is trained on it.

An audit solves an environment and needs its transition table; a probe only plays, so that it works everywhere.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error
from rewardspec.spec import Spec
from rewardspec.spec.lint.findings import Finding
from rewardspec.spec.lint.time_rules import forgiving
from rewardspec.spec.payments import PAYMENTS
from rewardspec.types import Action, Environment, Info, Observation
from rewardspec.wrappers.monitor_reward import MonitorReward, episode_limit
from rewardspec.wrappers.probe_report import Veto, early_ends, findings_about, lines_of, too_long_for

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation

EPISODES, STEPS = 20, 10_000


@dataclasses.dataclass(frozen=True)
class AtomSeen:
    """Summary of an atom's labels.

    Attributes:
        name: The atom.
        least: The least label.
        mean: The mean of the labels.
        most: The greatest label.
        zeros: The share of steps with a label of 0.
        ones: The share of steps with a label of 1.
    """

    name: str
    least: float
    mean: float
    most: float
    zeros: float
    ones: float


@dataclasses.dataclass(frozen=True)
class PairSeen:
    """Summary of a pair's behavior.

    Attributes:
        name: What the pair is called.
        least: The least value of its formula.
        most: The greatest value of its formula.
        last: The mean of its value at the end of an episode.
        pays: What it paid in an episode, on average; penalties after a veto are not part of it.
        moves: Its share of all changes, from one step to the next, in what the pairs are worth: weight times value. In
            the step of a veto only the change of the violated pair counts, and later steps do not.
        paid: Its share of all that the pairs paid, rewards and penalties alike, in these episodes.
        violated_at: The step at which each episode violated it, for a vetoing pair; only those that did.
        pending: In how many episodes its value at the end was 0 only because something was still due.
    """

    name: str
    least: float
    most: float
    last: float
    pays: float
    moves: float
    paid: float
    violated_at: tuple[int, ...]
    pending: int = 0


@dataclasses.dataclass(frozen=True)
class Probe:
    """Summary of a spec's behavior in some episodes; printed, it is a table.

    Attributes:
        spec: The spec.
        atoms: What the atoms' labels were.
        pairs: What the pairs did.
        lengths: The number of steps of each episode.
        returns: What the spec paid in each episode.
        base_returns: What the environment itself paid.
        findings: What looks wrong.
    """

    spec: Spec
    atoms: tuple[AtomSeen, ...]
    pairs: tuple[PairSeen, ...]
    lengths: NDArray[np.int64]
    returns: NDArray[np.float64]
    base_returns: NDArray[np.float64]
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return "\n".join(lines_of(self))


def probe(
    env: Environment,
    spec: Spec | str | os.PathLike[str],
    *,
    episodes: int = EPISODES,
    policy: Callable[[Observation], Action] | None = None,
    seed: int = 0,
    max_steps: int = STEPS,
) -> Probe:
    r"""Play some episodes, and summarize the labels, values and rewards of a spec.

    Args:
        env: The environment. It is not closed.
        spec: The spec, with functions for its atoms; or the path of its TOML file.
        episodes: How many episodes to play.
        policy: Gives the action for an observation of the environment; random actions where None. One that remembers,
            such as the player of a saved policy, has methods `begin` and `saw`, which are told of every episode and
            step.
        seed: Of the first episode and the random actions; each later episode has the next one.
        max_steps: Where to cut off an episode that does not end.

    Example:
        >>> import gymnasium as gym
        >>> upright = lambda obs, action, next_obs: 1 - np.minimum(abs(next_obs[..., 2]) / 0.2095, 1)
        >>> spec = Spec([("G upright", 1), ("F G upright", 1)], atoms={"upright": upright})
        >>> seen = probe(gym.make("CartPole-v1"), spec, episodes=10)
        >>> print("\n".join(str(seen).splitlines()[:7]))
        10 episodes, 256 steps
        <BLANKLINE>
        atom     least   mean   most  at 0  at 1
        upright      0  0.643  0.995    4%    0%
        <BLANKLINE>
        formula          values  at the end   pays  moves    vetoes
        G upright    0 to 0.993           0  15.28    43%  10 of 10
    """
    if episodes < 1 or max_steps < 1:
        raise Error(f"`episodes` and `max_steps` should be at least 1. Received {episodes} and {max_steps}.")
    wrapped = MonitorReward(env, spec, record=True)
    spec = wrapped.reward_spec
    policy = RandomActions(env, seed) if policy is None else policy
    seen, base_returns, terminated, ended = [], [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a first state that violates is among the findings
        for number in range(episodes):
            base_return, *ends = play(wrapped, policy, seed + number, max_steps)
            base_returns.append(base_return)
            terminated.append(ends[0])
            ended.append(any(ends))
            seen.append(wrapped.explain())
    vetoes = (next((Veto(row.step, row.vetoed_by) for row in rows if row.vetoed_by is not None), None) for rows in seen)
    atoms = tuple(_atom_seen(name, seen) for name in spec.atoms)
    numbers = range(len(spec.pairs))
    paid = [
        np.concatenate([_paid(spec, number, *each) for each in zip(seen, ended, terminated, strict=True)])
        for number in numbers
    ]
    amounts = _shares([float(np.abs(column).sum()) for column in paid])
    moves = _shares([sum(_moved(spec, number, explanation) for explanation in seen) for number in numbers])
    pairs = tuple(
        _pair_seen(number, seen, float(paid[number].sum()) / episodes, moves[number], amounts[number])
        for number in numbers
    )
    returns = np.array([sum(row.reward or 0.0 for row in explanation) for explanation in seen])
    return Probe(
        spec,
        atoms,
        pairs,
        np.array([len(explanation) - 1 for explanation in seen]),
        returns,
        np.array(base_returns),
        (
            *findings_about(spec, atoms, pairs, [v for v in vetoes if v is not None], returns),
            *early_ends(spec, seen, np.array(terminated), returns),
            *too_long_for(spec, episode_limit(env)),
        ),
    )


class RandomActions:
    """A policy of random actions, which depend on the seed and the action space alone.

    Some environments make a new action space in every reset, with a random seed, or draw from it themselves. So this
    draws from a copy.

    Example:
        >>> import gymnasium as gym
        >>> choose = RandomActions(gym.make("CartPole-v1"), seed=0)
        >>> [int(choose(None)) for _ in range(5)]
        [1, 1, 1, 0, 0]
    """

    def __init__(self, env: Environment, seed: int) -> None:
        self._env = env
        self._copy(seed)

    def _copy(self, seed: int) -> None:
        self._copied = self._env.action_space
        self._space = copy.deepcopy(self._copied)
        self._space.seed(seed)

    def begin(self, observation: Observation, info: Info) -> None:
        """Start an episode, in which other actions may be possible."""
        space = self._env.action_space
        if space is not self._copied and space != self._space:
            self._copy(int(self._space.np_random.integers(2**31)))

    def __call__(self, observation: Observation) -> Action:
        """Return a random action."""
        return self._space.sample()

    def saw(self, *step: Any) -> None:
        """Learn of a step, which makes no difference."""


def play(
    env: MonitorReward, policy: Callable[[Observation], Action], seed: int, max_steps: int
) -> tuple[float, bool, bool]:
    """Play one episode, and return the sum of the environment's own rewards, and how the episode ended; see `probe`.

    Returns:
        The sum, whether the episode terminated, and whether it was truncated, which `max_steps` does not count as.
    """
    observation, info = env.reset(seed=seed)
    base_return, terminated, truncated = 0.0, False, False
    remembers = hasattr(policy, "begin")
    if remembers:
        policy.begin(observation, info)  # type: ignore[attr-defined]
    for _ in range(max_steps):
        action = policy(observation)
        after, _, terminated, truncated, info = env.step(action)
        base_return += info["base_reward"]
        if remembers:
            policy.saw(  # type: ignore[attr-defined]
                observation, action, after, info, info["base_reward"], terminated, truncated
            )
        observation = after
        if terminated or truncated:
            break
    return base_return, terminated, truncated


def _atom_seen(name: str, seen: Sequence[Explanation]) -> AtomSeen:
    labels = np.concatenate([np.asarray(explanation.labels[name], dtype=np.float64) for explanation in seen])
    return AtomSeen(
        name,
        float(labels.min()),
        float(labels.mean()),
        float(labels.max()),
        float(np.mean(labels == 0.0)),
        float(np.mean(labels == 1.0)),
    )


def _paid(spec: Spec, number: int, explanation: Explanation, ended: bool, terminated: bool) -> NDArray[np.float64]:
    """What a pair paid at the steps of an episode; nothing after a veto.

    What is paid at the end is paid only where the episode `ended`, and a potential is taken back where it `terminated`.
    """
    rule, values = PAYMENTS[spec.payments[number]], _worth(spec, number, explanation)
    if rule.reads_discount:
        after = spec.discount * values[1:]
        if terminated and len(values) == len(explanation):
            after[-1:] = 0.0
        return after - values[:-1]
    if rule.reads_before:
        return np.diff(values, prepend=0.0) if rule.starts_at_zero else np.diff(values)
    if rule.reads_ending:
        return values[-1:] if ended and len(values) == len(explanation) else values[:0]
    return values[1:]


def _worth(spec: Spec, number: int, explanation: Explanation) -> NDArray[np.float64]:
    """Weight times value of a pair at reset and at each step, up to a veto."""
    return spec.weights[number] * np.array([row.values[number] for row in explanation if row.vetoed_by is None])


def _moved(spec: Spec, number: int, explanation: Explanation) -> float:
    """The changes in a pair's weight times value up to a veto; a violation is a change of the violated pair."""
    worth = _worth(spec, number, explanation)
    if len(worth) < len(explanation) and explanation[len(worth)].vetoed_by == number:
        worth = np.append(worth, spec.weights[number] * explanation[len(worth)].values[number])
    return float(np.abs(np.diff(worth)).sum())


def _shares(amounts: Sequence[float]) -> list[float]:
    return [amount / (sum(amounts) or 1.0) for amount in amounts]


def _pair_seen(number: int, seen: Sequence[Explanation], pays: float, moves: float, paid: float) -> PairSeen:
    pair = seen[0].spec.pairs[number]
    values = [[row.values[number] for row in explanation] for explanation in seen]
    vetoes = (next((row.step for row in rows if row.vetoed_by == number), None) for rows in seen)
    return PairSeen(
        seen[0].names[number],
        min(map(min, values)),
        max(map(max, values)),
        float(np.mean([column[-1] for column in values])),
        pays,
        moves,
        paid,
        tuple(step for step in vetoes if step is not None),
        sum(_is_pending(number, rows) for rows in seen) if forgiving(pair.formula) != pair.formula else 0,
    )


def _is_pending(number: int, explanation: Explanation) -> bool:
    """Return whether a pair ended with the value 0, and more steps could still have made it larger."""
    spec, last = explanation.spec, explanation[-1]
    if last.values[number] > 0.0 or last.vetoed_by == number:
        return False
    alone = spec.replace(pairs=[dataclasses.replace(spec.pairs[number], veto=True)], atoms=None, payment="value")
    return alone.explain(explanation.labels)[-1].vetoed_by is None
