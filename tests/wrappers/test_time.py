"""Wrappers with formulas about time: copies, what the agent is shown, and what lint knows of the environment.

That they pay what the definition says is tested with every other spec, in `test_monitor_reward` and in `vector`.
"""

import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest

from rewardspec.episodes.features import Features
from rewardspec.spec import Spec
from rewardspec.wrappers import MonitorReward, probe
from rewardspec.wrappers.vector import MonitorReward as VectorMonitorReward


def left_of_center(obs, action, next_obs):
    return (np.asarray(next_obs)[..., 0] < 0.0) * 1.0


def falling(obs, action, next_obs):
    return np.clip(np.abs(np.asarray(next_obs)[..., 2]), 0.0, 1.0)


ATOMS = {"left": left_of_center, "falling": falling}


class Still(gym.Env):
    """Nothing ever happens."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (3,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(3, dtype=np.float32), {}

    def step(self, action):
        return np.full(3, 0.25 * action, dtype=np.float32), 0.0, False, False, {}


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
@pytest.mark.parametrize("vector", [False, True])
def test_a_copy_within_a_window_of_a_thousand_steps_goes_its_own_way(duplicate, vector):
    spec = Spec([("G(falling -> F[0,1000] left)", 1, False)], atoms=ATOMS)
    if vector:
        envs = gym.vector.SyncVectorEnv([Still, Still], autoreset_mode=gym.vector.AutoresetMode.DISABLED)
        env, actions = VectorMonitorReward(envs, spec), np.array([[0, 1], [1, 1]])
    else:
        env, actions = MonitorReward(Still(), spec), [0, 1]
    env.reset(seed=0)
    for t in range(700):
        env.step(actions[t % 2])
    other = duplicate(env)
    rewards = [env.step(actions[1])[1] for _ in range(5)]
    again = [other.step(actions[1])[1] for _ in range(5)]
    np.testing.assert_array_equal(rewards, again)


def test_the_agent_sees_how_near_a_deadline_is():
    spec = Spec([("G(key -> F[0,5] door)", 1)])
    features = Features(spec, "registers")
    place = features.names.index("recent lasts")
    state, shown = spec.start({"key": 0.0, "door": 0.0}), []
    for t in range(8):
        state, _ = spec.step(state, {"key": float(t == 1), "door": 0.0})
        shown.append(features.read(state)[place])
    assert shown == [1.0, 1.0, 0.8, 0.6, 0.4, 0.2, 0.0, 0.0]


@pytest.mark.parametrize("formula", ["now (p & Y[5] true)", "now (p & WY[5] false)", "F(H[0,5] p & Y[5] true)"])
def test_the_agent_sees_how_much_is_left_of_a_delay_of_a_constant(formula):
    spec = Spec([(formula, 1)])
    features = Features(spec, "registers")
    one, many = spec.start({"p": 1.0}), spec.start({"p": np.ones(2)})
    seen = []
    for _ in range(5):  # from then on, every step is kept
        seen.append(features.read(one))
        np.testing.assert_array_equal(features.read_batch(many, 2), [seen[-1]] * 2)
        one, many = spec.step(one, {"p": 1.0})[0], spec.step(many, {"p": np.ones(2)})[0]
    assert len(set(seen)) == 5


def test_with_labels_of_0_and_1_what_the_agent_sees_decides_what_it_is_paid():
    """Equal numbers and equal labels from then on mean equal rewards."""
    rng = np.random.default_rng(0)
    for formula in ("G(a -> F[0,4] b)", "now H[0,3] a", "now (a S[0,4] b)", "G(a -> (b U[0,3] a))", "F(a & F[0,5] b)"):
        spec = Spec([(formula, 1, False)])
        features = Features(spec, "registers")
        first = {atom: rng.integers(2, size=400).astype(float) for atom in spec.atoms}
        state = spec.start(first)
        for _ in range(12):
            state, _ = spec.step(state, {atom: rng.integers(2, size=400).astype(float) for atom in spec.atoms})
        seen = features.read_batch(state, 400)
        groups = np.unique(seen, axis=0, return_inverse=True)[1].reshape(-1)
        assert 1 < groups.max() + 1 < 200
        for _ in range(12):
            labels = {atom: np.full(400, float(rng.integers(2))) for atom in spec.atoms}
            state, rewards = spec.step(state, labels)
            for group in range(groups.max() + 1):
                assert len(set(rewards[groups == group])) == 1, formula


def test_wrappers_tell_lint_how_long_episodes_are_and_what_is_shown():
    spec = Spec([("F[0,900] left", 1), ("F falling", 1)], atoms=ATOMS)
    env = MonitorReward(gym.make("CartPole-v1"), spec, "registers")
    assert {finding.rule for finding in env.lint()} == {"bound-past-limit", "deadline-vetoes", "unseen-window"}
    assert "the extremum and how long it will last" in str(env.lint())
    envs = VectorMonitorReward(gym.make_vec("CartPole-v1", 2), spec)
    found = {finding.rule: finding for finding in envs.lint()}
    assert set(found) == {"bound-past-limit", "deadline-vetoes", "unseen-window"}
    assert found["unseen-window"].remedy == "Pass observe='registers'."
    around = MonitorReward(gym.wrappers.TimeLimit(Still(), 20), spec)
    assert "episodes end after 20" in str(around.lint())
    assert "bound-past-limit" not in {finding.rule for finding in MonitorReward(Still(), spec).lint()}


def test_a_probe_tells_what_its_episodes_are_too_short_for():
    spec = Spec([("F[600,900] left", 1, False), ("F[0,900] falling", 1, False)], atoms=ATOMS)
    found = {finding.rule: finding.pair for finding in probe(gym.make("CartPole-v1"), spec, episodes=2).findings}
    assert found["out-of-time"] == 0
    assert found["bound-past-limit"] == 1
