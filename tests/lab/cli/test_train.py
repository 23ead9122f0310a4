"""`rewardspec train`."""

import dataclasses
import sys

import numpy as np
import pytest
from PIL import Image

from rewardspec import tasks
from rewardspec.cli import main
from rewardspec.lab.cli import train
from rewardspec.lab.experiments.summaries import summarize
from rewardspec.lab.learning import training as extras
from rewardspec.lab.learning.playing import play
from rewardspec.lab.learning.policies import load_policy
from rewardspec.lab.learning.settings import PPO
from rewardspec.lab.learning.training import Training
from rewardspec.lab.learning.training_log import COLUMNS, TrainingLog
from rewardspec.lab.paper.evaluation import paper_study
from tests.lab.experiments.synthetic import cell_of

SPEC = """
[[pairs]]
formula = "F reach_goal"
weight = 10
"""


def run(capsys, *arguments: str) -> str:
    assert main(["train", *arguments]) == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_is_trained_saved_recorded_and_logged(here, capsys):
    pytest.importorskip("tensorboardX")
    options = ("--seeds", "2", "--episodes", "60", "--record", "lake.gif", "--tensorboard", "logs")
    output = run(capsys, "frozen-lake", "--reward", "boolean", *options)
    assert "Frozen Lake, boolean: 2 runs of 60 episodes in" in output
    assert "task completion" in output
    assert load_policy("frozen_lake-boolean.npz").seeds == (0, 1)
    with Image.open("lake.gif") as image:
        assert image.format == "GIF"
    assert sorted(path.name for path in (here / "logs" / "frozen_lake-boolean").iterdir()) == ["seed0", "seed1"]


def test_a_network_is_trained_with_the_environments_own_reward(here, capsys):
    options = ("--reward", "base", "--steps", "1024", "-o", "pole.npz", "--record", "pole.png")
    output = run(capsys, "cart-pole", *options)
    assert "CartPole, base: 1 run of 1,024 steps in" in output
    assert load_policy("pole.npz").spec is None
    with Image.open("pole.png") as image:
        assert image.format == "PNG"


def test_a_spec_of_ones_own_pays(here, capsys):
    (here / "mine.toml").write_text(SPEC)
    output = run(capsys, "frozen-lake", "--spec", "mine.toml", "--episodes", "20", "--observe", "nothing")
    assert "Frozen Lake, spec: 1 run of 20 episodes" in output
    policy = load_policy("frozen_lake-spec.npz")
    assert policy.observe is None
    assert [str(pair.formula) for pair in policy.spec.pairs] == ["F reach_goal"]


ATOMS = """
import functools

from rewardspec.spec.atoms.expression_atoms import ExpressionAtom


class Near:
    def __call__(self, obs, action, next_obs):
        return next_obs / 16.0


def beyond(limit, obs, action, next_obs):
    return (next_obs >= limit) * 1.0


near, far = Near(), functools.partial(beyond, 10)
first, second = ExpressionAtom("x", {"x": (0,)}), ExpressionAtom("x", {"x": (1,)})
"""


def test_atoms_that_only_the_file_can_name_are_saved_with_the_policy(here, capsys):
    (here / "lake_atoms.py").write_text(ATOMS)
    references = {"near": "lake_atoms:near", "far": "lake_atoms:far"}
    atoms = "".join(f"atoms.{name} = '{reference}'\n" for name, reference in references.items())
    (here / "mine.toml").write_text(atoms + "pairs = [['F G near', 1], ['F far', 1]]")
    run(capsys, "frozen-lake", "--spec", "mine.toml", "--episodes", "20")
    spec = load_policy("frozen_lake-spec.npz").spec
    assert {name: atom.reference for name, atom in spec.atom_functions.items()} == references


def test_a_spec_that_cannot_be_saved_is_refused_before_training(here, capsys, monkeypatch):
    (here / "twin_atoms.py").write_text(ATOMS)
    monkeypatch.setattr("rewardspec.lab.cli.train._train", lambda *arguments: pytest.fail("it was trained"))
    # Two meanings of `x`, which one file cannot have.
    atoms = "atoms.first = 'twin_atoms:first'\natoms.second = 'twin_atoms:second'\n"
    (here / "mine.toml").write_text(atoms + "pairs = [['F first', 1], ['F second', 1]]")
    assert main(["train", "frozen-lake", "--spec", "mine.toml"]) == 2
    assert "Give the components different names" in capsys.readouterr().err


def test_a_spec_that_was_written_for_another_environment_is_refused(here, capsys):
    (here / "cart.toml").write_text(
        "observation = ['x', 'v']\natoms.near = 'proximity(x, 0, 2.4)'\npairs = [['F near', 1]]"
    )
    assert main(["train", "taxi", "--spec", "cart.toml", "--episodes", "5"]) == 2
    assert "'x' is number 0, from 0, of the observation, which is a single number. Was" in capsys.readouterr().err


def test_the_ends_of_training_are_those_of_the_report():
    # Episodes of a learner that is counted in steps: the last tenth of the steps holds half of the episodes.
    lengths = np.array([90, 5, 5, 200, 30, 30])
    log = TrainingLog.from_columns(
        2,
        dict.fromkeys((*COLUMNS, "task_completion", "own_criterion"), np.zeros(6))
        | {"run": [0, 0, 0, 1, 1, 1], "length": lengths, "end_step": [90, 95, 100, 200, 230, 260]}
        | {"task_completion": [0.0, 0.2, 0.4, 0.1, 1.0, 0.5], "reward": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]},
    )
    task, config = tasks.get("cart_pole"), PPO(total_steps=512)
    lines = list(train._summary(task, "base", config, Training(log, None, 1.0)))
    cell = cell_of(log, "cart_pole", config=dataclasses.asdict(config))
    report = summarize(cell, paper_study())
    said = {line[:26].strip(): line.split()[-1] for line in lines[2:]}
    assert said["task completion"] == f"{report.final.value:.3f}" == "0.400"
    assert said["reward of an episode"] == f"{report.final_over_runs['reward']:.2f}" == "4.25"
    assert train._best_run(log, "steps") == 1
    assert train._best_run(TrainingLog.empty(2, ["task_completion"]), "steps") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess"], "Gymnasium cannot make 'chess'"),
        (["drone:Drone-v0", "--spec", "drone.toml"], "Gymnasium cannot make 'drone:Drone-v0'"),
        (["MiniGrid-NoSuch-v0"], "minigrid:MiniGrid-NoSuch-v0"),
        (["Blackjack-v1", "--reward", "boolean"], "Blackjack-v1 has no spec 'boolean'; it has: none."),
        (["taxi", "--steps", "100"], "counted in episodes. Give --episodes."),
        (["acrobot", "--episodes", "100"], "counted in steps. Give --steps."),
        (["acrobot", "--steps", "100"], "`--steps` should be at least one rollout of 512 steps"),
        (["taxi", "--episodes", "0"], "`--episodes` should be at least 1"),
        (["taxi", "--reward", "bool"], "Taxi has no spec 'bool'; it has: boolean, quantitative"),
        (["taxi", "--seeds", "0"], "`--seeds` should be at least 1"),
        (["taxi", "--reward", "base", "--observe", "registers"], "has no monitor to observe"),
        (["taxi", "--spec", "absent.toml"], "absent.toml"),
        (["taxi", "-o", "absent/policy.npz"], "the directory 'absent' does not exist"),
        (["taxi", "--record", "taxi.mp4"], "Known endings: .gif, .png"),
        (["taxi", "--set", "epsilon=true"], "`epsilon` should be in the interval [0, 1]. Received True"),
        (["taxi", "--episodes", "9", "--set", "episodes=7"], "`--episodes 9` and `--set episodes=7` set the same"),
        (["acrobot", "--steps", "512", "--set", "total_steps=99"], "`--steps 512` and `--set total_steps=99` set the"),
        (["taxi", "--set", "epsilon=1", "--set", "epsilon=0.5"], "`--set epsilon` is given twice, as 1 and as 0.5"),
    ],
)
def test_bad_input_is_refused_before_training(arguments, message, here, capsys):
    assert main(["train", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["FrozenLake-v1", "--episodes", "20"],
        ["CartPole-v1", "--steps", "512"],
        ["CartPole-v1", "--learner", "sb3:A2C", "--steps", "20"],
    ],
)
def test_a_spec_without_atoms_pays_and_its_policy_can_be_played(arguments, here, capsys):
    (here / "true.toml").write_text('pairs = [["F G true", 2]]')
    assert main(["train", *arguments, "--spec", "true.toml", "-o", "policy.npz"]) == 0
    policy = load_policy(here / "policy.npz")
    assert set(play(policy, seed=0).rewards) == {2.0}


def test_missing_libraries_are_named_before_training(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert main(["train", "taxi", "--tensorboard", "logs"]) == 2
    assert "pip install '.[tensorboard]'" in capsys.readouterr().err
    monkeypatch.setattr(extras, "_is_there", lambda module: False)
    assert main(["train", "taxi"]) == 2
    assert "Training needs jax" in capsys.readouterr().err


def test_missing_libraries_come_before_what_else_is_wrong_and_one_command_installs_them(capsys, monkeypatch):
    monkeypatch.setattr(extras, "_is_there", lambda module: False)
    assert main(["train", "lunar-lander", "--steps", "100"]) == 2
    assert capsys.readouterr().err == (
        "error: Training needs jax, which is not installed. Run in a checkout of the "
        "repository: pip install '.[learn,box2d]'\n"
    )


def test_interrupted_it_says_that_nothing_was_saved(here, capsys, monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("rewardspec.lab.learning.training.learn_tables", interrupt)
    assert main(["train", "frozen-lake"]) == 130
    assert capsys.readouterr().err.endswith("Interrupted; nothing was saved.\n")
    assert list(here.iterdir()) == []


def test_a_spec_for_another_environment_is_told_which_number_is_missing(here, capsys):
    names = 'observation = ["x", "y", "z", "parcel"]\natoms.carries = "parcel > 0"\n'
    (here / "drone.toml").write_text(names + 'pairs = [["F carries", 1]]')
    assert main(["train", "frozen-lake", "--spec", "drone.toml"]) == 2
    said = capsys.readouterr().err
    assert "'parcel' is number 3, from 0, of the observation, which has 1 number." in said
    assert "Was the spec written for another environment?" in said


@pytest.mark.parametrize("command", ["train", "reproduce", "report"])
def test_help_shows_an_example(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"  rewardspec {command} " in capsys.readouterr().out.partition("example:\n")[2]


def test_a_formula_or_an_atom_measures_success(here, capsys):
    (here / "mine.toml").write_text('atoms.goal = "next_obs == 15"\npairs = [["F goal", 1]]\n')
    for measure in ("F goal", "goal"):
        output = run(capsys, "FrozenLake-v1", "--spec", "mine.toml", "--measure", measure, "--episodes", "20")
        assert "success " in output
        assert "return " not in output
    assert main(["train", "FrozenLake-v1", "--spec", "mine.toml", "--measure", "F gaol", "--episodes", "20"]) == 2
    assert "gaol" in capsys.readouterr().err


def test_few_episodes_at_the_end_are_said_to_be_few(tmp_path, capsys):
    made = str(tmp_path / "lake.npz")
    assert main(["train", "frozen-lake", "--reward", "boolean", "--episodes", "20", "--seeds", "1", "-o", made]) == 0
    assert "Only 2 episodes ended in the last tenth of 1 run, too few to judge by." in capsys.readouterr().out
    assert main(["train", "frozen-lake", "--reward", "boolean", "--episodes", "60", "--seeds", "1", "-o", made]) == 0
    assert "too few" not in capsys.readouterr().out
