"""Statistics, against closed forms and known facts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardspec.errors import Error
from rewardspec.lab.experiments.statistics import (
    Estimate,
    at_the_start,
    bootstrapped_iqm,
    in_the_end,
    mean_over_runs,
    moving_average,
    performance_profile,
    pooled_mean,
    run_means,
    t_quantile,
)
from tests.lab.experiments.synthetic import log_of

unit = st.floats(0.0, 1.0)
scores = st.lists(unit, min_size=1, max_size=30).map(np.array)


def test_the_pooled_interval_of_coin_flips_is_known():
    flips = np.array([0.0, 1.0] * 5000)
    found = pooled_mean(flips)
    assert found.value == 0.5
    assert found.half_width == pytest.approx(1.96 * 0.5 / 100, rel=1e-3)


# From any table of Student's distribution.
@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (9, 2.262), (30, 2.042), (499, 1.965)],
)
def test_students_quantiles_are_those_of_the_tables(freedom, quantile):
    assert t_quantile(freedom) == pytest.approx(quantile, rel=2e-3)


def test_the_interval_over_runs_is_students():
    found = mean_over_runs(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert found.value == 3.0
    assert found.half_width == pytest.approx(2.776 * math.sqrt(2.5) / math.sqrt(5), rel=1e-3)


def test_of_a_single_run_no_interval_is_known():
    found = mean_over_runs(np.array([0.5]))
    assert found.value == 0.5
    assert math.isnan(found.half_width)


def test_the_interval_over_runs_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    estimates = [mean_over_runs(rng.normal(0.3, 0.1, size=10)) for _ in range(2000)]
    covered = np.mean([found.low <= 0.3 <= found.high for found in estimates])
    assert 0.935 < covered < 0.965


def test_means_of_runs_leave_out_runs_without_episodes():
    log = log_of([[1.0, 3.0], [], [5.0]])
    assert run_means(log, log.reward).tolist() == [2.0, 5.0]
    assert run_means(log, log.reward, np.array([True, False, False])).tolist() == [1.0]


def test_the_last_tenth_of_episodes():
    log = log_of([np.zeros(20), np.zeros(7)])
    late = in_the_end(log, "episodes")
    assert np.flatnonzero(late).tolist() == [18, 19, 26]


def test_the_last_tenth_of_steps_is_each_runs_own():
    log = log_of([np.zeros(20), np.zeros(7)], length=5)
    late = in_the_end(log, "steps")
    assert np.flatnonzero(late).tolist() == [18, 19, 26]


def test_there_is_always_a_last_episode():
    for share in (0.0, 0.1):
        assert in_the_end(log_of([[1.0], [], [2.0, 3.0]]), "steps", share).tolist() == [True, False, True]
    assert in_the_end(log_of([[]]), "steps").tolist() == []


def test_the_start_is_the_end_seen_from_the_other_side():
    log = log_of([[0.0] * 20, [1.0] * 5])
    assert np.flatnonzero(at_the_start(log, "episodes")).tolist() == [0, 1, 20]
    assert np.flatnonzero(in_the_end(log, "episodes")).tolist() == [18, 19, 24]
    for share in (0.0, 1e-9):  # the very first always counts
        assert at_the_start(log_of([[1.0], [], [2.0, 3.0]]), "steps", share).tolist() == [True, True, False]
    assert at_the_start(log_of([[]]), "steps").tolist() == []


@pytest.mark.parametrize("strata", [[], [np.array([])], [np.array([0.5, 0.7]), np.array([])]])
def test_a_bootstrap_without_runs_is_refused(strata):
    with pytest.raises(Error, match=r"should have a run to draw.*Leave out empty ones"):
        bootstrapped_iqm(strata)


# The interquartile mean.


def iqm(values):
    """The interquartile mean itself, without its interval."""
    return bootstrapped_iqm([values], resamples=1).value


def test_the_interquartile_mean_of_known_sets():
    assert iqm(np.array([5.0, 8.0, 4.0, 38.0, 8.0, 6.0, 9.0, 7.0, 7.0, 3.0, 1.0, 6.0])) == pytest.approx(6.5)
    # Nine values: the quarter's edge cuts into the third and the seventh.
    assert iqm(np.array([1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0])) == pytest.approx(9.0)
    assert iqm(np.array([0.25])) == pytest.approx(0.25)


@given(scores)
def test_the_interquartile_mean_lies_between_the_quartiles(values):
    ordered, count = np.sort(values), len(values)
    low, high = ordered[math.floor(0.25 * count)], ordered[math.ceil(0.75 * count) - 1]
    assert low - 1e-9 <= iqm(values) <= high + 1e-9


@given(scores, st.floats(-2.0, 2.0), st.floats(0.0, 3.0))
def test_the_interquartile_mean_moves_and_scales_with_the_values(values, shift, scale):
    assert iqm(shift + scale * values) == pytest.approx(shift + scale * iqm(values), abs=1e-9)


@given(st.lists(unit, min_size=5, max_size=30).map(np.array))
def test_how_far_out_the_best_run_is_does_not_matter(values):
    wild = np.sort(values)
    wild[-1] = 1e6
    assert iqm(values) == pytest.approx(iqm(wild), abs=1e-6)


def test_the_bootstrap_is_the_same_every_time_and_its_seed_matters():
    values = np.random.default_rng(0).random(40)
    assert bootstrapped_iqm([values]) == bootstrapped_iqm([values])
    assert bootstrapped_iqm([values]) != bootstrapped_iqm([values], seed=1)


def test_the_bootstraps_spread_is_that_of_the_estimate():
    # The interquartile mean of n uniform values has about the variance 1 / 6n.
    rng = np.random.default_rng(1)
    found = bootstrapped_iqm([rng.random(2000)])
    assert found.low < 0.5 < found.high
    assert found.half_width == pytest.approx(1.96 * math.sqrt(1 / 6 / 2000), rel=0.1)


@given(st.lists(scores, min_size=1, max_size=4))
def test_the_bootstrap_stays_among_the_values(strata):
    found = bootstrapped_iqm(strata, resamples=50)
    everything = np.concatenate(strata)
    if min(map(len, strata)) < 3:  # too few runs for an interval
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        return
    assert everything.min() - 1e-9 <= found.low <= found.high <= everything.max() + 1e-9


def test_strata_weigh_the_same_however_many_runs_they_have():
    many, few = np.zeros(300), np.ones(3)
    assert bootstrapped_iqm([many, few]).value == pytest.approx(0.5)
    assert bootstrapped_iqm([np.concatenate([many, few])]).value == pytest.approx(0.0)


def test_runs_are_drawn_within_their_stratum():
    # Each stratum is constant, so that drawing within it changes nothing.
    found = bootstrapped_iqm([np.full(5, 0.2), np.full(9, 0.8)])
    assert found.low == pytest.approx(found.high)


# Curves and profiles.


@given(st.lists(unit, min_size=1, max_size=60), st.integers(1, 25))
def test_the_moving_average_is_a_mean_of_neighbours(values, window):
    smooth = moving_average(np.array(values), window)
    for place in range(len(values)):
        near = values[max(0, place - window // 2) : place + (window + 1) // 2]
        assert smooth[place] == pytest.approx(np.mean(near), abs=1e-9)


def test_the_moving_average_goes_along_the_last_axis():
    values = np.random.default_rng(0).random((3, 50))
    assert np.allclose(moving_average(values), [moving_average(row) for row in values])


@given(scores)
def test_a_performance_profile_falls_from_all_to_none(values):
    profile = performance_profile(values, np.linspace(-0.1, 1.0, 23))
    assert profile[0] == 1.0
    assert profile[-1] == 0.0
    assert (np.diff(profile) <= 0).all()


def test_an_estimate_says_its_interval():
    assert str(Estimate(0.5, 0.25, 0.75)) == "0.5 [0.25, 0.75]"
    assert Estimate(0.5, 0.25, 0.75).half_width == 0.25
