"""Atoms beyond the paper's, for the specs of the fourth column."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.tasks.distances import nearness
from rewardspec.tasks.label_functions import closeness, lookup, namespace, unit
from rewardspec.tasks.paper import cliff_walking, frozen_lake, island_navigation, taxi
from rewardspec.tasks.paper.acrobot import tip_height
from rewardspec.tasks.paper.mountain_car import MAX_SPEED

BESIDE_THE_CLIFF = 4.0
"""What a step from a tile beside the cliff counts, where other steps count 1."""


def acrobot_energy(obs: Any, action: Any, next_obs: Any) -> Any:
    """Mechanical energy, from hanging at rest (0) to standing upright at rest (1)."""
    cos1, sin1, cos2, sin2, spin1, spin2 = (next_obs[..., i] for i in range(6))
    height = -1.5 * cos1 - 0.5 * (cos1 * cos2 - sin1 * sin2)
    motion = 0.5 * (3.5 + cos2) * spin1**2 + 0.625 * spin2**2 + (1.25 + 0.5 * cos2) * spin1 * spin2
    return unit((9.8 * (height + 2.0) + motion) / (9.8 * 4.0))


def acrobot_height(obs: Any, action: Any, next_obs: Any) -> Any:
    """Height of the tip, from hanging (0) to the line (1)."""
    return unit((tip_height(next_obs) + 2.0) / 3.0)


def car_energy(obs: Any, action: Any, next_obs: Any) -> Any:
    """Mechanical energy of the car, from rest at the bottom (0) to what carries it over the highest point (1)."""
    position, speed = next_obs[..., 0], next_obs[..., 1]
    return unit(0.5 * (namespace(position).sin(3.0 * position) + 1.0) + 300.0 * speed * speed)


def moving_right(obs: Any, action: Any, next_obs: Any) -> Any:
    """Speed to the right as a share of the greatest."""
    return unit(next_obs[..., 1] / MAX_SPEED)


def moving_left(obs: Any, action: Any, next_obs: Any) -> Any:
    """Speed to the left as a share of the greatest."""
    return unit(-next_obs[..., 1] / MAX_SPEED)


def pendulum_energy(obs: Any, action: Any, next_obs: Any) -> Any:
    """How near the mechanical energy is to that of standing upright at rest; 0 when hanging at rest."""
    height, speed = next_obs[..., 0], next_obs[..., 2]
    return closeness(abs(0.5 * speed * speed + 15.0 * (height - 1.0)), 30.0)


def near_goal_on_the_lake(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal in steps around the holes; 0 in a hole."""
    return frozen_lake.task_completion(next_obs)


def near_goal_on_the_island(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal by Manhattan distance; 0 in the water."""
    return island_navigation.task_completion(next_obs)


def near_delivery(obs: Any, action: Any, next_obs: Any) -> Any:
    """How far the ride has come: half for reaching and fetching the passenger, half for the way to the destination."""
    return taxi.task_completion(next_obs)


def near_goal_by_the_cliff(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal in steps around the cliff; 0 after a fall."""
    return cliff_walking.task_completion(next_obs)


def near_goal_with_care(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal by a way that keeps clear of the cliff; 0 after a fall."""
    return lookup(_careful_nearness(), next_obs)


@functools.cache
def _careful_nearness() -> NDArray[np.float64]:
    """Steps to the goal, those beside the cliff counted more than once, by relaxation over the environment's table."""
    transitions = cliff_walking.FatalCliffWalking().P
    cliff = cliff_walking.tables().cliff
    ways = [(s, after) for s, moves in transitions.items() for [(_, after, _, _)] in moves.values() if not cliff[s]]
    beside = {state for state, after in ways if cliff[after]}
    steps = np.full(len(transitions), np.inf)
    steps[cliff_walking.GOAL] = 0.0
    for _ in transitions:  # no way is longer than there are tiles
        for state, after in ways:
            if not cliff[after] and state != cliff_walking.GOAL:
                cost = BESIDE_THE_CLIFF if state in beside else 1.0
                steps[state] = min(steps[state], cost + steps[after])
    return nearness(steps)
