"""The audit: exact values, all ties, and policies that earn in the real environment what was printed."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import Spec, tasks
from rewardspec.audit import audit, audit_task, rewards_of
from rewardspec.audit.grid_maps import Map, draw_path, map_of
from rewardspec.audit.intent import Intent
from rewardspec.errors import FormulaError, ModelError, SpecError
from rewardspec.finite.products import base_spec
from rewardspec.lab.tasks.task import Task
from rewardspec.spec.payments import PAYMENTS, Payment

FINITE = ("cliff_walking", "frozen_lake", "taxi", "island_navigation", "conveyor_belt", "sokoban")
DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


@pytest.mark.parametrize("name", FINITE)
def test_the_policy_rolled_out_earns_the_return_that_was_printed(name):
    task = tasks.get(name)
    for finding in audit_task(task, discounts=(0.9, 1.0)):
        for seed in range(3):
            episode = finding.play(task.make(), seed)
            assert episode.total == pytest.approx(episode.expected, abs=1e-6)
            if len(finding.product.model.starts) == 1:
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
    [finding] = audit_task(tasks.get("taxi"), {"base": base_spec()})
    model = finding.product.model
    mean = model.initial[model.starts] @ finding.policy.start_totals
    assert mean == pytest.approx(finding.best.total)


@pytest.mark.parametrize("name", FINITE)
def test_findings_are_consistent(name):
    for f in audit_task(tasks.get(name), discounts=(0.9, 1.0)):
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


def verdicts(name: str, payment: Payment = "value", discount: float = 0.9) -> dict[str, str]:
    task = tasks.get(name)
    return {f.reward: f.verdict for f in audit_task(task, rewards_of(task, payment), (discount,))}


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
    assert verdicts("island_navigation", discount=1.0)["boolean"] == "slow"


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
    findings = audit_task(task, rewards_of(task, "potential"), discounts)
    base = {f.discount: f for f in findings if f.reward == "base"}
    for f in findings:
        assert f.verdict == base[f.discount].verdict, (f.reward, f.discount)
        for measure in ("goal", "hazard", "completion", "wait"):
            assert getattr(f.spread, measure) == pytest.approx(getattr(base[f.discount].spread, measure))


@pytest.mark.parametrize("name", ["frozen_lake", "island_navigation", "sokoban"])
@pytest.mark.parametrize("payment", PAYMENTS)
def test_a_discount_audited_among_others_finds_what_it_finds_alone(name, payment):
    task = tasks.get(name)

    def found(spec: Spec, discounts: tuple[float, ...]) -> list[tuple[object, ...]]:
        return [
            # Outcomes as text, in which the steps to a goal that is never reached equal themselves.
            (f.discount, f.value, repr(f.best), f.spread, repr(f.intended), f.verdict, f.sentence, f.product.spec)
            for f in audit_task(task, {"spec": spec}, discounts)
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
        audit_task(tasks.get("pendulum"))
    with pytest.raises(ModelError, match="has to know what FrozenLake-v1 is about"):
        audit_task(Task.from_env("FrozenLake-v1"))


def test_a_user_s_environment_with_a_table_is_audited_by_two_of_the_spec_s_atoms():
    env = gym.make("FrozenLake-v1", is_slippery=True)
    atoms = {
        "goal": lambda obs, action, next_obs: 1.0 * (next_obs == 15),
        "hole": lambda obs, action, next_obs: 1.0 * np.isin(next_obs, (5, 7, 11, 12)),
    }
    spec = Spec([("F goal", 1), ("G !hole", 0, True, -1)], atoms=atoms)
    [finding] = audit(env, spec, Intent("goal", "hole"))
    assert 0.0 < finding.best.goal <= finding.intended.goal < 1.0
    assert finding.spread.hazard[1] > 0.0
    [careless] = audit(env, spec, Intent("goal"))
    assert careless.spread.hazard == (0.0, 0.0)
    [harder] = audit(env, spec, Intent("goal & !hole | goal", "hole & true"))
    assert harder.spread == finding.spread
    with pytest.raises(FormulaError, match="Did you mean 'goal'"):
        audit(env, spec, Intent("gaol"))
    with pytest.raises(SpecError, match=r"read off single transitions. Received `F goal`"):
        audit(env, spec, Intent("F goal"))


def test_paths_are_drawn_on_every_map():
    for name in FINITE:
        env = tasks.get(name).make()
        [finding] = audit_task(tasks.get(name), {"base": base_spec()})
        episode = finding.play(env, seed=0)
        board = map_of(env, episode.states[0])
        drawn = draw_path(board, episode.states)
        assert sum(mark in "↑↓←→•◎" for row in drawn for mark in row) >= 2
        assert len(drawn) == len(board.rows)


def test_an_environment_with_a_character_for_each_state_has_a_map_and_others_have_none():
    class Field(gym.Env):
        observation_space, action_space = gym.spaces.Discrete(6), gym.spaces.Discrete(1)
        desc = np.array([list("S.."), list("..G")])

    board = map_of(Field(), 0)
    assert (board.rows, board.place(5)) == (("S..", "..G"), (1, 2))
    assert draw_path(board, [0, 1, 4, 5]) == ["→↓.", ".→◎"]
    assert map_of(gym.make("CartPole-v1"), 0) is None
    Field.episode_map = lambda self, start: Map((str(start),), lambda state: (0, 0))  # its own comes first
    assert map_of(Field(), 3).rows == ("3",)
    assert map_of(gym.make("Blackjack-v1"), 0) is None


def script(name: str):
    found = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_page_of_the_audit_is_what_its_script_writes():
    assert (DOCS / "paper" / "audit.md").read_text(encoding="utf-8") == script("audit").page()


def test_the_page_of_the_environments_is_what_its_script_writes():
    assert (DOCS / "paper" / "environments.md").read_text(encoding="utf-8") == script("environments").page()
    assert {path.stem for path in (DOCS / "images" / "episodes").glob("*.png")} == set(tasks.names("paper"))


def test_an_episode_can_be_drawn(tmp_path, monkeypatch):
    module = script("episodes")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    module.main(["frozen_lake", "mountain_car"])
    assert {path.name for path in tmp_path.iterdir()} == {"frozen_lake.png", "mountain_car.png"}
