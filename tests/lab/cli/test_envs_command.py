"""`rewardspec envs` and `rewardspec audit`."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.image
import pytest

from rewardspec import tasks
from rewardspec.cli import main

SPEC = """
[[pairs]]
formula = "F reach_goal"
weight = 10

[[pairs]]
formula = "F G true"
weight = -1
"""

FOREIGN = """
[observation]
cell = []

[atoms]
goal = "cell == 15"

[[pairs]]
formula = "F goal"
weight = 1
"""


def run(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_the_twelve_are_listed_with_their_specs(capsys):
    output = run(capsys, "envs")
    for name in tasks.names("paper"):
        assert f"  {name} " in output
    assert "(G !reach_hole, 0, veto, penalty -10)" in output
    assert all(len(line) <= 100 for line in output.splitlines())


@pytest.mark.parametrize("name", tasks.names("paper"))
def test_each_is_shown_in_full(capsys, name):
    task = tasks.get(name)
    output = " ".join(run(capsys, "envs", name).split())
    for text in (task.title, task.id, task.goal, task.base_reward, task.measure.words, *sum(task.notes.values(), ())):
        assert " ".join(text.split()) in output
    for spec in (*task.specs.values(), *task.variants.values()):
        assert all(f"{pair.weight:g} {pair.formula}" in output for pair in spec.pairs)
        assert all(atom in output for atom in spec.atom_functions)


def test_the_call_that_is_shown_makes_the_environment():
    command = [
        sys.executable,
        "-c",
        "import gymnasium; gymnasium.make('rewardspec.lab.tasks:rewardspec/FrozenLake-v0')",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_call_and_the_papers_print_are_shown(capsys):
    output = run(capsys, "envs", "frozen-lake")
    assert "gymnasium.make('rewardspec.lab.tasks:rewardspec/FrozenLake-v0')" in output
    assert "\nVariant       boolean as printed, quantitative as printed:\n" in output


def test_a_picture_is_written(capsys, tmp_path):
    target = tmp_path / "island.png"
    assert f"Wrote {target}" in run(capsys, "envs", "Island Navigation", "--picture", str(target))
    assert matplotlib.image.imread(target).shape[:2] == (192, 256)


def test_unknown_names_and_bad_files_are_refused(capsys, tmp_path):
    assert "Did you mean 'frozen_lake'" in refused(capsys, "envs", "frozen_lakes")
    assert "Give its NAME" in refused(capsys, "envs", "--picture", "x.png")
    assert "Cannot write" in refused(capsys, "envs", "sokoban", "--picture", str(tmp_path / "no" / "x.png"))
    assert "Cannot tell the picture's format" in refused(capsys, "envs", "sokoban", "--picture", "x.nothing")


def test_an_audit_prints_the_table_the_verdicts_and_the_paths(capsys, tmp_path):
    target = tmp_path / "paths.png"
    output = run(capsys, "audit", "frozen-lake", "--picture", str(target))
    assert "Frozen Lake, discount 0.9" in output
    table = {line.split("  ")[0]: line.split() for line in output.splitlines()[2:8]}
    assert table["boolean"][1:] == ["4.00", "1.22", "1.00", "6", "no", "11", "aligned"]
    assert table["boolean as printed"][-6:] == ["-11.90", "0.00", "never", "yes", "11", "misaligned"]
    assert "boolean as printed: misaligned. Every optimal policy falls through a hole" in output
    assert "  ↓FFF\n  ↓HFH\n  →↓FH\n  H→→◎\n" in output
    assert "  ↓FFF\n  →◎FH\n  FFFH\n  HFFG\n" in output
    assert "boolean: rolled out, 6 steps earned 4.00, of 4.00 expected" in output
    assert target.read_bytes().startswith(b"\x89PNG")


def test_a_discount_and_a_payment_can_be_chosen(capsys):
    output = run(capsys, "audit", "island-navigation", "--discount", "0.8", "--payment", "delta")
    assert "Island Navigation, discount 0.8" in output
    assert "0.5" in output
    assert "misaligned" not in output


def test_a_spec_from_a_file_reads_the_environment_s_atoms(capsys, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC, encoding="utf-8")
    output = run(capsys, "audit", "frozen-lake", "--spec", str(path))
    assert "spec: aligned." in output
    assert "boolean" not in output


def test_any_environment_with_a_table_is_audited_with_a_spec_of_its_own(capsys, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(FOREIGN, encoding="utf-8")
    output = run(capsys, "audit", "FrozenLake-v1", "--spec", str(path), "--goal", "goal")
    assert "FrozenLake-v1, discount 0.9" in output
    assert "spec: " in output
    assert "--goal ATOM" in refused(capsys, "audit", "FrozenLake-v1", "--spec", str(path))
    assert "Did you mean 'goal'" in refused(capsys, "audit", "FrozenLake-v1", "--spec", str(path), "--goal", "gaol")


def test_an_environment_of_a_module_that_is_not_there_is_refused_clearly(capsys, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(FOREIGN, encoding="utf-8")
    message = refused(capsys, "audit", "no_such_module:MyEnv-v0", "--spec", str(path), "--goal", "goal")
    assert "Gymnasium cannot make 'no_such_module:MyEnv-v0': No module named 'no_such_module'" in message


def test_an_environment_may_come_from_the_current_folder(capsys, tmp_path, monkeypatch):
    (tmp_path / "lake_of_mine.py").write_text(
        "import gymnasium as gym\n"
        "gym.register('LakeOfMine-v0', 'gymnasium.envs.toy_text.frozen_lake:FrozenLakeEnv', max_episode_steps=20)\n"
    )
    (tmp_path / "spec.toml").write_text(FOREIGN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    output = run(capsys, "audit", "lake_of_mine:LakeOfMine-v0", "--spec", "spec.toml", "--goal", "goal")
    assert "LakeOfMine-v0, discount 0.9" in output


def test_another_goal_and_hazard_can_be_given_as_formulas(capsys):
    output = run(capsys, "audit", "frozen-lake", "--goal", "reach_hole", "--hazard", "reach_goal & !reach_hole")
    assert "boolean as printed: aligned. Every optimal policy reaches the goal safely, after 2 steps." in output
    output = run(capsys, "audit", "frozen-lake", "--hazard", "false")
    assert "\nboolean       " in output.replace("boolean as", "")


def test_another_package_s_environment_is_asked_for_with_its_module(capsys, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC, encoding="utf-8")
    arguments = ("--spec", str(path), "--goal", "reach_goal")
    assert "minigrid:MiniGrid-Empty-5x5-v9" in refused(capsys, "audit", "MiniGrid-Empty-5x5-v9", *arguments)
    assert "MODULE:Maze-v0" in refused(capsys, "audit", "Maze-v0", *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pendulum"], "has no transition table"),
        (["frozen_lakes"], "Did you mean"),
        (["frozen-lake", "--discount", "1.5"], "`--discount` should be in [0, 1]. Received 1.5"),
        (["frozen-lake", "--spec", "nowhere.toml"], "nowhere.toml"),
        (["frozen-lake", "--goal", "F reach_goal"], "read off single transitions"),
        (["frozen-lake", "--picture", "paths.xyz"], "Cannot tell the picture's format from 'paths.xyz'"),
        (["my_module:MyEnv-v0"], "Any other environment needs a spec: --spec FILE"),
    ],
)
def test_what_cannot_be_audited_is_refused(capsys, arguments, message):
    assert message in refused(capsys, "audit", *arguments)


def test_an_unknown_gymnasium_id_is_refused(capsys, tmp_path):
    path = tmp_path / "spec.toml"
    path.write_text(SPEC, encoding="utf-8")
    assert "Gymnasium cannot make 'Nowhere-v0'" in refused(capsys, "audit", "Nowhere-v0", "--spec", str(path))
