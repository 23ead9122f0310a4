"""Algorithms of Stable-Baselines3 as learners: their logs, their policies, and what is refused."""

import dataclasses
import json

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import Spec
from rewardspec.errors import Error, PolicyFileError
from rewardspec.lab.learning.playing import ModelPlayer, Player, play
from rewardspec.lab.learning.policies import load_policy
from rewardspec.lab.learning.sb3_training import make_env
from rewardspec.lab.learning.settings import SB3
from rewardspec.lab.learning.training import default_config, train, with_learner
from rewardspec.lab.tasks import Measure, Task
from rewardspec.wrappers import MultiTask
from rewardspec.wrappers.probing import probe

pytest.importorskip("stable_baselines3")

import stable_baselines3

POLE = Task.from_env(
    "CartPole-v1",
    Spec([("G up", 1), ("F G up", 1)], atoms={"up": "1 - clip(abs(next_obs[2]) / 0.21, 0, 1)"}),
    measures={"long": Measure(lambda ending: ending.length >= 20, reads="ending")},
    learner="sb3:PPO",
)
SIDES = ("next_obs[0] < -0.02", "next_obs[0] > 0.02")
SMALL = {"total_steps": 128, "n_steps": 32, "batch_size": 32, "n_epochs": 1, "envs": 2}


@pytest.fixture(scope="module")
def training():
    return train(POLE, POLE.spec("spec"), observe="registers", config=default_config(POLE, SMALL), seeds=[3, 4])


def test_every_episode_is_logged_as_it_was_paid(training):
    log = training.log
    assert log.runs == 2
    for run in range(2):
        rows = log.episodes_of(run)
        assert 0 < log.length[rows].sum() <= 128
        assert (np.diff(log.end_step[rows]) >= 0).all()
    np.testing.assert_array_equal(log.base_reward, log.length)  # CartPole pays 1 a step
    np.testing.assert_array_equal(log.measures["long"], log.length >= 20)
    assert (log.reward < 2 * log.length).all()
    again = train(POLE, POLE.spec("spec"), observe="registers", config=default_config(POLE, SMALL), seeds=[4]).log
    np.testing.assert_array_equal(again.reward, log.reward[log.episodes_of(1)])


def test_a_policy_is_kept_without_pickle_and_plays_the_same(training, tmp_path):
    policy = training.policy
    policy.save(tmp_path / "policy.npz")
    with np.load(tmp_path / "policy.npz", allow_pickle=False) as arrays:
        assert {arrays[name].dtype.kind for name in arrays.files} == {"f", "U"}
    loaded = load_policy(tmp_path / "policy.npz")
    assert loaded.learner.options == {}  # what it was trained with, its policy does not depend on
    for run in range(2):
        assert play(loaded, run=run, seed=1).rewards == play(policy, run=run, seed=1).rewards
    with_arrays = dataclasses.replace(policy, arrays={**policy.arrays, "extra": np.zeros((2, 1))})
    with_arrays.save(tmp_path / "policy.npz")
    with pytest.raises(PolicyFileError, match="its arrays are"):
        load_policy(tmp_path / "policy.npz")


def test_a_file_cannot_ask_for_a_network_of_any_size(training, tmp_path):
    learner = SB3(algorithm="PPO", options={"policy_kwargs": {"net_arch": [64, 10**5]}})
    with pytest.raises(PolicyFileError, match="too large"):
        dataclasses.replace(training.policy, learner=learner).save(tmp_path / "policy.npz")
    from rewardspec.lab.learning import array_files

    header = {"format": "rewardspec policy 1", "kind": "sb3", "task": "CartPole-v1", "spec": None, "observe": None}
    header |= {"seeds": [0], "learner": dataclasses.asdict(learner)}
    (tmp_path / "policy.npz").write_bytes(array_files.write_arrays(json.loads(json.dumps(header)), {}))
    with pytest.raises(PolicyFileError, match="too large"):
        load_policy(tmp_path / "policy.npz")


def test_a_policy_that_sees_its_registers_plays_under_another_spec(training):
    other = Spec([("F far", 1)], atoms={"far": "abs(next_obs[0]) > 1"})
    with POLE.make() as env:
        seen = probe(env, other, episodes=2, policy=Player(training.policy, env, 1))
    assert seen.lengths.tolist() == [len(play(training.policy, run=1, seed=seed).actions) for seed in (0, 1)]


def test_a_model_whose_observations_fit_twice_is_played_only_when_told_which():
    spec = POLE.spec("spec")
    with make_env(POLE, spec, "values") as env:
        model = stable_baselines3.PPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu")
        with make_env(POLE, spec, "registers") as other:
            assert other.observation_space.shape == env.observation_space.shape
    with pytest.raises(Error, match="registers and values have one shape"):
        ModelPlayer(model, POLE, spec)
    with POLE.make() as env:
        assert probe(env, spec, episodes=1, policy=ModelPlayer(model, POLE, spec, "values")).lengths.tolist() > [0]
    with pytest.raises(Error, match="takes observations of Box"):
        ModelPlayer(model, POLE, spec, "nothing")


@pytest.mark.parametrize("observe", [None, "registers"])
def test_a_model_that_stable_baselines3_saved_plays(observe):
    spec = POLE.spec("spec")
    with make_env(POLE, spec, observe) as env:
        model = stable_baselines3.PPO("MlpPolicy", env, n_steps=64, seed=0, device="cpu")
        observation, _ = env.reset(seed=5)
        steps, over = 0, False
        while not over:
            observation, _, terminated, truncated, _ = env.step(model.predict(observation, deterministic=True)[0])
            steps, over = steps + 1, terminated or truncated
    with POLE.make() as env:
        seen = probe(env, spec, episodes=1, seed=5, policy=ModelPlayer(model, POLE, spec, observe))
    assert seen.lengths.tolist() == [steps]
    other = Task.from_env("MountainCar-v0")
    with pytest.raises(Error, match="takes observations of Box"):
        ModelPlayer(model, other, Spec([("F a", 1)], atoms={"a": "next_obs[0] > 0"}))


def test_transitions_are_learned_in_other_states_of_the_monitor_too(monkeypatch):
    from rewardspec.lab.learning import sb3_training

    made, make_model = [], sb3_training.make_model
    monkeypatch.setattr(sb3_training, "make_model", lambda *given: made.append(make_model(*given)) or made[-1])
    atoms = dict(zip(("left", "right"), SIDES, strict=True))
    spec = Spec([("F(left & F right)", 1)], atoms=atoms, payment="delta")
    task = Task.from_env("CartPole-v1", learner="sb3:DQN")
    for counterfactual in (False, True):
        changes = {"total_steps": 200, "learning_starts": 50, "counterfactual": counterfactual}
        train(task, spec, observe="registers", config=default_config(task, changes), seeds=[0])
    plain, further = (model.replay_buffer.size() for model in made)
    assert plain == 200
    assert further > 300
    train(task, None, config=default_config(task, changes), seeds=[0])  # the environment's own reward has no monitor
    assert made[-1].replay_buffer.size() == 200


@pytest.mark.parametrize("discrete", [False, True])
def test_transitions_of_several_tasks_are_learned_in_the_other_tasks_too(discrete, monkeypatch):
    from rewardspec.lab.learning import sb3_training

    made, make_model = [], sb3_training.make_model
    monkeypatch.setattr(sb3_training, "make_model", lambda *given: made.append(make_model(*given)) or made[-1])
    name, sides = ("FrozenLake-v1", ("next_obs == 4", "next_obs == 1")) if discrete else ("CartPole-v1", SIDES)
    atoms = dict(zip(("left", "right"), sides, strict=True))
    specs = [Spec([(f, 1)], atoms=atoms, payment="delta") for f in ("F(left & F right)", "F(right & F left)")]
    task = Task.from_env(lambda: MultiTask(gym.make(name), specs), name="sides", learner="sb3:DQN")
    for counterfactual in (False, True):
        changes = {"total_steps": 120, "learning_starts": 50, "counterfactual": counterfactual}
        log = train(task, None, config=default_config(task, changes), seeds=[0]).log
        assert discrete or (log.base_reward == log.length).all()  # that of the environment inside
    plain, further = (model.replay_buffer for model in made)
    assert plain.size() == 120
    assert further.size() > 240
    assert further.spec == tuple(specs)


@pytest.mark.parametrize(
    ("env", "learner", "observe", "message"),
    [
        ("CartPole-v1", "sb3:PPO", "registers", "needs a learner with a replay buffer, such as sb3:DQN"),
        ("CartPole-v1", "sb3:DQN", None, "needs the registers to be observed"),
        ("FrozenLake-v1", "sb3:DQN", "registers", "needs observations that are a flat Box.*MODULE:FUNCTION"),
    ],
)
def test_what_has_no_counterfactual_experience_is_told(env, learner, observe, message):
    task = Task.from_env(env, learner=learner)
    spec = Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: True})
    config = default_config(task, {"total_steps": 10, "counterfactual": True})
    with pytest.raises(Error, match=message):
        train(task, spec, observe=observe, config=config, seeds=[0])


class Words(gym.Env):
    """Observations that SB3 does not take as they are."""

    observation_space = gym.spaces.Dict(
        {"place": gym.spaces.Discrete(3), "at": gym.spaces.Box(0, 1, (2, 2)), "mission": gym.spaces.Text(5)}
    )
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return {"place": 1, "at": np.full((2, 2), 0.5, np.float32), "mission": "go"}, {}


def test_observations_are_flattened_and_texts_left_out():
    spec = Spec([("F a", 1)], atoms={"a": lambda obs, action, next_obs: 0.25})
    env = make_env(Task.from_env(Words, name="words"), spec, "registers")
    observation, _ = env.reset()
    assert env.observation_space.shape == (3 + 4 + 1,)
    assert observation in env.observation_space
    assert sorted(observation.tolist()) == [0.0, 0.0, 0.25, 0.5, 0.5, 0.5, 0.5, 1.0]


@pytest.mark.parametrize(
    ("learner", "changes", "message"),
    [
        ("sb3:PPOO", {}, "no algorithm 'PPOO'; known: A2C, .*Did you mean 'PPO'"),
        ("sb3:SAC", {}, "SAC cannot be made for this environment"),
        ("sb3:PPO", {"n_stepz": 4}, "unexpected keyword argument 'n_stepz'"),
        ("ppo", {"n_steps": 4}, "PPO has no setting 'n_steps'. Did you mean 'rollout_steps'"),
        (
            "ppo",
            {"zzz": 1},
            "PPO has no setting 'zzz'. Its settings: anneal, .*, rollout_steps, .*, value_coefficient.",
        ),
        ("sb3:PPO", {"envs": 0}, "`envs` should be at least 1"),
        ("dqn", {}, "ppo, q-learning, or sb3:NAME"),
        ("q-learning", {}, "has no transition table"),
    ],
)
def test_what_cannot_be_learned_with_is_refused(learner, changes, message):
    pole = Task.from_env("CartPole-v1")
    with pytest.raises(Error, match=message):
        train((task := with_learner(pole, learner)), None, config=default_config(task, changes), seeds=[0])
