"""`rewardspec monitor FORMULA --trace FILE.csv`, or `SPEC.toml`: values after every step of a recorded trace."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Mapping

from rewardspec.cli.options import add_formula, command, formula_of
from rewardspec.cli.trace_files import LabelKind
from rewardspec.cli.traces import TRACE_HELP, Trace, TraceRow, add_trace_options, opened_trace, read_record_spec
from rewardspec.drawing.run_plot import check_picture_path, plot_run, save
from rewardspec.errors import Error, SynthesisError
from rewardspec.logic.formulas import Formula
from rewardspec.machines.program import Semantics
from rewardspec.spec.payments import PAYMENTS
from rewardspec.spec.spec import Spec
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.types import Json, MachineState, Subparsers

_ENDS = ("base_reward", "terminated", "truncated")  # columns of a trace that a spec reads beside its atoms


def add_parser(commands: Subparsers) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "monitor",
        "run a formula's monitor over a trace and print its value and bounds after every step; of a spec file, the "
        "values of its formulas and the reward",
        """
        rewardspec monitor "G(request -> F grant)" --trace episode.csv --plot episode.png
        rewardspec monitor 'G !G[0s,10s] "pressure > 5"' --trace log.csv
        rewardspec monitor spec.toml --trace episode.csv
        """,
        f"{TRACE_HELP}\n\nLabels are in [0, 1], or with --semantics robustness any numbers. An "
        "argument that ends in .toml\nis a spec file. Then the first row is the state after reset, which pays nothing, "
        "and columns\nbase_reward, terminated and truncated are read where there are any.",
    )
    add_formula(parser)
    add_trace_options(parser)
    parser.add_argument("--plot", metavar="FILE", help="also draw atoms, value and bounds over time (.png, .svg, .pdf)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print CSV; of a trace that is piped in while it is being recorded, each row as soon as it is known."""
    output = csv.writer(sys.stdout, lineterminator="\n")
    if arguments.formula.endswith(".toml"):
        if arguments.plot:
            raise Error("--plot draws one formula. `rewardspec explain` tells more of a spec; or give the formula.")
    elif arguments.plot:
        check_picture_path(arguments.plot)
    with opened_trace(arguments) as trace:
        if arguments.formula.endswith(".toml"):
            lines = _lines_of_spec(trace, *read_record_spec(arguments.formula, trace.in_steps))
        else:
            formula = formula_of(arguments, trace.in_steps)
            lines = _lines_of_formula(formula, arguments.semantics, trace, arguments.plot)
        for line in lines:
            output.writerow(line)
            if trace.live:
                sys.stdout.flush()
    return 0


def _lines_of_formula(formula: Formula, semantics: Semantics, trace: Trace, plot: str | None) -> Iterator[list[object]]:
    monitor = synthesize(formula, semantics=semantics)
    state = monitor.initial_state()
    try:
        monitor.bounds(state)
        bounds = True
    except SynthesisError as error:
        print(f"Values only, without bounds: {error}", file=sys.stderr)
        bounds = False
    labels: dict[str, list[float]] = {atom: [] for atom in monitor.atoms}
    drawn: list[tuple[float, ...]] = []
    numbers: tuple[float, ...] = ()
    is_certain = False
    readings = trace.readings(monitor.atoms, margin=semantics == "robustness")
    for step, row in enumerate(trace.rows(readings, LabelKind(semantics))):
        if step == 0:
            yield ["step", "value", "lower", "upper"] if bounds else ["step", "value"]
        state, value = monitor.step(state, row.labels)
        if not is_certain:  # then neither value nor bounds change any more
            ends = monitor.bounds(state) if bounds else ()
            numbers = (value, *ends)
            is_certain = len(set(ends)) == 1
        yield [step, *map(_number, numbers)]
        if plot:
            drawn.append(numbers)
            for atom, column in labels.items():
                column.append(row.labels[atom])
    if plot:
        columns = [list(column) for column in zip(*drawn, strict=True)]
        save(plot_run(str(formula), labels, *columns), plot)
        print(f"Wrote {plot}", file=sys.stderr)


def _lines_of_spec(trace: Trace, spec: Spec, entries: Mapping[str, Json], kind: LabelKind) -> Iterator[list[object]]:
    state: MachineState = None
    hold_back = any(PAYMENTS[way].reads_truncation for way in (spec.payment, *spec.payments))
    readings = trace.readings(spec.atoms, entries, margin=spec.semantics == "robustness")
    for step, (row, is_last) in enumerate(_marked(trace.rows(readings, kind, _ENDS), hold_back)):
        if step == 0:
            yield ["step", *map(str, spec.pairs), "violated", "reward"]
            state, reward = spec.start(row.labels), ""
        else:
            ends = row.others
            # Where the trace does not tell, its end is where the episode was cut short.
            truncated = bool(ends.get("truncated", is_last and not ends.get("terminated")))
            paid = spec.step(
                state, row.labels, ends.get("base_reward", 0.0), bool(ends.get("terminated", False)), truncated
            )
            state, reward = paid[0], _number(paid[1])
        yield [step, *map(_number, spec.values(state)), int(spec.violated(state)), reward]


def _marked(rows: Iterator[TraceRow], hold_back: bool) -> Iterator[tuple[TraceRow, bool]]:
    """Each row, and whether it is known to be the last; to know that, a row is held back until the next has come."""
    if not hold_back:
        yield from ((row, False) for row in rows)
        return
    before: TraceRow | None = None
    for row in rows:
        if before is not None:
            yield before, False
        before = row
    if before is not None:
        yield before, True


def _number(value: float) -> str:
    return f"{float(value):.10g}"
