"""`rewardspec play [FORMULA]`, or `SPEC.toml`: the playground, in this machine's browser."""

from __future__ import annotations

import argparse
import webbrowser

from rewardspec.cli.options import command, looks_like_a_file
from rewardspec.errors import Error, FormulaError
from rewardspec.logic.dialects import DIALECTS
from rewardspec.logic.parsing import parse
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import read_draft
from rewardspec.types import JsonObject, Subparsers


def add_parser(commands: Subparsers) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "play",
        "open the playground in the browser: formulas, drawn labels, and what becomes of them at every step",
        """
        rewardspec play
        rewardspec play "G(request -> F[0,20] grant)"
        rewardspec play spec.toml
        """,
        "Only this machine can reach it. Ctrl-C ends it.",
    )
    parser.add_argument("formula", metavar="FORMULA", nargs="?", help="a formula, or a spec file, to start with")
    parser.add_argument("--syntax", choices=tuple(DIALECTS), default="rewardspec", help="how the formula is written")
    parser.add_argument(
        "--semantics", choices=("degree", "robustness"), default="degree", help="what the labels of a formula are"
    )
    parser.add_argument("--port", type=int, default=0, help="where to listen (default: a free port)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if not 0 <= arguments.port < 65536:
        raise Error(f"--port should be from 0 to 65535. Received {arguments.port}.")
    from rewardspec.pages.play_server import PlayServer  # here, since no other command needs a server

    spec, further = _first(arguments)
    with PlayServer(spec, arguments.port, further) as server:
        try:
            print(f"The playground is at {server.url} until Ctrl-C.", flush=True)
            if not arguments.no_browser:
                webbrowser.open(server.url)
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


def _first(arguments: argparse.Namespace) -> tuple[Spec | None, JsonObject]:
    """Return what the playground starts with, and what else the spec file has."""
    text = arguments.formula
    if text is None:
        return None, {}
    if text.endswith(".toml"):
        from rewardspec.pages.playground import further_of

        draft = read_draft(text, atoms=False)  # labels are drawn
        return Spec(draft.pairs, **draft.options), further_of(draft)
    try:
        return Spec([(parse(text, syntax=arguments.syntax), 1)], semantics=arguments.semantics), {}
    except FormulaError:
        if looks_like_a_file(text):
            raise Error(f"{text!r} is no formula. A spec file's name ends in .toml.") from None
        raise
