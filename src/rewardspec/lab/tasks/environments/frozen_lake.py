"""Frozen Lake: cross a frozen lake without falling through a hole.

Gymnasium's 4×4 map without the slipping, labeled after the appendix of "Expressive Temporal Specifications for
Reward Monitoring" (AAAI-26). An observation is `4 * row + column`.

Departures from the paper:
    - The pair (G !reach_hole, -10) pays -10 for staying dry, while the text says that it penalizes falling in. Here it
      is a safety objective of weight 0 whose violation pays -10.

Choices where the paper is silent:
    - Task completion is 0 in a hole: no path leads from there to the goal, and Cliff Walking's measure says the same.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv

from rewardspec.audit.intent import Intent
from rewardspec.lab.tasks.distances import nearness, steps_to
from rewardspec.lab.tasks.measures import Ending, Measure
from rewardspec.lab.tasks.task import Task, docstring_notes
from rewardspec.spec import Pair, Spec
from rewardspec.spec.atoms.label_functions import lookup
from rewardspec.types import Action, Floats, Number, Observation


class FirmFrozenLake(FrozenLakeEnv):
    """Frozen Lake on the 4×4 map without slipping."""

    def __init__(self, render_mode: str | None = None) -> None:
        # The atoms are tied to this map, so it is not an option.
        super().__init__(render_mode=render_mode, map_name="4x4", is_slippery=False)


class Tables(NamedTuple):
    """Values of each state, by its number; every array has shape (states,)."""

    goal: Floats
    hole: Floats
    nearness: Floats


@functools.cache
def tables() -> Tables:
    """Compute goal, holes and nearness to the goal from the environment's own map and transitions."""
    lake: Any = FirmFrozenLake()
    goal, hole = (np.asarray(lake.desc == tile, dtype=np.float64).ravel() for tile in (b"G", b"H"))
    return Tables(goal, hole, nearness(steps_to(np.flatnonzero(goal).tolist(), lake.P)))


def reach_goal(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The agent is at the goal."""
    return lookup(tables().goal, next_obs)


def reach_hole(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The agent has fallen through a hole."""
    return lookup(tables().hole, next_obs)


def task_completion(obs: Observation) -> Number:
    """Nearness to the goal in steps around the holes; 0 in a hole."""
    return lookup(tables().nearness, obs)


def reached(ending: Ending) -> Number:
    """The goal was reached; Gymnasium's threshold is a mean of 0.7."""
    return ending.base_return


ATOMS = {"reach_goal": reach_goal, "reach_hole": reach_hole}
PAIRS = [("F reach_goal", 10), Pair("G !reach_hole", 0, veto=True, penalty=-10), ("F G true", -1)]
PRINTED = [PAIRS[0], ("G !reach_hole", -10), PAIRS[2]]

TASK = Task(
    name="frozen_lake",
    family="Toy",
    id="rewardspec/FrozenLake-v0",
    env=f"{__name__}:FirmFrozenLake",
    max_episode_steps=100,
    learner="q-learning",
    goal="Cross a frozen lake without falling through a hole.",
    base_reward="1 at the goal, 0 elsewhere.",
    specs={"boolean": Spec(PAIRS, ATOMS), "quantitative": Spec(PAIRS, ATOMS)},
    variants={"boolean as printed": Spec(PRINTED, ATOMS), "quantitative as printed": Spec(PRINTED, ATOMS)},
    measures={"task_completion": Measure(task_completion), "own_criterion": Measure(reached, reads="ending")},
    intent=Intent("reach_goal", "reach_hole", mishap="falls through a hole"),
    notes=docstring_notes(__doc__),
)
