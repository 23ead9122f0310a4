"""`rewardspec probe`."""

import pytest

from rewardspec.cli import main
from tests.wrappers.test_monitor_reward import OfTwoObjectives

SPEC = """
observation = ["position", "speed", "angle", "turning"]

[atoms]
upright = "1 - abs(angle) / 0.25"
{atoms}

[[pairs]]
formula = "{formula}"
weight = 1
"""


@pytest.fixture
def write(tmp_path):
    def write(formula, atoms=""):
        path = tmp_path / "spec.toml"
        path.write_text(SPEC.format(formula=formula, atoms=atoms))
        return str(path)

    return write


def test_it_tells_what_atoms_and_formulas_did(write, capsys):
    assert main(["probe", write("F G upright"), "--env", "CartPole-v1", "--episodes", "5"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("5 episodes, ")
    assert "upright" in out
    assert "F G upright" in out
    assert "base return" in out


def test_its_status_tells_errors(write, capsys):
    path = write("G lit", 'lit = { expression = "1 - abs(angle) / 0.25", at_reset = 0 }')
    assert main(["probe", path, "--env", "CartPole-v1", "--episodes", "2"]) == 1
    assert "error [always-vetoed]" in capsys.readouterr().out


def test_an_environment_that_does_not_exist_is_told(write, capsys):
    assert main(["probe", write("F upright"), "--env", "CartPool-v1"]) == 2
    assert "cannot make 'CartPool-v1'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["probe", "{spec}", "--env", "{env}"],
        ["explain", "{spec}", "--env", "{env}"],
        ["train", "{env}", "--spec", "{spec}", "--steps", "600"],
        ["train", "{env}", "--learner", "sb3:PPO", "--spec", "{spec}", "--steps", "600"],
        ["compare", "{env}", "--spec", "{spec}", "--seeds", "1", "--steps", "600"],
    ],
    ids=["probe", "explain", "train", "train with SB3", "compare"],
)
@pytest.mark.filterwarnings("ignore:.*The reward returned by:UserWarning")
def test_commands_name_a_reward_of_several_numbers(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text("""pairs = [['F "next_obs == 1"', 1]]""")
    env = f"{OfTwoObjectives.__module__}:{OfTwoObjectives.__name__}"
    assert main([word.format(spec="spec.toml", env=env) for word in command]) == 2
    assert "error: The reward of OfTwoObjectives should be one number." in capsys.readouterr().err
