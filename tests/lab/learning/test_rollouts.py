import gymnasium as gym
import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.lab.learning.env_batches import make_batch
from rewardspec.lab.learning.monitored_batch import MonitoredBatch
from rewardspec.lab.learning.networks import initial_parameters
from rewardspec.lab.learning.normalization import Moments, RewardScale
from rewardspec.lab.learning.ppo import Rollouts
from rewardspec.lab.learning.settings import PPO
from rewardspec.spec import Spec


class NormalizedObservations:
    """Observations normalized by moments that take them into account already."""

    def __init__(self, runs, size):
        self.moments = Moments.initial((runs, size))

    def __call__(self, obs):
        self.moments = self.moments.updated(obs)
        return self.moments.normalize(obs)


class NormalizedRewards:
    """Rewards over a scale that takes them into account already."""

    def __init__(self, runs, envs, discount):
        self.scale, self.discount = RewardScale.initial(runs, envs), discount

    def __call__(self, rewards, terminated):
        self.scale, scaled = self.scale.scaled(rewards, terminated, self.discount)
        return scaled


def test_an_episode_that_is_cut_off_ends_for_the_advantages_and_not_for_the_scale_of_rewards():
    task, steps = tasks.get("pendulum"), 260
    assert task.max_episode_steps == 200
    config = PPO.continuous(rollout_steps=steps, minibatches=1, discount=0.9)
    rollouts = Rollouts(MonitoredBatch(task, make_batch(task, [3]), 1, None, None), config, [3])
    seen = rollouts.collect(initial_parameters([3], 3, 1, continuous=True))
    assert np.flatnonzero(seen["dones"][0, :, 0]).tolist() == [199]

    # The same actions once more, for the rewards before they were scaled.
    batch = make_batch(task, [3])
    batch.reset()
    scale = RewardScale.initial(1, 1)
    for action, scaled in zip(seen["actions"][0], seen["rewards"][0], strict=True):
        reward = batch.step(np.clip(action, -2.0, 2.0)).reward
        scale, ours = scale.scaled(reward[None], np.zeros((1, 1)), 0.9)
        np.testing.assert_allclose(scaled, ours[0], rtol=1e-5)


def test_running_moments_are_those_of_all_samples_together():
    samples = np.random.default_rng(0).normal(3.0, 2.0, size=(2, 500, 3))
    moments = Moments.initial((2, 3))
    for part in np.array_split(samples, 7, axis=1):
        moments = moments.updated(part)
    np.testing.assert_allclose(moments.mean, samples.mean(axis=1), atol=1e-4)
    np.testing.assert_allclose(moments.variance, samples.var(axis=1), atol=1e-3)


def test_one_run_of_one_environment_is_normalized_as_gymnasium_does():
    env = gym.make("Pendulum-v1")
    theirs = gym.wrappers.NormalizeReward(gym.wrappers.NormalizeObservation(env), gamma=0.99)
    observations, rewards = NormalizedObservations(1, 3), NormalizedRewards(1, 1, 0.99)
    seen, _ = theirs.reset(seed=1)
    twin = gym.make("Pendulum-v1")
    own, _ = twin.reset(seed=1)
    np.testing.assert_allclose(observations(own[None, None])[0, 0], np.clip(seen, -10, 10), atol=1e-4)
    for _ in range(450):  # past the limit of 200 steps: what is cut off has not ended
        action = env.action_space.sample()
        seen, reward, _, truncated, _ = theirs.step(action)
        own, paid, terminated, _, _ = twin.step(action)
        np.testing.assert_allclose(observations(own[None, None])[0, 0], np.clip(seen, -10, 10), atol=1e-4)
        ours = rewards(np.array([[float(paid)]]), np.array([[terminated]]))
        np.testing.assert_allclose(ours[0, 0], np.clip(reward, -10, 10), atol=1e-4)
        if truncated:
            seen, _ = theirs.reset(seed=2)
            own, _ = twin.reset(seed=2)
            np.testing.assert_allclose(observations(own[None, None])[0, 0], np.clip(seen, -10, 10), atol=1e-4)


@pytest.mark.parametrize("normalize", [False, True])
def test_truncated_episodes_are_kept_with_the_observation_they_were_cut_off_at(normalize):
    task, steps = tasks.get("pendulum"), 210
    spec = Spec([("F G up", 1)], atoms={"up": lambda o, a, n: (n[..., 0] > 0) * 1.0}, payment="delta")
    config = PPO.continuous(rollout_steps=steps, minibatches=1, normalize_observations=normalize)
    envs = MonitoredBatch(task, make_batch(task, [3]), 1, spec, "registers")
    rollouts = Rollouts(envs, config, [3])
    seen = rollouts.collect(initial_parameters([3], envs.observation_size, 1, continuous=True))
    assert np.flatnonzero(seen["truncated"][0, :, 0]).tolist() == [199]
    assert not seen["last_obs"][0, :199].any()

    batch = make_batch(task, [3])
    batch.reset()
    for action in seen["actions"][0, :200]:
        step = batch.step(np.clip(action, -2.0, 2.0))
    level = float(step.next_obs[0, 0] > 0)  # what has been paid for by then
    last = seen["last_obs"][0, 199, 0]
    if normalize:
        assert not np.allclose(last[:3], step.next_obs[0])
    else:
        np.testing.assert_allclose(last, [*step.next_obs[0], level], rtol=1e-6)
        assert not np.allclose(last, seen["obs"][0, 200, 0])  # where the next one began


def test_the_moments_of_observations_see_the_last_of_an_episode_as_gymnasiums_do():
    task, steps = tasks.get("pendulum"), 210
    config = PPO.continuous(rollout_steps=steps, minibatches=1)
    rollouts = Rollouts(MonitoredBatch(task, make_batch(task, [3]), 1, None, None), config, [3])
    seen = rollouts.collect(initial_parameters([3], 3, 1, continuous=True))
    theirs = gym.wrappers.NormalizeObservation(gym.make("Pendulum-v1"))
    theirs.reset(seed=3)
    for action in seen["actions"][0, :, 0]:
        _, _, _, truncated, _ = theirs.step(np.clip(action, -2.0, 2.0))
        if truncated:
            theirs.reset()
    moments = rollouts.observations
    assert moments.count[0, 0] == pytest.approx(steps + 2, abs=1e-3)  # two first observations among them
    np.testing.assert_allclose(moments.mean[0], theirs.obs_rms.mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(moments.variance[0], theirs.obs_rms.var, rtol=1e-4)


def test_moments_count_for_each_run_what_is_counted_there():
    samples = np.random.default_rng(0).normal(size=(2, 40, 3))
    counted = np.random.default_rng(1).random((2, 40)) < 0.4
    moments = Moments.initial((2, 3))
    moments = moments.updated(samples[:, :30], counted[:, :30])
    moments = moments.updated(samples[:, 30:], counted[:, 30:])
    moments = moments.updated(samples[:, :5], np.zeros((2, 5), dtype=bool))  # nothing
    for run in range(2):
        chosen = samples[run, counted[run]]
        np.testing.assert_allclose(moments.mean[run], chosen.mean(axis=0), atol=1e-4)
        np.testing.assert_allclose(moments.variance[run], chosen.var(axis=0), atol=1e-3)


def test_normalized_numbers_end_at_ten_on_both_sides():
    observations, rewards = NormalizedObservations(1, 1), NormalizedRewards(1, 1, 0.9)
    for _ in range(200):
        observations(np.zeros((1, 1, 1)))
        rewards(np.array([[0.001]]), np.array([[True]]))
    for sign in (-1.0, 1.0):
        # Once in two hundred times, so far from the rest that the deviation does not keep up.
        assert observations(np.full((1, 1, 1), sign * 1e6))[0, 0, 0] == pytest.approx(sign * 10.0)
        observations = NormalizedObservations(1, 1)
        for _ in range(200):
            observations(np.zeros((1, 1, 1)))
        assert rewards(np.array([[sign * 50.0]]), np.array([[True]]))[0, 0] == pytest.approx(sign * 10.0)
        rewards = NormalizedRewards(1, 1, 0.9)
        for _ in range(200):
            rewards(np.array([[0.001]]), np.array([[True]]))
