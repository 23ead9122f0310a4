import gymnasium as gym
import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.learning.env_batches import make_batch
from rewardspec.learning.monitored_batch import MonitoredBatch
from rewardspec.learning.networks import initial_parameters
from rewardspec.learning.rollouts import NormalizedObservations, NormalizedRewards, Rollouts, RunningMoments
from rewardspec.learning.settings import PPO
from rewardspec.spec import Spec


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
    scale = NormalizedRewards(1, 1, 0.9)
    for action, scaled in zip(seen["actions"][0], seen["rewards"][0], strict=True):
        reward = batch.step(np.clip(action, -2.0, 2.0)).reward
        np.testing.assert_allclose(scaled, scale(reward[None], np.zeros((1, 1)))[0], rtol=1e-5)


def test_running_moments_are_those_of_all_samples_together():
    samples = np.random.default_rng(0).normal(3.0, 2.0, size=(2, 500, 3))
    moments = RunningMoments((2, 3))
    for part in np.array_split(samples, 7, axis=1):
        moments.update(part)
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
    config = PPO.continuous(rollout_steps=steps, minibatches=1, bootstrap_truncated=True, normalize=normalize)
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
