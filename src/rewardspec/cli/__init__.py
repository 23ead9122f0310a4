"""The command line: `rewardspec COMMAND`.

Each command is a module with `add_parser`, which describes it, and `run`, which does it and returns the exit status.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from rewardspec import __version__
from rewardspec.cli import (
    audit,
    check,
    compare,
    draw,
    envs,
    explain,
    export,
    monitor,
    play,
    probe,
    report,
    reproduce,
    train,
)
from rewardspec.errors import Error

_COMMANDS = (check, monitor, draw, play, export, explain, probe, envs, audit, train, compare, reproduce, report)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    That is 0 for success, 1 where a check found errors, 2 for bad input, and 130 when interrupted.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    # Some commands record how they were called.
    arguments, unknown = _parser().parse_known_args(words, argparse.Namespace(argv=words))
    if unknown:
        arguments.parser.error(f"unrecognized arguments: {' '.join(unknown)}")  # with the usage of its command
    try:
        status = int(arguments.run(arguments))
        sys.stdout.flush()  # here, where a reader that went away is still noticed
        return status
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader of our output went away, as `head` does; that is not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interrupt:
        print(str(interrupt) or "Interrupted.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rewardspec",
        description="Rewards for reinforcement learning from temporal-logic specifications.",
        epilog='Example: rewardspec check "G(request -> F grant)"',
    )
    parser.add_argument("--version", action="version", version=f"rewardspec {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(commands)
    return parser
