import gymnasium as gym
import numpy as np

from rewardspec.learning.normalization import NormalisedObservations, NormalisedRewards, RunningMoments


def test_running_moments_are_those_of_all_samples_together():
    samples = np.random.default_rng(0).normal(3.0, 2.0, size=(2, 500, 3))
    moments = RunningMoments((2, 3))
    for part in np.array_split(samples, 7, axis=1):
        moments.update(part)
    np.testing.assert_allclose(moments.mean, samples.mean(axis=1), atol=1e-4)
    np.testing.assert_allclose(moments.variance, samples.var(axis=1), atol=1e-3)


def test_one_run_of_one_environment_is_normalised_as_gymnasium_does():
    env = gym.make("Pendulum-v1")
    theirs = gym.wrappers.NormalizeReward(gym.wrappers.NormalizeObservation(env), gamma=0.99)
    observations, rewards = NormalisedObservations(1, 3), NormalisedRewards(1, 1, 0.99)
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
