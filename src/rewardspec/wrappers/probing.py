"""Probes: what a spec says of a few episodes, before an agent is trained on it.

An audit solves an environment and needs its transition table; a probe only plays, so that it works everywhere.

| rule | finds |
|---|---|
| `constant-atom` | an atom with the same label in every step |
| `silent` | a formula whose value was the same in every step |
| `never-decides` | a pair that counted most in no step |
| `always-vetoed` | a safety objective violated in every episode |
| `same-return` | rewards that tell no episode from another |
"""

from __future__ import annotations

import dataclasses
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from rewardspec.errors import Error
from rewardspec.spec import Spec
from rewardspec.spec.lint.findings import Finding, called
from rewardspec.wrappers.monitor_reward import MonitorReward

if TYPE_CHECKING:
    from rewardspec.episodes.explanation import Explanation

EPISODES, STEPS = 20, 10_000
_WIDTH = 100


@dataclasses.dataclass(frozen=True)
class AtomSeen:
    """What an atom's labels were.

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
    """What a pair did.

    Attributes:
        name: What the pair is called.
        least: The least value of its formula.
        most: The greatest value of its formula.
        last: The mean of its value at the end of an episode.
        decides: The share of the steps in which it counted most.
        violated_at: The step at which each episode violated it, for a safety objective; only those that did.
    """

    name: str
    least: float
    most: float
    last: float
    decides: float
    violated_at: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Probe:
    """What a spec said of some episodes; printed, it is a table.

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
        return "\n".join(_text(self))


def probe(
    env: gym.Env[Any, Any],
    spec: Spec,
    *,
    episodes: int = EPISODES,
    policy: Callable[[Any], Any] | None = None,
    seed: int = 0,
    max_steps: int = STEPS,
) -> Probe:
    r"""Play a few episodes, and say what the spec's atoms and formulas made of them.

    Args:
        env: The environment. It is not closed.
        spec: The spec, with functions for its atoms.
        episodes: How many episodes to play.
        policy: Gives the action for an observation of the environment; random actions where None.
        seed: Of the first episode and the random actions; each later episode has the next one.
        max_steps: Where to cut off an episode that does not end.

    Example:
        >>> upright = lambda obs, action, next_obs: 1 - np.minimum(abs(next_obs[..., 2]) / 0.2095, 1)
        >>> spec = Spec([("G upright", 1), ("F G upright", 1)], atoms={"upright": upright})
        >>> seen = probe(gym.make("CartPole-v1"), spec, episodes=10)
        >>> print("\n".join(str(seen).splitlines()[:7]))
        10 episodes, 256 steps
        <BLANKLINE>
        atom     least   mean   most  at 0  at 1
        upright      0  0.643  0.995    4%    0%
        <BLANKLINE>
        formula          values  at the end  decides    vetoes
        G upright    0 to 0.993           0      57%  10 of 10
    """
    if episodes < 1 or max_steps < 1:
        raise Error(f"`episodes` and `max_steps` should be at least 1. Received {episodes} and {max_steps}.")
    wrapped = MonitorReward(env, spec, record=True)
    env.action_space.seed(seed)
    seen, base_returns = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a first state that violates is among the findings
        for number in range(episodes):
            base_returns.append(_play(wrapped, policy, seed + number, max_steps))
            seen.append(wrapped.explain())
    atoms = tuple(_atom_seen(name, seen) for name in spec.atoms)
    pairs = tuple(_pair_seen(number, seen) for number in range(len(spec.pairs)))
    returns = np.array([sum(row.reward or 0.0 for row in explanation) for explanation in seen])
    return Probe(
        spec,
        atoms,
        pairs,
        np.array([len(explanation) - 1 for explanation in seen]),
        returns,
        np.array(base_returns),
        tuple(_findings(spec, atoms, pairs, returns)),
    )


def _play(env: MonitorReward, policy: Callable[[Any], Any] | None, seed: int, max_steps: int) -> float:
    observation, _ = env.reset(seed=seed)
    base_return = 0.0
    for _ in range(max_steps):
        action = env.action_space.sample() if policy is None else policy(observation)
        observation, _, terminated, truncated, info = env.step(action)
        base_return += info["base_reward"]
        if terminated or truncated:
            break
    return base_return


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


def _pair_seen(number: int, seen: Sequence[Explanation]) -> PairSeen:
    values = [[row.values[number] for row in explanation] for explanation in seen]
    decided = [row.decided_by == number for explanation in seen for row in explanation[1:]]
    vetoes = (next((row.step for row in rows if row.vetoed_by == number), None) for rows in seen)
    return PairSeen(
        seen[0].names[number],
        min(map(min, values)),
        max(map(max, values)),
        float(np.mean([column[-1] for column in values])),
        float(np.mean(decided)) if decided else 0.0,
        tuple(step for step in vetoes if step is not None),
    )


def _findings(
    spec: Spec, atoms: Sequence[AtomSeen], pairs: Sequence[PairSeen], returns: NDArray[np.float64]
) -> Iterator[Finding]:
    for number, (pair, seen) in enumerate(zip(spec.pairs, pairs, strict=True)):
        if len(seen.violated_at) == len(returns):
            at_once = max(seen.violated_at) == 0
            when = "at reset" if at_once else f"after {int(np.median(seen.violated_at))} steps at the median"
            yield Finding(
                "always-vetoed",
                "error" if at_once else "warning",
                number,
                f"{called(number, pair)} was violated in every episode, {when}.",
                "That is what an agent sees of the spec at first. If one violation should not cost the rest of the "
                "episode, give the pair veto=False.",
            )
        if not pair.formula.atoms or (pair.vetoes and seen.least == 1.0):
            continue  # a constant pay for every step, or a danger that was never met
        if seen.least == seen.most:
            yield Finding(
                "silent",
                "warning",
                number,
                f"{called(number, pair)} had the value {seen.least:g} in every step, so that nothing can be learnt "
                "from it yet.",
                "Atoms that say how near, instead of whether, give a value before the goal is reached.",
            )
        elif seen.decides == 0.0 and pair.weight != 0.0:
            yield Finding(
                "never-decides",
                "warning",
                number,
                f"{called(number, pair)} counted most in no step.",
                "If it should guide an agent, give it more weight.",
            )
    for atom in atoms:
        if atom.least == atom.most:
            yield Finding(
                "constant-atom",
                "warning",
                None,
                f"The atom {atom.name!r} was {atom.least:g} in every step.",
                "See whether its function reads the right part of the observation, on the right scale.",
            )
    if len(returns) > 1 and np.ptp(returns) == 0.0:
        yield Finding(
            "same-return",
            "warning",
            None,
            f"Every episode had a return of {returns[0]:g}, so that none is better than another.",
            "Play with a policy that gets further, or pay for progress.",
        )


def _text(seen: Probe) -> Iterator[str]:
    count, steps = len(seen.lengths), int(seen.lengths.sum())
    yield f"{count} episode{'s' * (count != 1)}, {steps:,} steps"
    yield ""
    yield from _aligned(
        ("atom", "least", "mean", "most", "at 0", "at 1"),
        (
            (
                atom.name,
                f"{atom.least:.3g}",
                f"{atom.mean:.3g}",
                f"{atom.most:.3g}",
                _share(atom.zeros),
                _share(atom.ones),
            )
            for atom in seen.atoms
        ),
    )
    yield ""
    yield from _aligned(
        ("formula", "values", "at the end", "decides", "vetoes"),
        (
            (
                pair.name,
                f"{pair.least:.3g} to {pair.most:.3g}",
                f"{pair.last:.3g}",
                _share(pair.decides),
                f"{len(pair.violated_at)} of {count}" if about.vetoes else "–",
            )
            for pair, about in zip(seen.pairs, seen.spec.pairs, strict=True)
        ),
    )
    yield ""
    yield from _aligned(
        ("", "least", "mean", "most"),
        (
            (name, f"{column.min():.4g}", f"{column.mean():.4g}", f"{column.max():.4g}")
            for name, column in (("steps", seen.lengths), ("return", seen.returns), ("base return", seen.base_returns))
        ),
    )
    if seen.findings:
        yield ""
    for finding in seen.findings:
        yield textwrap.fill(str(finding), _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _share(share: float) -> str:
    """A share in per cent, in which neither some nor most look like none or all.

    Example:
        >>> _share(0.0), _share(0.001), _share(0.5), _share(0.999), _share(1.0)
        ('0%', '<1%', '50%', '>99%', '100%')
    """
    if 0.0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1.0 else f"{share:.0%}"


def _aligned(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> Iterator[str]:
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for name, *cells in lines:
        row = [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))]
        yield "  ".join(row).rstrip()
