"""What an agent is shown of a spec's state is the same for one episode and for batches of every array library."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from rewardspec.episodes.features import OBSERVE, Features
from rewardspec.errors import SynthesisError
from rewardspec.spec import Spec
from tests.spec_cases import random_spec

FORMULAS = (
    "G(a -> F[0,7] b)",
    "G(a -> (b U[0,6] c))",
    "G(a -> F[3,9] b)",
    "F(a & X[4] b)",
    "now (a S[0,5] b)",
    "F(H[0,5] a & Y[5] true)",
    "G(O[0,5] a | WY[5] false)",
    "X X F G a",
    "a U[0,4] b",
)
SIZE, STEPS = 5, 24


def specs(count):
    for formula in FORMULAS:
        yield Spec([(formula, 1), ("G c", 1)], penalty=-1, payment="delta")
    rng = random.Random(0)
    for _ in range(count):
        spec = random_spec(rng)
        try:
            _ = spec.machine
        except SynthesisError:
            continue
        if spec.atoms:
            yield spec


def episodes(spec, seed):
    """Labels of shape (steps + 1, SIZE) for each atom, exact in single precision, and where each step is a reset."""
    rng = np.random.default_rng(seed)
    labels = {atom: rng.choice((0.0, 0.0, 0.25, 0.5, 0.75, 1.0, 1.0), (STEPS + 1, SIZE)) for atom in spec.atoms}
    return labels, rng.random((STEPS, SIZE)) < 0.1


def shown_of_episodes(spec, features, labels, resets):
    """The numbers of every step, from the states of single episodes."""
    found = np.zeros((STEPS, SIZE, len(features.names)))
    for k in range(SIZE):
        state = spec.start({atom: float(column[0, k]) for atom, column in labels.items()})
        for t in range(STEPS):
            letter = {atom: float(column[t + 1, k]) for atom, column in labels.items()}
            state = spec.start(letter) if resets[t, k] else spec.step(state, letter)[0]
            found[t, k] = features.read(state)
    return found


def shown_of_batch(spec, features, labels, resets, array):
    """The same from the states of a batch."""
    state, found = spec.start({atom: array(column[0]) for atom, column in labels.items()}), []
    for t in range(STEPS):
        letter = {atom: array(column[t + 1]) for atom, column in labels.items()}
        state = spec.reset(spec.step(state, letter)[0], letter, array(resets[t]))
        found.append(features.read_batch(state))
    assert all(type(numbers) is type(letter[spec.atoms[0]]) for numbers in found)
    return np.stack([np.asarray(numbers) for numbers in found])


def shown_of_scan(spec, features, labels, resets, each=False):
    """The same in one compiled function; with `each`, for every element on its own, vmapped."""

    def run(labels, resets):
        def body(state, row):
            letter, reset = row
            state = spec.reset(spec.step(state, letter)[0], letter, reset)
            return state, features.read_batch(state)

        first, rest = jax.tree.map(lambda x: x[0], labels), jax.tree.map(lambda x: x[1:], labels)
        return jax.lax.scan(body, spec.start(first), (rest, resets))[1]

    run = jax.jit(jax.vmap(run, in_axes=1, out_axes=1) if each else run)
    single = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), labels)
    return np.asarray(run(single, jnp.asarray(resets)))


@pytest.mark.parametrize(
    ("library", "observe"),
    [*((library, observe) for library in ("numpy", "torch") for observe in OBSERVE), ("jax", "registers")],
)
def test_every_library_shows_what_single_episodes_show(library, observe):
    compared = 0
    for number, spec in enumerate(specs(20 if library != "jax" else 4)):
        features = Features(spec, observe)
        if not features.names:
            continue
        labels, resets = episodes(spec, number)
        expected = shown_of_episodes(spec, features, labels, resets)
        if library.startswith("jax"):
            found = shown_of_scan(spec, features, labels, resets, each=number == 1)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=str(spec.pairs))
        else:
            array = np.asarray if library == "numpy" else torch.as_tensor
            found = shown_of_batch(spec, features, labels, resets, array)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=str(spec.pairs))
        compared += 1
    assert compared > 5 or observe == "control"


@pytest.mark.parametrize(
    "formula", ["F[2,5] a", "G(a -> F[0,7] b)", "F(a & X[4] b)", "F(a & F b)", "G(a -> (b U[0,6] c))"]
)
def test_robustness_is_shown_within_the_bound_that_is_paid(formula):
    spec = Spec([(formula, 1), ("G c", 1)], semantics="robustness", bound=0.5, penalty=-1)
    features = Features(spec, "registers")
    rng = np.random.default_rng(0)
    labels = {atom: rng.normal(size=(STEPS + 1, SIZE)) for atom in spec.atoms}
    shown = shown_of_episodes(spec, features, labels, np.zeros((STEPS, SIZE), dtype=bool))
    assert np.isfinite(features.low).all()
    assert ((features.low <= shown) & (shown <= features.high)).all()
    state = spec.start({atom: column[0] for atom, column in labels.items()})
    for t in range(STEPS):
        state, _ = spec.step(state, {atom: column[t + 1] for atom, column in labels.items()})
        np.testing.assert_array_equal(features.read_batch(state), shown[t])
