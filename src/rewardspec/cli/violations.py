"""`rewardspec violations RULE --trace FILE`: every violation of a rule, or of the rules of a spec file, in a record."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rewardspec.atomic_files import write_whole
from rewardspec.cli.options import add_formula, aligned, command, formula_of
from rewardspec.cli.trace_files import Cell, Column, LabelKind
from rewardspec.cli.traces import TRACE_HELP, Reading, Trace, add_trace_options, opened_trace, read_record_spec
from rewardspec.episodes.violations import CRISP, Violation, ViolationFinder, rule_parts
from rewardspec.errors import LabelError
from rewardspec.logic.decided_steps import reach
from rewardspec.logic.formulas import Formula
from rewardspec.logic.fragments import unguarded_atoms
from rewardspec.logic.quantifiers import atoms_of
from rewardspec.logic.words import paraphrase
from rewardspec.pages.violations_page import RuleReport, violations_page
from rewardspec.spec.atoms.column_atoms import ColumnAtom
from rewardspec.synthesis.diagnosis import warnings_about_the_first_state
from rewardspec.types import Json, Subparsers

_TRUE, _FALSE = 1.0, 0.0


def add_parser(commands: Subparsers) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "violations",
        "list every violation of a rule in a record: where it starts, when it became certain, by how much, and when it "
        "recovered",
        """
        rewardspec violations 'G "pressure < 5"' --trace log.csv
        rewardspec violations 'G("alarm == 1" -> F[0s,30s] "valve == 0")' --trace log.csv --format json
        rewardspec violations rules.toml --trace log.csv --html report.html
        """,
        f"{TRACE_HELP}\n\nA rule G φ is broken at each step at which φ is false. Consecutive such steps are one\n"
        "violation. What is still open at the end of the record, such as a deadline behind it, is listed and\n"
        "not counted, unless the record is said to be --complete. The exit status is 0 without violations,\n"
        "1 with violations, and 2 for bad input.",
    )
    add_formula(parser)
    add_trace_options(parser)
    parser.add_argument(
        "--complete",
        action="store_true",
        help="nothing follows the record: what is open at its end is a violation, such as F x without x",
    )
    parser.add_argument(
        "--format", choices=("table", "csv", "json"), default="table", help="how to print them (default: %(default)s)"
    )
    parser.add_argument("--html", metavar="FILE", help="also write a page with a picture and a list for each rule")
    parser.set_defaults(run=run)


class Rules(NamedTuple):
    """The rules by name; the atoms of a spec file, as it writes them; and what counts as a label.

    Degrees are true from the threshold on; without one, they should be 0 or 1.
    """

    formulas: Mapping[str, Formula]
    entries: Mapping[str, Json]
    kind: LabelKind


class Found(NamedTuple):
    """The violations of each rule in a record, its number of rows, and the times of its first and last row.

    Times are as the record writes them. `stamps` has those of the steps that violations name; None without times.
    """

    violations: Mapping[str, list[Violation]]
    stamps: dict[int, Cell] | None
    length: int
    first: Cell
    last: Cell


def run(arguments: argparse.Namespace) -> int:
    """Print the violations."""
    with opened_trace(arguments) as trace:
        rules = _rules(arguments, trace)
        for name, formula in rules.formulas.items():
            for warning in _warnings(formula):
                print(f"warning: {name}: {warning}", file=sys.stderr)
        found = find(trace, rules, arguments.complete)
    rows = [_row(name, each, found.stamps) for name, violations in found.violations.items() for each in violations]
    print(_FORMATS[arguments.format](rows), end="")
    if arguments.html:
        write_whole(Path(arguments.html), _page(arguments.trace, rules, found).encode())
        print(f"Wrote {arguments.html}", file=sys.stderr)
    certain = sum(row["status"] == "violated" for row in rows)
    if arguments.format == "table":
        still_open = f", {len(rows) - certain} open at the end" if len(rows) > certain else ""
        apart = "" if trace.pace is None else f", {trace.pace.period:.6g} s apart"
        print(f"{_counted(found.length, 'row')}{apart}: {_counted(certain, 'violation')}{still_open}.")
    return 1 if certain else 0


def _rules(arguments: argparse.Namespace, trace: Trace) -> Rules:
    if not arguments.formula.endswith(".toml"):
        formula = formula_of(arguments, trace.in_steps)
        return Rules({arguments.formula: formula}, {}, LabelKind(arguments.semantics))
    spec, entries, kind = read_record_spec(arguments.formula, trace.in_steps)
    return Rules(dict(zip(spec.names, spec.formulas, strict=True)), entries, kind)


def _warnings(formula: Formula) -> Iterator[str]:
    yield from warnings_about_the_first_state(formula)
    for part in rule_parts(formula):
        if part.high == 0 and reach(part.formula).ahead is not None and not unguarded_atoms(part.formula):
            yield f"`{part.formula}` is judged at the first row alone. Put G before it to judge it at every row."


def find(trace: Trace, rules: Rules, complete: bool = False) -> Found:
    """Find the violations of rules while a record is read; with `complete`, nothing is open at its end."""
    finders = {name: ViolationFinder(formula) for name, formula in rules.formulas.items()}
    atoms = tuple(dict.fromkeys(atom for formula in rules.formulas.values() for atom in atoms_of(formula)))
    exact = trace.readings(atoms, rules.entries)
    with_margin = {
        atom: ColumnAtom(reading.text, trace.columns, margin=True, crisp=CRISP, at_reset=reading.at_reset)
        for atom, reading in exact.items()
        if isinstance(reading, ColumnAtom) and reading.is_comparison
    }
    # One pass over the rows reads both; a name of several parts cannot be that of an atom.
    readings: dict[str, Reading] = {**exact, **{_margin_name(atom): reading for atom, reading in with_margin.items()}}
    stamps: dict[int, Cell] = {}
    recent: list[Cell] = []  # the times of the last rows
    length = 0
    first: Cell = None
    any_number = LabelKind("robustness")
    # Without a threshold or a clip, all labels but 0 and 1 are refused here, with a better remedy.
    kind = rules.kind if rules.kind.clip or rules.kind.threshold is not None else any_number
    kinds: dict[Reading, LabelKind] = dict.fromkeys(with_margin.values(), any_number)
    for block in trace.blocks(readings, kind, timed=trace.has_time, kinds=kinds):
        truths, margins = {}, {}
        for atom, reading in exact.items():
            label = block.labels[atom]
            if atom not in with_margin:
                truths[atom], margins[atom] = _truths_and_margins(label, atom, rules.kind, length)
                continue
            margins[atom] = block.labels[_margin_name(atom)]
            truths[atom] = label == _TRUE
            if length == 0 and isinstance(reading, ColumnAtom) and reading.at_reset is not None:
                # The first label is declared, and is no comparison.
                first_margin = margins[atom] if rules.kind.semantics == "robustness" else label
                true, margin = _truths_and_margins(first_margin[:1], atom, rules.kind, 0)
                truths[atom] = np.concatenate([true, truths[atom][1:]])
                margins[atom] = np.concatenate([margin, margins[atom][1:]])
        truths = truths or {"": np.ones(block.length, dtype=bool)}
        margins = margins or {"": np.full(block.length, CRISP)}
        if length == 0 and block.stamps:
            first = block.stamps[0]
        length += block.length
        recent += block.stamps or []
        for finder in finders.values():
            _note_times(finder.feed(truths, margins), stamps, recent, length)
        settled = min((finder.settled for finder in finders.values()), default=length)
        del recent[: max(0, len(recent) - (length - settled + 1))]
    for finder in finders.values():
        _note_times(finder.finish(complete), stamps, recent, length)
    violations = {name: finder.violations() for name, finder in finders.items()}
    return Found(violations, stamps if trace.has_time else None, length, first, recent[-1] if recent else None)


def _note_times(violations: list[Violation], stamps: dict[int, Cell], recent: list[Cell], length: int) -> None:
    """Remember the times of the steps that violations name."""
    for violation in violations:
        for step in (violation.step, violation.last, violation.certain, violation.recovered):
            if step is not None and recent and step not in stamps:
                stamps[step] = recent[step - length]


def _margin_name(atom: str) -> str:
    return f"{atom}\0margin"


def _truths_and_margins(labels: Column, atom: str, kind: LabelKind, step: int) -> tuple[NDArray[np.bool_], Column]:
    """Of labels that are no comparison, from a step on; a threshold has made them 0 or 1."""
    if kind.semantics == "robustness":
        return labels >= 0.0, labels
    truths = labels == _TRUE
    other = ~truths & (labels != _FALSE)
    if other.any():
        first = int(np.argmax(other))
        raise LabelError(
            f"The label of {atom!r} should be true or false, 1 or 0. Received {labels[first]:g} at step "
            f'{step + first}. Compare it, as in "{atom} > 0.5", or give a spec file a `threshold`.'
        )
    return truths, np.where(truths, CRISP, -CRISP)


def _page(record: str, rules: Rules, found: Found) -> str:
    reports = [
        RuleReport(name, str(formula), paraphrase(formula), found.violations[name])
        for name, formula in rules.formulas.items()
    ]
    ends = (f"row 0 ({found.first})", f"row {found.length - 1:,} ({found.last})")
    if found.stamps is None:
        ends = ("row 0", f"row {found.length - 1:,}")
    return violations_page(Path(record).name, found.length, reports, found.stamps, ends)


def _row(name: str, violation: Violation, stamps: Mapping[int, Cell] | None) -> dict[str, Cell]:
    steps = {
        "step": violation.step,
        "last_step": violation.last,
        "certain_step": violation.certain,
        "recovered_step": violation.recovered,
    }
    row: dict[str, Cell] = {"rule": name, "status": "open" if violation.certain is None else "violated"}
    for key, step in steps.items():
        row[key] = step
        if stamps is not None:
            row[key.replace("step", "time")] = None if step is None else stamps[step]
    return row | {"by": violation.amount}


def _to_table(rows: list[dict[str, Cell]]) -> str:
    if not rows:
        return ""
    titles = {key: key.replace("_", " ").replace(" step", "") for key in rows[0] if key not in ("rule", "status")}
    lines = [["rule", "status", *titles.values()]]
    lines.extend([str(row["rule"]), str(row["status"]), *(_shown(row[key]) for key in titles)] for row in rows)
    return "".join(f"{line}\n" for line in aligned(lines))


def _shown(cell: Cell) -> str:
    return "–" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _to_csv(rows: list[dict[str, Cell]]) -> str:
    text = io.StringIO()
    keys = list(rows[0]) if rows else ["rule", "status", "step", "last_step", "certain_step", "recovered_step", "by"]
    writer = csv.DictWriter(text, keys, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _to_json(rows: list[dict[str, Cell]]) -> str:
    # Of Parquet files, times may be dates, which JSON lacks.
    return json.dumps(rows, indent=2, ensure_ascii=False, default=str) + "\n"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


_FORMATS: Mapping[str, Callable[[list[dict[str, Cell]]], str]] = {"table": _to_table, "csv": _to_csv, "json": _to_json}
