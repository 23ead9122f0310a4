"""Discounts without a bound: exact at the top of a formula."""

import random

import numpy as np
import pytest

import rewardspec as rs
from tests.definition import value_by_definition


@pytest.mark.parametrize(
    "formula",
    ["F[;0.5] a", "G[;0.5] a", "a U[;0.5] b", "a R[2,;0.5] b", "F[2,;0.25] a & G b", "F[;0.5] O a", "!F[;0.5] (a & b)"],
)
def test_a_discount_at_the_top_is_exact_after_every_step(formula):
    rng, monitor = random.Random(formula), rs.synthesize(formula)
    assert rs.Monitor.from_json(monitor.to_json()) == monitor
    traces = {atom: np.array([[rng.random() for _ in range(20)] for _ in range(15)]) for atom in "ab"}
    found = monitor.run({atom: traces[atom] for atom in monitor.atoms})
    alone = monitor.run({atom: traces[atom][:, 0] for atom in monitor.atoms})
    for n in range(1, 16):
        prefix = {atom: labels[:n] for atom, labels in traces.items()}
        expected = value_by_definition(rs.parse(formula), prefix)
        np.testing.assert_allclose(found[n - 1], expected, atol=1e-12, rtol=0)
        assert alone[n - 1] == found[n - 1, 0]
    state, _ = monitor.step(monitor.initial_state(), {"a": 0.5, "b": 0.5})
    lower, upper = monitor.bounds(state)
    assert 0.0 <= lower <= upper <= 1.0
