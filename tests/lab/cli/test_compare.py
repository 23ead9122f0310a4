"""`rewardspec compare`: one's own environment and specs, from training to the report."""

import json
import re
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

from rewardspec.cli import main
from rewardspec.lab.experiments.engines import local
from rewardspec.lab.experiments.results import open_results
from tests.lab.experiments.fakes import InThisProcess

LAKE = 'atoms.goal = "next_obs == 15"\natoms.moved = "next_obs > 0"\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "goal.toml").write_text(LAKE + 'pairs = [["F goal", 10]]')
    (tmp_path / "wrong.toml").write_text('observation = ["a", "b", "c", "d", "e"]\natoms.e = "e"\npairs = [["F e", 1]]')
    (tmp_path / "both.toml").write_text(LAKE + 'pairs = [["F goal", 10], ["F moved", 1]]')
    return tmp_path


@pytest.fixture
def in_this_process(monkeypatch):
    """Jobs without worker processes, which other tests here start."""
    monkeypatch.setattr(local, "Local", InThisProcess)


SMALL = ("--seeds", "3", "--episodes", "60", "--workers", "1", "-o", "out")


def test_any_environment_is_compared_under_any_specs_and_gone_on_with(here, capsys):
    assert main(["compare", "FrozenLake-v1", "--spec", "goal.toml", "--base", *SMALL]) == 0
    captured = capsys.readouterr()
    assert "[2/2] FrozenLake-v1" in captured.err
    assert "What to see:\n  goal and Base cannot be told apart by so many runs" in captured.out
    names = {path.name for path in (here / "out").iterdir()}
    assert {"table.md", "table.csv", "curves.svg", "report.html", "summaries.json", "plan.json"} <= names
    before = {path.name: path.stat().st_mtime_ns for path in (here / "out" / "jobs").iterdir()}

    # Another spec joins the study; what is done is not done again.
    assert main(["compare", "FrozenLake-v1", "--spec", "both.toml", "--spec", "goal.toml", "--base", *SMALL]) == 0
    assert "2 of 3 jobs are done already." in capsys.readouterr().err
    after = {path.name: path.stat().st_mtime_ns for path in (here / "out" / "jobs").iterdir()}
    assert {name: after[name] for name in before} == before
    study, cells = open_results(here / "out")
    assert {cell.reward: cell.log.runs for cell in cells} == {"base": 3, "goal": 3, "both": 3}
    assert list(study.tasks["FrozenLake-v1"].measures) == ["return", *study.rules]

    # Each rule is measured under every reward that was trained when the rule was known.
    assert list(study.rules.values()) == ["F goal", "F moved"]
    goal, moved = study.rules
    measured = {cell.reward: set(cell.log.measures) - {"return"} for cell in open_results(here / "out")[1]}
    assert measured == {"base": {goal}, "goal": {goal}, "both": {goal, moved}}
    (both,) = (cell for cell in open_results(here / "out")[1] if cell.reward == "both")
    assert (both.log.measures[goal] == both.log.base_reward).all()  # it pays at the goal alone
    assert re.search(r"F moved +– +– +\S*\d", (here / "out" / "table.txt").read_text(encoding="utf-8"))

    # The report is made again from the directory alone, without the spec files.
    for file in ("goal.toml", "both.toml"):
        (here / file).unlink()
    assert main(["report", "out"]) == 0
    data = json.loads((here / "out" / "summaries.json").read_text(encoding="utf-8"))
    assert [(cell["task"], cell["reward"]) for cell in data["cells"]] == [
        ("FrozenLake-v1", name) for name in ("base", "goal", "both")
    ]


def test_a_formula_can_measure_success(here, capsys, in_this_process):
    (here / "up.toml").write_text(
        'observation = ["x", "v", "angle", "spin"]\natoms.up = "abs(angle) < 0.2"\npairs = [["G up", 1]]'
    )
    options = ("--seeds", "1", "--steps", "1024", "--workers", "1", "-o", "out")
    assert main(["compare", "CartPole-v1", "--spec", "up.toml", "--measure", "G up", *options]) == 0
    assert "Success (%)" in capsys.readouterr().out
    study, cells = open_results(here / "out")
    assert list(study.rewards) == ["up"]
    (cell,) = cells
    assert set(cell.log.measures) == {"success", *study.rules}
    # Every episode ends when the pole leans by more than 0.209.
    assert cell.log.task_completion.max() == 0.0


def test_a_later_spec_may_define_an_atom_differently(here, capsys, in_this_process):
    (here / "one.toml").write_text('atoms.goal = "next_obs == 15"\npairs = [["F goal", 1]]')
    (here / "two.toml").write_text(
        'atoms.goal = "next_obs == 14"\natoms.moved = "next_obs != 0"\npairs = [["F moved", 1]]'
    )
    options = ("--seeds", "1", "--episodes", "20", "--workers", "1", "-o", "out")
    assert main(["compare", "FrozenLake-v1", "--spec", "one.toml", *options]) == 0
    assert "F goal" in capsys.readouterr().out
    assert main(["compare", "FrozenLake-v1", "--spec", "two.toml", *options]) == 0
    rules = capsys.readouterr().out.split("Which rule is kept")[1]
    assert "F moved" in rules
    assert "F goal" not in rules  # whose goal it would be, nobody could tell


def test_few_episodes_at_the_end_are_said_to_be_few(here, capsys, in_this_process):
    specs = ("--spec", "goal.toml", "--spec", "both.toml")
    for episodes, few in (("20", True), ("60", False)):
        options = ("--seeds", "3", "--episodes", episodes, "--workers", "1", "-o", f"out{episodes}")
        assert main(["compare", "FrozenLake-v1", *specs, *options]) == 0
        said = "Only 12 episodes ended in the last tenth of 6 runs (goal, both), too few to judge by. Train for longer."
        page = (here / f"out{episodes}" / "report.html").read_text(encoding="utf-8")
        assert (said in " ".join(capsys.readouterr().out.split())) is few
        assert (said in " ".join(page.split())) is few


def test_specs_without_atoms_are_compared(here, capsys, in_this_process):
    (here / "true.toml").write_text('pairs = [["F G true", 2]]')
    options = ("--seeds", "1", "--episodes", "20", "--workers", "1", "-o", "out")
    assert main(["compare", "FrozenLake-v1", "--spec", "true.toml", "--base", *options]) == 0
    assert "Too few runs to tell whether that is more than chance" in " ".join(capsys.readouterr().out.split())
    study, cells = open_results(here / "out")
    assert study.rules == {}
    cell = next(cell for cell in cells if cell.reward == "true")
    assert (cell.log.reward == 2 * cell.log.length).all()


def test_the_table_of_rules_leaves_out_robustness_and_things(here):
    """A spec in robustness, and one about things, are trained with; the rules of the others are measured there too."""
    (here / "margin.toml").write_text(
        'semantics = "robustness"\nbound = 20\natoms.far = "next_obs > 14"\npairs = [["F far", 1], ["F !far", 1]]'
    )
    (here / "each.py").write_text(
        "import numpy as np\n"
        "def at(obs, action, next_obs):\n"
        "    return np.stack([next_obs == 14, next_obs == 15], axis=-1)\n"
    )
    (here / "things.toml").write_text(
        'sorts = { cell = 2 }\natoms.at = "each:at"\npairs = [["mean cell: F at(cell)", 1]]'
    )
    specs = [part for name in ("goal", "margin", "things") for part in ("--spec", f"{name}.toml")]
    options = ("--seeds", "1", "--episodes", "20", "--workers", "1", "-o", "out")
    assert main(["compare", "FrozenLake-v1", *specs, *options]) == 0
    study, cells = open_results(here / "out")
    assert list(study.rules.values()) == ["F goal"]
    (rule,) = study.rules
    assert {cell.reward for cell in cells} == {"goal", "margin", "things"}
    for cell in cells:
        assert set(cell.log.measures) == {"return", rule}
        assert (cell.log.measures[rule] == cell.log.base_reward).all()  # it pays at the goal alone
    text = (here / "out" / "table.txt").read_text(encoding="utf-8")
    assert re.search(r"F goal +\S*\d.* +\S*\d.* +\S*\d", text)
    assert "far" not in text
    assert "cell" not in text


class Many(gym.Env):
    """An environment with two choices at every step."""

    observation_space = gym.spaces.Discrete(2)
    action_space = gym.spaces.MultiDiscrete([2, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["Chess-v7"], "Gymnasium cannot make 'Chess-v7'"),
        (["CartPole-v1", "--spec", "absent.toml"], "absent.toml"),
        (["CartPole-v1", "--episodes", "9"], "counted in steps. Give --steps."),
        (["FrozenLake-v1", "--steps", "9"], "counted in episodes. Give --episodes."),
        (["FrozenLake-v1", "--spec", "goal.toml", "--spec", "goal.toml"], "'goal' is there already. Rename"),
        (["FrozenLake-v1", "--seeds", "0"], "`--seeds` should be at least 1"),
        (["CartPole-v1", "--spec", "wrong.toml"], "Was the spec written for another environment?"),
        (["test/Many-v0"], "PPO takes actions of a Box or a Discrete space. Received MultiDiscrete"),
    ],
)
def test_bad_input_is_refused_before_training(arguments, message, here, capsys, monkeypatch):
    monkeypatch.setitem(gym.registry, "test/Many-v0", EnvSpec("test/Many-v0", Many))
    assert main(["compare", *arguments, "--workers", "1"]) != 0
    assert message in capsys.readouterr().err


NOTED = """
from pathlib import Path
from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv as Lake

Path("imported").touch()

def goal(obs, action, next_obs):
    return (next_obs == 15) * 1.0
"""


@pytest.fixture
def forgotten(here):
    """A function that forgets the module `noted`, as another process would not know it; `here / "imported"` tells."""
    (here / "noted.py").write_text(NOTED)

    def forget():
        sys.modules.pop("noted", None)
        (here / "imported").unlink()

    yield forget
    sys.modules.pop("noted", None)


def test_a_report_imports_no_function_that_a_spec_names(here, capsys, forgotten, in_this_process):
    named = 'threshold = 0.5\natoms.reach_goal = "noted:goal"\natoms.reach_hole = "noted:goal"\n'
    (here / "named.toml").write_text(named + 'pairs = [["F reach_goal", 10]]')
    assert main(["compare", "frozen-lake", "--spec", "named.toml", *SMALL]) == 0
    forgotten()
    assert main(["report", "out"]) == 0
    assert not (here / "imported").exists()
    page = (here / "out" / "report.html").read_text(encoding="utf-8")
    assert "F reach_goal" in page
    assert "&#39;noted:goal&#39; was not imported" in page  # which an audit would need


def test_a_report_imports_no_environment_unless_it_is_told_to(here, capsys, forgotten, in_this_process):
    assert main(["compare", "noted:Lake", *SMALL]) == 0
    forgotten()
    plan = json.loads((here / "out" / "plan.json").read_text())
    plan["study"] |= {"references": True, "show": False}  # a plan does not decide that
    (here / "out" / "plan.json").write_text(json.dumps(plan))
    capsys.readouterr()
    assert main(["report", "out"]) == 2
    assert "'noted:Lake', whose module would be imported" in capsys.readouterr().err
    assert not (here / "imported").exists()
    assert main(["report", "out", "--references"]) == 0
    assert (here / "imported").exists()


def test_a_directory_of_another_study_is_refused(here, capsys, in_this_process):
    assert main(["compare", "FrozenLake-v1", *SMALL]) == 0
    assert main(["compare", "CliffWalking-v1", *SMALL]) == 2
    assert "its `env` is 'FrozenLake-v1', and 'CliffWalking-v1' was given." in capsys.readouterr().err


def test_results_of_other_settings_are_not_compared(here, capsys, in_this_process):
    assert main(["compare", "FrozenLake-v1", "--spec", "goal.toml", "--base", *SMALL]) == 0
    added = ["compare", "FrozenLake-v1", "--spec", "both.toml"]
    capsys.readouterr()
    options = ("--workers", "1", "-o", "out")
    for others, message in [
        (("--seeds", "3", "--episodes", "30"), "`--episodes` is 30 for 'both' and 60 for 'base', whose results are in"),
        (("--seeds", "3", "--episodes", "60", "--set", "epsilon=0.5"), "`epsilon` is 0.5 for 'both' and 1.0 for"),
        (("--seeds", "4", "--episodes", "60"), "`--seeds` is 4 for 'both' and 3 for 'base'"),
        (("--seeds", "3", "--episodes", "60", "--measure", "moved"), "its `measure` is None, and 'moved' was given"),
        (("--seeds", "3", "--episodes", "60", "--observe", "nothing"), "its `observe` is 'registers', and None was"),
    ]:
        assert main([*added, *others, *options]) == 2
        assert message in capsys.readouterr().err
    # What is trained anew as a whole may have other settings, and more seeds.
    assert main(["compare", "FrozenLake-v1", "--spec", "goal.toml", "--base", "--episodes", "30", *options]) == 0
    assert {(cell.log.runs, cell.config["episodes"]) for cell in open_results(here / "out")[1]} == {(10, 30)}

    # Directories of earlier versions may hold a mixture.
    assert main([*added, "--episodes", "30", *options]) == 0
    plan = json.loads((here / "out" / "plan.json").read_text())
    plan["cells"][0]["jobs"] = [path.stem for path in (here / "out" / "jobs").glob("FrozenLake-v1-base-seeds0-2-*")]
    (here / "out" / "plan.json").write_text(json.dumps(plan))
    capsys.readouterr()
    assert main(["report", "out"]) == 2
    assert "`episodes` is 30 for 'goal' and 60 for 'base'" in capsys.readouterr().err


THIRTEENTH = """
import rewardspec as rs

def at_goal(obs, action, next_obs):
    return (next_obs == 15) * 1.0

TASK = rs.tasks.Task(
    name="thirteenth",
    env="FrozenLake-v1",
    specs={"reach": rs.Spec([("F goal", 10)], atoms={"goal": at_goal})},
    measures={"arrived": rs.tasks.Measure(lambda obs: obs == 15, "Whether the goal was reached.")},
    intent=rs.tasks.Intent(goal="goal"),
)
"""


def test_a_thirteenth_task_is_one_file(here, capsys):
    (here / "lakes.py").write_text(THIRTEENTH)
    options = ("--seeds", "3", "--episodes", "60", "--workers", "2", "-o", "out")
    assert main(["compare", "lakes:TASK", *options]) == 0
    assert "Arrived (%)" in capsys.readouterr().out
    _, cells = open_results(here / "out", references=True)
    assert [(cell.task, cell.reward, cell.log.runs) for cell in cells] == [
        ("thirteenth", "base", 3),
        ("thirteenth", "reach", 3),
    ]
    assert "What they ask for" in (here / "out" / "report.html").read_text(encoding="utf-8")
    assert main(["train", "lakes:TASK", "--reward", "reach", "--episodes", "40", "-o", "policy.npz"]) == 0
    assert "arrived" in capsys.readouterr().out


def test_algorithms_of_stable_baselines3_are_compared_and_an_atom_measures(here, capsys, in_this_process):
    pytest.importorskip("stable_baselines3")
    (here / "up.toml").write_text('atoms.right = "next_obs[0] > 0"\npairs = [["F right", 1]]')
    small = ("--set", "n_steps=64", "--set", "batch_size=64", "--set", "n_epochs=1", "--steps", "128")
    options = ("--learner", "sb3:PPO", *small, "--seeds", "2", "--workers", "1", "-o", "out", "--measure", "right")
    assert main(["compare", "CartPole-v1", "--spec", "up.toml", *options]) == 0
    captured = capsys.readouterr()
    assert "[2/2] CartPole-v1 up, seed 1" in captured.err  # a job for each run
    study, cells = open_results(here / "out")
    assert study.tasks["CartPole-v1"].learner == "sb3:PPO"
    (cell,) = cells
    assert set(np.unique(cell.log.measures["success"])) == {0.0, 1.0}
    assert cell.config["options"] == {"n_steps": 64, "batch_size": 64, "n_epochs": 1}
    assert "PPO of Stable-Baselines3" in (here / "out" / "report.html").read_text(encoding="utf-8")
