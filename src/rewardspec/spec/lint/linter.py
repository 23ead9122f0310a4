"""Lint: what a spec says that its author can hardly mean, found before any training starts.

| rule | finds |
|---|---|
| `no-pairs` | a spec without pairs |
| `undefined-atom` | an atom that a formula reads and that has no function |
| `unused-atom` | an atom with a function that no formula reads |
| `run-together` | an atom that looks like operators run together, as `GFa` |
| `too-large` | a formula without a machine within the budget |
| `constant` | a formula with the same value on every trace |
| `first-state-only` | an atom outside every temporal operator |
| `violated-at-reset` | a safety objective that can fail before the first action |
| `negative-safety` | a safety objective with a negative weight |
| `opposite-sign` | a negative weight on a safety formula: it pays for the violation |
| `veto-never-fires` | a safety objective that cannot be violated |
| `redundant` | a pair that another makes redundant |
| `no-effect` | a pair that pays nothing and vetoes nothing |

Errors are what no author means; warnings are what a careful author may.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewardspec.errors import SynthesisError, did_you_mean
from rewardspec.logic.parsing import operators_run_together
from rewardspec.machines.monitor import Monitor
from rewardspec.spec.atoms.functions import AtomFunction
from rewardspec.spec.lint.findings import Finding, called
from rewardspec.spec.lint.rules import pair_findings, redundancies
from rewardspec.spec.pairs import Pair
from rewardspec.spec.spec import Spec
from rewardspec.synthesis.quantitative.synthesize import DEFAULT_REGISTERS, synthesize

__all__ = ["Finding", "lint", "lint_pairs"]


def lint(spec: Spec, *, initial_labels: Mapping[str, Any] | None = None) -> list[Finding]:
    """What looks wrong with a spec; errors first.

    Args:
        spec: The spec.
        initial_labels: Labels of states after reset, an array for each atom, as `spec.labels` gives them. With them,
            a safety objective is an error that any of these states violates. Without, only what no knowledge of the
            environment is needed for is found: `G safe` can be violated at reset, but seldom is.

    Example:
        >>> for finding in lint(Spec([("F goal", 10), ("G !hole", -10)])):
        ...     print(finding)
        error [opposite-sign]: Pair 2, `G !hole`, is a safety formula of weight -10: each step costs 10 for as long \
as it holds, and nothing from its violation on, so that violating it is what pays. To punish its violation, use \
Pair('G !hole', 0, veto=True, penalty=-10). If it is meant as it stands, set veto=False.
    """
    return lint_pairs(
        spec.pairs,
        spec.atom_functions,
        penalty=spec.penalty,
        max_registers=spec.max_registers,
        initial_labels=initial_labels,
    )


def lint_pairs(
    pairs: Sequence[Pair],
    atoms: Mapping[str, AtomFunction] | None,
    *,
    penalty: float = 0.0,
    max_registers: int = DEFAULT_REGISTERS,
    initial_labels: Mapping[str, Any] | None = None,
) -> list[Finding]:
    """As `lint`, for pairs and atoms that need not fit together."""
    findings = [*_atom_findings(pairs, atoms)]
    if not pairs:
        message = "The spec has no pairs, so that nothing is paid for, whatever happens."
        findings.append(Finding("no-pairs", "error", None, message, "Add pairs of a formula and a weight."))
    monitors: list[Monitor | None] = []
    for number, pair in enumerate(pairs):
        try:
            monitor = synthesize(pair.formula, max_registers=max_registers)
        except SynthesisError as error:
            monitors.append(None)
            remedy = "Split the formula into several pairs, or raise max_registers."
            findings.append(
                Finding("too-large", "error", number, f"{called(number, pair)} has no machine: {error}", remedy)
            )
            continue
        monitors.append(monitor)
        findings.extend(pair_findings(number, pair, monitor, atoms or {}, initial_labels))
    findings.extend(redundancies(pairs, monitors, penalty))
    return sorted(findings, key=lambda finding: (finding.severity, -1 if finding.pair is None else finding.pair))


def _atom_findings(pairs: Sequence[Pair], atoms: Mapping[str, AtomFunction] | None) -> Iterator[Finding]:
    used: dict[str, int] = {}
    for number, pair in enumerate(pairs):
        for atom in pair.formula.atoms:
            used.setdefault(atom, number)
    for atom, number in used.items():
        if atoms is not None and atom in atoms:
            continue
        spaced = operators_run_together(atom)
        if spaced is not None and (not atoms or spaced.split()[-1] in atoms):
            message = (
                f"{called(number, pairs[number])} reads an atom {atom!r}, which looks like operators run together."
            )
            yield Finding("run-together", "warning", number, message, f"Did you mean {spaced!r}? Write it with spaces.")
        if atoms is not None:
            known = ", ".join(atoms) or "none"
            message = (
                f"{called(number, pairs[number])} reads the atom {atom!r}, which is not defined; defined: {known}."
            )
            remedy = did_you_mean(atom, atoms).strip() or "Define it."
            yield Finding("undefined-atom", "error", number, message, remedy)
    for atom in atoms or {}:
        if atom not in used:
            message = f"The atom {atom!r} is defined, and no formula reads it."
            near = difflib.get_close_matches(atom, [name for name in used if name not in (atoms or {})], n=1)
            remedy = f"Should the formula that reads {near[0]!r} read it?" if near else "Remove it."
            yield Finding("unused-atom", "warning", None, message, remedy)
