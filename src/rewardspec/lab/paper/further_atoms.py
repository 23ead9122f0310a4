"""Atoms beyond the paper's, for the specs of the fourth column."""

from __future__ import annotations

from rewardspec.lab.tasks.environments import cart_pole, cliff_walking, lunar_lander, sokoban, taxi
from rewardspec.lab.tasks.environments import mountain_car as car
from rewardspec.spec.atoms.label_functions import closeness, lookup, namespace, truth, unit
from rewardspec.types import Action, Number, Observation


def acrobot_energy(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Mechanical energy, from hanging at rest (0) to standing upright at rest (1)."""
    cos1, sin1, cos2, sin2, spin1, spin2 = (next_obs[..., i] for i in range(6))
    height = -1.5 * cos1 - 0.5 * (cos1 * cos2 - sin1 * sin2)
    motion = 0.5 * (3.5 + cos2) * spin1**2 + 0.625 * spin2**2 + (1.25 + 0.5 * cos2) * spin1 * spin2
    return unit((9.8 * (height + 2.0) + motion) / (9.8 * 4.0))


def pole_lost(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The pole has fallen or the cart has left the track."""
    fallen = abs(next_obs[..., 2]) > cart_pole.MAX_ANGLE
    return truth(fallen | (abs(next_obs[..., 0]) > cart_pole.TRACK_END))


def car_energy(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Mechanical energy of the car, from rest at the bottom (0) to what carries it over the highest point (1)."""
    position, speed = next_obs[..., 0], next_obs[..., 1]
    return unit(0.5 * (namespace(position).sin(3.0 * position) + 1.0) + 300.0 * speed * speed)


def moving_right(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Speed to the right as a share of the greatest."""
    return unit(next_obs[..., 1] / car.MAX_SPEED)


def moving_left(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Speed to the left as a share of the greatest."""
    return unit(-next_obs[..., 1] / car.MAX_SPEED)


def walker_fast(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Speed forward as a share of a run at about 4 m/s; 1 for a faster one."""
    return unit(next_obs[..., 2] / 0.5)


def walker_gentle(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """One minus the mean torque of the four motors, which the environment charges for."""
    return 1.0 + 0.0 * next_obs[..., 0] if action is None else 1.0 - unit(abs(action)).mean(-1)


def lander_slow(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """Closeness of the lander to standing still."""
    return closeness((next_obs[..., 2] ** 2 + next_obs[..., 3] ** 2) ** 0.5, 2.0)


def lander_at_rest(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The lander stands on both legs and does not move."""
    moves = (abs(next_obs[..., 2]) >= 0.05) | (abs(next_obs[..., 3]) >= 0.05)
    return lunar_lander.both_legs_contact(obs, action, next_obs) * truth(~moves)


def lander_firing(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """An engine was fired."""
    return 0.0 * next_obs[..., 0] if action is None else truth(action != 0)


def second_row(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The agent is in the second row of the lake or further down."""
    return truth(next_obs // 4 >= 1)


def third_row(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The agent is in the third row of the lake or further down."""
    return truth(next_obs // 4 >= 2)


def fourth_row(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The agent is in the last row of the lake."""
    return truth(next_obs // 4 >= 3)


def riding(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The passenger is in the taxi."""
    return lookup(taxi.tables().has_passenger, next_obs)


def clear_of_the_cliff(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The agent is in one of the two upper rows, from which no single step falls."""
    return truth(next_obs // cliff_walking.COLUMNS < 2)


def across(obs: Observation, action: Action, next_obs: Observation) -> Number:
    """The agent is in the last column, that of the goal."""
    return truth(next_obs % cliff_walking.COLUMNS == cliff_walking.COLUMNS - 1)


@sokoban.Sokoban.atom
def box_cornered(state: sokoban.State) -> float:
    """The box is in a corner, for good."""
    return sokoban.wall_penalty_at(state.box) == 1.0


@sokoban.Sokoban.atom
def box_moved(state: sokoban.State) -> float:
    """The box is elsewhere than at the start."""
    return state.box != sokoban.START_BOX


@sokoban.Sokoban.atom
def box_in_place(state: sokoban.State) -> float:
    """The box is where it was at the start."""
    return state.box == sokoban.START_BOX


@sokoban.Sokoban.atom
def past_the_box(state: sokoban.State) -> float:
    """The agent is further right than the box, from where it can push the box back."""
    return state.agent[1] > state.box[1]
