"""Taxi: fetch a passenger and set them down at their destination.

Gymnasium's environment, labeled after the appendix of "Expressive Temporal Specifications for Reward Monitoring"
(AAAI-26), and cut off after that paper's 100 steps, not Gymnasium's 200. An observation is
`((5 * row + column) * 5 + passenger) * 4 + destination`; passenger 4 is in the taxi.

Choices where the paper is silent:
    - An atom that qualifies an action has to be read where the action was taken, or every rightful pick-up and
      drop-off would be penalized: afterwards the passenger is no longer at the stop, or in the taxi. So has_passenger
      reads the state before the action, and at_passenger holds when the taxi stands where the passenger waits before
      or after it. Neither changes what F at_passenger means.
    - reach_goal is the passenger's delivery, which ends the episode.
    - Task completion reads the last state only: a passenger left at a wrong stop counts as not picked up. Steps are
      scaled by the greatest number between a tile and a stop, read off the map.
    - The Boolean pairs G(act_... & ...) are kept as the paper prints them. They never pay, since no action has been
      taken at reset.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from gymnasium.envs.toy_text.taxi import TaxiEnv

from rewardspec.audit.intent import Intent
from rewardspec.lab.tasks.distances import breadth_first
from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task, docstring_notes
from rewardspec.spec import Spec
from rewardspec.spec.atoms.label_functions import lookup, truth
from rewardspec.types import Action, Floats, Number, Observation

MOVES = range(4)
PICK_UP, DROP_OFF = 4, 5
IN_TAXI = 4


class Tables(NamedTuple):
    """Values of each state, by its number; every array has shape (states,)."""

    at_passenger: Floats
    has_passenger: Floats
    at_destination: Floats
    delivered: Floats
    completion: Floats


@functools.cache
def tables() -> Tables:
    """Compute the values of all 500 states from the environment's own transitions."""
    taxi: Any = TaxiEnv()

    def neighbors(tile: tuple[int, int]) -> list[tuple[int, int]]:
        # Walls do not depend on passenger and destination, and block both directions.
        moves = taxi.P[taxi.encode(*tile, 0, 0)]
        return [tuple(taxi.decode(moves[move][0][1]))[:2] for move in MOVES]

    steps = [breadth_first([stop], neighbors) for stop in taxi.locs]
    longest = max(max(distances.values()) for distances in steps)
    columns: list[tuple[float, ...]] = []
    for state in range(len(taxi.P)):
        row, column, passenger, destination = taxi.decode(state)
        tile, stop = (row, column), taxi.locs[destination]
        waits, rides, delivered = passenger != IN_TAXI, passenger == IN_TAXI, passenger == destination
        left = steps[destination if rides else passenger][tile] / longest
        completion = 1.0 if delivered else 0.5 * rides + 0.5 * (1.0 - left)
        columns.append((waits and tile == taxi.locs[passenger], rides, tile == stop, delivered, completion))
    return Tables(*np.array(columns, dtype=np.float64).T)


def reach_goal(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The passenger has been set down at the destination."""
    return lookup(tables().delivered, next_obs)


def at_passenger(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The taxi stands where the passenger waits, before or after the action."""
    at_stop = tables().at_passenger
    return truth((lookup(at_stop, obs) + lookup(at_stop, next_obs)) > 0.0)


def has_passenger(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The passenger was in the taxi when the action was taken."""
    return lookup(tables().has_passenger, obs)


def at_destination(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The taxi is at the destination."""
    return lookup(tables().at_destination, next_obs)


def hit_wall(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The action was a move and led nowhere."""
    return 0.0 * next_obs if action is None else truth((obs == next_obs) & (action < PICK_UP))


def act_pick_up(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The action was to pick up."""
    return 0.0 * next_obs if action is None else truth(action == PICK_UP)


def act_drop_off(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The action was to drop off."""
    return 0.0 * next_obs if action is None else truth(action == DROP_OFF)


def task_completion(obs: Observation) -> Number:
    """Half for reaching and picking up the passenger, half for reaching and delivering at the destination."""
    return lookup(tables().completion, obs)


ATOMS = {
    "reach_goal": reach_goal,
    "at_passenger": at_passenger,
    "has_passenger": has_passenger,
    "at_destination": at_destination,
    "hit_wall": hit_wall,
    "act_pick_up": act_pick_up,
    "act_drop_off": act_drop_off,
}

TASK = Task(
    name="taxi",
    family="Toy",
    id="rewardspec/Taxi-v0",
    env="gymnasium.envs.toy_text.taxi:TaxiEnv",
    max_episode_steps=100,
    learner="q-learning",
    goal="Fetch a passenger and set them down at their destination.",
    base_reward="-1 for every step, -10 for a wrongful pick-up or drop-off, 20 for the delivery.",
    specs={
        "boolean": Spec(
            [
                ("F reach_goal", 100),
                ("F at_passenger", 30),
                ("G F hit_wall", -50),
                ("G (act_drop_off & !has_passenger)", -50),
                ("G (act_drop_off & !at_destination)", -25),
                ("G (act_pick_up & !at_passenger)", -25),
                ("F G true", -1),
            ],
            ATOMS,
        ),
        "quantitative": Spec(
            [
                ("F G reach_goal", 100),
                ("F at_passenger", 30),
                ("G F hit_wall", -50),
                ("F G (act_drop_off & !has_passenger)", -50),
                ("F G (act_drop_off & !at_destination)", -25),
                ("F G (act_pick_up & !at_passenger)", -25),
                ("F G true", -1),
            ],
            ATOMS,
        ),
    },
    measures={
        "task_completion": Measure(task_completion),
        "own_criterion": Measure.from_return(words="Return; Gymnasium's threshold is a mean of 8."),
    },
    intent=Intent(
        "reach_goal",
        "act_drop_off & !(has_passenger & at_destination) | act_pick_up & !at_passenger",
        arrival="delivers the passenger",
        mishap="picks up or drops off wrongfully",
    ),
    notes=docstring_notes(__doc__),
)
