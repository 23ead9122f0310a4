"""Lint: what a spec says that its author can hardly mean, found before any training starts.

A rule is a function from a spec to findings, and a line of `RULES`. Errors are what no author means; warnings are
what a careful author may.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from rewardspec.spec.lint import pair_rules, spec_rules, time_rules
from rewardspec.spec.lint.findings import Finding, Findings, LintedSpec
from rewardspec.spec.spec import Spec
from rewardspec.types import Labels


class LintRule(NamedTuple):
    """A rule.

    Attributes:
        name: Its name, which its findings have.
        finds: What it finds, in words.
        check: The function.
    """

    name: str
    finds: str
    check: Callable[[LintedSpec], Iterable[Finding]]


RULES = (
    LintRule("no-pairs", "a spec without pairs", spec_rules.no_pairs),
    LintRule("undefined-atom", "an atom that a formula reads and that has no function", spec_rules.undefined_atom),
    LintRule("unused-atom", "an atom with a function that no formula reads", spec_rules.unused_atom),
    LintRule("unused-sort", "a sort that no formula says anything of", spec_rules.unused_sort),
    LintRule("unused-variable", "a quantifier whose variable its formula does not use", spec_rules.unused_variable),
    LintRule("unnamed-things", "a formula that things decide which no step names", spec_rules.unnamed_things),
    LintRule("run-together", "an atom that looks like operators run together, as `GFa`", spec_rules.run_together),
    LintRule("too-large", "a formula without a machine within the budget", pair_rules.too_large),
    LintRule("constant", "a formula with the same value on every trace", pair_rules.constant),
    LintRule("first-state-only", "an atom outside every temporal operator", pair_rules.first_state_only),
    LintRule(
        "violated-at-reset", "a safety objective that can fail before the first action", pair_rules.violated_at_reset
    ),
    LintRule("negative-veto", "a safety objective with a negative weight", pair_rules.negative_veto),
    LintRule(
        "opposite-sign",
        "a negative weight on a safety formula: it pays for the violation",
        pair_rules.opposite_sign,
    ),
    LintRule("veto-never-fires", "a safety objective that cannot be violated", pair_rules.veto_never_fires),
    LintRule("late-veto", "a safety objective whose violation may be noticed late, or never", pair_rules.late_veto),
    LintRule("infinite-value", "a formula whose robustness is infinite where it is paid", pair_rules.infinite_value),
    LintRule(
        "veto-pays", "a safety objective whose violation ends costs that are above its penalty", spec_rules.veto_pays
    ),
    LintRule("redundant", "a pair that another makes redundant", spec_rules.redundant),
    LintRule("no-progress", "a pair paid for its progress, which is its value", pair_rules.no_progress),
    LintRule("no-effect", "a pair that pays nothing and vetoes nothing", pair_rules.no_effect),
    LintRule("out-of-time", "a formula that no episode is long enough to meet, or to break", time_rules.out_of_time),
    LintRule("bound-past-limit", "a bound that no episode is long enough to reach", time_rules.bound_past_limit),
    LintRule("no-time-left", "an interval of the current step alone", time_rules.no_time_left),
    LintRule(
        "cut-short", "a hold under `F` that a single step at an episode's end or start meets", time_rules.cut_short
    ),
    LintRule("deadline-vetoes", "a pair that vetoes only because of its deadlines", time_rules.deadline_vetoes),
    LintRule("unseen-window", "a window that the agent does not see all of", time_rules.unseen_window),
)


def lint(
    spec: Spec,
    *,
    initial_labels: Labels | None = None,
    max_episode_steps: int | None = None,
    observe: str | None = None,
) -> Findings:
    """Check a spec for likely mistakes; errors come first.

    Printed, the findings end with the pairs whose violation ends the pay of all pairs.

    Args:
        spec: The spec.
        initial_labels: Labels of states after reset, an array for each atom, as `spec.labels` gives them. With them,
            a vetoing pair that any of these states violates is an error. Without, only what no knowledge of the
            environment is needed for is found: `G safe` can be violated at reset, but seldom is.
        max_episode_steps: After how many steps episodes end. With it, bounds are found that no episode reaches.
        observe: What of the monitors the agent will see, as wrappers take it, or `"nothing"`. With it, windows are
            found that it does not see all of.

    Example:
        >>> print(lint(Spec([("F goal", 10), ("G !hole", -10)])))
        error [opposite-sign]: Pair 2, `G !hole`, is a safety formula of weight -10: each step costs 10 for as long \
as it holds, and nothing from its violation on, so that violating it is what pays. To punish its violation, use \
Pair('G !hole', 0, veto=True, penalty=-10). If it is meant as it stands, set veto=False.
    """
    return findings_of(LintedSpec(spec, spec.atom_functions, initial_labels, max_episode_steps, observe))


def findings_of(linted: LintedSpec) -> Findings:
    """Check a spec whose atoms need not be those that have functions; see `lint`."""
    findings = [finding for rule in RULES for finding in rule.check(linted)]
    return Findings(
        sorted(findings, key=lambda finding: (finding.severity, -1 if finding.pair is None else finding.pair)),
        [pair.formula for pair in linted.pairs if pair.vetoes] if len(linted.pairs) > 1 else (),
    )
