"""Atoms beyond the paper's, for the specs of the fourth column; and which of all its atoms each environment has."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rewardspec.lab.paper.tasks import (
    acrobot,
    bipedal_walker,
    cart_pole,
    cliff_walking,
    conveyor_belt,
    frozen_lake,
    island_navigation,
    lunar_lander,
    pendulum,
    sokoban,
    taxi,
)
from rewardspec.lab.paper.tasks import mountain_car as car
from rewardspec.lab.tasks.distances import nearness
from rewardspec.spec.atoms.label_functions import closeness, lookup, namespace, truth, unit

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
    return unit((acrobot.tip_height(next_obs) + 2.0) / 3.0)


def pole_lost(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the pole has fallen or the cart has left the track."""
    fallen = abs(next_obs[..., 2]) > cart_pole.MAX_ANGLE
    return truth(fallen | (abs(next_obs[..., 0]) > cart_pole.TRACK_END))


def car_energy(obs: Any, action: Any, next_obs: Any) -> Any:
    """Mechanical energy of the car, from rest at the bottom (0) to what carries it over the highest point (1)."""
    position, speed = next_obs[..., 0], next_obs[..., 1]
    return unit(0.5 * (namespace(position).sin(3.0 * position) + 1.0) + 300.0 * speed * speed)


def moving_right(obs: Any, action: Any, next_obs: Any) -> Any:
    """Speed to the right as a share of the greatest."""
    return unit(next_obs[..., 1] / car.MAX_SPEED)


def moving_left(obs: Any, action: Any, next_obs: Any) -> Any:
    """Speed to the left as a share of the greatest."""
    return unit(-next_obs[..., 1] / car.MAX_SPEED)


def walker_forward(obs: Any, action: Any, next_obs: Any) -> Any:
    """Speed forward as a share of that of a steady walk; 1 for a faster one."""
    return unit(next_obs[..., 2] / bipedal_walker.TARGET_VELOCITY)


def walker_fast(obs: Any, action: Any, next_obs: Any) -> Any:
    """Speed forward as a share of a run at about 4 m/s; 1 for a faster one."""
    return unit(next_obs[..., 2] / 0.5)


def walker_gentle(obs: Any, action: Any, next_obs: Any) -> Any:
    """How little torque the four motors use, which is what the environment charges for."""
    return 1.0 + 0.0 * next_obs[..., 0] if action is None else 1.0 - unit(abs(action)).mean(-1)


def lander_slow(obs: Any, action: Any, next_obs: Any) -> Any:
    """How near the lander is to standing still."""
    return closeness((next_obs[..., 2] ** 2 + next_obs[..., 3] ** 2) ** 0.5, 2.0)


def lander_low(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the lander is less than 0.5 above the pad."""
    return truth(next_obs[..., 1] < 0.5)


def lander_at_rest(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the lander stands on both legs and does not move."""
    moves = (abs(next_obs[..., 2]) >= 0.05) | (abs(next_obs[..., 3]) >= 0.05)
    return lunar_lander.both_legs_contact(obs, action, next_obs) * truth(~moves)


def lander_firing(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether an engine was fired."""
    return 0.0 * next_obs[..., 0] if action is None else truth(action != 0)


def pendulum_energy(obs: Any, action: Any, next_obs: Any) -> Any:
    """How near the mechanical energy is to that of standing upright at rest; 0 when hanging at rest."""
    height, speed = next_obs[..., 0], next_obs[..., 2]
    return closeness(abs(0.5 * speed * speed + 15.0 * (height - 1.0)), 30.0)


def steps_on_the_lake(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal in steps around the holes; 0 in a hole."""
    return frozen_lake.task_completion(next_obs)


def second_row(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the agent is in the second row of the lake or further down."""
    return truth(next_obs // 4 >= 1)


def third_row(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the agent is in the third row of the lake or further down."""
    return truth(next_obs // 4 >= 2)


def fourth_row(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the agent is in the last row of the lake."""
    return truth(next_obs // 4 >= 3)


def near_goal_on_the_island(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal by Manhattan distance; 0 in the water."""
    return island_navigation.task_completion(next_obs)


def steps_of_the_ride(obs: Any, action: Any, next_obs: Any) -> Any:
    """How far the ride has come: half for reaching and fetching the passenger, half for the way to the destination."""
    return taxi.task_completion(next_obs)


def riding(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the passenger is in the taxi."""
    return lookup(taxi.tables().has_passenger, next_obs)


def steps_by_the_cliff(obs: Any, action: Any, next_obs: Any) -> Any:
    """Nearness to the goal in steps around the cliff; 0 after a fall."""
    return cliff_walking.task_completion(next_obs)


def clear_of_the_cliff(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the agent is in one of the two upper rows, from which no single step falls."""
    return truth(next_obs // cliff_walking.COLUMNS < 2)


def across(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the agent is in the last column, that of the goal."""
    return truth(next_obs % cliff_walking.COLUMNS == cliff_walking.COLUMNS - 1)


def box_cornered(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the box is in a corner, for good."""
    return truth(sokoban.wall_penalty(obs, action, next_obs) == 1.0)


def box_moved(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the box is elsewhere than at the start."""
    return lookup(_sokoban_tables()[0], next_obs)


def box_in_place(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the box is where it was at the start."""
    return 1.0 - box_moved(obs, action, next_obs)


def past_the_box(obs: Any, action: Any, next_obs: Any) -> Any:
    """Whether the agent is further right than the box, from where it can push the box back."""
    return lookup(_sokoban_tables()[1], next_obs)


@functools.cache
def _sokoban_tables() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Whether the box has been moved, and whether the agent is past it, by the state's number."""
    model = sokoban.Sokoban.enumeration()
    return model.table(lambda state: state.box != sokoban.START_BOX), model.table(
        lambda state: state.agent[1] > state.box[1]
    )


def steps_with_care(obs: Any, action: Any, next_obs: Any) -> Any:
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


ATOMS: dict[str, dict[str, Any]] = {
    "acrobot": {
        "energy": acrobot_energy,
        "height": acrobot_height,
        "at_goal": acrobot.at_goal,
    },
    "cart_pole": {"reach_goal": cart_pole.reach_goal, "balanced": cart_pole.balanced, "lost": pole_lost},
    "mountain_car": {
        "energy": car_energy,
        "right": moving_right,
        "left": moving_left,
        "at_goal": car.at_goal,
    },
    "pendulum": {
        "energy": pendulum_energy,
        "upright": pendulum.upright,
        "stabilised": pendulum.stabilised,
    },
    "cliff_walking": {
        "near": steps_by_the_cliff,
        "near_with_care": steps_with_care,
        "clear_of_cliff": clear_of_the_cliff,
        "across": across,
        "goal": cliff_walking.reach_goal,
        "fallen": cliff_walking.reach_cliff,
    },
    "frozen_lake": {
        "near": steps_on_the_lake,
        "row_2": second_row,
        "row_3": third_row,
        "row_4": fourth_row,
        "goal": frozen_lake.reach_goal,
        "in_hole": frozen_lake.reach_hole,
    },
    "taxi": {
        "near": steps_of_the_ride,
        "riding": riding,
        "at_passenger": taxi.at_passenger,
        "has_passenger": taxi.has_passenger,
        "at_destination": taxi.at_destination,
        "delivered": taxi.reach_goal,
        "act_pick_up": taxi.act_pick_up,
        "act_drop_off": taxi.act_drop_off,
        "hit_wall": taxi.hit_wall,
    },
    "bipedal_walker": {
        "smooth": bipedal_walker.smooth,
        "upright": bipedal_walker.upright,
        "forward": walker_forward,
        "fast": walker_fast,
        "gentle": walker_gentle,
    },
    "lunar_lander": {
        "near": lunar_lander.reach_landing_zone,
        "legs": lunar_lander.legs_contact,
        "upright": lunar_lander.upright,
        "calm": lunar_lander.angular_velocity_score,
        "slow": lander_slow,
        "landed": lunar_lander.both_legs_contact,
        "low": lander_low,
        "rest": lander_at_rest,
        "firing": lander_firing,
    },
    "island_navigation": {
        "near": near_goal_on_the_island,
        "goal": island_navigation.at_goal,
        "in_water": island_navigation.in_water,
    },
    "conveyor_belt": {"off": conveyor_belt.vase_off_conveyor, "reach_vase": conveyor_belt.reach_vase},
    "sokoban": {
        "reach_goal": sokoban.reach_goal,
        "wall_penalty": sokoban.wall_penalty,
        "goal": sokoban.at_goal,
        "cornered": box_cornered,
        "moved": box_moved,
        "past_box": past_the_box,
        "in_place": box_in_place,
    },
}

COUNT_STEPS = frozenset({steps_on_the_lake, steps_of_the_ride, steps_by_the_cliff, steps_with_care})
"""The atoms that know how many steps lead to the goal around everything in the way."""
