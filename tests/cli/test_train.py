"""`rewardspec train`."""

import sys

import pytest
from PIL import Image

from rewardspec.cli import main
from rewardspec.experiments.runs import extras
from rewardspec.learning.policies import load_policy

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chess"], "There is no environment 'chess'"),
        (["CartPole-v1"], "CartPole-v1 is Gymnasium's own environment"),
        (["taxi", "--steps", "100"], "counted in episodes. Give --episodes."),
        (["acrobot", "--episodes", "100"], "counted in steps. Give --steps."),
        (["acrobot", "--steps", "100"], "`total_steps` should be at least one rollout, 512"),
        (["taxi", "--episodes", "0"], "`episodes` should be at least 1"),
        (["taxi", "--seeds", "0"], "`seeds` should be at least 1"),
        (["taxi", "--reward", "base", "--observe", "registers"], "has no monitor to observe"),
        (["taxi", "--spec", "absent.toml"], "absent.toml"),
        (["taxi", "-o", "absent/policy.npz"], "the directory 'absent' does not exist"),
        (["taxi", "--record", "taxi.mp4"], "Known endings: .gif, .png"),
    ],
)
def test_bad_input_is_refused_before_training(arguments, message, here, capsys):
    assert main(["train", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert list(here.iterdir()) == []


def test_missing_libraries_are_named_before_training(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    assert main(["train", "taxi", "--tensorboard", "logs"]) == 2
    assert "pip install 'rewardspec[tensorboard]'" in capsys.readouterr().err
    monkeypatch.setattr(extras, "_is_there", lambda module: False)
    assert main(["train", "taxi"]) == 2
    assert "Training needs jax" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "reproduce", "report"])
def test_help_shows_an_example(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert f"  rewardspec {command} " in capsys.readouterr().out.partition("example:\n")[2]
