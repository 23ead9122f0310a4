import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.learning.env_batches import make_batch
from rewardspec.learning.paid_batch import PaidBatch
from rewardspec.wrappers import MonitorReward

SEEDS = [11, 12, 13, 14]


@pytest.mark.parametrize("name", ["cart_pole", "mountain_car", "lunar_lander"])
@pytest.mark.parametrize("kind", ["boolean", "quantitative"])
@pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
def test_a_paid_batch_is_the_wrapped_environment_many_times(name, kind, payment):
    """Observations, rewards and the record of episodes, beside `MonitorReward` around each environment by itself."""
    task = tasks.get(name)
    spec = task.spec(kind, payment=payment)
    batch = PaidBatch(task, make_batch(task, SEEDS), 2, spec, "registers")
    singles = [MonitorReward(task.make(), spec, observe="registers") for _ in SEEDS]
    ours = batch.reset()
    theirs = [env.reset(seed=seed)[0] for env, seed in zip(singles, SEEDS, strict=True)]
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    episodes, sums = [], np.zeros((2, 4))
    rng = np.random.default_rng(5)
    for step in range(1, 231):
        actions = rng.integers(batch.batch.action_space.n, size=4)
        ours, rewards, *ends = batch.step(actions)
        for k, env in enumerate(singles):
            seen, reward, terminated, truncated, info = env.step(int(actions[k]))
            assert rewards[k] == pytest.approx(reward, rel=1e-5, abs=1e-5)
            assert (ends[0][k], ends[1][k]) == (terminated, truncated)
            sums[:, k] += reward, info["base_reward"]
            if terminated or truncated:
                episodes.append((k // 2, 2 * step, *sums[:, k], info["task_completion"]))
                sums[:, k] = 0.0
                seen, _ = env.reset()
            np.testing.assert_allclose(ours[k], seen, rtol=1e-4, atol=1e-4)
    log = batch.log()
    episodes.sort(key=lambda episode: episode[0])
    assert len(log) == len(episodes) > 0
    recorded = (log.run, log.end_step, log.reward, log.base_reward, log.task_completion)
    np.testing.assert_allclose(np.transpose(recorded), episodes, rtol=1e-4, atol=1e-4)


def test_without_a_spec_the_environments_own_reward_is_paid():
    task = tasks.get("cart_pole")
    batch = PaidBatch(task, make_batch(task, SEEDS), 2, None, None)
    batch.reset()
    for _ in range(60):
        batch.step(np.ones(4, dtype=np.int64))
    log = batch.log()
    np.testing.assert_array_equal(log.reward, log.base_reward)
    assert not log.violated.any()


def test_a_log_without_episodes_is_empty():
    task = tasks.get("pendulum")
    batch = PaidBatch(task, make_batch(task, SEEDS), 4, None, None)
    batch.reset()
    batch.step(np.zeros((4, 1), dtype=np.float32))
    assert (len(batch.log()), batch.log().runs) == (0, 4)
