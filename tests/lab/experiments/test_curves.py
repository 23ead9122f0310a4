"""Learning curves: their numbers, and what is drawn of them."""

import re
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from rewardspec.errors import MissingExtraError
from rewardspec.lab.experiments.curves import (
    colors_of,
    curve_of,
    figure_of_all,
    figure_of_profiles,
    figure_of_task,
    to_svg,
)
from tests.lab.experiments.synthetic import REWARDS, STUDY, cell_of, learning_cell, log_of

COLORS = colors_of(STUDY)


def test_a_curve_is_the_mean_of_smoothed_runs():
    ramp = np.arange(100) / 100
    curve = curve_of(cell_of(log_of([ramp, ramp + 0.0])), points=100)
    assert curve.unit == "episodes"
    assert curve.position.tolist() == list(range(1, 101))
    # In the middle, the mean of a window around a place on a ramp is the place itself.
    assert np.allclose(curve.mean[10:-10], ramp[10:-10])
    assert curve.mean[0] == pytest.approx(ramp[:11].mean())


def test_the_band_is_students_interval_over_runs():
    runs = [np.full(50, level) for level in (0.4, 0.5, 0.6)]
    curve = curve_of(cell_of(log_of(runs)))
    half = 4.303 * 0.1 / np.sqrt(3)
    assert np.allclose(curve.mean, 0.5)
    assert np.allclose(curve.high - curve.mean, half, rtol=1e-3)


def test_the_band_stays_within_the_measures_bounds():
    curve = curve_of(cell_of(log_of([np.zeros(30), np.ones(30), np.zeros(30)])))
    assert (curve.low == 0.0).all()
    assert (curve.high == 1.0).all()


def test_a_single_run_has_no_band():
    curve = curve_of(cell_of(log_of([[0.5] * 30])))
    assert (curve.low == curve.mean).all()
    assert (curve.high == curve.mean).all()


def test_runs_of_ppo_are_aligned_by_steps():
    # One run's episodes are twice as long: after as many steps it has finished half as many.
    columns = log_of([np.linspace(0, 1, 200), np.linspace(0, 1, 100)]).columns()
    columns["length"] = np.repeat([10, 20], [200, 100])
    columns["end_step"] = np.concatenate([np.arange(1, 201) * 10, np.arange(1, 101) * 20])
    curve = curve_of(cell_of(type(log_of([[1.0]])).from_columns(2, columns), "cart_pole"))
    assert curve.unit == "steps"
    assert (curve.position[0], curve.position[-1]) == (20, 2000)
    middle = np.argmin(abs(curve.position - 1000))
    assert curve.mean[middle] == pytest.approx(0.5, abs=0.01)
    assert curve.high[middle] - curve.low[middle] < 0.1


def test_runs_without_episodes_are_left_out():
    curve = curve_of(cell_of(log_of([[], [0.25] * 40, []])))
    assert np.allclose(curve.mean, 0.25)


# Pictures.


@pytest.fixture(scope="module")
def curves():
    tasks = ("frozen_lake", "acrobot")
    return {(task, reward): curve_of(learning_cell(task, reward)) for task in tasks for reward in REWARDS}


def test_the_figure_has_a_panel_for_every_environment(curves):
    figure = figure_of_all(STUDY, curves)
    assert len(figure.axes) == len(STUDY.tasks) == 12
    assert [len(axis.lines) for axis in figure.axes[:2]] == [4 + 3, 0]
    assert [axis.get_xlabel() for axis in figure.axes[:1] + figure.axes[4:5]] == ["steps", "episodes"]
    assert figure.axes[1].texts[0].get_text() == "no results yet"


def test_the_svg_is_small_well_formed_and_the_same_every_time(curves):
    own = {reward: curves["frozen_lake", reward] for reward in REWARDS}
    one, two = (to_svg(figure_of_task(STUDY, "frozen_lake", own)) for _ in range(2))
    assert one == two
    assert len(one) < 40_000
    ElementTree.fromstring(one)
    assert not re.search(r'\bd="[^"]*\d\.\d\d', one)
    for color in COLORS.values():
        assert color in one


def test_profiles_can_be_drawn():
    figure = figure_of_profiles(STUDY, {reward: np.linspace(1, 0, 11) for reward in REWARDS})
    assert len(figure.axes[0].lines) == 4


def test_without_matplotlib_the_error_says_what_to_install(curves, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[plot\]'"):
        figure_of_all(STUDY, curves)


def test_of_curves_that_coincide_the_upper_one_is_dashed(curves):
    same = dict.fromkeys(("boolean", "quantitative"), curves["frozen_lake", "boolean"])
    axis = figure_of_task(STUDY, "frozen_lake", same | {"best": curves["frozen_lake", "best"]}).axes[0]
    styles = {line.get_color(): line.get_linestyle() for line in axis.lines if line.get_marker() == "None"}
    assert styles == {COLORS["boolean"]: "-", COLORS["quantitative"]: "--", COLORS["best"]: "-"}
