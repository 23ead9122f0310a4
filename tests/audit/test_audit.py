"""The audit: exact values, all ties, and policies that earn in the real environment what was printed."""

from __future__ import annotations

import importlib.util
import itertools
import math
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import Spec, tasks
from rewardspec.audit.audit import audit, audit_task, rewards_of
from rewardspec.audit.intents import intent_from_atoms, intent_of
from rewardspec.audit.maps import draw_path
from rewardspec.audit.optimal_policies import Episodes, Measure
from rewardspec.audit.subjects import subject_of
from rewardspec.audit.value_iteration import solve
from rewardspec.errors import Error, SpecError
from rewardspec.finite.models import ModelError, finite_model
from rewardspec.finite.products import build_product
from rewardspec.spec.payment import PAYMENTS
from rewardspec.tasks.task import Task, base_spec

FINITE = ("cliff_walking", "frozen_lake", "taxi", "island_navigation", "conveyor_belt", "sokoban")
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


@pytest.mark.parametrize("name", FINITE)
def test_the_policy_rolled_out_earns_the_return_that_was_printed(name):
    subject = subject_of(name)
    for reward in subject.rewards:
        for finding in subject.audit(reward, (0.9, 1.0)):
            for seed in range(3):
                episode = subject.play(finding, seed)
                assert episode.total == pytest.approx(episode.expected, abs=1e-6)
                if len(subject.model.starts) == 1:
                    discounted = sum(r * finding.discount**t for t, r in enumerate(episode.rewards))
                    assert episode.total == pytest.approx(finding.best.total)
                    assert discounted == pytest.approx(finding.best.discounted)
                    assert episode.completion == pytest.approx(finding.best.completion)
            if finding.discount == 1.0:
                assert finding.best.total == pytest.approx(finding.value)
            # What an endless episode is worth differs from one of 100 steps by what comes after.
            elif name in ("cliff_walking", "frozen_lake"):
                assert finding.best.discounted == pytest.approx(finding.value)


def test_every_start_of_taxi_earns_its_own_expectation_on_average():
    subject = subject_of("taxi")
    [finding] = subject.audit("base", (0.9,))
    mean = subject.model.initial[subject.model.starts] @ finding.policy.start_totals
    assert mean == pytest.approx(finding.best.total)


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
    product, intent, steps = build_product(model, base_spec()), intent_of(task, model), 7
    optimal = solve(product, 1.0, steps).optimal
    episodes = Episodes(product, intent, steps, 1.0)
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
    assert episodes.spread(Measure.WAIT, optimal) == (min(waits), max(waits)) == (6, 7)
    assert episodes.spread(Measure.GOAL, optimal) == (1.0, 1.0)
    assert episodes.kindest(optimal).outcome.steps == 6


@pytest.mark.parametrize("name", FINITE)
def test_findings_are_consistent(name):
    for f in audit_task(tasks.get(name), (0.9, 1.0)):
        for low, high in (f.spread.goal, f.spread.hazard, f.spread.completion):
            assert -1e-9 <= low <= high + 1e-9 <= 1.0 + 2e-9
        assert f.spread.completion[0] - 1e-9 <= f.best.completion <= f.spread.completion[1] + 1e-9
        assert f.spread.goal[1] == pytest.approx(f.best.goal)
        # The intended way is an attainable one, and optimality means that it does not pay more.
        if f.discount == 1.0:
            assert f.intended.total <= f.best.total + 1e-6
        assert math.isnan(f.best.steps) == (f.best.goal == 0.0)
        assert f.sentence.endswith(".")
        assert (f.verdict == "misaligned") == (
            f.best.goal < f.intended.goal - 1e-6
            or f.best.hazard > f.intended.hazard + 1e-6
            or f.best.completion < f.intended.completion - 1e-6
        )


def verdicts(name: str, **options) -> dict[str, str]:
    return {f.reward: f.verdict for f in audit_task(tasks.get(name), **options)}


def test_the_printed_lake_asks_for_a_fall_and_the_corrected_one_for_the_goal():
    found = {f.reward: f for f in audit_task(tasks.get("frozen_lake"))}
    assert found["boolean"].verdict == found["base"].verdict == "aligned"
    assert found["boolean"].best.total == 4.0
    printed = found["boolean as printed"]
    assert (printed.verdict, printed.best.total) == ("misaligned", -12.0)
    assert printed.sentence.startswith("Every optimal policy falls through a hole, which pays more: -11.9 against")


def test_the_island_pays_for_staying_away_and_its_change_does_not():
    found = {f.reward: f for f in audit_task(tasks.get("island_navigation"))}
    assert found["boolean"].best.total == 9900.0
    assert found["boolean"].sentence.startswith("Pays more for staying away from the goal than for reaching it")
    assert verdicts("island_navigation", payment="delta")["boolean"] == "aligned"
    assert verdicts("island_navigation", discounts=(1.0,))["boolean"] == "slow"


def test_the_vase_s_base_reward_does_not_care_what_comes_after():
    found = {f.reward: f for f in audit_task(tasks.get("conveyor_belt"))}
    assert found["base"].verdict == "indifferent"
    assert "lets the vase break" in found["base"].sentence
    assert found["boolean"].verdict == found["quantitative"].verdict == "aligned"


@pytest.mark.parametrize("name", FINITE)
def test_shaping_keeps_what_the_base_reward_asks_for(name):
    """At discounts below 1.

    At 1 policies see the clock, and they mind that an episode which is cut off keeps its last potential.
    """
    task = tasks.get(name)
    discounts = (0.9, task.spec("boolean").discount)  # another one than the spec's own, and then that
    findings = audit_task(task, discounts, payment="potential")
    base = {f.discount: f for f in findings if f.reward == "base"}
    for f in findings:
        assert f.verdict == base[f.discount].verdict, (f.reward, f.discount)
        for measure in ("goal", "hazard", "completion", "wait"):
            assert getattr(f.spread, measure) == pytest.approx(getattr(base[f.discount].spread, measure))


@pytest.mark.parametrize("name", ["frozen_lake", "island_navigation", "sokoban"])
@pytest.mark.parametrize("payment", PAYMENTS)
def test_a_discount_audited_among_others_finds_what_it_finds_alone(name, payment):
    task = tasks.get(name)
    model = finite_model(task.make())
    intent = intent_of(task, model)

    def found(spec: Spec, discounts: tuple[float, ...]) -> list[tuple[object, ...]]:
        return [
            # Outcomes as text, in which the steps to a goal that is never reached equal themselves.
            (f.discount, f.value, repr(f.best), f.spread, repr(f.intended), f.verdict, f.sentence, f.product.spec)
            for f in audit(model, spec, intent, discounts)
        ]

    for spec in rewards_of(task, payment).values():
        discounts = (0.5, spec.discount, 0.9, 1.0)
        alone = [finding for discount in discounts for finding in found(spec, (discount,))]
        assert found(spec, discounts) == alone


def test_an_audit_closes_the_environment_that_it_makes(monkeypatch):
    made, closed = [], []

    class Watched(gym.Wrapper):
        def close(self):
            closed.append(self)
            super().close()

    def make(task: Task) -> gym.Env:
        made.append(Watched(gym.make(task.id)))
        return made[-1]

    monkeypatch.setattr(Task, "make", make)
    audit_task(tasks.get("frozen_lake"))
    assert made == closed != []


def test_only_finite_tasks_can_be_audited():
    with pytest.raises(ModelError, match="has no transition table"):
        subject_of("pendulum")
    with pytest.raises(ModelError, match="has to know what Pendulum is about"):
        intent_of(tasks.get("pendulum"), finite_model(tasks.get("taxi").make()))


def test_a_user_s_environment_with_a_table_is_audited_by_two_of_the_spec_s_atoms():
    env = gym.make("FrozenLake-v1", is_slippery=True)
    atoms = {
        "goal": lambda obs, action, next_obs: 1.0 * (next_obs == 15),
        "hole": lambda obs, action, next_obs: 1.0 * np.isin(next_obs, (5, 7, 11, 12)),
    }
    spec = Spec([("F goal", 1), ("G !hole", 0, True, -1)], atoms=atoms)
    model = finite_model(env)
    intent = intent_from_atoms(model, spec, "goal", "hole")
    [finding] = audit(env, spec, intent)
    assert 0.0 < finding.best.goal <= finding.intended.goal < 1.0
    with pytest.raises(SpecError, match=r"no atom 'gaol'; it has: goal, hole. Did you mean 'goal'"):
        intent_from_atoms(model, spec, "gaol", None)
    assert not intent_from_atoms(model, spec, "goal").hazard.any()


def test_paths_are_drawn_on_every_map():
    for name in FINITE:
        subject = subject_of(name)
        [finding] = subject.audit("base", (0.9,))
        episode = subject.play(finding, seed=0)
        board = subject.map(episode.states[0])
        drawn = draw_path(board, episode.states)
        assert sum(mark in "↑↓←→•◎" for row in drawn for mark in row) >= 2
        assert len(drawn) == len(board.rows)


def script(name: str):
    found = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_page_of_the_audit_is_what_its_script_writes():
    assert (DOCS / "paper" / "audit.md").read_text(encoding="utf-8") == script("audit").page()


def test_the_page_of_the_environments_is_what_its_script_writes():
    assert (DOCS / "paper" / "environments.md").read_text(encoding="utf-8") == script("environments").page()
    assert {path.stem for path in (DOCS / "images" / "episodes").glob("*.png")} == set(tasks.names())


def test_an_episode_can_be_drawn(tmp_path, monkeypatch):
    module = script("episodes")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    module.main(["frozen_lake", "mountain_car"])
    assert {path.name for path in tmp_path.iterdir()} == {"frozen_lake.png", "mountain_car.png"}
