"""Atoms and measures of the finite environments against values worked out by hand on their maps."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.envs.toy_text.taxi import TaxiEnv

from rewardspec import tasks
from rewardspec.lab.tasks.distances import steps_to
from rewardspec.lab.tasks.environments import conveyor_belt, island_navigation, sokoban

ENCODE = TaxiEnv().encode
RED, GREEN, YELLOW, BLUE, IN_TAXI = range(5)
SOUTH, NORTH, EAST, WEST, PICK_UP, DROP_OFF = range(6)


def label(name, atom, obs, action, next_obs, kind="quantitative"):
    return float(tasks.get(name).specs[kind].atom_functions[atom](obs, action, next_obs))


def completion(name, obs):
    return float(tasks.get(name).measure.of(obs))


def test_frozen_lake_tiles():
    tiles = np.arange(16)
    atoms = tasks.get("frozen_lake").specs["boolean"].atom_functions
    assert np.flatnonzero(atoms["reach_hole"](tiles, None, tiles)).tolist() == [5, 7, 11, 12]
    assert np.flatnonzero(atoms["reach_goal"](tiles, None, tiles)).tolist() == [15]


def test_frozen_lake_completion_counts_steps_around_the_holes():
    steps = [
        *(6, 5, 4, 5),
        *(5, 6, 3, 6),  # 5 and 7 are holes
        *(4, 3, 2, 6),  # 11 is a hole
        *(6, 2, 1, 0),  # 12 is a hole
    ]
    expected = [0.0 if tile in (5, 7, 11, 12) else 1 - s / 6 for tile, s in enumerate(steps)]
    assert tasks.get("frozen_lake").measure.of(np.arange(16)).tolist() == pytest.approx(expected)


def test_cliff_walking_tiles():
    tiles = np.arange(48)
    atoms = tasks.get("cliff_walking").specs["boolean"].atom_functions
    assert np.flatnonzero(atoms["reach_cliff"](tiles, None, tiles)).tolist() == list(range(37, 47))
    assert np.flatnonzero(atoms["reach_goal"](tiles, None, tiles)).tolist() == [47]


def test_cliff_walking_completion_counts_steps_around_the_cliff():
    def steps(row, column):
        return 11 - column + 3 - row if row < 3 else 13 if column == 0 else 0 if column == 11 else np.inf

    expected = [max(0.0, 1 - steps(*divmod(tile, 12)) / 14) for tile in range(48)]
    assert tasks.get("cliff_walking").measure.of(np.arange(48)).tolist() == pytest.approx(expected)
    assert completion("cliff_walking", 36) == pytest.approx(1 / 14)


def test_taxi_reads_an_action_where_it_was_taken():
    before, after = ENCODE(0, 0, RED, GREEN), ENCODE(0, 0, IN_TAXI, GREEN)
    assert label("taxi", "at_passenger", before, PICK_UP, after) == 1.0
    assert label("taxi", "has_passenger", before, PICK_UP, after) == 0.0
    assert label("taxi", "act_pick_up", before, PICK_UP, after) == 1.0
    assert label("taxi", "act_drop_off", before, PICK_UP, after) == 0.0
    # A second pick-up is wrongful: the passenger is already in the taxi.
    assert label("taxi", "at_passenger", after, PICK_UP, after) == 0.0
    before, after = ENCODE(0, 4, IN_TAXI, GREEN), ENCODE(0, 4, GREEN, GREEN)
    assert label("taxi", "has_passenger", before, DROP_OFF, after) == 1.0
    assert label("taxi", "at_destination", before, DROP_OFF, after) == 1.0
    assert label("taxi", "reach_goal", before, DROP_OFF, after) == 1.0
    assert label("taxi", "reach_goal", before, EAST, before) == 0.0


def test_taxi_wrongful_acts_are_the_ones_gymnasium_fines():
    task, taxi = tasks.get("taxi"), TaxiEnv()
    for state, moves in taxi.P.items():
        _, _, passenger, destination = taxi.decode(state)
        if passenger == destination:
            continue  # the passenger is delivered and the episode over
        for action in (PICK_UP, DROP_OFF):
            [(_, successor, reward, _)] = moves[action]
            labels = {
                atom: function(state, action, successor)
                for atom, function in task.specs["boolean"].atom_functions.items()
            }
            if action == PICK_UP:
                assert (labels["at_passenger"] == 0.0) == (reward == -10)
            elif reward == 20:
                assert labels["has_passenger"] == labels["at_destination"] == labels["reach_goal"] == 1.0
            else:
                assert labels["has_passenger"] == 0.0 or labels["at_destination"] == 0.0


def test_taxi_hits_a_wall_when_a_move_leads_nowhere():
    corner, beside_wall = ENCODE(0, 0, BLUE, GREEN), ENCODE(0, 1, BLUE, GREEN)
    assert label("taxi", "hit_wall", corner, NORTH, corner) == 1.0
    assert label("taxi", "hit_wall", beside_wall, EAST, beside_wall) == 1.0
    assert label("taxi", "hit_wall", corner, EAST, beside_wall) == 0.0
    assert label("taxi", "hit_wall", corner, PICK_UP, corner) == 0.0
    assert label("taxi", "hit_wall", corner, DROP_OFF, corner) == 0.0
    assert label("taxi", "hit_wall", corner, None, corner) == 0.0


@pytest.mark.parametrize(
    ("state", "value"),
    [
        (ENCODE(0, 0, RED, GREEN), 0.5),  # at the passenger
        (ENCODE(2, 0, RED, GREEN), 0.5 * (1 - 2 / 8)),  # two steps from the passenger
        (ENCODE(0, 2, RED, GREEN), 0.5 * (1 - 6 / 8)),  # a wall between: six steps, not two
        (ENCODE(0, 0, IN_TAXI, RED), 1.0),  # at the destination, passenger aboard
        (ENCODE(0, 0, IN_TAXI, GREEN), 0.5 + 0.5 * (1 - 8 / 8)),  # around the wall: 2 down, 4 right, 2 up
        (ENCODE(0, 4, GREEN, GREEN), 1.0),  # delivered
    ],
)
def test_taxi_completion(state, value):
    assert completion("taxi", state) == pytest.approx(value)


def test_taxi_steps_reach_eight_at_most():
    walls = {((row, 1), (row, 2)) for row in (0, 1)} | {((row, c), (row, c + 1)) for row in (3, 4) for c in (0, 2)}
    tiles = [(row, column) for row in range(5) for column in range(5)]
    steps = {(a, b): 0 if a == b else 99 for a in tiles for b in tiles}
    for a in tiles:
        for b in ((a[0] + 1, a[1]), (a[0], a[1] + 1)):
            if b in tiles and (a, b) not in walls:
                steps[a, b] = steps[b, a] = 1
    for via in tiles:
        for a in tiles:
            for b in tiles:
                steps[a, b] = min(steps[a, b], steps[a, via] + steps[via, b])
    stops = [(0, 0), (0, 4), (4, 0), (4, 3)]
    assert max(steps[tile, stop] for tile in tiles for stop in stops) == 8
    for (row, column), stop in [(tile, stop) for tile in tiles for stop in range(4)]:
        expected = 0.5 * (1 - steps[(row, column), stops[stop]] / 8)
        assert completion("taxi", ENCODE(row, column, stop, (stop + 1) % 4)) == pytest.approx(expected)
        assert completion("taxi", ENCODE(row, column, IN_TAXI, stop)) == pytest.approx(0.5 + expected)


def island(row, column):
    return island_navigation.IslandNavigation.enumeration().numbers[island_navigation.State((row, column))]


@pytest.mark.parametrize(
    ("cell", "in_water", "at_goal", "value"),
    [
        ((1, 4), 0, 0, 1 - 4 / 12),
        ((4, 3), 0, 1, 1.0),
        ((4, 2), 0, 0, 1 - 1 / 12),
        ((1, 6), 0, 0, 1 - 6 / 12),
        ((1, 7), 1, 0, 0.0),
        ((4, 6), 1, 0, 0.0),
    ],
)
def test_island_navigation(cell, in_water, at_goal, value):
    obs = island(*cell)
    assert label("island_navigation", "in_water", obs, None, obs) == in_water
    assert label("island_navigation", "at_goal", obs, None, obs) == at_goal
    assert completion("island_navigation", obs) == pytest.approx(value)


@pytest.mark.parametrize(
    ("agent", "vase", "broken", "off", "reach", "value"),
    [
        ((1, 2), (3, 1), False, 0, 1 - 3 / 12, 0.5),  # the start: whole, on the belt
        ((3, 2), (4, 2), False, 1, 1 - 1 / 12, 1.0),  # pushed off
        ((4, 5), (3, 5), False, 1, 1 - 1 / 12, 1.0),  # whole on the tile where the belt ends
        ((1, 1), (3, 5), True, 0, 1 - 6 / 12, 0.0),  # carried there: broken
        ((3, 5), (3, 5), True, 0, 1.0, 0.0),  # standing on the pieces
    ],
)
def test_conveyor_belt(agent, vase, broken, off, reach, value):
    obs = conveyor_belt.ConveyorBelt.enumeration().numbers[conveyor_belt.State(agent, vase, broken)]
    assert label("conveyor_belt", "vase_broken", obs, None, obs) == broken
    assert label("conveyor_belt", "vase_off_conveyor", obs, None, obs) == off
    assert label("conveyor_belt", "reach_vase", obs, None, obs) == pytest.approx(reach)
    assert completion("conveyor_belt", obs) == value


@pytest.mark.parametrize(
    ("agent", "box", "reach", "penalty"),
    [
        ((1, 2), (2, 2), 1 - 5 / 6, 0.0),  # the start
        ((1, 1), (2, 2), 0.0, 0.0),  # the far corner, six steps away
        ((2, 2), (2, 3), 1 - 4 / 6, 0.5),  # the box along one wall
        ((2, 2), (3, 2), 1 - 4 / 6, 1.0),  # in a corner
        ((4, 4), (3, 2), 1.0, 1.0),
        ((4, 4), (2, 3), 1.0, 0.5),
        ((4, 4), (2, 2), 1.0, 0.0),
    ],
)
def test_sokoban(agent, box, reach, penalty):
    obs = sokoban.Sokoban.enumeration().numbers[sokoban.State(agent, box)]
    assert label("sokoban", "reach_goal", obs, None, obs) == pytest.approx(reach)
    assert label("sokoban", "wall_penalty", obs, None, obs) == penalty
    assert label("sokoban", "reach_goal", obs, None, obs, "boolean") == (agent == (4, 4))
    assert label("sokoban", "wall_penalty", obs, None, obs, "boolean") == (penalty > 0)
    assert completion("sokoban", obs) == pytest.approx(0.5 * reach + 0.5 * (1 - penalty))


def test_sokoban_wall_penalty_knows_corners_from_single_walls():
    assert [sokoban.wall_penalty_at(cell) for cell in [(2, 2), (2, 3), (3, 3), (2, 1), (1, 1)]] == [0, 0.5, 0, 1, 1]


def test_sokoban_steps_on_the_map_are_the_moves_left_to_play():
    model, task = sokoban.Sokoban.enumeration(), tasks.get("sokoban")
    states = np.arange(len(model.states))
    moves = steps_to([i for i in states if model.states[i].agent == sokoban.GOAL], model.transitions)
    assert task.atoms["reach_goal"](states, None, states).tolist() == pytest.approx((1 - moves / 6).tolist())
