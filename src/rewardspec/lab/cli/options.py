"""Options of the commands that train."""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rewardspec.errors import Error
from rewardspec.lab.learning.settings import learner_words
from rewardspec.lab.tasks.task import Task


@contextmanager
def options_for(**names: str) -> Iterator[None]:
    """Let errors about arguments, such as `total_steps`, name the options that they come from, such as `--steps`."""
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
    """The option that says what counts as success."""
    parser.add_argument(
        "--measure",
        metavar="FORMULA",
        help="what counts as success: the value of a formula over the atoms at the end of an episode, or an atom, "
        "whose last label counts (default: the task's measure, which is the return where it brings none)",
    )


def add_learner_options(parser: argparse.ArgumentParser) -> None:
    """The options that say how and how long to learn."""
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


def config_changes(arguments: argparse.Namespace, task: Task) -> dict[str, Any]:
    """The settings of a task's learner that --steps, --episodes and --set change.

    Raises:
        Error: The learner is counted in the other of the two, or a setting cannot be read or is given twice.
    """
    words = learner_words(task.learner)
    if task.learner == "q-learning" and arguments.steps is not None:
        raise Error(f"{task.title} is learned by {words}, which is counted in episodes. Give --episodes.")
    if task.learner != "q-learning" and arguments.episodes is not None:
        raise Error(f"{task.title} is learned by {words}, which is counted in steps. Give --steps.")
    changes: dict[str, Any] = {}
    for name, value in map(_setting, arguments.settings):
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


def _setting(text: str) -> tuple[str, Any]:
    """A setting from NAME=VALUE; the value is written as in TOML, words without quotes as well.

    Example:
        >>> _setting("clip=0.1"), _setting("policy=CnnPolicy"), _setting("anneal=false"), _setting("net_arch=[64, 64]")
        (('clip', 0.1), ('policy', 'CnnPolicy'), ('anneal', False), ('net_arch', [64, 64]))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise Error(f"`--set` should have the form NAME=VALUE, such as learning_rate=1e-3. Received {text!r}.")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        if re.fullmatch(r"[\w.:+-]+", value.strip()):
            return name.strip(), value.strip()
        raise Error(f"The value of {name.strip()!r} should be written as in TOML. Received {value!r}.") from None
