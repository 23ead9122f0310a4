"""Training as one compiled program: log, checkpoints and errors."""

import dataclasses

import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.errors import Error, LabelError
from rewardspec.lab.learning.array_files import Checkpoint
from rewardspec.lab.learning.device_training import checked_device, computing_on, is_compilable, learn_actors_compiled
from rewardspec.lab.learning.settings import PPO
from rewardspec.lab.learning.training import train
from rewardspec.lab.tasks.measures import Measure
from rewardspec.lab.tasks.task import Task
from rewardspec.spec import Spec

jax = pytest.importorskip("jax")
SMALL = PPO.discrete(total_steps=7 * 256, rollout_steps=64)
CONTINUOUS = PPO.continuous(total_steps=7 * 256, rollout_steps=256, minibatches=4)
POLE = {"up": lambda o, a, n: 1.0 - abs(n[..., 2]) / 0.5}


def columns(log):
    return {name: column for name, column in log.columns().items() if name != "seconds"}


def assert_equal(ours, theirs):
    (log, arrays), (other, same) = ours, theirs
    assert list(columns(log)) == list(columns(other))
    for name, column in columns(log).items():
        np.testing.assert_array_equal(column, columns(other)[name])
    assert list(arrays) == list(same)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, same[name])


@pytest.mark.parametrize("name", ["cart_pole", "pendulum"])
def test_a_run_that_was_interrupted_goes_on_to_the_same_result(name, tmp_path):
    task = tasks.get(name)
    arguments = task, task.spec("quantitative"), "registers", CONTINUOUS if task.continuous else SMALL, [3, 4]
    whole = learn_actors_compiled(*arguments)
    checkpoint = Checkpoint(tmp_path / "here.npz", {"what": name}, pace=0.0)
    total = 7 * 256 * 2

    def interrupt(done, _):
        if done >= total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn_actors_compiled(*arguments, interrupt, checkpoint=checkpoint)
    assert checkpoint.path.exists()
    told = []
    again = learn_actors_compiled(*arguments, lambda done, _: told.append(done), checkpoint=checkpoint)
    assert told[0] > total // 2
    assert told[-1] == total
    assert_equal(whole, again)
    assert not checkpoint.path.exists()


def test_a_checkpoint_of_something_else_or_a_damaged_one_is_not_used(tmp_path):
    tree, columns = {"a": np.arange(3.0)}, {"run": np.arange(2)}
    saved = Checkpoint(tmp_path / "file", {"seeds": [1]})
    saved.save(tree, columns, 4, 1.5)
    [leaf], _, done, seconds = saved.load(tree)
    assert (done, seconds) == (4, 1.5)
    np.testing.assert_array_equal(leaf, tree["a"])
    assert Checkpoint(tmp_path / "file", {"seeds": [2]}).load(tree) is None
    assert saved.load({"a": np.arange(4.0)}) is None
    content = saved.path.read_bytes()
    for size in (0, 10, len(content) // 2, len(content) - 1):
        saved.path.write_bytes(content[:size])
        assert saved.load(tree) is None
    assert Checkpoint(tmp_path / "none", {}).load(tree) is None


def test_the_log_is_that_of_the_episodes():
    task = tasks.get("cart_pole").replace(max_episode_steps=40)
    log, arrays = learn_actors_compiled(task, None, None, SMALL, [1, 2, 3])
    assert log.runs == 3
    assert list(log.measures) == list(task.measures)
    assert log.length.max() <= 40
    assert not log.violated.any()
    for run in range(3):
        rows = log.episodes_of(run)
        ends = log.end_step[rows]
        assert (np.diff(ends) >= 0).all()
        assert (ends % SMALL.envs == 0).all()
        # The four environments' episodes fill their steps, but for the episodes that have not ended.
        assert SMALL.total_steps - 4 * 40 < log.length[rows].sum() <= SMALL.total_steps
    np.testing.assert_array_equal(log.reward, log.base_reward)
    assert (log.base_reward > log.length).all()  # the bonus for the cart's place
    assert arrays["w0"].shape == (3, 4, 64)
    assert (np.diff(log.seconds[log.episodes_of(0)]) >= 0).all()


def test_a_measure_that_is_a_formula_is_its_value_at_the_end():
    spec = Spec([("F up & G up", 1.0, False)], POLE, payment="final")
    task = Task.from_env("CartPole-v1", spec, measures={"kept": Measure.from_formula("F up & G up")})
    log, _ = learn_actors_compiled(task, spec, None, SMALL, [1])
    assert len(log) > 20
    assert log.measures["kept"].std() > 0
    np.testing.assert_allclose(log.measures["kept"], log.reward, rtol=1e-6)


def test_training_gives_a_policy_that_plays(tmp_path):
    task = tasks.get("pendulum")
    training = train(task, task.spec("boolean"), config=CONTINUOUS, seeds=[5], observe="registers", device="cpu")
    training.policy.save(tmp_path / "policy.npz")
    from rewardspec.lab.learning.policies import load_policy

    loaded = load_policy(tmp_path / "policy.npz")
    np.testing.assert_array_equal(loaded.arrays["mean"], training.policy.arrays["mean"])


def test_it_learns_to_balance_a_pole():
    plain = dataclasses.replace(tasks.get("cart_pole"), base_bonus=None)
    log, _ = learn_actors_compiled(plain, None, None, PPO.discrete(total_steps=60_000), range(4))
    late = log.end_step > 50_000
    assert log.base_reward[~late & (log.end_step < 10_000)].mean() < 60
    assert log.base_reward[late].mean() > 100


def test_what_cannot_be_learned_from_stops_the_training():
    task = Task.from_env("CartPole-v1")
    low = Spec([("F up", 1)], {"up": lambda o, a, n: n[..., 2] - 3.0})
    with pytest.raises(LabelError, match=r"The label of 'up' should be in \[0, 1\]"):
        learn_actors_compiled(task, low, None, SMALL, [1])
    endless = task.replace(base_bonus=lambda o, a, n: n[..., 0] / 0.0)
    with pytest.raises(Error, match=r"A reward or an observation of CartPole-v1 in run 0, after \d+ steps or before"):
        learn_actors_compiled(endless, None, None, SMALL, [1])


def test_what_cannot_be_compiled_is_told():
    numpy_only = Spec([("F up", 1)], {"up": lambda o, a, n: float(np.clip(n[2], 0, 1))})
    with pytest.raises(Error, match=r"A step of CartPole-v1 cannot be compiled: .* choose device 'host'"):
        learn_actors_compiled(Task.from_env("CartPole-v1"), numpy_only, None, SMALL, [1])
    with pytest.raises(Error, match=r"no environment in JAX for Lunar Lander"):
        learn_actors_compiled(tasks.get("lunar_lander"), None, None, SMALL, [1])
    assert is_compilable(tasks.get("acrobot"))
    assert not is_compilable(tasks.get("taxi"))
    with pytest.raises(Error, match=r"should be one of host, cpu, gpu, tpu\. Received 'gpo'\. Did you mean 'gpu'"):
        checked_device("gpo")
    with pytest.raises(Error, match=r"JAX finds no device 'tpu' here"), computing_on("tpu"):
        pass
