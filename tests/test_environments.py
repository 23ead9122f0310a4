"""Environments by name, with arguments of `gymnasium.make`."""

import argparse
import contextlib

import pytest

from rewardspec.cli import main
from rewardspec.cli.options import env_with_arguments, made
from rewardspec.environments import find_spec, imports_module, name_of, split_arguments, with_arguments
from rewardspec.errors import UnknownEnvironmentError
from rewardspec.lab import tasks
from rewardspec.lab.learning.policies import load_policy

DRY = with_arguments("FrozenLake-v1", {"is_slippery": False, "map_name": "8x8"})


def cells(env) -> int:
    return int(env.observation_space.n)


def test_arguments_reach_the_environment():
    with contextlib.closing(made(DRY)) as env:
        assert cells(env) == 64
        assert all(len(outcomes) == 1 for state in env.unwrapped.P.values() for outcomes in state.values())
    with contextlib.closing(tasks.get(DRY, specs={}).make()) as env:
        assert cells(env) == 64
    assert find_spec(with_arguments("CartPole-v1", {"max_episode_steps": 7})).max_episode_steps == 7


def test_a_name_with_arguments_is_split_and_made_a_file_name():
    nested = {"config": {"lanes": 3, "where": "a:b?c"}}
    assert split_arguments(with_arguments("m:Env-v0", nested)) == ("m:Env-v0", nested)
    assert name_of(DRY) == "FrozenLake-v1_is_slippery_false_map_name_8x8"
    long = [name_of(with_arguments("Env-v0", {"note": "x" * 300 + end})) for end in "ab"]
    assert long[0] != long[1]
    assert max(map(len, long)) < 120
    assert not imports_module(with_arguments("Env-v0", nested))
    assert imports_module(with_arguments("m:Env-v0", nested))


@pytest.mark.parametrize("name", ["FrozenLake-v1?", "FrozenLake-v1?[1]", "FrozenLake-v1?{"])
def test_what_is_no_object_is_refused(name):
    with pytest.raises(UnknownEnvironmentError, match="should be a JSON object"):
        find_spec(name)


def test_commands_take_arguments_of_the_environment(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake.toml").write_text('atoms.goal = "next_obs == 63"\npairs = [["F goal", 1]]\n')
    (tmp_path / "large.toml").write_text('map_name = "8x8"\n')
    words = ["FrozenLake-v1", "--env-arg", "large.toml", "--env-arg", "is_slippery=false"]
    assert main(["train", *words, "--spec", "lake.toml", "--episodes", "3", "-o", "lake.npz"]) == 0
    assert 'FrozenLake-v1 (is_slippery=false, map_name="8x8")' in capsys.readouterr().out
    with contextlib.closing(load_policy("lake.npz").task.make()) as env:  # it plays in the same environment
        assert cells(env) == 64
    assert main(["probe", "lake.toml", "--env", *words, "--episodes", "2"]) == 0
    assert main(["check", "lake.toml", "--env", *words]) == 0


def test_tables_of_one_name_are_merged_and_the_later_value_wins(tmp_path):
    (tmp_path / "road.toml").write_text("duration = 9\n[config]\nlanes = 3\n[config.reward]\nspeed = 1\ncrash = 2\n")
    given = ["config={lanes=4, cars=2}", str(tmp_path / "road.toml"), "config={reward={crash=5}}", "duration=8"]
    found = env_with_arguments(argparse.Namespace(env="Road-v0", env_args=given))
    config = {"lanes": 3, "cars": 2, "reward": {"speed": 1, "crash": 5}}
    assert split_arguments(found) == ("Road-v0", {"config": config, "duration": 8})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["FrozenLake-v1", "--env-arg", "slip=1"], "unexpected keyword argument 'slip'. Look up its arguments"),
        (["frozen-lake", "--env-arg", "slip=1"], "slip cannot be given. Name Gymnasium's environment itself."),
        (["FrozenLake-v1", "--env-arg", "slip"], "should have the form NAME=VALUE, such as is_slippery=false"),
        (["FrozenLake-v1", "--env-arg", "none.toml"], "Cannot read 'none.toml'"),
    ],
)
def test_mistakes_are_explained(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *words, "--episodes", "3"]) == 2
    assert message in capsys.readouterr().err


def test_arguments_without_an_environment_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake.toml").write_text('atoms.goal = "next_obs == 63"\npairs = [["F goal", 1]]\n')
    assert main(["check", "lake.toml", "--env-arg", "slip=1"]) == 2
    assert "Name it." in capsys.readouterr().err
