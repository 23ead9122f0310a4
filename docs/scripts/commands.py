"""The options of every command, as Markdown from the parser itself: what the page of the command line ends with.

The site's build puts it there. To see it: python docs/scripts/commands.py
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from rewardspec.cli import _parser


def options() -> str:
    """A section for each command: what it does, an example, and all that it takes."""
    (commands,) = (action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    return "\n".join(line for name, parser in commands.choices.items() for line in _section(name, parser))


def _section(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    yield f"## {name}\n"
    yield f"{parser.description}\n"
    example, _, notes = (parser.epilog or "").removeprefix("example:\n").partition("\n\n")
    yield f"```text\n{re.sub(r'^  ', '', example, flags=re.MULTILINE)}\n```\n"
    if notes:
        yield f"{_plain(notes)}\n"
    yield "| argument | |\n|---|---|"
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction):
            yield f"| {_called(action)} | {_told(parser, action)} |"
    yield ""


def _called(action: argparse.Action) -> str:
    values = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else str(action.metavar or action.dest)
    takes = "" if action.nargs == 0 else f" {values}"
    names = ", ".join(action.option_strings)
    return f"`{names}{takes}`".replace("|", "\\|") if names else f"`{values}`"


def _told(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The help of an argument, with its defaults filled in."""
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    """Prose in which options are code, so that no dashes are made of their hyphens."""
    return re.sub(r"(?<![\w`-])(--?[a-z][\w-]*)(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", r"`\1`", text).replace("<", "\\<")


if __name__ == "__main__":
    print(options())
