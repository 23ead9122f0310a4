"""Cliff Walking: cross the map along a cliff, without falling.

Gymnasium's environment in the variant of "Expressive Temporal Specifications for Reward Monitoring" (AAAI-26): where
Gymnasium sends whoever falls back to the start, here a fall ends the episode; and 100 steps do. The observation after
a fall is the cliff tile, so that reach_cliff can be read off it. An observation is `12 * row + column`.

Departures from the paper:
    - The time penalty is printed as (F G true) & !reach_goal, which reads !reach_goal at the first state only and so
      never stops. The intent, a cost for every step before the goal, is F G !reach_goal.

Choices where the paper is silent:
    - Task completion scales the steps to the goal by the greatest number on the map, 14, from the top left corner.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from gymnasium.envs.toy_text.cliffwalking import CliffWalkingEnv

from rewardspec.audit.intent import Intent
from rewardspec.lab.tasks.distances import nearness, steps_to
from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task, docstring_notes
from rewardspec.spec import Spec
from rewardspec.spec.atoms.label_functions import lookup, truth
from rewardspec.types import Action, Floats, Number, Observation

ROWS, COLUMNS = 4, 12
GOAL = ROWS * COLUMNS - 1
"""The bottom right corner."""
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Change of row and column by up, right, down and left, Gymnasium's actions 0 to 3."""
FALL_REWARD = -100
"""Gymnasium's reward for a fall; no other step pays it."""


class FatalCliffWalking(CliffWalkingEnv):
    """Cliff Walking in which a fall leaves the agent on the cliff tile and ends the episode."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(render_mode=render_mode)
        for state, moves in self.P.items():
            row, column = divmod(state, COLUMNS)
            for move, [(_, _, reward, _)] in moves.items():
                if reward == FALL_REWARD:
                    down, right = MOVES[move]
                    tile = min(row + down, ROWS - 1) * COLUMNS + column + right
                    moves[move] = [(1.0, tile, FALL_REWARD, True)]


class Tables(NamedTuple):
    """Values of each state, by its number; every array has shape (states,)."""

    cliff: Floats
    nearness: Floats


@functools.cache
def tables() -> Tables:
    """Compute the cliff and the nearness to the goal from the environment's own transitions."""
    transitions = FatalCliffWalking().P
    cliff = np.zeros(len(transitions))
    for moves in transitions.values():
        for outcomes in moves.values():
            for _, tile, reward, _ in outcomes:
                cliff[tile] = max(cliff[tile], reward == FALL_REWARD)
    return Tables(cliff, nearness(steps_to([GOAL], transitions)))


def reach_goal(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The agent is at the goal."""
    return truth(next_obs == GOAL)


def reach_cliff(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The agent has fallen."""
    return lookup(tables().cliff, next_obs)


def task_completion(obs: Observation) -> Number:
    """Nearness to the goal in steps around the cliff; 0 after a fall."""
    return lookup(tables().nearness, obs)


ATOMS = {"reach_goal": reach_goal, "reach_cliff": reach_cliff}
PAIRS = [("F G reach_goal", 25), ("F G reach_cliff", -25), ("F G !reach_goal", -1)]
PRINTED = [*PAIRS[:2], ("F G true & !reach_goal", -1)]

TASK = Task(
    name="cliff_walking",
    family="Toy",
    id="rewardspec/CliffWalking-v0",
    env=f"{__name__}:FatalCliffWalking",
    max_episode_steps=100,
    learner="q-learning",
    goal="Cross the map along a cliff without falling.",
    base_reward="-1 for every step, -100 for a fall.",
    specs={"boolean": Spec(PAIRS, ATOMS), "quantitative": Spec(PAIRS, ATOMS)},
    variants={"boolean as printed": Spec(PRINTED, ATOMS), "quantitative as printed": Spec(PRINTED, ATOMS)},
    measures={
        "task_completion": Measure(task_completion),
        "own_criterion": Measure.from_return(words="Return; -13 is the best (Sutton and Barto, example 6.6)."),
    },
    intent=Intent("reach_goal", "reach_cliff", mishap="falls off the cliff"),
    notes=docstring_notes(__doc__),
)
