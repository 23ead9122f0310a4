"""Reward convergence, on sequences whose answer is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardspec.lab.experiments.convergence import (
    PAIRS,
    SPAN,
    Convergence,
    ConvergenceRule,
    by_run,
    checkpoints,
    convergence_of,
    first_convergence,
)
from tests.lab.experiments.synthetic import log_of

EARLIEST = (PAIRS + 1) * SPAN


def first(rewards) -> int:
    return int(first_convergence(np.asarray([rewards], dtype=float))[0])


def stairs(relative_changes, level=100.0):
    """Rewards whose checkpoints change by just these parts, from one to the next."""
    beta = 1.0 - 2.0 / (SPAN + 1)
    average = level
    blocks = [np.full(SPAN, level)]
    for change in relative_changes:
        goal = average + abs(average) * change
        # A constant block moves the average towards it by 1 - β^N of the way.
        blocks.append(np.full(SPAN, average + (goal - average) / (1.0 - beta**SPAN)))
        average = goal
    return np.concatenate(blocks)


def plain_convergence(rewards):
    """The definition, letter by letter."""
    beta = 1.0 - 2.0 / (SPAN + 1)
    average, points = rewards[0], []
    for number, reward in enumerate(rewards, start=1):
        average = beta * average + (1.0 - beta) * reward
        if number % SPAN == 0:
            points.append(average)
        changes = [(b - a) / abs(a) for a, b in zip(points[-PAIRS - 1 :], points[-PAIRS:], strict=False) if a]
        if number % SPAN == 0 and len(points) > PAIRS and len(changes) == PAIRS:
            tolerance = min(max(2.0 * float(np.std(changes)), 0.002), 0.02)
            if all(abs(change) <= tolerance for change in changes):
                return number
    return 0


@pytest.mark.parametrize("level", [7.0, -7.0, 0.0, 1e-9, -1e9])
def test_constant_rewards_converge_as_early_as_can_be(level):
    assert first([level] * 400) == EARLIEST == 192


def test_too_few_episodes_never_converge():
    assert first([1.0] * (EARLIEST - 1)) == 0
    assert first([1.0] * EARLIEST) == EARLIEST
    assert first([1.0]) == 0
    assert first([]) == 0


def test_growing_rewards_do_not_converge_until_growth_is_slow():
    assert first(np.arange(1.0, 401.0)) == 0
    # Growth by 32 per checkpoint is less than 0.2 % of a level above 16,000.
    assert first(np.arange(20_000.0, 20_400.0)) == EARLIEST


def test_a_jump_delays_convergence_until_it_has_faded():
    rewards = [10.0] * 64 + [20.0] * 436
    found = first(rewards)
    assert found > EARLIEST
    assert found == plain_convergence(rewards)


def test_negative_rewards_converge_like_positive_ones():
    rewards = stairs([0.3, 0.1, 0.05] + [0.001, -0.001] * 5)
    assert first(rewards) == first(-rewards) > 0


@pytest.mark.parametrize(
    ("changes", "converges"),
    [
        ([0.0019] * 5, True),  # less than the least tolerance, whatever it looks like
        ([0.0021] * 5, False),  # a trend has no noise to be forgiven for
        ([0.01, -0.01, 0.01, -0.01, 0.01], True),  # noise within the greatest tolerance
        ([0.021, -0.021, 0.021, -0.021, 0.021], False),  # noise beyond it
        ([0.01, 0.012, 0.01, 0.012, 0.01], False),  # a trend with a little noise
        ([0.0, 0.0, 0.015, 0.0, -0.015], True),
    ],
)
def test_the_tolerance_follows_the_noise_but_not_a_trend(changes, converges):
    assert (first(stairs(changes)) == EARLIEST) is converges


def test_rewards_that_fall_to_zero_never_settle_relative_to_themselves():
    assert first([1.0] * 32 + [0.0] * 600) == 0


def test_a_change_from_zero_is_never_small():
    assert first([0.0] * 160 + [1e-12] * 32) == 0
    assert first([0.0] * 160 + [1e-12] * 600) > 0


@given(
    st.lists(st.sampled_from([0.0, 1.0, 10.0, 10.1, -5.0, 9.9]), min_size=1, max_size=12),
    st.integers(0, 2**31),
    st.floats(0.0, 0.3),
)
def test_it_is_the_definition(levels, seed, noise):
    rng = np.random.default_rng(seed)
    rewards = np.concatenate([np.full(40, level) for level in levels]) + 1.0
    rewards = rewards * (1.0 + noise * rng.standard_normal(len(rewards)))
    assert first(rewards) == plain_convergence(rewards)


@given(st.integers(0, 2**31), st.sampled_from([0.5, 2.0, 1024.0]))
def test_the_scale_of_the_rewards_does_not_matter(seed, scale):
    rewards = 5.0 + 0.3 * np.random.default_rng(seed).standard_normal(640)
    assert first(rewards) == first(scale * rewards)


def test_checkpoints_are_the_moving_average():
    rewards = np.random.default_rng(0).normal(size=(3, 100))
    beta = 1.0 - 2.0 / 33.0
    average, seen = rewards[:, 0], []
    for number in range(100):
        average = beta * average + (1 - beta) * rewards[:, number]
        seen.append(average)
    assert np.allclose(checkpoints(rewards), np.stack([seen[31], seen[63], seen[95]], axis=1))


def test_padding_does_not_make_a_run_converge():
    rewards = np.full((2, 400), 3.0)
    assert first_convergence(rewards, np.array([191, 192])).tolist() == [0, 192]


def test_runs_of_different_lengths_keep_their_own_episodes():
    log = log_of([[1.0, 2.0, 3.0], [], [4.0]])
    rows, lengths = by_run(log, log.reward)
    assert lengths.tolist() == [3, 0, 1]
    assert rows[0].tolist() == [1.0, 2.0, 3.0]
    assert rows[2].tolist() == [4.0, 4.0, 4.0]


def test_seconds_are_a_runs_part_of_the_time_until_then():
    episodes = 400
    log = log_of([[1.0] * episodes] * 4, seconds=[np.arange(1, episodes + 1) * 0.05] * 4)
    found = convergence_of(log, seconds=40.0)
    # 192 of 400 episodes had passed, of a quarter of 40 seconds.
    assert found.episodes.tolist() == [192] * 4
    assert found.seconds == pytest.approx([192 / 400 * 10.0] * 4)


def test_blocks_trained_after_each_other_are_charged_alike():
    # Each block has a clock of its own; the cell's seconds are those of both together.
    block = np.arange(1, 401) * 0.05
    log = log_of([[1.0] * 400] * 2, seconds=[block, block])
    assert convergence_of(log, seconds=40.0).seconds == pytest.approx([192 / 400 * 20.0] * 2)


def test_the_mean_is_over_the_runs_that_converged():
    found = Convergence(np.array([192, 0, 256, 0]), np.array([1.0, np.nan, 2.0, np.nan]))
    assert (found.share, found.mean_episode, found.mean_seconds) == (0.5, 224.0, 1.5)
    assert found.mean_episode_counting_zero == 112.0


def test_it_is_none_where_fewer_than_half_converged():
    found = Convergence(np.array([192, 0, 0]), np.array([1.0, np.nan, np.nan]))
    assert found.share == pytest.approx(1 / 3)
    assert found.mean_episode is None
    assert found.mean_seconds is None
    assert Convergence(np.zeros(0, dtype=np.int64), np.zeros(0)).mean_episode is None


def test_one_run_in_five_hundred_makes_the_papers_least_mean():
    episodes = np.zeros(500, dtype=np.int64)
    episodes[0] = 1152
    found = Convergence(episodes, np.full(500, np.nan))
    assert round(found.mean_episode_counting_zero, 1) == 2.3


def test_a_log_without_episodes_has_not_converged():
    found = convergence_of(log_of([[], []]), 1.0)
    assert found.episodes.tolist() == [0, 0]
    assert all(map(math.isnan, found.seconds))


def test_a_rule_may_bound_the_change_itself_and_count_runs_that_do_not_converge_as_nothing():
    still, drifting = np.full(800, -200.0), np.linspace(0.0, 800.0, 800)
    rewards, tight = np.stack([still, drifting]), ConvergenceRule(span=100, most_change=0.1)
    assert first_convergence(rewards, rule=tight).tolist() == [600, 0]
    # A change of a thousandth of the level passes the relative tolerance, and not that of a tenth of a reward.
    slow = np.linspace(1000.0, 1008.0, 800)[None]
    assert first_convergence(slow, rule=ConvergenceRule(span=100))[0] == 600
    assert first_convergence(slow, rule=tight)[0] == 0
    seen = Convergence(np.array([192, 0]), np.array([0.1, np.nan]), ConvergenceRule(first=0, counts_all=True))
    assert (seen.mean_episode, seen.mean_seconds) == (95.5, 0.05)
    assert Convergence(np.array([0, 0]), np.full(2, np.nan), ConvergenceRule(counts_all=True)).mean_episode is None
