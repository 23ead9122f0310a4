"""Every example runs, as a user would run it, on a small budget."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

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
