"""Pairs that are paid for their progress."""

import random

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import rewardspec as rs
from rewardspec.spec import Pair, Spec
from tests.strategies import QUARTERS, random_trace

ATOMS = ("key", "door", "goal")
TASK = "F(key & F(door & F goal))"
EPISODE = {
    "key": [0.0, 1.0, 0.0, 0.0, 0.0],
    "door": [0.0, 0.0, 0.0, 1.0, 0.0],
    "goal": [0.0, 0.0, 0.0, 0.0, 1.0],
}
TASKS = [TASK, "F(key & F[0,4](door & F[0,5] goal))", "G(door -> F goal) & F(key & F door)", "F key & F door & F goal"]


def letters(episode):
    return [dict(zip(episode, letter, strict=True)) for letter in zip(*episode.values(), strict=True)]


def rewards_of(spec, episode, terminated=True):
    first, *rest = letters(episode)
    state, rewards = spec.start(first), []
    for number, letter in enumerate(rest, 1):
        state, reward = spec.step(state, letter, 0.0, terminated and number == len(rest))
        rewards.append(reward)
    return rewards


@pytest.mark.parametrize(
    ("payment", "expected"),
    [
        ("value", [1, 1, 2, 3]),
        ("delta", [1, 0, 1, 1]),
        ("potential", [0.5, -0.5, 0, -2]),
        ("final", [0, 0, 0, 3]),
    ],
)
def test_every_payment_pays_progress_in_place_of_the_value(payment, expected):
    spec = Spec([Pair(TASK, 3, progress=True)], payment=payment, discount=0.5)
    assert rewards_of(spec, EPISODE) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_a_potential_of_progress_telescopes(task):
    rng = random.Random(0)
    spec = Spec([Pair(task, 2, progress=True)], payment="potential", discount=0.9)
    for _ in range(10):
        episode = random_trace(rng, 15, ATOMS)
        rewards = rewards_of(spec, episode)
        total = sum(0.9**n * reward for n, reward in enumerate(rewards))
        assert total == pytest.approx(-spec.level(spec.start(letters(episode)[0])), abs=1e-12)


@pytest.mark.parametrize("task", TASKS)
def test_what_is_paid_is_the_progress_of_the_monitor_beside_other_pairs(task):
    rng = random.Random(1)
    monitor = rs.synthesize(task, progress=True)
    spec = Spec([("F goal", 1), Pair(task, 1, progress=True), (task, 1), Pair("F(goal & F key)", 1, progress=True)])
    other = rs.synthesize("F(goal & F key)", progress=True)
    for _ in range(10):
        episode = random_trace(rng, 12, ATOMS)
        state, own, its = None, monitor.initial_state(), other.initial_state()
        for letter in letters(episode):
            state = spec.start(letter) if state is None else spec.step(state, letter)[0]
            own, value = monitor.step(own, letter)
            its, _ = other.step(its, {atom: letter[atom] for atom in other.atoms})
            assert spec.values(state)[1:] == (monitor.progress(own), value, other.progress(its))


@pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
@pytest.mark.parametrize("task", TASKS)
def test_batches_of_every_library_are_paid_as_single_episodes_are(task, payment):
    rng = random.Random(2)
    spec = Spec([Pair(task, 2, progress=True), ("G !door", 1)], payment=payment, penalty=-1)
    episodes = [random_trace(rng, 10, ATOMS) for _ in range(4)]
    expected = np.array([rewards_of(spec, episode, terminated=False) for episode in episodes]).T
    for xp, exact in ((np, 1e-12), (torch, 1e-12), (jnp, 1e-5)):
        rows = [
            {atom: xp.asarray(np.array([episode[atom][n] for episode in episodes])) for atom in ATOMS}
            for n in range(10)
        ]
        state = spec.start(rows[0])
        for n, labels in enumerate(rows[1:]):
            state, reward = spec.step(state, labels)
            np.testing.assert_allclose(np.asarray(reward), expected[n], atol=exact)


def test_a_part_of_a_batch_that_starts_anew_makes_its_own_progress():
    rng = random.Random(3)
    spec = Spec([Pair(task, 1, progress=True) for task in TASKS])
    now = {atom: np.zeros(3) for atom in ATOMS}
    state, alone = spec.start(now), [spec.start(dict.fromkeys(ATOMS, 0.0)) for _ in range(3)]
    for _ in range(50):
        now = {atom: np.array([rng.choice(QUARTERS) for _ in range(3)]) for atom in ATOMS}
        begin = np.array([rng.random() < 0.15 for _ in range(3)])
        state = spec.reset(spec.step(state, now)[0], now, begin)
        singles = [{atom: float(now[atom][k]) for atom in ATOMS} for k in range(3)]
        alone = [
            spec.start(letter) if anew else spec.step(own, letter)[0]
            for own, letter, anew in zip(alone, singles, begin, strict=True)
        ]
        np.testing.assert_array_equal(np.array(spec.values(state)).T, [spec.values(own) for own in alone])


@pytest.mark.parametrize("task", ["F[0,3](key & F[0,2] goal)", "G !door & F[0,4](key & F goal)"])
def test_a_veto_falls_when_the_value_has_no_hope_whatever_the_progress(task):
    rng = random.Random(4)
    pays = Spec([Pair(task, 1, veto=True, penalty=-1, progress=True)])
    plain = Spec([Pair(task, 1, veto=True, penalty=-1)])
    fell = 0
    for _ in range(30):
        one = other = None
        for letter in letters(random_trace(rng, 8, ATOMS, kinds=[(0.0, 0.0, 0.0, 1.0)])):
            one = pays.start(letter) if one is None else pays.step(one, letter)[0]
            known = {atom: letter[atom] for atom in plain.atoms}
            other = plain.start(known) if other is None else plain.step(other, known)[0]
            assert pays.violated(one) == plain.violated(other)
        fell += pays.violated(one)
    assert 0 < fell < 30


def test_a_pair_prints_and_saves_its_progress(tmp_path):
    pair = Pair(TASK, 3, progress=True)
    assert repr(pair) == f"Pair({TASK!r}, 3, progress=True)"
    assert eval(repr(pair)) == pair != Pair(TASK, 3)
    spec = Spec([pair, ("F goal", 1)])
    assert repr(pair) in repr(spec)
    spec.save(tmp_path / "spec.toml")
    assert (tmp_path / "spec.toml").read_text().count("progress = true") == 1
    assert Spec.load(tmp_path / "spec.toml") == spec
    with pytest.raises(rs.SpecError, match=r"`progress` should be true or false\. Received 1"):
        Pair(TASK, 3, progress=1)


def test_an_explanation_shows_the_progress_that_is_paid():
    explanation = Spec([Pair(TASK, 3, progress=True), ("F goal", 1)]).explain(EPISODE)
    assert [row.values for row in explanation] == [(0, 0), (1 / 3, 0), (1 / 3, 0), (2 / 3, 0), (1, 1)]
    assert [row.level for row in explanation] == pytest.approx([0, 1, 1, 2, 4])
    assert [row.reward for row in explanation[1:]] == pytest.approx([1, 1, 2, 4])
    assert "0.333" in str(explanation)


def test_as_robustness_the_value_is_paid():
    plain, pays = (Spec([Pair("F(key & F goal)", 1, progress=p)], semantics="robustness") for p in (False, True))
    episode = {"key": [-1.0, 2.0, -1.0], "goal": [-2.0, -3.0, 0.5]}
    assert rewards_of(pays, episode) == rewards_of(plain, episode)


def test_lint_says_where_progress_is_the_value():
    def found(*pairs):
        return [finding.rule for finding in Spec(pairs).lint()]

    assert found(Pair(TASK, 1, progress=True)) == []
    (finding,) = Spec([Pair("G safe", 1, progress=True)]).lint()
    assert (finding.rule, finding.severity) == ("no-progress", "warning")
    assert "owes nothing at the start" in finding.message
    assert found(Pair("F goal", 1, progress=True)) == ["no-progress"]
    # A formula and its progress are two things, and one is no reason to leave out the other.
    assert found(Pair(TASK, 1, progress=True), (TASK, 1)) == []
    assert found(Pair(TASK, 1, progress=True), Pair(TASK, 1, progress=True)) == ["redundant"]
    opposite = f"!({TASK})"
    assert found((TASK, 1), Pair(opposite, 1, veto=False)) == ["redundant"]
    assert found(Pair(TASK, 1, progress=True), Pair(opposite, 1, veto=False)) == []


def test_lint_counts_what_negative_progress_costs():
    # After the key each step costs a half, which a violation ends.
    pairs = [Pair("F(key & F door)", -1, progress=True), Pair("G !goal", 0, veto=True), Pair("G !door", 0, veto=True)]
    assert {finding.rule for finding in Spec(pairs).lint()} == {"veto-pays"}
    assert "down to -0.5" in next(iter(Spec(pairs).lint())).message
    assert Spec([Pair("F(key & F door)", -1), *pairs[1:]]).lint() == []
