"""Where a result comes from."""

import os
import platform
import socket

import numpy as np
import pytest

import rewardspec
from rewardspec import tasks
from rewardspec.lab.experiments.provenance import command_line, machine, usable_cores, versions


def test_versions_are_those_that_are_installed():
    found = versions()
    assert found["rewardspec"] == rewardspec.__version__
    assert found["numpy"] == np.__version__
    assert found["python"] == platform.python_version()


def test_versions_are_those_of_the_learner_and_of_the_environments_package():
    pytest.importorskip("minigrid")
    pytest.importorskip("stable_baselines3")
    found = versions(tasks.get("minigrid:MiniGrid-Empty-5x5-v0", specs={}).replace(learner="sb3:PPO"))
    assert {"minigrid", "stable_baselines3", "torch"} <= set(found)
    assert not {"jax", "optax"} & set(found)
    assert versions(tasks.get("taxi")) == versions()


def test_the_machine_is_told_without_its_name():
    told = machine()
    assert f"{usable_cores()} core" in told
    assert socket.gethostname() not in told
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


def test_commands_are_told_without_somebodys_directories_and_addresses():
    words = ["reproduce", "--quick", "-o", "/home/ada/my results", "--envs", "taxi", "--engine", "ray"]
    assert command_line([*words, "--address", "10.0.0.7:6379"]) == (
        "rewardspec reproduce --quick -o 'my results' --envs taxi --engine ray --address ADDRESS"
    )
    assert command_line(["reproduce", "--output=/tmp/x"]) == "rewardspec reproduce --output=x"
    assert command_line(["reproduce", "-o", "~/x"]) == "rewardspec reproduce -o x"
    assert command_line(["reproduce", "-o", "/"]) == "rewardspec reproduce -o DIR"
    assert command_line(["reproduce", "-o", "results/today"]) == "rewardspec reproduce -o results/today"
