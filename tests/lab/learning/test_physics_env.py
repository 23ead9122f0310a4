"""The classic control environments in JAX step like Gymnasium's own."""

import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.lab.learning.physics_env import physics_env

jax = pytest.importorskip("jax")
CLASSIC = ("acrobot", "cart_pole", "mountain_car", "pendulum")


@pytest.mark.parametrize("name", CLASSIC)
def test_each_step_is_gymnasiums_from_the_same_state(name):
    task = tasks.get(name)
    env, ours = task.make(), physics_env(task)
    step = jax.jit(ours.step)
    env.action_space.seed(0)
    obs, _ = env.reset(seed=0)
    ended = 0
    for k in range(700):
        if k % 9 in (0, 1, 2, 6):  # hold some actions: random pushes alone never reach the limits of speed and track
            action = env.action_space.sample()
        state = np.asarray(env.unwrapped.state, dtype=np.float32)
        np.testing.assert_allclose(ours.physics.observe(state), obs, atol=1e-6)
        obs, reward, terminated, truncated, _ = env.step(action)
        _, mine, paid, over, cut, _ = step(jax.random.key(0), state, action)
        np.testing.assert_allclose(mine, obs, rtol=1e-4, atol=2e-5)
        np.testing.assert_allclose(paid, reward, rtol=1e-4, atol=1e-4)
        assert bool(over) == terminated
        assert not cut
        if terminated or truncated:
            ended += 1
            obs, _ = env.reset()
    assert ended


@pytest.mark.parametrize("position", [-1.2, -1.19, 0.49, 0.5])
@pytest.mark.parametrize("speed", [-0.07, 0.0, 0.07])
def test_the_wall_and_the_flag_are_gymnasiums(position, speed):
    task = tasks.get("mountain_car")
    env, ours = task.make(), physics_env(task)
    env.reset(seed=0)
    env.unwrapped.state = (position, speed)
    obs, _, terminated, _, _ = env.step(0)
    _, mine, _, over, _, _ = ours.step(jax.random.key(0), np.array([position, speed], dtype=np.float32), 0)
    np.testing.assert_allclose(mine, obs, atol=1e-6)
    assert bool(over) == terminated


@pytest.mark.parametrize("name", CLASSIC)
def test_first_states_are_drawn_as_gymnasium_draws_them(name):
    task = tasks.get(name)
    env, ours = task.make(), physics_env(task)
    states, obs = jax.vmap(ours.reset)(jax.random.split(jax.random.key(0), 2_000))
    drawn = np.array([env.reset(seed=seed) and np.array(env.unwrapped.state) for seed in range(2_000)])
    assert obs.shape == (2_000, *env.observation_space.shape)
    assert obs.dtype == np.float32
    for mine, theirs in zip(np.asarray(states).T, drawn.T, strict=True):
        width = np.ptp(theirs)
        np.testing.assert_allclose(np.quantile(mine, [0, 0.5, 1]), np.quantile(theirs, [0, 0.5, 1]), atol=0.05 * width)


def test_there_is_no_physics_for_other_environments():
    assert physics_env(tasks.get("lunar_lander")) is None
