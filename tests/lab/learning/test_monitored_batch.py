import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

import rewardspec as rs
from rewardspec import tasks
from rewardspec.lab.learning.env_batches import make_batch
from rewardspec.lab.learning.monitored_batch import MonitoredBatch
from rewardspec.lab.learning.playing import play
from rewardspec.lab.learning.settings import PPO, QLearning
from rewardspec.lab.learning.training import train
from rewardspec.lab.tasks.measures import RETURN, Measure
from rewardspec.wrappers import MonitorReward

SEEDS = [11, 12, 13, 14]


@pytest.mark.parametrize("name", ["cart_pole", "mountain_car", "lunar_lander"])
@pytest.mark.parametrize("kind", ["boolean", "quantitative"])
@pytest.mark.parametrize("payment", ["value", "delta", "potential", "final"])
def test_a_paid_batch_is_the_wrapped_environment_many_times(name, kind, payment):
    """Observations, rewards and the record of episodes, beside `MonitorReward` around each environment by itself."""
    task = tasks.get(name)
    spec = task.spec(kind, payment=payment)
    batch = MonitoredBatch(task, make_batch(task, SEEDS), 2, spec, "registers")
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
    batch = MonitoredBatch(task, make_batch(task, SEEDS), 2, None, None)
    batch.reset()
    for _ in range(60):
        batch.step(np.ones(4, dtype=np.int64))
    log = batch.log()
    np.testing.assert_array_equal(log.reward, log.base_reward)
    assert not log.violated.any()


def test_a_log_without_episodes_is_empty():
    task = tasks.get("pendulum")
    batch = MonitoredBatch(task, make_batch(task, SEEDS), 4, None, None)
    batch.reset()
    batch.step(np.zeros((4, 1), dtype=np.float32))
    assert (len(batch.log()), batch.log().runs) == (0, 4)


class Keys(gym.Env):
    """A key is found at the third step, and told in `info` alone; the observation is a dict."""

    observation_space = spaces.Dict(clock=spaces.Discrete(9), rest=spaces.Box(0, 1, (2,)))
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.clock = 0
        return self._seen(), {"key": False}

    def _seen(self):
        return {"clock": np.int64(self.clock), "rest": np.zeros(2, dtype=np.float32)}

    def step(self, action):
        self.clock += 1
        return self._seen(), -1.0, self.clock == 6, False, {"key": self.clock >= 3}


def key(obs, action, next_obs, info):
    return info["key"] * 1.0


def late(obs, action, next_obs):
    return (next_obs["clock"] >= 5) * 1.0


def keys_task(**options):
    spec = rs.Spec([("F key", 1)], atoms={"key": key, "late": late})
    return tasks.Task(name="keys", env=Keys, specs={"key": spec}, **options)


def test_specs_read_structured_observations_and_info_and_the_policy_sees_numbers():
    measures = {"late": Measure.from_formula("F late"), "return": RETURN}
    task = keys_task(measures=measures)
    batch = MonitoredBatch(task, make_batch(task, [0, 1]), 1, task.specs["key"], "registers")
    assert batch.observation_size == 9 + 2 + 1
    seen = [batch.reset()]
    paid = []
    for _ in range(7):
        shown, rewards, *_ = batch.step(np.array([0, 1]))
        seen.append(shown)
        paid.append(rewards.tolist())
    assert [row[0] for row in paid] == [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0]  # and anew in the next episode
    assert np.argmax(seen[6][0, :9]) == 0
    log = batch.log()
    assert {name: column.tolist() for name, column in log.measures.items()} == {
        "late": [1.0, 1.0],
        "return": [-6.0, -6.0],
    }


def test_ppo_learns_on_any_space_that_can_be_flattened():
    task = keys_task()
    config = PPO(total_steps=64, rollout_steps=16, envs=2, minibatches=2, epochs=1)
    training = train(task, task.specs["key"], config=config, seeds=[0], observe="registers")
    assert training.policy.arrays["w0"].shape == (1, 12, 64)
    episode = play(training.policy)
    assert episode.rewards == [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    assert episode.measures == {"return": -6.0}
    with pytest.raises(rs.Error, match="made by a function"):
        training.policy.save("keys.npz")


@pytest.mark.parametrize(
    ("name", "device"), [("CartPole-v1", "host"), ("CartPole-v1", "cpu"), ("FrozenLake-v1", "host")]
)
def test_a_rule_about_the_present_is_measured_by_its_mean_over_the_steps(name, device):
    """The rule `now φ` is what a spec pays at each step: the mean is that of the rewards."""
    cart = name == "CartPole-v1"
    atom = "clip(0.5 + next_obs[0], 0, 1)" if cart else "next_obs / 15"
    rule = rs.Spec([rs.Pair("now far", 1, payment="value")], atoms={"far": atom})
    measures = {"mean": Measure.from_rule("now far"), "end": Measure.from_formula("now far")}
    task = tasks.Task.from_env(name, {"rule": rule}, measures=measures)
    config = PPO(total_steps=1024) if cart else QLearning(episodes=30)
    log = train(task, rule, config=config, seeds=[0, 1], device=device).log
    np.testing.assert_allclose(log.measures["mean"], log.reward / log.length, rtol=1e-4, atol=1e-5)
    assert not np.allclose(log.measures["mean"], log.measures["end"])


def test_a_wrapped_environment_measures_the_mean_over_the_steps():
    rule = rs.Spec([("now far", 1)], atoms={"far": "next_obs / 15"})
    env = tasks.Task.from_env("FrozenLake-v1", {"rule": rule}, measures={"mean": Measure.from_rule("now far")}).make()
    for _ in range(2):
        env.reset(seed=1)
        seen, over = [], False
        while not over:
            obs, _, terminated, truncated, info = env.step(1)
            seen.append(obs / 15)
            over = terminated or truncated
        assert info["measures"]["mean"] == pytest.approx(np.mean(seen))
