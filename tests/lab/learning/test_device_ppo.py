"""The compiled learner does what the learner on the host does."""

import dataclasses

import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.episodes.engine import Engine, Transition
from rewardspec.episodes.features import Features
from rewardspec.lab.learning.device_training import compiled_ppo
from rewardspec.lab.learning.normalization import Moments, RewardScale
from rewardspec.lab.learning.ppo_update import advantages, compiled_update
from rewardspec.lab.learning.settings import PPO
from rewardspec.lab.learning.spaces import Actions

jax = pytest.importorskip("jax")


@pytest.mark.parametrize(
    ("name", "payment"), [("cart_pole", "value"), ("mountain_car", "delta"), ("acrobot", "potential")]
)
def test_a_rollout_pays_and_shows_what_the_scalar_monitor_does(name, payment):
    task = tasks.get(name).replace(max_episode_steps=30)
    spec = task.spec("quantitative", payment=payment, penalty=-1.0)
    config = PPO(rollout_steps=100, envs=2, minibatches=1)
    program = compiled_ppo(task, spec, "registers", config, 1)
    carry = jax.tree.map(lambda leaf: leaf[0], program.initial([4]))
    _, rollout, record = jax.jit(program.collect)(carry, jax.random.key(1))
    rollout, kept = jax.tree.map(np.asarray, (rollout, record["kept"]))
    engine, features, ended = Engine(spec), Features(spec, "registers"), 0
    size = len(features.names)
    for env in range(2):
        obs = rollout["obs"][:, env]
        state, _ = engine.start(obs[0, :-size])
        total, length = 0.0, 0
        for t in range(100):
            np.testing.assert_allclose(obs[t, -size:], features.read(state), atol=1e-6)
            done, cut = rollout["dones"][t, env] > 0, rollout["truncated"][t, env] > 0
            last = rollout["last_obs"][t, env]
            action = int(rollout["actions"][t, env])
            over = done and not cut
            base = -1.0 if payment == "potential" and not over else 0.0  # acrobot's own reward, which it adds to
            transition = Transition(obs[t, :-size], action, last[:-size], None, base, over, cut)
            state, step = engine.advance(state, transition)
            assert rollout["rewards"][t, env] == pytest.approx(step.reward, abs=1e-4)
            np.testing.assert_allclose(last[-size:], features.read(state), atol=1e-6)
            total, length = total + step.reward, length + 1
            assert kept["done"][t, env] == done
            if done:
                assert kept["reward"][t, env] == pytest.approx(total, abs=1e-3)
                assert kept["length"][t, env] == length
                assert kept["violated"][t, env] == step.violated
                measured = task.task_completion(last[:-size])
                assert kept["task_completion"][t, env] == pytest.approx(measured, abs=1e-6)
                ended += 1
            if done and t < 99:
                state, _ = engine.start(obs[t + 1, :-size])
                total, length = 0.0, 0
    assert ended >= 4


@pytest.mark.parametrize("scaled", [False, True])
def test_actions_are_those_of_the_host(scaled):
    task = tasks.get("pendulum")
    program = compiled_ppo(task, None, None, PPO.continuous(scale_actions=scaled), 1)
    outputs = np.float32([[-1.5], [0.25], [1.5]])
    played = Actions(task.make().action_space, scaled=scaled).played(outputs)
    assert program._played(outputs).tolist() == played.tolist() == ([[-2], [0.5], [2]] if scaled else outputs.tolist())


@pytest.mark.parametrize("name", ["cart_pole", "pendulum"])
def test_an_update_is_that_of_the_host_on_the_same_rollout(name):
    task = tasks.get(name)
    settings = {"rollout_steps": 64, "minibatches": 4, "epochs": 2, "total_steps": 640}
    config = (PPO.continuous if task.continuous else PPO.discrete)(**settings)
    program = compiled_ppo(task, None, None, config, 2)
    carry, keys = program.initial([3, 9]), program.keys([3, 9])
    parts = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(jax.random.split(key)[1], 2)))(keys)
    _, rollout, _ = jax.vmap(program.collect)(carry, parts[:, 0])
    initial_memory, update = compiled_update(config, continuous=task.continuous)
    before = jax.tree.map(np.array, carry.parameters)
    share = 1.0 - 2 / 8
    rate = np.float32(config.learning_rate * share)
    theirs, _, _ = update(before, initial_memory(before), rate, parts[:, 1], jax.tree.map(np.asarray, rollout))
    ours, _ = program.advance(carry, keys, 2, 1, 8)
    for mine, other in zip(jax.tree.leaves(ours.parameters), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_advantages_are_sums_of_discounted_differences(seed):
    rng = np.random.default_rng(seed)
    config = PPO(discount=0.9, gae_lambda=0.7)
    rewards, values = rng.normal(size=(2, 12, 3))
    dones = (rng.random((12, 3)) < 0.25) * 1.0
    after = np.concatenate([values[1:], rng.normal(size=(1, 3))])
    expected = np.zeros((12, 3))
    for t in range(12):
        for env in range(3):
            for k in range(t, 12):
                future = 0.0 if dones[k, env] else 0.9 * after[k, env]
                expected[t, env] += (0.9 * 0.7) ** (k - t) * (rewards[k, env] + future - values[k, env])
                if dones[k, env]:
                    break
    found = advantages(rewards, dones, values, after[-1], config)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_normalization_in_jax_is_that_of_numpy():
    rng = np.random.default_rng(0)
    ours, theirs = Moments.initial((1, 3)), jax.tree.map(np.float32, Moments.initial((1, 3)))
    scale, other = RewardScale.initial(1, 4), jax.tree.map(np.float32, RewardScale.initial(1, 4))
    update = jax.jit(lambda moments, samples, counted: moments.updated(samples, counted).updated(samples))
    rescale = jax.jit(lambda scale, rewards, terminated: scale.scaled(rewards, terminated, 0.9))
    for _ in range(50):
        samples, counted = rng.normal(2.0, 3.0, size=(1, 4, 3)), rng.random((1, 4)) < 0.5
        ours = ours.updated(samples, counted).updated(samples)
        theirs = update(theirs, np.float32(samples), counted)
        np.testing.assert_allclose(theirs.normalize(jax.numpy.float32(samples)), ours.normalize(samples), atol=1e-4)
        rewards, terminated = rng.normal(size=(1, 4)), rng.random((1, 4)) < 0.2
        scale, scaled = scale.scaled(rewards, terminated, 0.9)
        other, same = rescale(other, np.float32(rewards), terminated)
        np.testing.assert_allclose(same, scaled, rtol=1e-4, atol=1e-5)


def test_observations_are_normalized_by_all_that_were_seen():
    task = tasks.get("pendulum").replace(max_episode_steps=20)
    config = PPO.continuous(rollout_steps=50, minibatches=1, envs=2)
    program = compiled_ppo(task, None, None, config, 1)
    plain = dataclasses.replace(program, config=dataclasses.replace(config, normalize_observations=False))
    carries = [jax.tree.map(lambda leaf: leaf[0], one.initial([4])) for one in (program, plain)]
    (after, rollout, _), (_, seen, _) = (
        jax.jit(one.collect)(carry._replace(parameters=_blind(carry.parameters)), jax.random.key(1))
        for one, carry in zip((program, plain), carries, strict=True)
    )
    moments = Moments.initial((1, 3)).updated(np.asarray(seen["obs"][0])[None])
    for t in range(50):
        np.testing.assert_allclose(rollout["obs"][t], moments.normalize(np.asarray(seen["obs"][t])[None])[0], atol=2e-3)
        done = np.asarray(seen["dones"][t]) > 0
        moments = moments.updated(np.asarray(seen["last_obs"][t])[None], done[None])
        now = seen["next_obs"] if t == 49 else seen["obs"][t + 1]
        moments = moments.updated(np.asarray(now)[None])
    np.testing.assert_allclose(after.observations.mean, moments.mean, rtol=1e-3, atol=1e-4)


def _blind(parameters):
    """Networks whose outputs do not depend on the observation."""
    actor = {name: array * 0 for name, array in parameters["actor"].items()}
    return {**parameters, "actor": actor}
