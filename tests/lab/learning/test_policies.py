import dataclasses
from collections.abc import Iterator

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

from rewardspec import Spec, tasks
from rewardspec.errors import Error, PolicyFileError
from rewardspec.lab.learning.array_files import ArrayFile, write_arrays
from rewardspec.lab.learning.playing import play
from rewardspec.lab.learning.policies import load_policy
from rewardspec.lab.learning.settings import PPO, QLearning
from rewardspec.lab.learning.training import default_config, train
from tests.lab.experiments.fakes import content_of, job


@pytest.fixture(scope="module")
def lake_policy():
    task = tasks.get("frozen_lake")
    config = QLearning(episodes=1_500, learning_rate=0.1)
    return train(task, task.spec("boolean"), config=config, seeds=range(3), observe="registers").policy


@pytest.fixture(scope="module")
def pole_policy():
    task = tasks.get("cart_pole")
    config = PPO.discrete(total_steps=1_024)
    return train(task, task.spec("quantitative"), config=config, seeds=[1, 2], observe="registers").policy


def test_a_learned_table_crosses_the_lake(lake_policy):
    for run in range(3):
        episode = play(lake_policy, run=run)
        assert episode.task_completion == 1.0
        assert len(episode.actions) == 6
        assert len(episode.observations) == 7


def test_saving_keeps_everything(tmp_path, lake_policy, pole_policy):
    for policy in (lake_policy, pole_policy):
        policy.save(tmp_path / "policy.npz")
        loaded = load_policy(tmp_path / "policy.npz")
        assert dataclasses.replace(loaded, arrays={}) == dataclasses.replace(policy, arrays={})
        for name, array in policy.arrays.items():
            np.testing.assert_array_equal(array, loaded.arrays[name])
        assert play(loaded, run=1, seed=5).rewards == play(policy, run=1, seed=5).rewards
    assert [path.name for path in tmp_path.iterdir()] == ["policy.npz"]


def test_the_references_of_a_policy_file_can_be_refused(tmp_path, lake_policy):
    lake_policy.save(tmp_path / "policy.npz")
    with pytest.raises(PolicyFileError, match=r"cannot be used: In atom .* it names the function .* refused here"):
        load_policy(tmp_path / "policy.npz", references=False)
    atoms = {"reach_goal": "next_obs == 15", "reach_hole": "next_obs == 5"}
    plain = dataclasses.replace(lake_policy, spec=lake_policy.spec.replace(atoms=atoms))
    plain.save(tmp_path / "policy.npz")
    assert load_policy(tmp_path / "policy.npz", references=False).spec == plain.spec


def test_a_policy_is_shown_on_one_line(lake_policy):
    assert repr(lake_policy) == (
        f"<Policy for frozen_lake: table of 3 runs, paid by {lake_policy.spec!r}, observing registers; "
        "table (3, 11, 4)>"
    )
    own = dataclasses.replace(lake_policy, spec=None, observe=None, seeds=(0,))
    assert "table of 1 run, paid by the environment's own reward; table" in str(own)


def test_continuous_policies_play_within_the_bounds(tmp_path):
    task = tasks.get("pendulum")
    config = PPO.continuous(total_steps=512, rollout_steps=256, minibatches=4)
    policy = train(task, None, config=config, seeds=[0]).policy
    episode = play(policy)
    policy.save(tmp_path / "policy.npz")
    assert sorted(load_policy(tmp_path / "policy.npz").arrays) == sorted(policy.arrays)
    assert len(episode.actions) == 200
    assert np.abs(episode.actions).max() <= 2.0
    assert 0.0 <= episode.task_completion <= 1.0


class Push(gym.Env):
    """An environment that pays the action, which is between 0 and 512."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Box(0, 512, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), float(action[0]), True, False, {}


def test_actions_of_ones_own_environment_fill_their_bounds(tmp_path, monkeypatch):
    monkeypatch.setitem(gym.registry, "test/Push-v0", EnvSpec("test/Push-v0", Push))
    task = tasks.Task.from_env(
        "test/Push-v0", Spec([("F far", 1)], {"far": {"expression": "action[0] > 200", "at_reset": 0}})
    )
    config = default_config(task, {"total_steps": 256, "rollout_steps": 128, "minibatches": 4})
    training = train(task, None, config=config, seeds=[0])
    pushed = training.log.base_reward
    assert 200 < pushed.mean() < 312
    policy = training.policy
    policy.save(tmp_path / "policy.npz")
    assert load_policy(tmp_path / "policy.npz").scale_actions
    assert play(load_policy(tmp_path / "policy.npz")).actions == play(policy).actions
    assert play(policy).actions[0][0] > 100
    # A spec reads the action of the environment.
    assert train(task, task.spec("spec"), config=config, seeds=[0]).log.reward.mean() > 0.4
    # Without the setting, as in the paper, outputs are the actions.
    plain = train(task, None, config=dataclasses.replace(config, scale_actions=False), seeds=[0])
    assert plain.log.base_reward.max() < 10


def test_only_tasks_of_the_paper_play_outputs_as_they_are():
    assert not default_config(tasks.get("pendulum")).scale_actions
    assert default_config(tasks.get("Pendulum-v1", specs={})).scale_actions
    assert not default_config(tasks.get("CartPole-v1", specs={})).scale_actions


def test_a_policy_of_an_earlier_version_plays_outputs_as_they_are(tmp_path, pole_policy):
    pole_policy.save(tmp_path / "policy.npz")
    with ArrayFile(tmp_path / "policy.npz") as file:
        header, arrays = file.header(), file.read()
    del header["scale_actions"]
    (tmp_path / "policy.npz").write_bytes(write_arrays(header, arrays))
    assert not load_policy(tmp_path / "policy.npz").scale_actions


def test_a_result_of_compare_is_named_as_such(tmp_path):
    (tmp_path / "taxi.npz").write_bytes(content_of(job()))
    with pytest.raises(
        PolicyFileError, match=r"It is a result of `rewardspec compare`.*Train one with: rewardspec train"
    ):
        load_policy(tmp_path / "taxi.npz")


@pytest.mark.parametrize("content", [b"", b"not a file of ours", b"PK\x03\x04 damaged"])
def test_a_foreign_file_is_named(tmp_path, content):
    path = tmp_path / "foreign.npz"
    path.write_bytes(content)
    with pytest.raises(PolicyFileError, match=r"foreign\.npz"):
        load_policy(path)


def test_a_pickle_is_not_opened(tmp_path):
    np.savez(tmp_path / "pickle.npz", header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(PolicyFileError, match="not a policy"):
        load_policy(tmp_path / "pickle.npz")


def damaged(content: bytes, count: int) -> Iterator[bytes]:
    """A file with one byte changed, anywhere in it, and cut off, anywhere."""
    rng = np.random.default_rng(0)
    for place, change in zip(rng.integers(len(content), size=count), rng.integers(1, 256, size=count), strict=True):
        yield content[:place] + bytes([content[place] ^ change]) + content[place + 1 :]
    for length in rng.integers(len(content), size=count // 4):
        yield content[:length]


def test_damage_is_told_or_does_no_harm(tmp_path, lake_policy):
    path = tmp_path / "policy.npz"
    lake_policy.save(path)
    complaints = []
    for content in damaged(path.read_bytes(), 400):
        path.write_bytes(content)
        try:
            loaded = load_policy(path)
        except PolicyFileError as error:
            complaints.append(str(error))
        else:
            np.testing.assert_array_equal(loaded.arrays["table"], lake_policy.arrays["table"])
            assert (loaded.seeds, loaded.observe) == (lake_policy.seeds, lake_policy.observe)
    assert len(complaints) > 300
    assert all("policy.npz" in complaint for complaint in complaints)


def changed(policy, **arrays):
    return dataclasses.replace(policy, arrays={**policy.arrays, **arrays})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda p: changed(p, table=p.arrays["table"][:, :-1]), r"'table' has shape \(3, 10, 4\) of float32, not"),
        (lambda p: changed(p, table=p.arrays["table"][:2]), r"'table' has shape \(2, "),
        (lambda p: changed(p, table=np.array(1.0)), r"'table' has shape \(\) of float64"),
        (lambda p: changed(p, table=p.arrays["table"].astype(str)), "of floats"),
        (lambda p: changed(p, w0=np.zeros(3)), "its arrays are table, w0, and should be table"),
        (lambda p: dataclasses.replace(p, arrays={}), "its arrays are none, and should be table"),
        (lambda p: dataclasses.replace(p, kind="network"), "its arrays are table, and should be b0"),
        (lambda p: dataclasses.replace(p, kind="tree"), "it is of the kind 'tree'"),
        (lambda p: dataclasses.replace(p, task=tasks.Task(name="chess", env="Chess-v7")), "cannot make 'Chess-v7'"),
        (lambda p: dataclasses.replace(p, observe="register"), "Got 'register'"),
        (lambda p: dataclasses.replace(p, task=tasks.get("taxi")), "cannot be used"),
    ],
)
def test_arrays_that_are_not_those_of_the_task_are_named(change, complaint, tmp_path, lake_policy):
    path = tmp_path / "policy.npz"
    change(lake_policy).save(path)
    with pytest.raises(PolicyFileError, match=complaint) as caught:
        load_policy(path)
    assert "policy.npz" in str(caught.value)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda p: changed(p, w0=p.arrays["w0"][:, :-1]), r"'w0' has shape .* not \(2, "),
        (lambda p: changed(p, b2=p.arrays["b2"][:, :1]), r"'b2' has shape \(2, 1\)"),
        (lambda p: changed(p, mean=np.zeros((2, 4))), "and should be .*mean, variance"),
        (lambda p: changed(p, log_std=np.zeros((2, 2))), "its arrays are .*log_std.*, and should be"),
        (lambda p: dataclasses.replace(p, observe=None), r"'w0' has shape"),
        (lambda p: dataclasses.replace(p, spec=None), r"'w0' has shape"),
    ],
)
def test_layers_that_do_not_fit_are_named(change, complaint, tmp_path, pole_policy):
    path = tmp_path / "policy.npz"
    change(pole_policy).save(path)
    with pytest.raises(PolicyFileError, match=complaint):
        load_policy(path)


def test_a_header_that_says_something_else_is_told(tmp_path):
    path = tmp_path / "policy.npz"
    for header, complaint in (
        ("[]", "its header cannot be read"),
        ("[" * 100_000, "its header cannot be read"),
        ('{"format": "rewardspec policy 9"}', "It has the format 'rewardspec policy 9'"),
        ('{"format": "rewardspec policy 1"}', "its header cannot be read"),
    ):
        np.savez(path, header=np.array(header))
        with pytest.raises(PolicyFileError, match=complaint):
            load_policy(path)


def test_a_missing_file_and_a_missing_folder(tmp_path, lake_policy):
    with pytest.raises(PolicyFileError, match="No such file"):
        load_policy(tmp_path / "none.npz")
    with pytest.raises(PolicyFileError, match="No such file"):
        lake_policy.save(tmp_path / "none" / "policy.npz")


def test_a_run_that_is_not_there(lake_policy):
    with pytest.raises(Error, match="runs 0 to 2"):
        play(lake_policy, run=3)


def test_playing_closes_every_environment_it_makes(pole_policy, monkeypatch):
    opened, closed = [], []
    config = PPO.continuous(total_steps=128, rollout_steps=128, minibatches=4)
    policy = train(tasks.get("pendulum"), None, config=config, seeds=[0]).policy

    class Watched(gym.Wrapper):
        def __init__(self, env):
            super().__init__(env)
            opened.append(self)

        def close(self):
            closed.append(self)
            super().close()

    make = gym.make
    monkeypatch.setattr(gym, "make", lambda *arguments, **options: Watched(make(*arguments, **options)))
    play(policy)
    assert opened
    assert closed == opened
    monkeypatch.setattr(Watched, "step", lambda self, action: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        play(pole_policy)
    assert closed == opened


@pytest.mark.parametrize("observe", ["register", "", 3])
@pytest.mark.parametrize(("task", "config"), [("taxi", QLearning(episodes=1)), ("cart_pole", PPO(total_steps=512))])
def test_what_cannot_be_observed_is_refused_with_any_reward(task, config, observe):
    with pytest.raises(Error, match=r"`observe` should be None or one of control, registers, values. Received "):
        train(tasks.get(task), None, config=config, seeds=[0], observe=observe)


@pytest.mark.parametrize("seeds", [[], [1, 1], [-1], [2**32], 3, "ab", "12", [0.5], None])
def test_seeds_that_are_none(seeds):
    with pytest.raises(Error, match=r"`seeds` should be different integers.*such as range\(10\). Received "):
        train(tasks.get("taxi"), None, config=QLearning(), seeds=seeds)


def test_q_learning_needs_a_table():
    with pytest.raises(Error, match="CartPole has no finite table for QLearning settings"):
        train(tasks.get("cart_pole"), None, config=QLearning(), seeds=[0])


def test_policies_of_any_environment_are_saved_with_its_id(tmp_path):
    for env, config in (("FrozenLake-v1", QLearning(episodes=5)), ("CartPole-v1", PPO(total_steps=512))):
        policy = train(tasks.get(env, specs={}), None, config=config, seeds=[0]).policy
        policy.save(tmp_path / "policy.npz")
        loaded = load_policy(tmp_path / "policy.npz")
        assert loaded.task.env == env
        assert play(loaded, seed=3).rewards == play(policy, seed=3).rewards


def test_a_finite_task_can_be_learned_by_ppo_as_well(tmp_path):
    policy = train(tasks.get("taxi"), None, config=PPO(total_steps=512), seeds=[0]).policy
    assert policy.arrays["w0"].shape == (1, 500, 64)
    policy.save(tmp_path / "policy.npz")
    assert load_policy(tmp_path / "policy.npz").kind == "network"


def test_a_module_that_a_policy_names_is_not_imported_where_that_is_refused(tmp_path):
    lake = tasks.Task.from_env("gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv", max_episode_steps=9)
    train(lake, None, config=QLearning(episodes=2), seeds=[0]).policy.save(tmp_path / "policy.npz")
    load_policy(tmp_path / "policy.npz")
    with pytest.raises(PolicyFileError, match="whose module would be imported"):
        load_policy(tmp_path / "policy.npz", references=False)
