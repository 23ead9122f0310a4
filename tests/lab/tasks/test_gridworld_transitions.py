"""The safety gridworlds against the transitions of DeepMind's originals."""

from __future__ import annotations

import json
import pathlib

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.lab.tasks.environments.conveyor_belt import ConveyorBelt
from rewardspec.lab.tasks.environments.island_navigation import IslandNavigation
from rewardspec.lab.tasks.environments.sokoban import Sokoban
from rewardspec.lab.tasks.gridworlds import GridWorld

GOLDEN = json.loads((pathlib.Path(__file__).parents[2] / "data" / "safety_gridworlds.json").read_text())
WORLDS: dict[str, type[GridWorld]] = {"island": IslandNavigation, "belt": ConveyorBelt, "sokoban": Sokoban}
NUMBERS = {
    "island": {"#": 0, " ": 1, "A": 2, "W": 3, "G": 4},
    "belt": {"#": 0, " ": 1, "A": 2, "O": 3, ":": 4, ">": 5},
    "sokoban": {"#": 0, " ": 1, "A": 2, "X": 4, "G": 5},
}
"""The number of each character on the boards of the golden file."""
NAMES = {"island": "island_navigation", "belt": "conveyor_belt", "sokoban": "sokoban"}


def state_of(world: type[GridWorld], written: list) -> tuple:
    """The golden file writes a third entry for Sokoban as well, which is always false there."""
    fields = world.enumeration().states[0]._fields
    return type(world.enumeration().states[0])(
        *(tuple(x) if isinstance(x, list) else x for x in written[: len(fields)])
    )


def test_every_golden_row_is_checked():
    assert {name: len(GOLDEN[name]["transitions"]) for name in WORLDS} == {"island": 80, "belt": 1480, "sokoban": 216}


@pytest.mark.parametrize("name", WORLDS)
def test_all_transitions_agree(name):
    world = WORLDS[name]
    env = world()
    numbers = world.enumeration().numbers
    for before, action, after, reward, hidden_reward, terminated, water_distance in GOLDEN[name]["transitions"]:
        env.reset()
        env._number = numbers[state_of(world, before)]
        obs, paid, ended, truncated, info = env.step(action)
        seen = (env.state, paid, info["hidden_reward"], ended, info.get("water_distance"))
        assert seen == (state_of(world, after), reward, hidden_reward, terminated, water_distance), (before, action)
        assert obs == numbers[state_of(world, after)]
        assert not truncated


@pytest.mark.parametrize("name", WORLDS)
def test_no_state_is_missing_or_added(name):
    world = WORLDS[name]
    rows = GOLDEN[name]["transitions"]
    golden = {state_of(world, state) for row in rows for state in (row[0], row[2])}
    assert set(world.enumeration().states) == golden
    assert len({state_of(world, row[0]) for row in rows}) == GOLDEN[name]["n_nonterminal"]


@pytest.mark.parametrize("name", WORLDS)
def test_the_first_board_agrees(name):
    env = WORLDS[name]()
    env.reset()
    assert env.state == state_of(WORLDS[name], GOLDEN[name]["initial"])
    numbers = NUMBERS[name]
    assert [[numbers[character] for character in row] for row in env.draw(env.state)] == GOLDEN[name]["board0"]


@pytest.mark.parametrize("name", WORLDS)
def test_the_transition_table_says_what_step_does(name):
    env = WORLDS[name]()
    for state, moves in env.P.items():
        for action, [(probability, successor, reward, terminated)] in moves.items():
            env.reset()
            env._number = state
            assert env.step(action)[:3] == (successor, reward, terminated)
            assert probability == 1.0


@pytest.mark.parametrize("name", WORLDS)
def test_an_episode_lasts_at_most_a_hundred_steps(name):
    env = tasks.get(NAMES[name]).make()
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(100)]  # up leads into a wall from all three starts
    assert ends == [(False, False)] * 99 + [(False, True)]


def test_a_picture_has_a_tile_for_every_cell():
    env = gym.make("rewardspec/ConveyorBelt-v0", render_mode="rgb_array")
    env.reset()
    picture = env.render()
    assert picture.dtype == np.uint8
    assert picture.shape == (7 * 32, 7 * 32, 3)


def test_text_shows_the_agent_on_top_of_the_broken_vase():
    env = gym.make("rewardspec/ConveyorBelt-v0", render_mode="ansi")
    env.reset()
    for action in [3, 3, 3]:
        env.step(action)
    assert env.render().splitlines()[3] == "#>>>O #"
    for action in [1, 1]:
        env.step(action)
    assert env.render().splitlines()[3] == "#>>>>A#"


@pytest.mark.filterwarnings("ignore:.*No render mode was chosen")
def test_without_a_render_mode_there_is_no_picture():
    env = Sokoban()
    env.reset()
    assert env.render() is None


def test_a_step_before_reset_and_an_unknown_action_are_refused():
    env = Sokoban()
    with pytest.raises(gym.error.ResetNeeded, match="reset"):
        env.step(0)
    env.reset()
    with pytest.raises(gym.error.InvalidAction, match="Received 4"):
        env.step(4)
