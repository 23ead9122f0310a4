"""Exact values and all ties of products, against enumeration."""

from __future__ import annotations

import dataclasses
import itertools

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import Pair, Spec, tasks
from rewardspec.audit import audit
from rewardspec.audit.intent import Intent, aims_of
from rewardspec.audit.optimal_policies import Episodes, Quantity
from rewardspec.audit.solving import solve
from rewardspec.errors import Error
from rewardspec.finite.models import finite_model
from rewardspec.finite.products import base_spec, build_product
from rewardspec.spec.payments import PAYMENTS

FINITE = ("cliff_walking", "frozen_lake", "taxi", "island_navigation", "conveyor_belt", "sokoban")


@pytest.mark.parametrize("horizon", [1, 3, 6])
@pytest.mark.parametrize("discount", [0.7, 1.0])
def test_backward_induction_is_the_definition_of_the_optimal_value(horizon, discount):
    env = gym.make("FrozenLake-v1", is_slippery=True)
    product = build_product(finite_model(env), base_spec())
    table = env.unwrapped.P

    def value(state: int, left: int) -> float:
        if left == 0:
            return 0.0
        return max(
            sum(p * (r + (0.0 if ended else discount * value(s, left - 1))) for p, s, r, ended in outcomes)
            for outcomes in table[state].values()
        )

    solution = solve(product, discount, horizon)
    assert solution.values[product.starts[0]] == pytest.approx(value(0, horizon))


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize("payment", PAYMENTS)
def test_the_optimal_value_is_the_most_that_any_plan_earns(name, payment):
    """Every sequence of four actions is tried, and paid by the spec itself."""
    task, steps, discount = tasks.get(name), 4, 0.8
    spec = task.spec("quantitative", payment=payment, discount=discount)
    env = task.make()
    table, model = env.unwrapped.P, finite_model(env)
    product = build_product(model, spec)
    start = int(model.starts[-1])

    def earned(plan: tuple[int, ...]) -> float:
        state, total = start, 0.0
        memory = spec.start(spec.labels(state, None, state))
        for step, action in enumerate(plan):
            [(_, successor, reward, ended)] = table[state][action]
            labels = spec.labels(state, action, successor)
            memory, paid = spec.step(memory, labels, reward, ended, step == steps - 1)
            total += discount**step * paid
            state = successor
            if ended:
                break
        return total

    best = max(earned(plan) for plan in itertools.product(range(model.actions), repeat=steps))
    assert solve(product, discount, steps).values[product.starts[-1]] == pytest.approx(best)


def test_value_iteration_finds_a_fixpoint_and_the_slippery_lake_s_known_value():
    product = build_product(finite_model(gym.make("FrozenLake-v1", is_slippery=True)), base_spec())
    solution = solve(product, 0.99)
    assert solution.values[product.starts[0]] == pytest.approx(0.542, abs=1e-3)
    # A long horizon comes to the same.
    assert solve(product, 0.99, 2000).values == pytest.approx(solution.values, abs=1e-6)


def test_no_discount_without_a_horizon():
    product = build_product(finite_model(tasks.get("frozen_lake").make()), base_spec())
    for discount in (1.0, 1.5, -0.1):
        with pytest.raises(Error, match="`discount` should be in"):
            solve(product, discount)


def test_ties_are_found_and_spreads_are_what_enumeration_finds():
    """On the lake without a discount, the base reward does not mind when the goal is reached."""
    task = tasks.get("frozen_lake")
    model = finite_model(task.make())
    product, aims, steps = build_product(model, base_spec()), aims_of(task, model), 7
    optimal = solve(product, 1.0, steps).optimal
    episodes = Episodes(product, aims, steps, 1.0)
    waits, table = [], task.make().unwrapped.P
    for plan in itertools.product(range(4), repeat=steps):
        state, rewards = 0, []
        for action in plan:
            [(_, state, reward, ended)] = table[state][action]
            rewards.append(reward)
            if ended:
                break
        if sum(rewards) == 1.0:
            waits.append(len(rewards))
    assert episodes.spread(Quantity.WAIT, optimal) == (min(waits), max(waits)) == (6, 7)
    assert episodes.spread(Quantity.GOAL, optimal) == (1.0, 1.0)
    assert episodes.best_case_policy(optimal).outcome.steps == 6


class Line(gym.Env):
    """Cells in a row between a start and a goal: go left, go right, or jump off."""

    def __init__(self, cells: int) -> None:
        self.observation_space, self.action_space = gym.spaces.Discrete(cells + 1), gym.spaces.Discrete(3)
        goal, below = cells - 1, cells
        self.P = {
            cell: {
                0: [(1.0, max(cell - 1, 0), 0.0, False)],
                1: [(1.0, cell + 1, 0.0, cell + 1 == goal)],
                2: [(1.0, below, 0.0, False)],
            }
            for cell in range(goal)
        }
        self.P[goal] = self.P[below] = {0: [(1.0, below, 0.0, False)]}

    def reset(self, *, seed=None, options=None):
        return 0, {}


@pytest.mark.parametrize("penalty", [-10.0, -100.0, -1e9])
@pytest.mark.parametrize("cells", [25, 100])
def test_a_heavy_penalty_elsewhere_does_not_make_different_actions_equally_good(cells, penalty):
    atoms = {
        "goal": lambda obs, action, next_obs: np.equal(next_obs, cells - 1),
        "off": lambda obs, action, next_obs: np.equal(next_obs, cells),
    }
    spec = Spec([("F goal", 1), Pair("G !off", 0, True, penalty)], atoms=atoms)
    [finding] = audit(Line(cells), spec, Intent("goal", "off"), (0.5,))
    assert (finding.verdict, finding.best.steps) == ("aligned", cells - 1)


def test_sums_that_differ_by_rounding_alone_are_ties():
    """Two ways to the end pay the same three amounts in another order, which adds up to other last digits."""

    class TwoWays(gym.Env):
        observation_space, action_space = gym.spaces.Discrete(6), gym.spaces.Discrete(2)
        P = {  # noqa: RUF012 - as Gymnasium's environments have it
            0: {0: [(1.0, 1, 0.1, False)], 1: [(1.0, 3, 0.3, False)]},
            **{s: {a: [(1.0, s + 1, r, e)] for a in range(2)} for s, r, e in ((1, 0.2, False), (2, 0.3, True))},
            **{s: {a: [(1.0, s + 1, r, e)] for a in range(2)} for s, r, e in ((3, 0.2, False), (4, 0.1, True))},
        }

        def reset(self, *, seed=None, options=None):
            return 0, {}

    assert 0.1 + (0.2 + 0.3) != 0.3 + (0.2 + 0.1)
    solution = solve(build_product(finite_model(TwoWays()), base_spec()), 1.0, 3)
    assert solution.optimal[0, 0].tolist() == [True, True]


@pytest.mark.parametrize("discount", [0.5, 1.0])
@pytest.mark.parametrize("own", PAYMENTS)
@pytest.mark.parametrize("payment", PAYMENTS)
def test_an_audit_solves_what_each_pair_is_paid_by(payment, own, discount):
    """Every plan is tried, and paid by the spec itself, whose discount is another than the learner's."""
    atoms = {
        "ahead": lambda obs, action, next_obs: np.asarray(next_obs) / 3.0,
        "back": lambda obs, action, next_obs: 1.0 * np.equal(next_obs, 0),
    }
    pairs = [Pair("F G ahead", 2.0), Pair("F(ahead & X back)", 3.0, payment=own)]
    spec = Spec(pairs, atoms=atoms, payment=payment, discount=0.9)
    limit = 4
    model = dataclasses.replace(finite_model(Line(3)), max_episode_steps=limit)
    [finding] = audit(model, spec, Intent("ahead"), (discount,))
    clock = discount == 1.0 or "final" in (payment, own)
    steps = limit if clock else 10  # after which what an endless episode still pays is 0.5 ** 10 of its values
    shaped = spec.replace(discount=discount)  # as potentials have to be for the learner
    table = Line(3).P

    def most(state: int, memory: object, step: int) -> float:
        paid = []
        for action in table[state]:
            [(_, successor, reward, ended)] = table[state][action]
            last = step == steps - 1
            labels = shaped.labels(state, action, successor)
            after, now = shaped.step(memory, labels, reward, ended, clock and last)
            paid.append(now + (0.0 if ended or last else discount * most(successor, after, step + 1)))
        return max(paid)

    best = most(0, shaped.start(shaped.labels(0, None, 0)), 0)
    assert finding.value == pytest.approx(best, abs=1e-9 if clock else 0.02)
    assert not clock or finding.best.discounted == pytest.approx(best)
