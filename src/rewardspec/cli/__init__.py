"""The command line: `rewardspec COMMAND`.

Each command is a module with `add_parser`, which describes it, and `run`, which does it and returns the exit status.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from rewardspec import __version__
from rewardspec.errors import Error, did_you_mean

_COMMANDS = {
    "check": "rewardspec.cli.check",
    "monitor": "rewardspec.cli.monitor",
    "violations": "rewardspec.cli.violations",
    "transcripts": "rewardspec.cli.transcripts",
    "draw": "rewardspec.cli.draw",
    "play": "rewardspec.cli.play",
    "export": "rewardspec.cli.export",
    "explain": "rewardspec.lab.cli.explain",
    "probe": "rewardspec.lab.cli.probe",
    "envs": "rewardspec.lab.cli.envs",
    "audit": "rewardspec.lab.cli.audit",
    "train": "rewardspec.lab.cli.train",
    "compare": "rewardspec.lab.cli.compare",
    "reproduce": "rewardspec.lab.cli.reproduce",
    "report": "rewardspec.lab.cli.report",
}
"""Commands of the library and of the lab by name, in the order of the help; a module is imported when it is needed."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    That is 0 for success, 1 where a check found errors, 2 for bad input, and 130 when interrupted.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    # Some commands record how they were called.
    arguments, unknown = _parser(words).parse_known_args(words, argparse.Namespace(argv=words))
    if unknown:
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")  # with the usage of its command
    try:
        if getattr(arguments, "env_args", None):
            from rewardspec.cli.options import env_with_arguments

            arguments.env = env_with_arguments(arguments)
        status = int(arguments.run(arguments))
        sys.stdout.flush()  # here, where a reader that went away is still noticed
        return status
    except BrokenPipeError:
        # The reader of our output went away, as `head` does; that is not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(str(interrupt) or "Interrupted.", file=sys.stderr)
        return 130


def _parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """Parser of the command that the words begin with, or of all commands if they begin with none."""
    parser = argparse.ArgumentParser(
        prog="rewardspec",
        description="Rewards for reinforcement learning from temporal-logic specifications.",
        epilog='Example: rewardspec check "G(request -> F grant)"',
    )
    parser.add_argument("--version", action="version", version=f"rewardspec {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    named = [word for word in words[:1] if word in _COMMANDS]
    for name in named or _COMMANDS:
        importlib.import_module(_COMMANDS[name]).add_parser(commands)
    for word in words[:1] if not named else ():
        hint = " `rewardspec check` lints." if word == "lint" else did_you_mean(word, _COMMANDS)
        if hint and not word.startswith("-"):
            parser.error(f"there is no command {word!r}.{hint}")
    return parser
