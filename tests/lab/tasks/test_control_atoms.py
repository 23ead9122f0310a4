"""Atoms and measures of the control environments against values computed by hand from the paper's formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rewardspec import tasks


def label(name, kind, atom, obs):
    value = tasks.get(name).specs[kind].atom_functions[atom](np.array(obs), None, np.array(obs))
    return float(value)


def completion(name, obs):
    return float(tasks.get(name).measure.of(np.array(obs)))


def acrobot(theta1, theta2, speed1=0.0, speed2=0.0):
    return [math.cos(theta1), math.sin(theta1), math.cos(theta2), math.sin(theta2), speed1, speed2]


@pytest.mark.parametrize(
    ("obs", "reach_goal"),
    [
        (acrobot(0.0, 0.0), 0.0),  # hanging: height -2
        (acrobot(math.pi / 2, 0.0), 0.0),  # level with the joint
        (acrobot(math.pi / 2, math.pi / 6), 0.5),  # -cos 120 degrees
        (acrobot(math.pi / 2, math.pi / 2), 1.0),  # one link out, one up: height 1
        (acrobot(math.pi, 0.0), 1.0),  # straight up: height 2
    ],
)
def test_acrobot_reach_goal(obs, reach_goal):
    assert label("acrobot", "quantitative", "reach_goal", obs) == pytest.approx(reach_goal, abs=1e-12)
    assert completion("acrobot", obs) == pytest.approx(reach_goal, abs=1e-12)


def test_acrobot_boolean_goal_is_a_height_of_one():
    above, below = acrobot(math.pi / 2 + 0.01, math.pi / 2), acrobot(math.pi / 2 - 0.01, math.pi / 2)
    assert label("acrobot", "boolean", "reach_goal", above) == 1.0
    assert label("acrobot", "boolean", "reach_goal", below) == 0.0


@pytest.mark.parametrize(
    ("obs", "velocity"),
    [
        (acrobot(math.pi / 2, 0.0, 0.5, 0.0), 0.5),  # (1 · 0.5 + 1 · 0.5) / 2
        (acrobot(math.pi / 2, 0.0, -0.5, 0.0), 0.0),  # sinking
        (acrobot(math.pi / 2, 0.0, 0.0, 1.0), 0.5),  # the second link alone
        (acrobot(math.pi / 2, -math.pi / 2, 1.0, 5.0), 0.5),  # the second link hangs: its turning is level
        (acrobot(math.pi / 2, 0.0, 4.0, 4.0), 1.0),  # faster than counts
        (acrobot(0.0, 0.0, 3.0, 3.0), 0.0),  # hanging: the tip moves sideways
    ],
)
def test_acrobot_velocity(obs, velocity):
    assert label("acrobot", "quantitative", "velocity", obs) == pytest.approx(velocity, abs=1e-12)


def test_acrobot_velocity_is_the_derivative_of_the_height():
    from rewardspec.lab.tasks.environments.acrobot import tip_height, tip_velocity

    theta1, theta2, speed1, speed2, h = 0.7, -1.9, 1.3, -0.4, 1e-6
    before, after = (
        tip_height(np.array(acrobot(theta1 + sign * h * speed1, theta2 + sign * h * speed2))) for sign in (-1, 1)
    )
    velocity = tip_velocity(np.array(acrobot(theta1, theta2, speed1, speed2)))
    assert velocity == pytest.approx((after - before) / (2 * h), abs=1e-6)


@pytest.mark.parametrize(
    ("position", "quantitative", "boolean"),
    [
        *((-1.0, 0, 0), (0.0, 0, 0), (0.01, 0, 0), (0.02, 0.01, 0), (1.0, 0.5, 0), (1.89, 0.945, 0)),
        *((1.91, 0.955, 1), (2.0, 1, 1), (2.09, 1, 1), (2.2, 1, 0), (2.4, 1, 0)),
    ],
)
def test_cart_pole_reach_goal(position, quantitative, boolean):
    obs = [position, 0.0, 0.0, 0.0]
    assert label("cart_pole", "quantitative", "reach_goal", obs) == pytest.approx(quantitative)
    assert label("cart_pole", "boolean", "reach_goal", obs) == boolean
    assert completion("cart_pole", obs) == pytest.approx(0.5 * quantitative + 0.5)


@pytest.mark.parametrize(
    ("angle", "quantitative", "boolean"),
    [(0.0, 1, 1), (0.1045, 0.5, 1), (-0.1045, 0.5, 1), (0.209, 0, 1), (-0.209, 0, 1), (0.21, 0, 0), (-0.4, 0, 0)],
)
def test_cart_pole_balanced(angle, quantitative, boolean):
    obs = [1.0, 0.0, angle, 0.0]
    assert label("cart_pole", "quantitative", "balanced", obs) == pytest.approx(quantitative)
    assert label("cart_pole", "boolean", "balanced", obs) == boolean
    assert completion("cart_pole", obs) == pytest.approx(0.25 + 0.5 * quantitative)


@pytest.mark.parametrize(
    ("position", "proximity"), [(2.0, 1), (1.9, 1), (2.1, 1), (0.75, 0.5), (-0.4, 0), (-2.4, 0), (2.4, 1 - 0.3 / 2.3)]
)
def test_cart_pole_proximity(position, proximity):
    bonus = tasks.get("cart_pole").base_bonus
    assert float(bonus(None, None, np.array([position, 0.0, 0.0, 0.0]))) == pytest.approx(proximity)


@pytest.mark.parametrize(
    ("position", "speed", "reach_goal", "velocity"),
    [
        (-1.2, 0.0, 0.0, 0.0),
        (-0.35, 0.035, 0.5, 0.5),
        (-0.35, -0.07, 0.5, 0.0),
        (-0.35, 0.07, 0.5, 1.0),
        (0.5, 0.07, 1.0, 0.0),
        (0.5, 0.0, 1.0, 1.0),
        (0.6, -0.035, 1.0, 0.5),
    ],
)
def test_mountain_car(position, speed, reach_goal, velocity):
    obs = [position, speed]
    assert label("mountain_car", "quantitative", "reach_goal", obs) == pytest.approx(reach_goal)
    assert label("mountain_car", "quantitative", "velocity", obs) == pytest.approx(velocity)
    assert label("mountain_car", "boolean", "reach_goal", obs) == (position >= 0.5)
    assert completion("mountain_car", obs) == pytest.approx(reach_goal)


@pytest.mark.parametrize(
    ("cosine", "speed", "upright", "stabilised"),
    [
        *((1.0, 0.0, 1, 1), (-1.0, 0.0, 0, 1), (0.0, 4.0, 0.5, 0.5), (0.0, -4.0, 0.5, 0.5), (1.0, 8.0, 1, 0)),
        *((0.98, 0.079, 0.99, 1 - 0.079 / 8), (0.97, 0.081, 0.985, 1 - 0.081 / 8)),
    ],
)
def test_pendulum(cosine, speed, upright, stabilised):
    obs = [cosine, math.sqrt(1 - cosine**2), speed]
    assert label("pendulum", "quantitative", "upright", obs) == pytest.approx(upright)
    assert label("pendulum", "quantitative", "stabilised", obs) == pytest.approx(stabilised)
    assert label("pendulum", "boolean", "upright", obs) == (upright >= 0.99)
    assert label("pendulum", "boolean", "stabilised", obs) == (stabilised >= 0.99)
    assert completion("pendulum", obs) == pytest.approx(0.5 * upright + 0.5 * stabilised)


def walker(angle, speed):
    return [angle, 0.0, speed] + [0.0] * 21


@pytest.mark.parametrize(
    ("angle", "speed", "upright", "smooth"),
    [
        *((0.0, 0.12, 1, 1), (0.2, 0.17, 0.5, 0.5), (-0.2, 0.07, 0.5, 0.5), (0.4, 0.22, 0, 0), (-3.0, -1.0, 0, 0)),
        *((0.0, 0.0, 1, 0), (0.003, 0.1205, 0.9925, 0.995), (0.005, 0.122, 0.9875, 0.98)),
    ],
)
def test_bipedal_walker(angle, speed, upright, smooth):
    obs = walker(angle, speed)
    assert label("bipedal_walker", "quantitative", "upright", obs) == pytest.approx(upright, abs=1e-12)
    assert label("bipedal_walker", "quantitative", "smooth", obs) == pytest.approx(smooth, abs=1e-12)
    assert label("bipedal_walker", "boolean", "upright", obs) == (upright >= 0.99)
    assert label("bipedal_walker", "boolean", "smooth", obs) == (smooth >= 0.99)
    assert completion("bipedal_walker", obs) == pytest.approx(0.5 * upright + 0.5 * smooth, abs=1e-12)


def test_bipedal_walker_stands_still_at_reset(recording):
    first = recording("bipedal_walker").first
    smooth = tasks.get("bipedal_walker").specs["quantitative"].atom_functions["smooth"]
    assert np.all(smooth(first, None, first) == 0.0)


def lander(x=0.0, y=0.0, angle=0.0, turning=0.0, legs=(0.0, 0.0)):
    return [x, y, 0.0, 0.0, angle, turning, *legs]


@pytest.mark.parametrize(
    ("obs", "near", "there"),
    [
        (lander(), 1.0, 1.0),
        (lander(x=0.18, y=0.24), 0.8, 1.0),  # at a distance of 0.3
        (lander(x=-0.45, y=0.6), 0.5, 0.0),  # of 0.75
        (lander(y=1.5), 0.0, 0.0),
        (lander(x=2.0, y=2.0), 0.0, 0.0),
    ],
)
def test_lunar_lander_reach_landing_zone(obs, near, there):
    assert label("lunar_lander", "quantitative", "reach_landing_zone", obs) == pytest.approx(near)
    assert label("lunar_lander", "boolean", "reach_landing_zone", obs) == there


@pytest.mark.parametrize(("legs", "share"), [((0.0, 0.0), 0), ((1.0, 0.0), 0.5), ((0.0, 1.0), 0.5), ((1.0, 1.0), 1)])
def test_lunar_lander_legs(legs, share):
    assert label("lunar_lander", "quantitative", "legs_contact", lander(legs=legs)) == share
    assert label("lunar_lander", "boolean", "legs_contact", lander(legs=legs)) == (share == 1)


def test_lunar_lander_viewport_ends_at_one():
    for kind in ("boolean", "quantitative"):
        assert label("lunar_lander", kind, "outside_viewport", lander(y=1.0)) == 0.0
        assert label("lunar_lander", kind, "outside_viewport", lander(y=1.01)) == 1.0


@pytest.mark.parametrize(
    ("obs", "value"),
    [
        (lander(), 0.99),
        (lander(angle=math.pi / 4, turning=-1.0), 0.33 * (1 + 0.5 + 0.5)),
        (lander(x=0.15, angle=-math.pi, turning=9.0), 0.33 * 0.9),
        (lander(x=0.31), 0.0),  # outside the landing zone
    ],
)
def test_lunar_lander_soft_landing(obs, value):
    assert label("lunar_lander", "quantitative", "soft_landing", obs) == pytest.approx(value)


@pytest.mark.parametrize(
    ("obs", "value"),
    [
        (lander(legs=(1.0, 1.0)), 1.0),
        (lander(), 0.8),
        (lander(y=0.75, legs=(1.0, 0.0), angle=math.pi / 4, turning=1.0), 0.2 + 0.1 + 0.1 + 0.1),
        (lander(x=2.0, angle=3.0, turning=-5.0), 0.0),
    ],
)
def test_lunar_lander_completion(obs, value):
    assert completion("lunar_lander", obs) == pytest.approx(value)
