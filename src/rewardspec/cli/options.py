"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardspec.errors import Error, FormulaError, SpecError
from rewardspec.logic.dialects import DIALECTS
from rewardspec.logic.formulas import Formula
from rewardspec.logic.parsing import parse
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import SpecDraft, read_draft

if TYPE_CHECKING:
    from rewardspec.tasks.task import Task

OBSERVE_CHOICES = ("nothing", "registers", "control", "values")
"""What a learner may see of the monitor."""


def command(commands: Any, name: str, summary: str, example: str) -> argparse.ArgumentParser:
    """A parser for one command, whose help ends with an example."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog="example:\n" + textwrap.indent(textwrap.dedent(example).strip(), "  "),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(parser=parser)  # so that a mistake is told with the usage of this command
    return parser


def add_formula(parser: argparse.ArgumentParser) -> None:
    """The FORMULA argument and the ways to read it."""
    parser.add_argument("formula", metavar="FORMULA", help="the formula, quoted for the shell")
    parser.add_argument(
        "--syntax",
        choices=tuple(DIALECTS),
        default="rewardspec",
        help="'spot' reads a bare X as weak next; 'rtamt' and 'reelay' read the words of those tools, and a formula of "
        "the past at the last step (default: %(default)s, where X is strong)",
    )
    parser.add_argument(
        "--semantics",
        choices=("degree", "robustness"),
        default="degree",
        help="'robustness' takes labels that are any real numbers, such as margins (default: %(default)s, from 0 to 1; "
        "a spec file says it itself)",
    )


def formula_of(arguments: argparse.Namespace) -> Formula:
    """The formula that was given.

    Raises:
        FormulaError: It cannot be read.
        Error: It is no formula, but the name of a file.
    """
    try:
        return parse(arguments.formula, syntax=arguments.syntax)
    except FormulaError:
        if looks_like_a_file(arguments.formula):
            raise _no_formula(arguments.formula) from None
        raise


def looks_like_a_file(text: str) -> bool:
    """Whether a text that is no formula may be the name of a file.

    Example:
        >>> looks_like_a_file("drone.tml"), looks_like_a_file("specs/drone"), looks_like_a_file("a. b")
        (True, True, False)
    """
    return (
        re.fullmatch(r"(?:[\w.~:-]*[/\\])*[\w.~-]+", text) is not None and re.search(r"[/\\]|\.\w+$", text) is not None
    )


def _no_formula(name: str) -> Error:
    if Path(name).exists():
        what = f"{name!r} is a file, and a formula is wanted here."
    else:
        what = f"{name!r} looks like a file, and there is none of that name in {os.getcwd()!r}."
    return Error(f"{what} Give a formula, such as 'F goal', or a spec file, whose name ends in .toml.")


def add_no_references(parser: argparse.ArgumentParser) -> None:
    """The option of commands that read spec files."""
    parser.add_argument(
        "--no-references",
        action="store_true",
        help="refuse a spec file whose atoms name Python functions, which would be imported",
    )


def draft_in(path: str, arguments: argparse.Namespace) -> SpecDraft:
    """What a spec file says; what it imports is told on standard error, before it is imported."""
    told: set[str] = set()

    def announce(reference: str) -> None:
        module = reference.strip().partition(":")[0]
        if module not in told:
            told.add(module)
            print(f"Importing {module}, which {path} names; --no-references refuses that.", file=sys.stderr)

    return read_draft(path, references=not arguments.no_references, announce=announce)


def spec_in(path: str, arguments: argparse.Namespace) -> Spec:
    """The spec in a file; what it imports is told on standard error."""
    draft = draft_in(path, arguments)
    try:
        return draft.spec()
    except Error as error:
        raise SpecError(f"{path}: {error}") from error


def made(env_id: str) -> Any:
    """The Gymnasium environment of an id, `module:id` or `module:Class`.

    Raises:
        Error: There is no such environment, or it cannot be made.
    """
    import gymnasium

    from rewardspec.tasks.making import find_spec

    try:
        return gymnasium.make(find_spec(env_id))
    except (gymnasium.error.Error, ImportError) as error:
        if isinstance(error, Error):
            raise
        raise Error(f"Cannot make the environment {env_id!r}: {error}") from error


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


@contextmanager
def importing_from_here() -> Iterator[None]:
    """Let atoms and environments come from the current directory, as `python -m` does and a console script does not."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


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
    from rewardspec.learning.settings import learner_words

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
