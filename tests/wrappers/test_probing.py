"""A probe tells what the atoms and formulas of a spec made of some episodes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import rewardspec as rs
from rewardspec.wrappers import MonitorReward, probe
from tests.wrappers.specs import cartpole, cartpole_spec


class Corridor(gym.Env[int, int]):
    """Ten steps, to the left or to the right; never an end of its own."""

    observation_space = gym.spaces.Discrete(21)
    action_space = gym.spaces.Discrete(2)

    def reset(self, **kwargs: Any) -> tuple[int, dict[str, Any]]:
        super().reset(**kwargs)
        self.place = 10
        return self.place, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.place = int(np.clip(self.place + (1 if action else -1), 0, 20))
        return self.place, 0.5, False, False, {}


def corridor() -> rs.Spec:
    functions = {
        "far": lambda obs, action, next_obs: next_obs / 20,
        "goal": lambda obs, action, next_obs: next_obs == 20,
        "clear": lambda obs, action, next_obs: next_obs > 5,
        "steady": lambda obs, action, next_obs: 0.25,
    }
    pairs = [("F G far", 5), ("F goal", 10), ("G clear", 1), ("F G !far", 0.1), ("G steady", 1)]
    return rs.Spec(pairs, atoms=functions)


def test_numbers_are_those_of_the_episodes_played() -> None:
    spec = cartpole_spec()
    seen = probe(cartpole(), spec, episodes=6, seed=3)
    env = MonitorReward(cartpole(), spec, record=True)
    env.action_space.seed(3)
    labels: dict[str, list[float]] = {name: [] for name in spec.atoms}
    returns, lengths, last = [], [], []
    for seed in range(3, 9):
        env.reset(seed=seed)
        rewards, ended = [], False
        while not ended:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            rewards.append(reward)
            ended = terminated or truncated
        for name, column in env.explain().labels.items():
            labels[name] += column
        returns.append(sum(rewards))
        lengths.append(len(rewards))
        last.append(list(info["formula_values"].values()))
    np.testing.assert_allclose(seen.returns, returns)
    assert seen.lengths.tolist() == lengths
    assert seen.base_returns.tolist() == lengths  # CartPole pays 1 a step
    for atom in seen.atoms:
        column = np.array(labels[atom.name])
        assert (atom.least, atom.most) == (column.min(), column.max())
        assert atom.mean == pytest.approx(column.mean())
        assert atom.zeros == np.mean(column == 0)
    np.testing.assert_allclose([pair.last for pair in seen.pairs], np.mean(last, axis=0))
    assert sum(pair.moves for pair in seen.pairs) == pytest.approx(1.0)


class Renewing(Corridor):
    """Makes a new action space in every reset, and draws from it."""

    def reset(self, **kwargs: Any) -> tuple[int, dict[str, Any]]:
        place, _ = super().reset(**kwargs)
        self.action_space = gym.spaces.Discrete(2)
        return place, {"action": self.action_space.sample()}


class Growing(Corridor):
    """Has one more action in every episode."""

    def reset(self, **kwargs: Any) -> tuple[int, dict[str, Any]]:
        place, info = super().reset(**kwargs)
        self.action_space = gym.spaces.Discrete(int(self.action_space.n) + 1)
        return place, info

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        return self.place, float(action), False, False, {}


def test_random_actions_depend_on_the_seed_alone() -> None:
    wanted = probe(Corridor(), corridor(), episodes=3, max_steps=30, seed=5)
    for _ in range(2):
        seen = probe(Renewing(), corridor(), episodes=3, max_steps=30, seed=5)
        assert str(seen) == str(wanted)
    first, second = (probe(Growing(), corridor(), episodes=4, max_steps=50).base_returns for _ in range(2))
    assert first.tolist() == second.tolist()
    assert first[-1] > 1.5 * first[0]


def test_a_policy_plays_and_episodes_that_do_not_end_are_cut_off() -> None:
    seen = probe(Corridor(), corridor(), episodes=3, max_steps=12, policy=lambda place: 1)
    assert seen.lengths.tolist() == [12, 12, 12]
    assert seen.base_returns.tolist() == [6.0] * 3
    assert seen.atoms[0].most == 1.0


def test_it_finds_what_looks_wrong() -> None:
    seen = probe(Corridor(), corridor(), episodes=4, max_steps=8)
    rules = {(finding.rule, finding.pair) for finding in seen.findings}
    assert rules == {("constant-atom", None), ("silent", 1), ("silent", 4), ("hardly-counts", 3)}
    left = probe(Corridor(), corridor(), episodes=4, max_steps=8, policy=lambda place: 0)
    found = {finding.rule: finding for finding in left.findings}
    assert found["always-vetoed"].severity == "warning"
    assert "after 5 steps" in found["always-vetoed"].message
    assert "same-return" in found


def test_a_pair_that_hardly_counts_behind_a_veto_is_not_to_be_given_more_weight() -> None:
    functions = {
        "left": lambda obs, action, next_obs: next_obs < 7,
        "far": lambda obs, action, next_obs: (20 - next_obs) / 2000,
    }
    spec = rs.Spec([("G !left", 1), rs.Pair("F far", 1)], atoms=functions)
    seen = probe(Corridor(), spec, episodes=4, max_steps=8, policy=lambda place: 0)
    remedies = {finding.rule: finding.remedy for finding in seen.findings}
    assert remedies["hardly-counts"] == (
        "A veto ended the pay in 4 of 4 episodes. Look at that first, before you give the pair more weight."
    )


def test_the_recipe_for_averages_counts_by_what_it_pays_in_all() -> None:
    functions = {
        "far": lambda obs, action, next_obs: next_obs / 20,
        "right": lambda obs, action, next_obs: next_obs > obs,
    }
    pairs = [rs.Pair("F right", 1), rs.Pair("now far", 1 / 8, payment="value")]
    seen = probe(Corridor(), rs.Spec(pairs, payment="delta", atoms=functions), episodes=4, max_steps=8)
    assert seen.pairs[0].paid + seen.pairs[1].paid == pytest.approx(1.0)
    assert seen.pairs[1].paid > 0.3
    assert "hardly-counts" not in {finding.rule for finding in seen.findings}


def test_vetoes_of_several_pairs_that_leave_no_episode_are_told_together() -> None:
    functions = {
        "left": lambda obs, action, next_obs: next_obs < 9,
        "right": lambda obs, action, next_obs: next_obs > 12,
        "hit": lambda obs, action, next_obs: next_obs == 20,
    }
    spec = rs.Spec([("G !left", 1), ("G !right", 1), ("G !hit", 1)], atoms=functions)
    seen = probe(Corridor(), spec, episodes=10, max_steps=60)
    assert max(len(pair.violated_at) for pair in seen.pairs) < 10
    (finding,) = (finding for finding in seen.findings if finding.rule == "always-vetoed")
    most = max((0, 1), key=lambda number: len(seen.pairs[number].violated_at))
    times, steps = len(seen.pairs[most].violated_at), [k for pair in seen.pairs for k in pair.violated_at]
    assert finding.pair == most
    assert finding.message == (
        f"Every episode was vetoed, most often by pair {most + 1}, `{spec.pairs[most].formula}` ({times} times), after "
        f"{int(np.median(steps))} steps at the median."
    )
    assert finding.remedy.endswith("veto=False.")
    alone = probe(Corridor(), spec.replace(pairs=spec.pairs[:1]), episodes=10, max_steps=60)
    assert "always-vetoed" not in {finding.rule for finding in alone.findings}


@pytest.mark.parametrize("veto", [None, False])
def test_what_is_still_due_at_the_end_is_told_with_the_formula_that_forgives_it(veto: bool | None) -> None:
    functions = {
        "home": lambda obs, action, next_obs: next_obs == 10,
        "right": lambda obs, action, next_obs: next_obs > 10,
    }
    text = "G(!home -> F[0,9] home)"
    spec = rs.Spec([rs.Pair(text, 1, veto=veto), ("F right", 1)], atoms=functions)
    seen = probe(Corridor(), spec, episodes=3, max_steps=6, policy=lambda place: 1)
    assert (seen.pairs[0].last, [pair.pending for pair in seen.pairs]) == (0.0, [3, 0])
    (finding,) = (finding for finding in seen.findings if finding.rule == "pending-at-end")
    assert "was still open when 3 of 3 episodes ended" in finding.message
    forgiven = "G(!home -> F[0,9] home | WX[9] false)"
    assert finding.remedy == f"To count only missed deadlines, write `{forgiven}`."
    again = probe(Corridor(), spec.replace(pairs=[(forgiven, 1)]), episodes=3, max_steps=6, policy=lambda place: 1)
    assert again.pairs[0].last == 1.0
    missed = probe(Corridor(), spec, episodes=3, max_steps=30, policy=lambda place: 1)
    assert (missed.pairs[0].last, missed.pairs[0].pending) == (0.0, 0)


def test_a_veto_at_reset_is_an_error_and_no_warning_of_python() -> None:
    spec = rs.Spec([("G moving", 1)], atoms={"moving": lambda obs, action, next_obs: 0.0 if action is None else 1.0})
    seen = probe(Corridor(), spec, episodes=2, max_steps=4)
    assert [(f.rule, f.severity) for f in seen.findings if f.rule == "always-vetoed"] == [("always-vetoed", "error")]


def test_the_same_seed_gives_the_same_text() -> None:
    one, two, other = (str(probe(cartpole(), cartpole_spec(), episodes=3, seed=seed)) for seed in (1, 1, 2))
    assert one == two != other


def test_numbers_that_make_no_sense_are_refused() -> None:
    with pytest.raises(rs.Error, match="at least 1"):
        probe(Corridor(), corridor(), episodes=0)


def test_what_is_the_same_until_the_end_pays_but_moves_nothing() -> None:
    """The larger part of each reward is not the part that tells one action from another."""
    functions = {
        "crash": lambda obs, action, next_obs: next_obs == 14,
        "right": lambda obs, action, next_obs: action is not None and next_obs > obs,
    }
    spec = rs.Spec([("G !crash", 1), ("now right", 0.5)], atoms=functions)
    safe, right = probe(Corridor(), spec, episodes=4, max_steps=3).pairs
    assert (safe.pays, safe.moves, right.moves) == (3.0, 0.0, 1.0)
    assert 0.0 < right.pays < 1.5
    crashed, _ = probe(Corridor(), spec, episodes=2, max_steps=8, policy=lambda place: 1).pairs
    assert crashed.pays == 3.0  # the steps before the fourth


def test_a_violation_moves_what_a_spec_pays() -> None:
    functions = {
        "crash": lambda obs, action, next_obs: next_obs == 14,
        "right": lambda obs, action, next_obs: action is not None and next_obs > obs,
    }
    spec = rs.Spec([("G !crash", 1), ("now right", 0.5)], atoms=functions)
    crash, right = probe(Corridor(), spec, episodes=2, max_steps=8, policy=lambda place: 1).pairs
    assert (crash.moves, right.moves) == pytest.approx((2 / 3, 1 / 3))  # from 1 to 0, and from 0 to 0.5 at the start
    alone = probe(Corridor(), spec.replace(pairs=spec.pairs[:1]), episodes=2, max_steps=8, policy=lambda place: 1)
    assert alone.pairs[0].moves == 1.0


@pytest.mark.parametrize("payment", ["value", "delta", "final"])
def test_what_the_pairs_pay_adds_up_to_the_return(payment: Any) -> None:
    spec = cartpole_spec().replace(payment=payment, penalty=0.0)
    pairs = [rs.Pair(pair.formula, pair.weight, veto=False) for pair in spec.pairs]
    seen = probe(cartpole(), spec.replace(pairs=pairs), episodes=3)
    assert sum(pair.pays for pair in seen.pairs) == pytest.approx(seen.returns.mean())


def test_a_potential_is_discounted_and_taken_back_where_an_episode_terminates() -> None:
    atoms = {"far": "min(abs(next_obs[0]), 1)", "still": "1 - min(abs(next_obs[1]), 1)"}
    pairs = [("F far", 3), ("F G still", 1), rs.Pair("now far", 1, payment="delta")]
    spec = rs.Spec(pairs, atoms=atoms, payment="potential", discount=0.9)
    seen = probe(gym.make("CartPole-v1"), spec, episodes=5)
    paid = sum(pair.pays for pair in seen.pairs)
    assert paid == pytest.approx(np.mean(seen.returns - seen.base_returns))
    assert seen.pairs[0].pays < 0.0


def test_an_episode_that_is_cut_off_pays_nothing_for_its_end() -> None:
    spec = rs.Spec([("F goal", 1)], atoms={"goal": lambda obs, action, next_obs: next_obs > 12}, payment="final")
    seen = probe(Corridor(), spec, episodes=3, max_steps=10, policy=lambda place: 1)
    assert (seen.pairs[0].most, seen.pairs[0].pays, seen.returns.tolist()) == (1.0, 0.0, [0.0, 0.0, 0.0])
    seen = probe(gym.wrappers.TimeLimit(Corridor(), 10), spec, episodes=3, policy=lambda place: 1)
    assert (seen.pairs[0].pays, seen.returns.tolist()) == (1.0, [1.0, 1.0, 1.0])


def test_a_spec_may_be_the_path_of_its_file(tmp_path: Any) -> None:
    path = tmp_path / "spec.toml"
    path.write_text('pairs = [["F goal", 1]]\n[atoms]\ngoal = "next_obs > 12"\n')
    seen = probe(Corridor(), path, episodes=2, max_steps=4)
    assert str(seen) == str(probe(Corridor(), rs.Spec.load(path), episodes=2, max_steps=4))
    assert probe(Corridor(), str(path), episodes=1, max_steps=4).spec.names == ("F goal",)


class Ending(Corridor):
    """Terminates one place to the right of the start, in every other episode; truncated after 20 steps."""

    ends = False

    def reset(self, **kwargs: Any) -> tuple[int, dict[str, Any]]:
        self.ends, self.steps = not self.ends, 0
        return super().reset(**kwargs)

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self.place = 10 + (self.ends and self.steps > 2)
        return self.place, 0.0, self.place == 11, self.steps == 20, {}


def early_ends(episodes: int = 6, payment: Any = "value", formula: str = "F near", **options: Any) -> list[Any]:
    functions = {"near": lambda obs, action, next_obs: (next_obs == 11) * 0.5 + (next_obs >= 10) * 0.5}
    spec = rs.Spec([rs.Pair(formula, 2, **options)], payment=payment, atoms=functions)
    findings = probe(Ending(), spec, episodes=episodes).findings
    return [finding for finding in findings if finding.rule == "early-end-paid-less"]


def test_a_goal_that_ends_the_episode_and_is_paid_less_than_waiting_is_told() -> None:
    (finding,) = early_ends()
    assert finding.pair == 0
    assert finding.message == (
        "Pair 1, `F near`, had its largest value, 1, where 3 episodes ended, and they were paid 4 on average. The 3 "
        "that went on to the last step were paid 20."
    )
    assert "payment='delta'" in finding.remedy


def test_an_early_end_is_told_of_goals_that_values_pay_for_and_of_two_episodes_at_least() -> None:
    assert not early_ends(episodes=3)
    assert early_ends(episodes=4)
    assert not early_ends(payment="delta")
    assert not early_ends(payment="final")
    assert not early_ends(formula="G near", veto=False)
