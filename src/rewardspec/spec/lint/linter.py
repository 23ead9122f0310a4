"""Lint: what a spec says that its author can hardly mean, found before any training starts.

A rule is a function from a spec to findings. Errors are what no author means; warnings are what a careful author may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from rewardspec.spec.lint import pair_rules, spec_rules, time_rules
from rewardspec.spec.lint.findings import Finding, Findings, LintedSpec, veto_notes
from rewardspec.spec.spec import Spec
from rewardspec.types import Labels

Rule: TypeAlias = Callable[[LintedSpec], Iterable[Finding]]
"""A rule finds what its docstring says. Its findings have its name, with hyphens."""

RULES: tuple[Rule, ...] = (
    spec_rules.no_pairs,
    spec_rules.undefined_atom,
    spec_rules.unused_atom,
    spec_rules.unused_sort,
    spec_rules.unused_variable,
    spec_rules.unnamed_things,
    spec_rules.run_together,
    pair_rules.too_large,
    pair_rules.constant,
    pair_rules.first_state_only,
    pair_rules.violated_at_reset,
    pair_rules.negative_veto,
    pair_rules.opposite_sign,
    pair_rules.veto_never_fires,
    pair_rules.late_veto,
    pair_rules.infinite_value,
    spec_rules.veto_pays,
    spec_rules.small_veto,
    spec_rules.redundant,
    pair_rules.no_progress,
    pair_rules.no_effect,
    time_rules.out_of_time,
    time_rules.bound_past_limit,
    time_rules.no_time_left,
    time_rules.cut_short,
    time_rules.deadline_vetoes,
    time_rules.unseen_window,
    time_rules.unseen_register,
)


def lint(
    spec: Spec,
    *,
    initial_labels: Labels | None = None,
    max_episode_steps: int | None = None,
    observe: str | None = None,
) -> Findings:
    """Check a spec for likely mistakes; errors come first.

    Printed, the findings end with the pairs whose violation decides the pay of all pairs.

    Args:
        spec: The spec.
        initial_labels: Labels of states after reset, an array for each atom, as `spec.labels` gives them. With them,
            a vetoing pair that any of these states violates is an error. Without, only what no knowledge of the
            environment is needed for is found: `G safe` can be violated at reset, but seldom is.
        max_episode_steps: After how many steps episodes end. With it, bounds are found that no episode reaches.
        observe: What of the monitors the agent will see, as wrappers take it, or `"nothing"`. With it, windows
            and registers are found that it does not see all of.

    Example:
        >>> print(lint(Spec([("F goal", 10), ("G !hole", -10)])))
        error [opposite-sign]: Pair 2, `G !hole`, is a safety formula of weight -10: each step costs 10 for as long \
as it holds, and nothing from its violation on, so that violating it is what pays. To punish its violation, use \
Pair('G !hole', 0, veto=True, penalty=-10). If it is meant as it stands, set veto=False.
    """
    return findings_of(LintedSpec(spec, spec.atom_functions, initial_labels, max_episode_steps, observe))


def findings_of(linted: LintedSpec) -> Findings:
    """Check a spec whose atoms need not be those that have functions; see `lint`."""
    findings = [finding for rule in RULES for finding in rule(linted)]
    return Findings(
        sorted(findings, key=lambda finding: (finding.severity, -1 if finding.pair is None else finding.pair)),
        veto_notes(linted.spec),
    )
