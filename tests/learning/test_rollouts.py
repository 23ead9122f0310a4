import numpy as np

from rewardspec import tasks
from rewardspec.learning.batches import make_batch
from rewardspec.learning.experience import Rollouts
from rewardspec.learning.networks import initial_parameters
from rewardspec.learning.normalization import NormalisedRewards
from rewardspec.learning.paid_batch import PaidBatch
from rewardspec.learning.ppo import PPO


def test_an_episode_that_is_cut_off_ends_for_the_advantages_and_not_for_the_scale_of_rewards():
    task, steps = tasks.get("pendulum"), 260
    assert task.max_episode_steps == 200
    config = PPO.continuous(rollout_steps=steps, minibatches=1, discount=0.9)
    rollouts = Rollouts(PaidBatch(task, make_batch(task, [3]), 1, None, None), config, [3])
    seen = rollouts.collect(initial_parameters([3], 3, 1, continuous=True))
    assert np.flatnonzero(seen["dones"][0, :, 0]).tolist() == [199]

    # The same actions once more, for the rewards before they were scaled.
    batch = make_batch(task, [3])
    batch.reset()
    scale = NormalisedRewards(1, 1, 0.9)
    for action, scaled in zip(seen["actions"][0], seen["rewards"][0], strict=True):
        reward = batch.step(np.clip(action, -2.0, 2.0)).reward
        np.testing.assert_allclose(scaled, scale(reward[None], np.zeros((1, 1)))[0], rtol=1e-5)
