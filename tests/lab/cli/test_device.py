"""`--device` of `rewardspec train`, `compare` and `reproduce`."""

import numpy as np
import pytest

from rewardspec import tasks
from rewardspec.cli import main
from rewardspec.lab.cli import train as train_command
from rewardspec.lab.experiments.results import open_results
from rewardspec.lab.learning import array_files, device_training
from rewardspec.lab.learning.policies import load_policy
from rewardspec.lab.learning.settings import PPO, QLearning
from rewardspec.lab.paper.evaluation import paper_study
from rewardspec.spec import Spec

UP = '[atoms]\nup = "1 - min(abs(next_obs[2]) / 0.21, 1)"\n[[pairs]]\nformula = "G up"\nweight = 1\n'


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_compiled_training_that_was_interrupted_is_resumed(here, capsys, monkeypatch):
    arguments = ["train", "cart-pole", "--device", "cpu", "--steps", "3072", "-o"]
    assert main([*arguments, "whole.npz"]) == 0
    monkeypatch.setattr(array_files.Checkpoint, "is_due", True)
    check, calls = device_training._check, []

    def interrupt(*given):
        calls.append(given)
        if len(calls) == 4:
            raise KeyboardInterrupt
        check(*given)

    monkeypatch.setattr(device_training, "_check", interrupt)
    assert main([*arguments, "again.npz"]) == 130
    assert "again.npz.checkpoint is kept; run the same command again to resume" in capsys.readouterr().err
    assert not (here / "again.npz").exists()
    assert main([*arguments, "again.npz"]) == 0
    assert len(calls) == 4 + 3  # of six calls, three had been done
    assert not (here / "again.npz.checkpoint").exists()
    whole, again = (load_policy(name).arrays for name in ("whole.npz", "again.npz"))
    for name, array in whole.items():
        np.testing.assert_array_equal(array, again[name])


def test_one_compares_specs_with_compiled_training(here, capsys):
    (here / "up.toml").write_text(UP)
    options = ("--seeds", "2", "--steps", "1024", "--workers", "1", "-o", "out")
    assert main(["compare", "CartPole-v1", "--spec", "up.toml", "--device", "cpu", *options]) == 0
    _, cells = open_results("out")
    (cell,) = cells
    assert (cell.reward, cell.log.runs) == ("up", 2)
    assert len(cell.log) > 20
    assert [path.suffix for path in (here / "out" / "jobs").iterdir() if path.is_file()] == [".npz"]


def test_what_cannot_be_compiled_is_refused_before_training(capsys, monkeypatch):
    monkeypatch.setattr(train_command, "_train", lambda *_: pytest.fail("it trains"))
    assert main(["train", "taxi", "--device", "cpu"]) == 2
    assert "cannot be compiled for `--device cpu`" in capsys.readouterr().err


def test_jobs_are_compiled_where_that_is_possible_and_named_after_it():
    names = ["cart_pole", "taxi"]
    jobs = {device: paper_study().jobs(names, ["base", "boolean"], device=device) for device in ("host", "cpu", "gpu")}
    found = {device: [job.setup.get("device") for job in some] for device, some in jobs.items()}
    assert found == {"host": [None] * 4, "cpu": ["cpu", "cpu", None, None], "gpu": ["gpu", "gpu", None, None]}
    assert len({job.key for some in jobs.values() for job in some if job.task == "cart_pole"}) == 6


@pytest.mark.parametrize(
    ("name", "config", "runs", "device"),
    [
        ("cart_pole", PPO.discrete(), 10, "cpu"),
        ("cart_pole", PPO.discrete(), 1, "host"),
        ("lunar_lander", PPO.discrete(), 10, "host"),
        ("taxi", QLearning(), 500, "host"),
    ],
)
def test_by_default_long_trainings_are_compiled(name, config, runs, device):
    assert device_training.device_for(tasks.get(name), None, config, runs, None) == device


def test_by_default_atoms_that_cannot_be_compiled_are_read_on_the_host():
    spec = Spec([("G up", 1)], {"up": lambda obs, action, next_obs: float(abs(next_obs[2]) < 0.2)})
    assert device_training.device_for(tasks.get("cart_pole"), spec, PPO.discrete(), 10, None) == "host"


@pytest.mark.parametrize("task", ["cart_pole", "mountain_car", "acrobot", "pendulum"])
@pytest.mark.parametrize("reward", ["base", "boolean", "quantitative", "best"])
def test_every_reward_of_the_paper_can_be_compiled(task, reward):
    study = paper_study()
    config = study.budget(study.tasks[task], False).config
    spec = study.reward(study.tasks[task], reward).spec
    assert device_training.device_for(study.tasks[task], spec, config, 10, None) == "cpu"
