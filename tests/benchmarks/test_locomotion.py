"""The tasks of benchmarks/locomotion.py on a point that is moved by hand: judges, formulas and staged rewards agree."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import rewardspec as rs

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

PATROL, STANDING = "patrol", "stand, then walk"


@pytest.fixture
def locomotion() -> ModuleType:
    return importlib.import_module("locomotion")


class Point(NamedTuple):
    """State of the point: its position, under the name that Brax gives observations."""

    obs: Any


def point_env() -> rs.jax.FunctionalEnvironment:
    def reset(key: Any) -> Any:
        position = jnp.array([0.0, 0.0, 0.5])
        return Point(position), position

    def step(key: Any, state: Point, action: Any) -> Any:
        position = state.obs + action
        return Point(position), position, jnp.float32(0), position[2] < 0.2, jnp.bool_(False), {}

    return rs.jax.FunctionalEnvironment(reset, step, rs.jax.Box((3,)))


def walk(*parts: tuple[float, int], limit: int, falls_at: int | None = None) -> Any:
    """Return positions of shape (limit + 1, 3): on to each x within so many steps, then a rest."""
    x = [0.0]
    for target, steps in parts:
        x.extend(np.linspace(x[-1], target, steps + 1)[1:])
    x = np.array(x + [x[-1]] * (limit + 1 - len(x)))
    height = np.full(limit + 1, 0.5)
    if falls_at is not None:
        height[falls_at:] = 0.1
    return np.stack([x, np.zeros(limit + 1), height], axis=1)


def returns(envs: rs.jax.SpecReward, positions: Any) -> Any:
    """Return the sum of rewards of the first episode of each environment that moves along the positions."""
    actions = jnp.asarray(np.diff(positions, axis=0), jnp.float32)

    def step(carry: Any, action: Any) -> Any:
        state, running, total = carry
        state, _, reward, terminated, truncated, _ = envs.step(jax.random.key(0), state, action)
        return (state, running & ~(terminated | truncated), total + running * reward), None

    count = positions.shape[1]
    state, _ = envs.reset(jax.random.key(0))
    return jax.jit(lambda carry: jax.lax.scan(step, carry, actions)[0][2])(
        (state, jnp.ones(count, bool), jnp.zeros(count))
    )


def ended(positions: Any) -> Any:
    """Return the positions with NaN after the step in which the point falls."""
    fallen = np.cumsum(positions[..., 2] < 0.2, axis=0) > 1
    return np.where(fallen[..., None], np.nan, positions)


def test_patrol(locomotion: ModuleType) -> None:
    limit = locomotion.LIMIT[PATROL]
    there = [(2.1, 60), (-2.1, 80), (2.1, 80), (-2.1, 80)]
    positions = np.stack(
        [
            walk(*there, limit=limit),
            walk(*there[:3], (-2.1, 100), limit=limit),  # just in time
            walk(*there[:2], (2.1, 120), (-2.1, 80), limit=limit),  # the third leg is too slow
            walk(*there, limit=limit, falls_at=350),
            walk((1.0, 20), limit=limit),
            walk((2.1, 40), (2.1, 60), (-2.1, 90), *there[2:], limit=limit),  # waits at the first place for too long
        ],
        axis=1,
    )
    found = locomotion.judge_patrol(ended(positions))
    assert found.success.tolist() == [True, True, False, False, False, False]
    assert found.part.tolist() == [1.0, 1.0, 0.5, 1.0, 0.0, 0.25]
    assert found.fell.tolist() == [False, False, False, True, False, False]

    envs = rs.jax.SpecReward(
        point_env(), locomotion.spec_of(PATROL), 6, "registers", limit, "first", terminate_on_violation=True
    )
    paid = np.asarray(returns(envs, positions))
    assert paid[:2] == pytest.approx([5.0, 5.0])  # never fallen, and four legs
    assert 3.5 < paid[2] < 4.0  # most of the third leg, and no fourth
    assert paid[3:5] == pytest.approx([4.0, 1.75])  # a fall costs 1
    assert 2.0 < paid[5] < 3.0  # never fallen, the first leg, and some of the second

    staged = rs.jax.SpecReward(locomotion.staged_patrol(point_env()), None, 6, limit=limit, auto_reset="first")
    paid = np.asarray(returns(staged, positions))
    assert paid[0] > 7
    assert paid[1] > 7
    assert paid[4] == pytest.approx(0.25)
    assert 3 < paid[2] < 4.5  # two bonuses
    assert paid[3] == pytest.approx(paid[0] - 1)
    assert 1 < paid[5] < 3


def test_stand_then_walk(locomotion: ModuleType) -> None:
    limit, standing = locomotion.LIMIT[STANDING], locomotion.STANDING
    positions = np.stack(
        [
            walk((0.0, standing), (4.1, 60), limit=limit),
            walk((0.0, standing), (4.1, 115), limit=limit),  # too slow
            walk((0.0, standing - 20), (4.1, 60), limit=limit),  # too early
            walk((0.0, standing), (4.1, 60), limit=limit, falls_at=155),
        ],
        axis=1,
    )
    found = locomotion.judge_standing(ended(positions))
    assert found.success.tolist() == [True, False, False, False]
    assert found.part.tolist() == [1.0, 0.5, 0.0, 1.0]

    envs = rs.jax.SpecReward(
        point_env(), locomotion.spec_of(STANDING), 4, "registers", limit, "first", terminate_on_violation=True
    )
    paid = np.asarray(returns(envs, positions))
    assert paid[0] == pytest.approx(4.0)
    assert 3.5 < paid[1] < 4.0
    assert paid[2:] == pytest.approx([-1.0, -1.0])

    staged = rs.jax.SpecReward(locomotion.staged_standing(point_env()), None, 4, limit=limit, auto_reset="first")
    paid = np.asarray(returns(staged, positions))
    assert paid[0] > 2.9
    assert 1.5 < paid[1] < 2
    assert paid[2] < 0
    assert paid[3] == pytest.approx(paid[0] - 1)
