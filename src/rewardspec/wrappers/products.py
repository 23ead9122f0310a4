"""The pairs of state and configuration that a Discrete environment with a spec can reach.

A Discrete environment that publishes its transition table as `P`, as Gymnasium's toy-text environments do, has finitely
many transitions, hence finitely many labels; and registers only ever hold 0, 1, a label, or 1 minus a label. So the
product of environment and spec is finite, and a breadth-first search numbers it, the same way on every run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import Space, spaces

from rewardspec.spec import Spec
from rewardspec.wrappers.features import Features
from rewardspec.wrappers.observations import Pair

# For each state and action the possible outcomes: probability, next state, reward, whether the episode ends.
Table: TypeAlias = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]

MOST_PAIRS = 100_000  # beyond it a table indexed by them would learn nothing, and the search takes long


@dataclass(frozen=True)
class Model:
    """What can happen in a Discrete environment.

    Attributes:
        table: The transition table.
        starts: The states in which an episode can begin.
    """

    table: Table
    starts: tuple[int, ...]


def model_of(env: gym.Env[Any, Any]) -> Model | None:
    """The model that an environment publishes, or None.

    A wrapper that changes observations or actions makes the table speak of other ones than the spec's atoms see.
    """
    layer = env
    while isinstance(layer, gym.Wrapper):
        if isinstance(layer, gym.ObservationWrapper | gym.ActionWrapper):
            return None
        layer = layer.env
    table = getattr(layer, "P", None)
    if not isinstance(table, Mapping) or not isinstance(layer.observation_space, spaces.Discrete):
        return None
    chances = getattr(layer, "initial_state_distrib", None)
    starts = sorted(table) if chances is None else np.flatnonzero(chances).tolist()
    return Model(table, tuple(int(start) for start in starts))


def possible_pairs(
    space: Space[Any], spec: Spec, features: Features, models: Sequence[Model | None]
) -> list[Pair] | None:
    """All pairs of a state and its numbers that can occur, or None where they cannot be enumerated.

    Args:
        space: The space of the observations.
        spec: The spec.
        features: The numbers.
        models: What can happen in each environment.
    """
    if not isinstance(space, spaces.Discrete):
        return None
    if features.observe == "control":  # needs no search
        states = range(int(space.start), int(space.start + space.n))
        rows = [tuple(float(k == control) for k in spec.states) for control in spec.states]
        return [(state, row) for state in states for row in rows]
    found: dict[Pair, None] = {}  # in order of discovery
    for k, model in enumerate(models):
        if model is None:
            return None
        if model in models[:k]:
            continue
        for state, memory in _reachable(spec, model):
            found[state, features.read(memory)] = None
            if len(found) > MOST_PAIRS:
                gym.logger.warn(
                    f"The environment and its spec can reach more than {MOST_PAIRS} pairs of state and configuration: "
                    "the observation becomes a Dict of 'observation' and 'monitor' instead of a Discrete."
                )
                return None
    return list(found)


def _reachable(spec: Spec, model: Model) -> Iterator[tuple[int, Any]]:
    """Every state of the environment with every state of the spec that can occur beside it."""
    labels: dict[tuple[int, int, int], dict[str, Any]] = {}
    frontier: deque[tuple[int, Any]] = deque()
    for start in model.starts:
        frontier.append((start, spec.init(spec.labels(start, None, start))))
        yield frontier[-1]
    seen = set(frontier)
    while frontier:
        state, memory = frontier.popleft()
        for action, outcomes in model.table.get(state, {}).items():
            for chance, successor, reward, ended in outcomes:
                if chance <= 0.0:
                    continue
                transition = (state, action, int(successor))
                if transition not in labels:
                    labels[transition] = spec.labels(*transition)
                new = (int(successor), spec.step(memory, labels[transition], float(reward), bool(ended), False)[0])
                yield new
                if not ended and new not in seen:
                    seen.add(new)
                    frontier.append(new)
