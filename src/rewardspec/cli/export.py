"""`rewardspec export FORMULA --to c -o FILE`, or `SPEC.toml`: the monitor, or the spec's reward, as C or JavaScript."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from rewardspec.atomic_files import write_whole
from rewardspec.cli.options import add_formula, command, formula_of
from rewardspec.machines.monitor import Monitor
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import read_draft
from rewardspec.synthesis.quantitative.synthesize import synthesize


def add_parser(commands: Any) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "export",
        "write a formula's monitor, or a spec's reward, as one C or JavaScript file that needs nothing else",
        """
        rewardspec export "G(request -> F[0,20] grant)" --to c -o monitor.c
        rewardspec export spec.toml --to js -o reward.js
        """,
    )
    parser.epilog = (
        f"{parser.epilog}\n\nAn argument that ends in .toml is a spec file; its atoms' functions stay behind, and a\n"
        "step is given the labels. The file says how it is used."
    )
    add_formula(parser)
    parser.add_argument("--to", choices=("c", "js"), help="the language (default: as FILE ends)")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write it")
    parser.add_argument("--name", help="what identifiers start with (default: as FILE is called)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file."""
    path = Path(arguments.output)
    language = arguments.to or {".c": "c", ".h": "c", ".js": "js", ".mjs": "js"}.get(path.suffix)
    if language is None:
        arguments.parser.error(f"--to c or --to js? {path.name!r} does not tell.")
    machine = _machine(arguments)
    # A name from the file, as long as it makes one.
    name = arguments.name or (re.sub(r"\W", "_", path.stem, flags=re.ASCII).strip("_0123456789")[:40] or "m")
    write_whole(path, (machine.to_c(name) if language == "c" else machine.to_js(name)).encode())
    print(f"Wrote {path}: {machine!r}")
    return 0


def _machine(arguments: argparse.Namespace) -> Monitor | Spec:
    if arguments.formula.endswith(".toml"):
        draft = read_draft(arguments.formula, atoms=False)  # labels are given
        return Spec(draft.pairs, **draft.options)
    return synthesize(formula_of(arguments), semantics=arguments.semantics)
