"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rewardspec.environments import find_spec, make_environment, with_arguments
from rewardspec.errors import Error, FormulaError, SpecError
from rewardspec.logic.dialects import DIALECTS
from rewardspec.logic.formulas import Formula
from rewardspec.logic.parsing import parse
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import SpecDraft, read_draft
from rewardspec.types import Environment, Json, JsonObject, Subparsers

OBSERVE_CHOICES = ("nothing", "registers", "control", "values")
"""What a learner may see of the monitor."""


def command(commands: Subparsers, name: str, summary: str, example: str, notes: str = "") -> argparse.ArgumentParser:
    """A parser for one command, whose help ends with an example and notes."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog="example:\n" + textwrap.indent(textwrap.dedent(example).strip(), "  ") + (notes and f"\n\n{notes}"),
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


def formula_of(arguments: argparse.Namespace, rewrite: Callable[[str], str] | None = None) -> Formula:
    """The formula that was given; `rewrite` is applied to its text first. An error says if it is a file's name."""
    try:
        text = arguments.formula if rewrite is None else rewrite(arguments.formula)
        return parse(text, syntax=arguments.syntax)
    except FormulaError:
        name = arguments.formula
        if not looks_like_a_file(name):
            raise
        what = f"{name!r} looks like a file, and there is none of that name in {os.getcwd()!r}."
        if Path(name).exists():
            what = f"{name!r} is a file, and a formula is wanted here."
        remedy = "Give a formula, such as 'F goal', or a spec file, whose name ends in .toml."
        raise Error(f"{what} {remedy}") from None


def looks_like_a_file(text: str) -> bool:
    """Return whether a text that is no formula may be the name of a file.

    Example:
        >>> looks_like_a_file("drone.tml"), looks_like_a_file("specs/drone"), looks_like_a_file("a. b")
        (True, True, False)
    """
    return (
        re.fullmatch(r"(?:[\w.~:-]*[/\\])*[\w.~-]+", text) is not None and re.search(r"[/\\]|\.\w+$", text) is not None
    )


def add_no_references(parser: argparse.ArgumentParser) -> None:
    """The option of commands that read spec files."""
    parser.add_argument(
        "--no-references",
        action="store_true",
        help="refuse a spec file whose atoms name Python functions, which would be imported",
    )


def draft_in(
    path: str, arguments: argparse.Namespace, atoms: bool = True, rewrite: Callable[[str], str] | None = None
) -> SpecDraft:
    """Read a spec file, and announce its imports on standard error before they happen; the rest as for `read_draft`."""
    told: set[str] = set()

    def announce(reference: str) -> None:
        module = reference.strip().partition(":")[0]
        if module not in told:
            told.add(module)
            print(f"Importing {module}, which {path} names; --no-references refuses that.", file=sys.stderr)

    return read_draft(path, references=not arguments.no_references, announce=announce, atoms=atoms, rewrite=rewrite)


def spec_in(path: str, arguments: argparse.Namespace) -> Spec:
    """The spec in a file; what it imports is told on standard error."""
    draft = draft_in(path, arguments)
    try:
        return draft.spec()
    except Error as error:
        raise SpecError(f"{path}: {error}") from error


def made(env_id: str) -> Environment:
    """The Gymnasium environment of an id, `module:id` or `module:Class`."""
    import gymnasium

    try:
        return make_environment(find_spec(env_id))
    except (gymnasium.error.Error, ImportError) as error:
        if isinstance(error, Error):
            raise
        raise Error(f"Cannot make the environment {env_id!r}: {error}") from error


def add_env_arg(parser: argparse.ArgumentParser) -> None:
    """The option for arguments of `gymnasium.make`; `env_with_arguments` adds them to ENV."""
    parser.add_argument(
        "--env-arg",
        dest="env_args",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument of gymnasium.make, such as is_slippery=false, map_name=8x8 or 'config={lanes_count=3}'; or a "
        "TOML file of arguments, FILE.toml; give several: tables of one name are merged key by key, the later wins",
    )


def env_with_arguments(arguments: argparse.Namespace) -> str | None:
    """Return the environment that was named, together with the arguments that were given for it."""
    given = env_arguments(arguments)
    env: str | None = getattr(arguments, "env", None)
    if env is None and given and getattr(arguments, "policy", None) is None:
        raise Error("--env-arg gives arguments to an environment. Name it.")
    return env if env is None else with_arguments(env, given)


def env_arguments(arguments: argparse.Namespace) -> JsonObject:
    """Return the arguments that were given for the environment."""
    given: JsonObject = {}
    for text in arguments.env_args:
        is_file = text.endswith(".toml") and "=" not in text
        given = merged(given, _table_in(text) if is_file else dict([setting(text, "--env-arg")]))
    return given


def merged(earlier: JsonObject, later: JsonObject) -> JsonObject:
    """Merge tables key by key, also those within them; the later value wins.

    Example:
        >>> merged({"config": {"lanes": 3, "cars": 20}}, {"config": {"cars": 5}})
        {'config': {'lanes': 3, 'cars': 5}}
    """
    found = {**earlier, **later}
    for name in earlier.keys() & later.keys():
        if isinstance(earlier[name], dict) and isinstance(later[name], dict):
            found[name] = merged(earlier[name], later[name])
    return found


def _table_in(path: str) -> JsonObject:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise Error(f"Cannot read {path!r}: {error.strerror}.") from None
    except ValueError as error:  # also where it is not UTF-8
        raise Error(f"{path!r} is not TOML: {error}.") from None


def setting(text: str, option: str) -> tuple[str, Json]:
    """Parse NAME=VALUE; the value is TOML, and words need no quotes.

    Example:
        >>> setting("clip=0.1", "--set"), setting("policy=CnnPolicy", "--set"), setting("net_arch=[64, 64]", "--set")
        (('clip', 0.1), ('policy', 'CnnPolicy'), ('net_arch', [64, 64]))
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        example = {"--set": "learning_rate=1e-3"}.get(option, "is_slippery=false")
        raise Error(f"`{option}` should have the form NAME=VALUE, such as {example}. Received {text!r}.")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        if re.fullmatch(r"[\w.:+-]+", value.strip()):
            return name.strip(), value.strip()
        raise Error(f"The value of {name.strip()!r} should be written as in TOML. Received {value!r}.") from None


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Align the columns of rows; yield a line for each."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


@contextmanager
def importing_from_here() -> Iterator[None]:
    """Let atoms and environments come from the current directory, as `python -m` does and a console script does not."""
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
