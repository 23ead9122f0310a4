"""`rewardspec export FORMULA --to c -o FILE`, or `SPEC.toml`: the monitor, or the spec's reward, as C or JavaScript."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from rewardspec.atomic_files import write_whole
from rewardspec.cli.options import add_formula, command, formula_of
from rewardspec.cli.traces import add_trace_options, opened_trace
from rewardspec.errors import Error
from rewardspec.export.c_columns import columns_to_c
from rewardspec.export.sources import source_of_monitor, source_of_spec
from rewardspec.logic.step_verdicts import verdicts
from rewardspec.machines.monitor import Monitor
from rewardspec.spec.spec import Spec
from rewardspec.spec.toml_reading import read_draft
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.types import Json, Subparsers


def add_parser(commands: Subparsers) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "export",
        "write a formula's monitor, or a spec's reward, as one C or JavaScript file that needs nothing else",
        """
        rewardspec export "G(request -> F[0,20] grant)" --to c -o monitor.c
        rewardspec export spec.toml --to js -o reward.js
        rewardspec export 'G !G[0s,10s] "pressure > 5"' --trace log.csv --verdicts -o pressure.c
        """,
        "An argument that ends in .toml is a spec file; its atoms' functions stay behind, and a\n"
        "step is given the labels. The file says how it is used. With --trace, the C file also has\n"
        "NAME_record_step, which takes the sensor values of a row of such a record and computes the labels.",
    )
    add_formula(parser)
    parser.add_argument("--to", choices=("c", "js"), help="the language (default: as FILE ends)")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write it")
    add_trace_options(parser, required=False)
    parser.add_argument(
        "--verdicts",
        action="store_true",
        help="of a rule G φ, a monitor that says at each step whether φ held as many steps ago as it looks ahead",
    )
    parser.add_argument("--name", help="what identifiers start with (default: as FILE is called)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the file."""
    path = Path(arguments.output)
    language = arguments.to or {".c": "c", ".h": "c", ".js": "js", ".mjs": "js"}.get(path.suffix)
    if language is None:
        arguments.parser.error(f"--to c or --to js? {path.name!r} does not tell.")
    # A name from the file, as long as it makes one.
    name = arguments.name or (re.sub(r"\W", "_", path.stem, flags=re.ASCII).strip("_0123456789")[:40] or "m")
    if arguments.trace is None:
        machine, _, threshold = _machine(arguments)
        text = machine.to_c(name) if language == "c" else machine.to_js(name)
    elif language != "c":
        raise Error("Expressions over columns are exported to C only. Leave --trace out, and give the step labels.")
    else:
        with opened_trace(arguments) as trace:
            machine, entries, threshold = _machine(arguments, trace.in_steps)
            readings = trace.readings(machine.atoms, entries, margin=machine.semantics == "robustness")
            source = source_of_spec(machine, name) if isinstance(machine, Spec) else source_of_monitor(machine, name)
            text = machine.to_c(name) + columns_to_c(source, readings, trace.needed_pace, threshold)
    write_whole(path, text.encode())
    print(f"Wrote {path}: {machine!r}")
    if arguments.trace is None and threshold is not None:
        print(
            f"The threshold stays behind with the atoms: give the step 1 for a label of {threshold:g} or more, else 0."
        )
    if arguments.trace is None and isinstance(machine, Spec) and machine.clip:
        print("The key `clip` stays behind with the atoms: give the step labels that are clipped to [0, 1].")
    return 0


def _machine(
    arguments: argparse.Namespace, rewrite: Callable[[str], str] | None = None
) -> tuple[Monitor | Spec, Mapping[str, Json], float | None]:
    """What is exported; of a spec file also its atoms as it writes them, and its threshold."""
    if arguments.formula.endswith(".toml"):
        if arguments.verdicts:
            raise Error("--verdicts is about one rule. Give its formula in place of the spec file.")
        draft = read_draft(arguments.formula, atoms=False, rewrite=rewrite)  # labels are given
        return Spec(draft.pairs, **draft.options), draft.entries, draft.threshold
    formula = formula_of(arguments, rewrite)
    if arguments.verdicts:
        formula, delay = verdicts(formula)
        print(f"The verdict about a step comes {delay} steps later.")
    return synthesize(formula, semantics=arguments.semantics), {}, None
