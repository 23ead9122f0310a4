"""Labels stay in the library that the atoms compute in, so that a spec can be compiled with an environment."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import rewardspec as rs
from rewardspec.episodes.relabeling import relabel

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

SPEC = rs.Spec(
    [("F near", 1), ("G !out", 2), ("F G moves", 1)],
    atoms={
        "near": lambda obs, action, next_obs: 1.0 - abs(next_obs[..., 0]),
        "out": lambda obs, action, next_obs: abs(next_obs[..., 0]) > 0.875,
        "moves": lambda obs, action, next_obs: 0.25 if action is None else action * 1.0,
    },
    penalty=-1,
)
FIRST = np.array([[0.5], [-0.25], [0.75]])
LAST = np.array([[0.25], [-1.0], [0.5]])
ACTION = np.array([0, 1, 1])


def rewards(obs: Any, action: Any, next_obs: Any) -> Any:
    state = SPEC.start(SPEC.labels(obs, None, obs, batch=3))
    state, paid = SPEC.step(state, SPEC.labels(obs, action, next_obs, batch=3))
    return SPEC.reset(state, SPEC.labels(obs, None, obs, batch=3), paid < 0), paid


def test_labels_can_be_compiled() -> None:
    (_, plain), (_, compiled) = rewards(FIRST, ACTION, LAST), jax.jit(rewards)(*map(jnp.asarray, (FIRST, ACTION, LAST)))
    assert plain.tolist() == [2.75, -1.0, 3.5]
    assert compiled.tolist() == plain.tolist()


def test_a_batch_starts_in_the_library_of_its_labels_whether_its_size_is_given_or_not() -> None:
    labels = SPEC.labels(jnp.asarray(FIRST), None, jnp.asarray(FIRST), batch=3)
    for state in (SPEC.start(labels), SPEC.start(labels, batch=3)):
        assert isinstance(SPEC.penalty_in_force(state), jax.Array)
        assert SPEC.level(state).tolist() == [2.75, 3.0, 2.5]


def test_labels_of_jax_stay_on_the_device() -> None:
    labels = SPEC.labels(*map(jnp.asarray, (FIRST, ACTION, LAST)), batch=3)
    assert list(labels) == ["near", "out", "moves"]
    assert all(isinstance(column, jax.Array) and column.shape == (3,) for column in labels.values())
    assert {column.dtype for column in labels.values()} == {jnp.asarray(FIRST).dtype}
    assert {name: column.tolist() for name, column in labels.items()} == {
        name: column.tolist() for name, column in SPEC.labels(FIRST, ACTION, LAST, batch=3).items()
    }


def test_a_number_among_arrays_becomes_one() -> None:
    labels = SPEC.labels(jnp.asarray(FIRST), None, jnp.asarray(FIRST), batch=3)
    assert isinstance(labels["moves"], jax.Array)
    assert labels["moves"].tolist() == [0.25] * 3


def test_labels_of_torch_stay_tensors() -> None:
    torch = pytest.importorskip("torch")
    labels = SPEC.labels(torch.tensor(FIRST), torch.tensor(ACTION), torch.tensor(LAST), batch=3)
    assert all(isinstance(column, torch.Tensor) and column.dtype == torch.float64 for column in labels.values())
    assert SPEC.level(SPEC.start(labels)).tolist() == [2.75, -1.0, 3.5]


def test_clipping_happens_there_too() -> None:
    spec = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: next_obs}, clip=True)
    labels = jax.jit(lambda x: spec.labels(x, None, x, batch=3))(jnp.array([-1.0, 0.5, 7.0]))
    assert labels["a"].tolist() == [0.0, 0.5, 1.0]


def test_shapes_are_checked_while_tracing() -> None:
    with pytest.raises(rs.LabelError, match=r"'near' should have shape \(3,\).*Received shape \(2,\)"):
        jax.jit(lambda x: SPEC.labels(x, None, x, batch=3))(jnp.zeros((2, 1)))


def test_one_environment_can_be_compiled_and_mapped_over() -> None:
    def step(obs: Any, action: Any, next_obs: Any) -> Any:
        state = SPEC.start(SPEC.labels(obs, None, obs))
        return SPEC.step(state, SPEC.labels(obs, action, next_obs))[1]

    arrays = tuple(map(jnp.asarray, (FIRST, ACTION, LAST)))
    assert jax.jit(jax.vmap(step))(*arrays).tolist() == [2.75, -1.0, 3.5]
    assert float(jax.jit(step)(*(array[0] for array in arrays))) == 2.75
    clipping = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: next_obs}, clip=True)
    assert float(jax.jit(lambda x: clipping.labels(x, None, x)["a"])(7.0)) == 1.0


def test_one_environment_that_is_not_traced_gets_checked_floats() -> None:
    spec = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: next_obs})
    assert type(spec.labels(None, None, jnp.array(0.5))["a"]) is float
    with pytest.raises(rs.LabelError, match=r"should be in \[0, 1\]\. Received 7"):
        spec.labels(None, None, jnp.array(7.0))


def test_recordings_are_checked_whatever_the_atoms_compute_in() -> None:
    spec = rs.Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: jnp.asarray(next_obs)})
    run = functools.partial(relabel, spec, actions=np.zeros(2), terminations=[False, True], truncations=None)
    assert run(observations=np.array([0.0, 0.5, 0.25])).rewards.tolist() == [0.5, 0.5]
    with pytest.raises(rs.LabelError, match="In episode 0: The label of 'a' at step 2"):
        run(observations=np.array([0.0, 0.5, 7.0]))


@pytest.mark.parametrize("library", ["jax", "torch"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_labels_in_half_precision_are_paid_in_single_precision(library: str, dtype: str) -> None:
    """Levels of 256 and more are whole numbers in bfloat16, so that the changes that `delta` pays would be lost."""
    xp = pytest.importorskip({"jax": "jax.numpy", "torch": "torch"}[library])
    spec = rs.Spec([("F near", 300), ("F G(near | far)", 1)], payment="delta")
    half = {name: xp.asarray([0.5, 0.25], dtype=getattr(xp, dtype)) for name in ("near", "far")}
    state = spec.start(half)
    for labels in ({**half, "near": half["near"] + 0.25}, half):
        state, reward = spec.step(state, labels)
        assert reward.dtype == xp.float32
    assert reward.tolist() == [-0.25, -0.25]
    assert spec.reset(state, half, xp.asarray([True, False])).registers[0].dtype == xp.float32
    with pytest.raises(rs.Error, match="should be float32 or float64"):
        spec.initial_state(2, xp, getattr(xp, dtype))


@pytest.mark.parametrize("library", ["numpy", "jax", "torch"])
@pytest.mark.parametrize(
    ("atom", "message"),
    [
        ("next_obs.at[7] < 9", "number 7, from 0, of the observation's 'at', which has 4 numbers"),
        ("next_obs.at[-5] < 9", "number -5, from 0, of the observation's 'at', which has 4 numbers"),
        ("obs.map[0, 9] < 9", r"the place \[0, 9\] of the observation's 'map', which has the shape \(3, 5\)"),
        ("any(next_obs.map[9, 1:] < 9)", r"the place \[9, 1:\] of the observation's 'map'"),
        ("info.state.at[7] < 9", "number 7, from 0, of the info's 'state''s 'at', which has 4 numbers"),
    ],
)
def test_a_place_outside_of_an_array_is_an_error_in_every_library(library: str, atom: str, message: str) -> None:
    if library == "torch":
        torch = pytest.importorskip("torch")
        zeros = torch.zeros
    else:
        zeros = np.zeros if library == "numpy" else jnp.zeros  # JAX takes the last number instead
    obs = {"at": zeros(4), "map": zeros((3, 5))}
    for spec in (rs.Spec([("F far", 1)], atoms={"far": atom}), rs.Spec([(f'F "{atom}"', 1)])):
        with pytest.raises(rs.LabelError, match=message):
            spec.labels(obs, 0, obs, {"state": obs})
        if atom.startswith("info"):
            with pytest.raises(rs.LabelError, match="for another environment"):  # and not: give a label at reset
                spec.labels(obs, None, obs, {"state": obs})


def test_a_place_outside_of_an_array_is_an_error_in_a_batch_and_in_compiled_code() -> None:
    spec = rs.Spec([("F far", 1)], atoms={"far": "next_obs[7] < 9"})
    with pytest.raises(rs.LabelError, match="number 7, from 0"):
        spec.labels(None, 0, jnp.zeros((2, 4)), batch=2)
    with pytest.raises(rs.LabelError, match="number 7, from 0"):
        jax.jit(lambda obs: spec.labels(None, 0, obs))(jnp.zeros(4))
