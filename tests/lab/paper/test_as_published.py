"""The environments that the paper's numbers speak for agree with the tables of the first author's own."""

import json
import pathlib

import numpy as np
import pytest

from rewardspec.finite.models import finite_model
from rewardspec.lab.paper import as_published as published
from rewardspec.lab.paper.tasks import island_navigation, sokoban
from rewardspec.lab.tasks.task import Task

GOLDEN = json.loads((pathlib.Path(__file__).parents[2] / "data" / "author_gridworlds.json").read_text())
TASKS = published.as_published()


def flat(value):
    """A state of the tables as the package writes it: cells are (row, column) there and (x, y) in the file."""
    return tuple((y, x) for x, y in value[:2]) + tuple(value[2:])


STATES = {
    "island_navigation": island_navigation.IslandNavigation.enumeration().states,
    "sokoban": sokoban.Sokoban.enumeration().states,
    "conveyor_belt": published.PublishedConveyorBelt.enumeration().states,
}


@pytest.mark.parametrize("name", STATES)
def test_every_transition_is_that_of_the_authors_environment(name):
    golden = GOLDEN[name]
    env = TASKS[name].make()
    model = finite_model(env)
    numbers = {tuple(state): number for number, state in enumerate(STATES[name])}
    ours = [numbers[flat(state)] for state in golden["states"]]
    assert TASKS[name].max_episode_steps == golden["max_episode_steps"]
    assert np.flatnonzero(model.initial).tolist() == [ours[golden["start"]]]
    table = env.unwrapped.P
    ends = {after for moves in golden["transitions"] for after, _, ended in moves if ended}
    for state, moves in enumerate(golden["transitions"]):
        if state in ends and state != golden["start"]:
            continue  # where an episode has ended, nothing follows
        for action, (after, reward, ended) in enumerate(moves):
            assert table[ours[state]][action] == [(1.0, ours[after], reward, ended)]


def test_a_taxi_with_one_start_starts_there_whatever_the_seed():
    env = TASKS["taxi"].make()
    assert len({env.reset(seed=seed)[0] for seed in range(5)}) == 1
    assert len(finite_model(env).starts) == 1


def test_readings_say_how_they_are_known_and_tasks_keep_their_names():
    assert {reading.known_from for reading in published.READINGS} == {"the authors' code", "the paper's text", "fit"}
    assert all(isinstance(task, Task) and task.name == name for name, task in TASKS.items())
