"""Every example runs, as a user would run it, on a small budget."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SHARE = r"task completion +(\d+\.\d)%"


def run(name, *arguments, needs=()):
    for package in needs:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{name} needs {package}, which is not installed")
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_page_of_examples_names_every_one():
    page = (EXAMPLES.parent / "docs" / "examples.md").read_text(encoding="utf-8")
    assert [path.name for path in EXAMPLES.glob("*.py") if f"`{path.name}`" not in page] == []


def test_stable_baselines3_trains_through_both_wrappings():
    output = run(
        "sb3_cartpole.py", "--steps", "512", "--envs", "2", "--episodes", "2", needs=("torch", "stable_baselines3")
    )
    assert len(re.findall(SHARE, output)) == 3


def test_a_cleanrl_style_loop_runs_unchanged():
    output = run("cleanrl_style.py", "--total_timesteps", "1024", "--num_steps", "64", needs=("torch",))
    assert "episode length" in output


def test_a_spec_runs_inside_scan():
    output = run("jax_scan.py", "--envs", "16", "--steps", "40", "--repeats", "1", needs=("jax",))
    assert re.search(r"CartPole with the spec +[\d,]+ steps/s", output)


def test_recorded_episodes_are_relabelled_and_explained():
    output = run("offline_relabelling.py", "--transitions", "4000")
    assert re.search(r"potential +mean return", output)
    assert re.search(r"step +reward +", output)


def test_doorkey_is_wrapped_explained_and_measured(monkeypatch, tmp_path, capsys):
    pytest.importorskip("minigrid")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    doorkey = importlib.import_module("doorkey")
    ones, end = np.ones(150), np.arange(10, 1510, 10)
    assert doorkey.steps_to(0.9, ones, end) == 1000
    assert doorkey.steps_to(0.9, np.concatenate([np.zeros(50), ones[:100]]), end) == 1400
    assert doorkey.steps_to(0.9, 0 * ones, end) == np.inf

    from rewardspec.cli import main

    monkeypatch.chdir(EXAMPLES)
    small = ("--steps", "512", "--set", "rollout_steps=64", "--seeds", "1", "--workers", "1", "-o", str(tmp_path))
    assert main(["compare", "doorkey:DOORKEY", "--no-base", *small]) == 0
    capsys.readouterr()
    doorkey.report(str(tmp_path))
    printed = capsys.readouterr().out
    assert re.search(r"^sparse +median +inf .* 1 runs, 1 of them never$", printed, flags=re.MULTILINE)
