"""One monitor, four ways to run it: Python floats, NumPy, JAX and torch give the same values."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import rewardspec as rs
from tests.strategies import random_formula, random_trace

ATOMS = ("a", "b", "c")


@pytest.fixture(scope="module")
def cases():
    rng = random.Random(0)
    found = []
    while len(found) < 60:
        formula = random_formula(rng, depth=rng.randint(1, 5), atoms=ATOMS)
        monitor = rs.synthesize(formula)
        if len(monitor.registers) > 40:  # large machines take JAX seconds to compile and show nothing new
            continue
        traces = [random_trace(rng, length=6, atoms=ATOMS) for _ in range(4)]
        batch = {name: np.array([t[name] for t in traces], dtype=np.float64).T for name in ATOMS}
        expected = np.array([rs.evaluate_prefixes(formula, t) for t in traces]).T
        found.append((monitor, batch, expected))
    return found


def test_numpy(cases):
    for monitor, batch, expected in cases:
        assert (monitor.run(batch) == expected).all(), str(monitor)
        single = {name: labels.astype(np.float32) for name, labels in batch.items()}
        assert monitor.run(single).dtype == np.float32
        assert (monitor.run(single) == expected).all(), str(monitor)


def test_scalar(cases):
    for monitor, batch, expected in cases:
        for element in range(4):
            trace = {name: labels[:, element] for name, labels in batch.items()}
            assert (monitor.run(trace) == expected[:, element]).all(), str(monitor)


def test_torch(cases):
    for monitor, batch, expected in cases:
        values = monitor.run({name: torch.tensor(labels) for name, labels in batch.items()})
        assert isinstance(values, torch.Tensor)
        assert (values.numpy() == expected).all(), str(monitor)


def test_jax_scan(cases):
    for monitor, batch, expected in cases:
        values = jax.jit(monitor.run)({name: jnp.asarray(labels) for name, labels in batch.items()})
        assert (np.asarray(values) == expected).all(), str(monitor)


def test_jax_jit_and_vmap_of_single_steps(cases):
    for monitor, batch, expected in cases[:20]:
        step = jax.jit(jax.vmap(monitor.step))
        state, values = monitor.initial_state(batch=4, xp=jnp), []
        for k in range(6):
            state, value = step(state, {name: jnp.asarray(labels[k]) for name, labels in batch.items()})
            values.append(np.asarray(value))
        assert (np.stack(values) == expected).all(), str(monitor)


def test_masked_reset_agrees_everywhere():
    monitor = rs.synthesize("X a U (b & X c)")
    rng = np.random.default_rng(0)
    letters = [{name: rng.integers(0, 5, 3) / 4 for name in ATOMS} for _ in range(8)]
    masks = [rng.random(3) < 0.3 for _ in range(8)]
    results = {}
    for name, xp in (("numpy", np), ("jax", jnp), ("torch", torch)):
        state, values = monitor.initial_state(batch=3, xp=xp), []
        for letter, mask in zip(letters, masks, strict=True):
            state = monitor.reset(state, xp.asarray(mask))
            state, value = monitor.step(state, {atom: xp.asarray(v) for atom, v in letter.items()})
            values.append(np.asarray(value))
        results[name] = np.stack(values)
    assert (results["numpy"] == results["jax"]).all()
    assert (results["numpy"] == results["torch"]).all()


def test_gradients_flow_to_the_deciding_label():
    monitor = rs.synthesize("G(a -> F b)")

    def value(labels):
        return monitor.run(labels)[-1]

    gradient = jax.grad(value)({"a": jnp.array([0.75, 0.25]), "b": jnp.array([0.125, 0.5])})
    # Worst is the first request, answered by the grant of 0.5 in the second step.
    assert gradient["a"].tolist() == [0.0, 0.0]
    assert gradient["b"].tolist() == [0.0, 1.0]


def test_gradients_flow_through_a_single_traces_state():
    monitor = rs.synthesize("G p")
    assert jax.grad(lambda p: monitor.step(monitor.initial_state(), {"p": p})[1])(0.5) == 1.0


def test_torch_values_can_be_written_to_without_touching_the_state():
    monitor = rs.synthesize("F p")
    state, value = monitor.step(monitor.initial_state(batch=2, xp=torch), {"p": torch.tensor([0.25, 0.5])})
    value *= 4.0
    assert state.registers[0].tolist() == [0.25, 0.5]


def test_a_batch_of_no_dimensions_is_one_trace():
    for xp in (np, jnp, torch):
        monitor = rs.synthesize("G(a -> F b)")
        state = monitor.initial_state(xp=xp)
        state, value = monitor.step(state, {"a": 0.75, "b": 0.125})
        assert float(value) == 0.25
        _, value = monitor.step(state, {"a": 0.0, "b": 0.5})
        assert float(value) == 0.5
