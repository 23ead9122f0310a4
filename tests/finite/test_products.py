"""Products: the arrays pay what the spec pays on the same transitions."""

from __future__ import annotations

import numpy as np
import pytest

from rewardspec import Spec, tasks
from rewardspec.errors import ModelError
from rewardspec.finite.models import finite_model
from rewardspec.finite.products import Product, ProductSearch, build_product
from rewardspec.spec.payments import PAYMENTS

FINITE = ("cliff_walking", "frozen_lake", "taxi", "island_navigation", "conveyor_belt", "sokoban")


def check_random_walks(product: Product, walks: int, steps: int = 40) -> None:
    """Walk through the product at random, and let the spec's own scalar run pay for the same transitions."""
    rng = np.random.default_rng(1)
    model, spec = product.model, product.spec
    for _ in range(walks):
        node = int(rng.choice(product.starts))
        state = int(product.state[node])
        memory = spec.start(spec.labels(state, None, state))
        for step in range(steps):
            k = int(rng.choice(np.flatnonzero(product.node == node)))
            row = product.row[k]
            action, successor = int(model.action[row]), int(model.successor[row])
            ended, last = bool(model.terminated[row]), step == steps - 1
            labels = spec.labels(state, action, successor)
            memory, reward = spec.step(memory, labels, float(model.reward[row]), ended, last)
            assert (product.truncated_reward if last else product.reward)[k] == pytest.approx(reward, abs=1e-12)
            assert product.violated[k] == spec.violated(memory)
            follower = product.follow(node, action, successor)
            assert (follower is None) == ended
            if follower is None:
                break
            node, state = follower, successor
            assert product.state[node] == state


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize("payment", PAYMENTS)
def test_a_product_pays_what_the_spec_pays(name, payment):
    task = tasks.get(name)
    model = finite_model(task.make())
    for spec in (*task.specs, *task.variants):
        check_random_walks(build_product(model, task.spec(spec, payment=payment)), walks=6)


NESTED = (
    ("F(near & F far)", 2),
    ("G(far -> F near)", 1),
    ("X X near", 3),
    ("near U far", -1),
)


@pytest.mark.parametrize("payment", PAYMENTS)
def test_nested_formulas_with_control_states_and_penalties_are_followed(payment):
    atoms = {
        "near": lambda obs, action, next_obs: next_obs / 15.0,
        "far": lambda obs, action, next_obs: 1.0 - next_obs / 15.0,
        "wet": lambda obs, action, next_obs: 1.0 * (next_obs == 10),
        "left": lambda obs, action, next_obs: 0.0 * next_obs if action is None else 1.0 * (action == 0),
    }
    spec = Spec([*NESTED, ("G !wet", 1, None, -5), ("G !left", 1, None, -7)], atoms=atoms, payment=payment)
    product = build_product(finite_model(tasks.get("frozen_lake").make()), spec)
    assert product.configurations > 10
    check_random_walks(product, walks=60)


def test_after_the_lowest_penalty_the_monitor_s_memory_no_longer_counts():
    atoms = {"left": lambda obs, action, next_obs: 0.0 * next_obs if action is None else 1.0 * (action == 0)}
    seen = {"seen": lambda obs, action, next_obs: 1.0 * (next_obs % 2 == 1)}
    spec = Spec([("G !left", 1, None, -7), ("F seen", 1)], atoms={**atoms, **seen})
    product = build_product(finite_model(tasks.get("frozen_lake").make()), spec)
    assert product.configurations == 3  # not seen, seen, violated
    check_random_walks(product, walks=20)


def test_numbering_is_the_same_every_time_and_every_node_is_reached():
    task = tasks.get("taxi")
    model = finite_model(task.make())
    one, two = (build_product(model, task.spec("quantitative", payment="delta")) for _ in range(2))
    for field in ("state", "configuration", "starts", "node", "row", "successor", "reward"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
    reached = {*one.starts.tolist(), *one.successor.tolist()} - {-1}
    assert reached == set(range(len(one)))
    assert (np.diff(one.node) >= 0).all()
    assert len(one) <= model.states * one.configurations


def test_too_large_a_product_is_refused_clearly():
    task = tasks.get("taxi")
    with pytest.raises(ModelError, match=r"500 states .* more than 600 nodes. Raise `max_nodes`"):
        build_product(finite_model(task.make()), task.spec("boolean"), max_nodes=600)


def test_a_state_without_actions_is_refused():
    env = tasks.get("frozen_lake").make()
    env.unwrapped.P[4] = {}
    with pytest.raises(ModelError, match="State 4 has no actions"):
        build_product(finite_model(env), tasks.get("frozen_lake").spec("boolean"))


def test_an_outcome_that_the_table_does_not_list_is_an_error():
    task = tasks.get("frozen_lake")
    product = build_product(finite_model(task.make()), task.spec("boolean"))
    with pytest.raises(ModelError, match="Action 0 led to state 15"):
        product.follow(0, 0, 15)


@pytest.mark.parametrize("name", FINITE)
def test_atoms_called_for_one_transition_at_a_time_find_the_same_nodes(name):
    task = tasks.get(name)
    model = finite_model(task.make())
    for spec in task.specs.values():
        batch, single = (ProductSearch(model, spec, 10_000, one_by_one=one_by_one) for one_by_one in (False, True))
        for one, two in zip(batch.layers(), single.layers(), strict=True):
            np.testing.assert_array_equal(one.successor, two.successor)
            np.testing.assert_array_equal(one.reward, two.reward)
        assert batch.starts.tolist() == single.starts.tolist()


def test_a_spec_without_atoms_has_a_product():
    product = build_product(finite_model(tasks.get("frozen_lake").make()), Spec([("true", 1)], atoms={}))
    assert (product.reward == 1.0).all()
