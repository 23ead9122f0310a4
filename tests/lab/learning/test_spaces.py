"""Spaces as PPO takes them."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from rewardspec.errors import Error
from rewardspec.lab.learning.spaces import Actions, flattener, observation_size

SPACES = [
    spaces.Box(-1, 1, (3,)),
    spaces.Box(0, 255, (4, 5, 3), dtype=np.uint8),
    spaces.Box(-1, 1, ()),
    spaces.Discrete(5),
    spaces.Discrete(4, start=-2),
    spaces.MultiBinary((2, 3)),
    spaces.MultiDiscrete([3, 5]),
    spaces.MultiDiscrete([[2, 3], [4, 2]], start=[[1, 0], [-1, 5]]),
    spaces.Tuple((spaces.Discrete(3), spaces.Box(-1, 1, (2, 2)))),
    spaces.Dict(b=spaces.Box(-1, 1, (2,)), a=spaces.Dict(deep=spaces.Discrete(2), wide=spaces.MultiBinary(3))),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_batch_is_flattened_as_gymnasium_flattens_one(space):
    space.seed(0)
    samples = [space.sample() for _ in range(4)]
    batch = gym.vector.utils.concatenate(space, samples, gym.vector.utils.create_empty_array(space, 4))
    flat = flattener(space)(batch)
    assert flat.shape == (4, observation_size(space))
    expected = [gym.spaces.flatten(space, sample) for sample in samples]
    np.testing.assert_array_equal(flat, np.array(expected, dtype=np.float32))


@pytest.mark.parametrize(
    "space", [spaces.Text(5), spaces.Sequence(spaces.Discrete(2)), spaces.Dict(words=spaces.Text(5))], ids=type
)
def test_observations_without_a_fixed_size_are_refused(space):
    with pytest.raises(Error, match="Gymnasium can flatten into a vector of fixed size"):
        observation_size(space)


def test_actions_are_what_the_environment_takes():
    offset = Actions(spaces.Discrete(3, start=-1))
    assert (offset.continuous, offset.outputs) == (False, 3)
    assert offset.played(np.array([0, 2])).tolist() == [-1, 1]
    square = Actions(spaces.Box(-1, 1, (2, 2)))
    assert (square.continuous, square.outputs) == (True, 4)
    assert square.played(np.full((3, 4), 7.0)).tolist() == np.ones((3, 2, 2)).tolist()


def test_outputs_are_mapped_onto_finite_bounds():
    space = spaces.Box(np.float32([0, -2, 0]), np.float32([512, 2, np.inf]))
    outputs = np.float32([[-1, 0, 3], [0, 0.5, -1], [1, 9, 7]])
    assert Actions(space, scaled=True).played(outputs).tolist() == [[0, 0, 3], [256, 1, 0], [512, 2, 7]]
    assert Actions(space).played(outputs).tolist() == [[0, 0, 3], [0, 0.5, 0], [1, 2, 7]]
    widest = np.finfo(np.float32).max
    assert Actions(spaces.Box(-widest, widest, (1,)), scaled=True).played(np.float32([[1]])) == widest


@pytest.mark.parametrize("space", [spaces.MultiDiscrete([2, 2]), spaces.Dict(a=spaces.Discrete(2))], ids=str)
def test_other_actions_are_refused(space):
    with pytest.raises(Error, match="PPO takes actions of a Box or a Discrete space"):
        Actions(space)


def test_texts_within_an_observation_are_left_out():
    space = spaces.Dict(image=spaces.Box(0, 9, (2, 2)), mission=spaces.Text(9), way=spaces.Discrete(2))
    batch = {"image": np.ones((3, 2, 2)), "mission": ("a", "b", "c"), "way": np.array([0, 1, 1])}
    assert observation_size(space) == 6
    assert flattener(space)(batch)[1].tolist() == [1, 1, 1, 1, 0, 1]
