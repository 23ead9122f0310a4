"""What a task is: any environment with rewards and measures, found by name, made, measured and audited."""

from __future__ import annotations

import pickle

import gymnasium as gym
import numpy as np
import pytest

from rewardspec import Spec, tasks
from rewardspec.audit import audit_task
from rewardspec.cli import main
from rewardspec.errors import Error, SpecError, UnknownEnvironmentError
from rewardspec.lab.tasks import Ending, Measure, Task
from tests.lab.own_tasks import ATOMS, CAR, ORCHARD, Orchard

UP, DOWN, LEFT, RIGHT = range(4)
AROUND_THE_POND = [RIGHT, RIGHT, RIGHT, DOWN, DOWN, LEFT, LEFT, LEFT]
THROUGH_THE_POND = [RIGHT, RIGHT, RIGHT, DOWN, LEFT, LEFT, DOWN, LEFT]


@pytest.fixture
def orchard():
    yield tasks.register(ORCHARD)
    tasks.unregister(ORCHARD.name)


def play(env: gym.Env, actions: list) -> dict:
    env.reset(seed=0)
    for action in actions:
        *_, terminated, truncated, info = env.step(action)
        assert ("measures" in info) == (terminated or truncated)
    return info


# The thirteenth task.


def test_another_task_is_found_by_its_name_and_by_where_it_is_kept(orchard):
    assert tasks.get("Orchard") is tasks.get("tests.lab.own_tasks:ORCHARD") is orchard
    assert tasks.names()[-1] == "orchard"
    assert "orchard" not in tasks.names("paper")
    assert len(tasks.names("paper")) == 12
    assert tasks.names("own") == ("orchard",)


def test_another_task_is_audited(orchard):
    found = {finding.reward: finding for finding in audit_task(orchard)}
    assert {name: finding.verdict for name, finding in found.items()} == {
        "base": "indifferent",  # with the pond or without
        "ordered": "aligned",
        "home": "misaligned",
    }
    assert found["ordered"].best.steps == 8
    assert found["ordered"].sentence == "Every optimal policy brings the apple home safely, after 8 steps."
    assert found["ordered"].play(orchard.make(), seed=0).total == pytest.approx(found["ordered"].best.total)


def test_another_task_is_shown_and_audited_on_the_command_line(capsys):
    assert main(["envs", "tests.lab.own_tasks:ORCHARD"]) == 0
    shown = capsys.readouterr().out
    assert "Bring an apple home." in shown
    assert "F(apple & F home)" in shown
    assert main(["audit", "tests.lab.own_tasks:ORCHARD"]) == 0
    assert "ordered: aligned." in capsys.readouterr().out


def test_what_is_not_told_is_found_out():
    assert (ORCHARD.title, ORCHARD.learner, ORCHARD.continuous) == ("Orchard", "q-learning", False)
    assert (CAR.title, CAR.learner, CAR.continuous) == ("MountainCarContinuous-v0", "ppo", True)
    assert (CAR.name, CAR.max_episode_steps) == ("MountainCarContinuous-v0", 999)
    assert Task.from_env("CartPole-v1").learner == "ppo"
    assert not Task.from_env("CartPole-v1").continuous
    assert Task.from_env(Orchard).max_episode_steps is None
    assert list(Task.from_env("Taxi-v3").measures) == ["return"]


def test_a_copy_with_changes_finds_out_anew_what_was_not_told():
    changed = CAR.replace(title="Car", env="CartPole-v1", name="other")
    assert (CAR.continuous, CAR.max_episode_steps) == (True, 999)
    assert (changed.title, changed.continuous, changed.max_episode_steps) == ("Car", False, 500)
    assert ORCHARD.replace(max_episode_steps=3).make().spec.max_episode_steps == 3
    copied = pickle.loads(pickle.dumps(tasks.get("cart_pole")))
    assert copied.specs["boolean"].pairs == tasks.get("cart_pole").specs["boolean"].pairs


def test_a_changed_copy_of_a_registered_task_is_made_as_changed():
    lake = tasks.get("frozen_lake").replace(max_episode_steps=2, measures={})
    assert play(lake.make(), [0, 0])["measures"] == {"return": 0.0}
    assert lake.make().spec.id == "rewardspec/FrozenLake-v0"


# Making the environment.


@pytest.mark.parametrize("env", ["tests.lab.own_tasks:Orchard", Orchard, lambda **options: Orchard(**options)])
def test_an_environment_is_made_from_a_reference_a_class_or_a_function(env):
    made = Task.from_env(env, max_episode_steps=7, name="orchard").make(render_mode="ansi")
    assert isinstance(made.unwrapped, Orchard)
    assert made.spec.max_episode_steps == 7
    assert play(made, [UP] * 7)["measures"] == {"return": 0.0}
    assert made.render().startswith("######")


def test_an_environment_is_made_from_a_module_that_registers_it(monkeypatch, tmp_path):
    (tmp_path / "grove.py").write_text(
        "import gymnasium\ngymnasium.register('Grove-v0', 'tests.lab.own_tasks:Orchard')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    task = tasks.get("grove:Grove-v0", specs={})
    assert (task.name, task.title, task.learner) == ("Grove-v0", "Grove-v0", "q-learning")
    assert isinstance(task.make().unwrapped, Orchard)
    gym.registry.pop("Grove-v0")


def test_the_time_limit_of_a_gymnasium_id_can_be_another():
    env = Task.from_env("MountainCar-v0", max_episode_steps=5).make()
    assert env.spec.max_episode_steps == 5
    assert play(env, [0] * 5)["measures"] == {"return": -5.0}


# Measures.


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (AROUND_THE_POND, {"delivered": 1.0, "quick": 1.0, "return": 1.0}),
        ([LEFT] * 5 + AROUND_THE_POND, {"delivered": 1.0, "quick": 0.0, "return": 1.0}),
        ([DOWN] * 40, {"delivered": 0.0, "quick": 0.0, "return": 0.0}),
    ],
)
def test_every_measure_is_told_at_the_end_of_an_episode(actions, expected):
    env = ORCHARD.make()
    for _ in range(2):  # an episode leaves nothing behind for the next
        info = play(env, actions)
        assert info["measures"] == expected
        assert "task_completion" not in info


def test_a_measure_reads_a_batch_of_endings_as_it_reads_each():
    obs = np.array([[-0.5, 0.0], [0.46, 0.01]], dtype=np.float32)
    assert CAR.measure(Ending(obs, np.array([999, 80]), None, None)).tolist() == [0.0, 1.0]
    quick = ORCHARD.measures["quick"]
    lengths, ended = np.array([8, 13, 9]), np.array([True, True, False])
    together = quick(Ending(None, lengths, None, ended))
    assert together.tolist() == [quick(Ending(None, *one)) for one in zip(lengths, [None] * 3, ended, strict=True)]
    assert together.tolist() == [1.0, 0.0, 0.0]


def test_a_formula_is_no_measure_of_the_end_alone():
    with pytest.raises(TypeError, match="`F home` is not told by the end"):
        Measure.from_formula("F home")(Ending(0, 1, 0.0, True))
    with pytest.raises(Error, match="reads more of an episode than its last observation"):
        CAR.task_completion(np.zeros(2))
    assert CAR.completion is None
    assert (
        tasks.get("frozen_lake").completion(np.arange(16)).tolist()
        == tasks.get("frozen_lake").measure(Ending(np.arange(16), None, None, None)).tolist()
    )


# Mistakes.


def test_mistakes_are_told(orchard):
    with pytest.raises(UnknownEnvironmentError, match=r"'orchad'; known: .*orchard.* Did you mean 'orchard'"):
        tasks.get("orchad")
    with pytest.raises(UnknownEnvironmentError, match="CartPole-v1 is Gymnasium's own environment"):
        tasks.get("CartPole-v1")
    with pytest.raises(UnknownEnvironmentError, match="Gymnasium cannot make 'Nowhere-v0'"):
        tasks.get("Nowhere-v0", specs={})
    with pytest.raises(UnknownEnvironmentError, match="registers it too: ale_py:ALE/Nowhere-v5"):
        tasks.get("ALE/Nowhere-v5", specs={})
    with pytest.raises(UnknownEnvironmentError, match=r"no collection 'papers'; known: .* Did you mean 'paper'"):
        tasks.names("papers")
    with pytest.raises(Error, match="There is a task 'taxi' in the collection 'paper' already"):
        tasks.register(ORCHARD.replace(name="taxi"))
    with pytest.raises(Error, match=r"A task's name should be letters, digits, .* Received 'a/b'"):
        Task(name="a/b", env=Orchard)
    with pytest.raises(SpecError, match="'base' stands for the environment's own reward"):
        Task.from_env(Orchard, {"base": Spec([("F home", 1)], ATOMS)})
    with pytest.raises(SpecError, match=r"Orchard has no spec 'orderd'; it has: ordered, home. Did you mean 'ordered'"):
        ORCHARD.spec("orderd")
    with pytest.raises(SpecError, match=r"Spec objects or the paths of their files. Received 3"):
        Task.from_env(Orchard, {"mine": 3})
    with pytest.raises(SpecError, match=r"nowhere\.toml"):
        Task.from_env(Orchard, "nowhere.toml")


def test_registering_another_of_the_same_name_replaces_the_first(orchard):
    before = tasks.names()
    changed = tasks.register(ORCHARD.replace(id="tests/Orchard-v0"))
    assert tasks.names() == before
    assert tasks.get("orchard") is tasks.get("tests/Orchard-v0") is changed
    assert gym.make("tests/Orchard-v0").get_wrapper_attr("task") is changed
    assert tasks.register(ORCHARD) is tasks.get("orchard")
    assert "tests/Orchard-v0" not in gym.registry


def test_a_formula_is_measured_though_the_environment_writes_over_its_observations():
    class Counter(gym.Env):
        observation_space, action_space = gym.spaces.Box(0, 9, (1,)), gym.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            self.obs = np.zeros(1, dtype=np.float32)
            return self.obs, {}

        def step(self, action):
            self.obs += action
            return self.obs, 0.0, False, False, {}

    rises = Spec([("F rises", 1)], {"rises": lambda obs, action, next_obs: next_obs[..., 0] > obs[..., 0]})
    task = Task.from_env(Counter, rises, measures={"rises": Measure.from_formula("F rises")}, max_episode_steps=3)
    assert play(task.make(disable_env_checker=True), [0, 0, 0])["measures"] == {"rises": 0.0}
    assert play(task.make(disable_env_checker=True), [0, 1, 0])["measures"] == {"rises": 1.0}
