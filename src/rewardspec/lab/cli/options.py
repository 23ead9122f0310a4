"""Options of the commands that train."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from rewardspec.cli.options import setting
from rewardspec.errors import Error
from rewardspec.lab.learning.device_training import DEVICES
from rewardspec.lab.learning.settings import learner_words
from rewardspec.lab.tasks.task import Task
from rewardspec.types import JsonObject


@contextmanager
def options_for(**names: str) -> Iterator[None]:
    """Replace the names of arguments in errors, such as `total_steps`, by those of options, such as `--steps`."""
    try:
        yield
    except Error as error:
        text = str(error)
        for name, option in names.items():
            text = text.replace(f"`{name}`", f"`{option}`")
        if text == str(error):
            raise
        raise Error(text) from None


def add_measure(parser: argparse.ArgumentParser) -> None:
    """Add the option of the measure of success."""
    parser.add_argument(
        "--measure",
        metavar="FORMULA",
        help="what counts as success: the value of a formula over the atoms at the end of an episode, of 'now ...' its "
        "mean over the steps, or of an atom its last label (default: the task's measure, which is the return where it "
        "brings none)",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add the option of the device that PPO trains on."""
    parser.add_argument(
        "--device",
        choices=("auto", *DEVICES),
        default="auto",
        help="where PPO trains: host steps environments in NumPy; cpu, gpu and tpu compile everything with JAX, for "
        "the classic control environments; auto compiles long trainings for the cpu (default: %(default)s)",
    )


def device_of(arguments: argparse.Namespace) -> str | None:
    """Return the device that was asked for, or None; keep JAX off accelerators unless one was."""
    from rewardspec.lab.experiments.engines.worker import use_cpu

    if not is_accelerated(arguments):
        use_cpu()
    return None if arguments.device == "auto" else str(arguments.device)


def is_accelerated(arguments: argparse.Namespace) -> bool:
    """Whether an accelerator was asked for."""
    return arguments.device in ("gpu", "tpu")


def add_learner_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the learner and of the length of training."""
    parser.add_argument(
        "--learner",
        metavar="LEARNER",
        help="ppo, q-learning, or an algorithm of Stable-Baselines3 by its name, such as sb3:PPO or sb3:SAC (default: "
        "q-learning where the environment publishes its transition table, else ppo)",
    )
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the learner, such as learning_rate=1e-3 or, of Stable-Baselines3, "
        "'policy_kwargs={net_arch=[64,64]}'; give several",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, metavar="N", help="steps of each run; of all learners but Q-learning")
    length.add_argument("--episodes", type=int, metavar="N", help="episodes of each run of Q-learning")


def config_changes(arguments: argparse.Namespace, task: Task) -> JsonObject:
    """Return the settings given by --steps, --episodes and --set, each once and in the learner's unit."""
    words = learner_words(task.learner)
    if task.learner == "q-learning" and arguments.steps is not None:
        raise Error(f"{task.title} is learned by {words}, which is counted in episodes. Give --episodes.")
    if task.learner != "q-learning" and arguments.episodes is not None:
        raise Error(f"{task.title} is learned by {words}, which is counted in steps. Give --steps.")
    changes: JsonObject = {}
    for name, value in (setting(text, "--set") for text in arguments.settings):
        if name in changes:
            raise Error(f"`--set {name}` is given twice, as {changes[name]!r} and as {value!r}. Give one of them.")
        changes[name] = value
    for name, option, value in (
        ("total_steps", "--steps", arguments.steps),
        ("episodes", "--episodes", arguments.episodes),
    ):
        if value is not None:
            if name in changes:
                raise Error(f"`{option} {value}` and `--set {name}={changes[name]}` set the same. Give one of them.")
            changes[name] = value
    return changes
