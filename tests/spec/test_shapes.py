"""Ready-made label shapes."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rewardspec.errors import SpecError
from rewardspec.spec.atoms.shapes import at_least, at_most, inside, normalized_distance, proximity, ramp, unit

SHAPES = {
    "ramp up": lambda x: ramp(x, -1.0, 2.0),
    "ramp down": lambda x: ramp(x, 2.0, -1.0),
    "proximity": lambda x: proximity(x, 0.5, 1.5),
    "inside": lambda x: inside(x, -0.5, 1.0),
    "inside, soft": lambda x: inside(x, -0.5, 1.0, margin=0.75),
    "at least": lambda x: at_least(x, 0.25),
    "at least, soft": lambda x: at_least(x, 0.25, margin=2.0),
    "at most": lambda x: at_most(x, 0.25),
    "at most, soft": lambda x: at_most(x, 0.25, margin=2.0),
}
GRID = np.linspace(-4.0, 4.0, 65)

every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@every_shape
def test_a_batch_is_just_its_elements(shape):
    assert shape(GRID).tolist() == [shape(float(x)) for x in GRID]


@every_shape
@pytest.mark.parametrize("array", [jnp.asarray, torch.tensor], ids=["jax", "torch"])
def test_other_libraries_agree(shape, array):
    np.testing.assert_allclose(np.asarray(shape(array(GRID))), shape(GRID), atol=1e-6)


@every_shape
def test_shapes_can_be_traced_by_jax(shape):
    np.testing.assert_allclose(jax.jit(shape)(jnp.asarray(GRID)), shape(GRID), atol=1e-6)


@every_shape
def test_nan_is_not_hidden(shape):
    assert math.isnan(shape(math.nan))
    assert np.isnan(shape(np.array([0.0, math.nan]))).tolist() == [False, True]


@every_shape
@given(x=st.floats(allow_nan=False))
def test_labels_are_in_the_unit_interval(shape, x):
    assert 0.0 <= shape(x) <= 1.0


@given(low=st.floats(-10, 10), width=st.floats(0, 10), margin=st.floats(0, 5), share=st.floats(0, 1))
def test_inside_is_fully_true_between_its_ends(low, width, margin, share):
    high = low + width
    x = min(max(low + share * width, low), high)
    assert inside(x, low, high, margin) == 1.0


def test_slopes_are_where_they_should_be():
    assert ramp(0.5, -1.0, 2.0) == 0.5
    assert ramp(0.5, 2.0, -1.0) == 0.5
    assert proximity(1.25, 0.5, 1.5) == 0.5
    assert inside(1.375, -0.5, 1.0, margin=0.75) == 0.5
    assert at_least(-0.75, 0.25, margin=2.0) == 0.5
    assert at_most(1.25, 0.25, margin=2.0) == 0.5


def test_distance_is_taken_over_the_last_axis():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [30.0, 40.0]])
    assert normalized_distance(points, [0.0, 0.0], 10.0).tolist() == [0.0, 0.5, 1.0]
    assert normalized_distance(points[1], (0.0, 0.0), 10.0) == 0.5
    assert normalized_distance([3.0, 4.0], (0.0, 0.0), 10.0) == 0.5
    assert normalized_distance(torch.tensor(points), [0.0, 0.0], 10.0).tolist() == [0.0, 0.5, 1.0]
    traced = jax.jit(lambda p: normalized_distance(p, [0.0, 0.0], 10.0))
    np.testing.assert_allclose(traced(jnp.asarray(points)), [0.0, 0.5, 1.0])
    assert float(traced(jnp.asarray(points[1]))) == 0.5


INTEGERS = {
    "ramp up": lambda x, near, far: ramp(x, near, far),
    "ramp down": lambda x, near, far: ramp(x, far, near),
    "proximity": lambda x, near, far: proximity(x, far, 60),
    "inside": lambda x, near, far: inside(x, near, far),
    "inside, soft": lambda x, near, far: inside(x, near, far, margin=60),
    "at least": lambda x, near, far: at_least(x, far),
    "at least, soft": lambda x, near, far: at_least(x, far, margin=60),
    "at most": lambda x, near, far: at_most(x, near),
    "at most, soft": lambda x, near, far: at_most(x, near, margin=60),
    "distance": lambda x, near, far: normalized_distance(x, far, 100),
}
INTEGER_TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("shape", INTEGERS.values(), ids=INTEGERS)
@pytest.mark.parametrize("dtype", INTEGER_TYPES)
@pytest.mark.parametrize("array", [np.array, jnp.array, torch.tensor], ids=["numpy", "jax", "torch"])
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype:UserWarning")  # of 64 bits, which JAX lacks
def test_no_integer_wraps_around(shape, dtype, array):
    low, high = (0, 1) if dtype == "bool" else (60, 120)
    kind = getattr(torch, dtype) if array is torch.tensor else dtype
    near, far = (array([limit], dtype=kind) for limit in (low, high))
    for x in (0, 1) if dtype == "bool" else (0, 50, 60, 100, 120, 127):
        wanted = np.atleast_1d(shape(np.array([float(x)]), float(low), float(high)))
        given = array([x], dtype=kind)
        for limits in ((low, high), (near, far)):
            np.testing.assert_allclose(np.atleast_1d(np.asarray(shape(given, *limits))), wanted, atol=1e-6)
        # One number, among limits of its own type; and a number of Python among them.
        for number in (given[0], x) if shape is not INTEGERS["distance"] else ():
            found = shape(number, near[0], far[0])
            np.testing.assert_allclose(np.asarray(found), wanted[0], atol=1e-6)


def test_floats_keep_their_type():
    assert ramp(np.float32([0.5]), 0.0, 1.0).dtype == np.float32
    assert proximity(torch.tensor([0.5], dtype=torch.float16), 0.0, 1.0).dtype == torch.float16
    assert inside(jnp.array([0.5], dtype=jnp.bfloat16), 0.0, 1.0, margin=1.0).dtype == jnp.bfloat16


def test_unit_keeps_what_is_inside():
    assert [unit(x) for x in (-math.inf, -0.5, 0.0, 0.25, 1.0, 7, math.inf)] == [0.0, 0.0, 0.0, 0.25, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("senseless", "remedy"),
    [
        (lambda: ramp(0.0, 1.0, 1.0), "Received 1 for both. For a step at one number use at_least"),
        (lambda: proximity(0.0, 1.0, 0.0), "tolerance of proximity should be a positive number. Received 0."),
        (lambda: proximity(0.0, 1.0, math.nan), "should be a positive number. Received nan"),
        (lambda: inside(0.0, 2.0, 1.0), "takes the low end first. Received 2 and 1. Exchange them"),
        (lambda: at_least(0.0, 2.0, margin=-1.0), "margin of at_least should be 0, for a step, or a positive number"),
        (lambda: at_most(0.0, 2.0, margin=-1.0), "margin of at_most"),
        (lambda: normalized_distance([0.0], [0.0], 0), "farthest of normalized_distance should be a positive"),
    ],
)
def test_senseless_limits_are_refused(senseless, remedy):
    with pytest.raises(SpecError, match=remedy):
        senseless()
