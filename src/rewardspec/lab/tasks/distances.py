"""Distances in steps on the maps of finite environments."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np

from rewardspec.types import Floats

Node = TypeVar("Node")
Transitions: TypeAlias = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]
"""Gymnasium's `P`: `P[state][action]` lists `(probability, next state, reward, terminated)`."""


def breadth_first(sources: Iterable[Node], neighbors: Callable[[Node], Iterable[Node]]) -> dict[Node, int]:
    """Compute the number of edges from the nearest source to every reachable node.

    Example:
        >>> breadth_first([0], lambda n: [n + 1] if n < 3 else [])
        {0: 0, 1: 1, 2: 2, 3: 3}
    """
    distance = dict.fromkeys(sources, 0)
    queue = collections.deque(distance)
    while queue:
        node = queue.popleft()
        for neighbor in neighbors(node):
            if neighbor not in distance:
                distance[neighbor] = distance[node] + 1
                queue.append(neighbor)
    return distance


def steps_to(goals: Iterable[int], transitions: Transitions) -> Floats:
    """Compute the least number of steps from every state to a goal, shape (states,); infinite where no path exists.

    No path leads through a state that ends the episode.
    """
    outcomes = [
        (state, int(successor), ended)
        for state, moves in transitions.items()
        for possible in moves.values()
        for probability, successor, _, ended in possible
        if probability > 0.0
    ]
    final = {successor for _, successor, ended in outcomes if ended}
    predecessors: dict[int, set[int]] = collections.defaultdict(set)
    for state, successor, _ in outcomes:
        if state not in final:
            predecessors[successor].add(state)
    steps = np.full(len(transitions), np.inf)
    for state, distance in breadth_first(goals, lambda state: sorted(predecessors[state])).items():
        steps[state] = distance
    return steps


def nearness(steps: Floats) -> Floats:
    """Scale distances to 1 at the goal, 0 at the greatest finite distance and 0 where the goal is unreachable.

    Example:
        >>> nearness(np.array([0.0, 3.0, 6.0, np.inf])).tolist()
        [1.0, 0.5, 0.0, 0.0]
    """
    reachable = np.isfinite(steps)
    return np.where(reachable, 1.0 - steps / steps[reachable].max(), 0.0)
