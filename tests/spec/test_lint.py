"""Lint: each rule has specs that trigger it and specs that do not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewardspec.logic.formulas import Formula
from rewardspec.logic.semantics import evaluate
from rewardspec.spec import Pair, Spec
from rewardspec.spec.atoms.expression_atoms import ExpressionAtom
from rewardspec.spec.lint.exploration import can_be_violated, compare
from rewardspec.spec.lint.findings import Finding, LintedSpec
from rewardspec.spec.lint.linter import RULES, findings_of, lint
from rewardspec.spec.veto_conditions import veto_program
from rewardspec.synthesis.quantitative.synthesize import synthesize
from rewardspec.wrappers.first_states import warn_of_violation
from tests.strategies import formulas

MANY = [f"p{k}" for k in range(14)]


def one(*_):
    return 1.0


def violable(formula: Formula) -> bool | None:
    """Whether some trace violates a formula."""
    monitor = synthesize(formula)
    return can_be_violated(monitor, veto_program(formula, monitor.program, 256))


def found(spec: Spec, rule: str, **options) -> list[Finding]:
    return [finding for finding in lint(spec, **options) if finding.rule == rule]


# The paper's specs, typed in literally from its appendix.

LUNAR_LANDER_BOOLEAN = [
    ("F(G(reach_landing_zone))", 50),
    ("F(legs_contact)", 20),
    ("G(outside_viewport)", -20),
    ("G(true)", -1),
]
FROZEN_LAKE = [("F(reach_goal)", 10), ("G(!reach_hole)", -10), ("F G true", -1)]
CLIFF_WALKING = [("F(G(reach_goal))", 25), ("F(G(reach_cliff))", -25), ("F G true & !reach_goal", -1)]


def errors(pairs) -> list[tuple[str, int]]:
    return [(finding.rule, finding.pair) for finding in lint(Spec(pairs)) if finding.severity == "error"]


def test_the_papers_lunar_lander_is_caught():
    assert errors(LUNAR_LANDER_BOOLEAN) == [("opposite-sign", 2)]
    (finding,) = found(Spec(LUNAR_LANDER_BOOLEAN), "opposite-sign")
    assert "use 'F G outside_viewport'" in finding.remedy
    assert "Pair('G !outside_viewport', 0, veto=True, penalty=-20)" in finding.remedy


def test_the_papers_frozen_lake_is_caught():
    assert errors(FROZEN_LAKE) == [("opposite-sign", 1)]
    (finding,) = found(Spec(FROZEN_LAKE), "opposite-sign")
    assert "each step costs 10 for as long as it holds" in finding.message
    assert "Pair('G !reach_hole', 0, veto=True, penalty=-10)" in finding.remedy


def test_the_papers_cliff_walking_is_caught():
    assert errors(CLIFF_WALKING) == [("first-state-only", 2)]
    (finding,) = found(Spec(CLIFF_WALKING), "first-state-only")
    assert "'reach_goal' at the first state only" in finding.message
    assert "fixed before the agent acts" in finding.message


@pytest.mark.parametrize(
    "pairs",
    [
        [("F G reach_landing_zone", 50), ("F legs_contact", 20), ("F G outside_viewport", -20)],
        [("F reach_goal", 10), Pair("G !reach_hole", 0, veto=True, penalty=-10)],
        [("F G reach_goal", 25), ("F G reach_cliff", -25), ("F G !reach_goal", -1)],
        [("F vase_off_conveyor & G !vase_broken", 100), ("G !vase_broken", 100)],
        [("G upright", 10), ("G smooth", 10)],
        [("F goal", 1), ("F(goal & fast)", 1)],
    ],
)
def test_specs_that_say_what_they_mean_are_clean(pairs):
    assert lint(Spec(pairs)) == []


# Each rule.


@pytest.mark.parametrize(
    ("formula", "severity", "value"),
    [("G true", "warning", "1"), ("a U true", "warning", "1"), ("G X a", "error", "0"), ("F G X a", "error", "0")],
)
def test_constant(formula, severity, value):
    (finding,) = found(Spec([(formula, 1)]), "constant")
    assert finding.severity == severity
    assert f"the value {value} on every trace" in finding.message


@pytest.mark.parametrize(
    ("formula", "bound", "value"), [("F true", 3, "3"), ("G X a", 3, "-3"), ("F true", None, "inf")]
)
def test_a_constant_robustness_is_the_bound_or_infinite(formula, bound, value):
    spec = Spec([Pair(formula, 1, veto=False)], semantics="robustness", bound=bound)
    (finding,) = found(spec, "constant")
    assert f"the value {value} on every trace" in finding.message
    if bound is not None:
        assert spec.step(spec.start({"a": 0.5}), {"a": 0.5})[1] == float(value)


def test_a_fixed_cost_of_every_step_is_no_mistake():
    assert lint(Spec([("F G true", -1)])) == []
    assert lint(Spec([("F goal", 1), Pair("F G true", -0.1, payment="value")], payment="delta")) == []


def test_a_cost_that_only_looks_as_if_it_depended_on_an_atom_is_warned_about():
    (finding,) = lint(Spec([("F G(slow | true)", -1)]))
    assert (finding.severity, finding.rule) == ("warning", "constant")
    assert finding.remedy.startswith("For a fixed cost of every step, write 'F G true'.")


@pytest.mark.parametrize(
    ("payment", "said"),
    [
        ("delta", "it is paid once, at the first step, and not in every step"),
        ("final", "it is paid once, at the end, and not in every step"),
        ("potential", "changes nothing, and it is paid in no step"),
    ],
)
def test_a_cost_of_every_step_that_is_not_charged_in_every_step_is_told_with_the_remedy(payment, said):
    (finding,) = lint(Spec([("F G true", -1)], payment=payment))
    assert (finding.severity, finding.rule) == ("warning", "constant")
    assert f"Under payment {payment!r} {said}" in finding.message.replace(
        "a potential that is the same everywhere ", ""
    )
    assert "Pair('F G true', -1, payment='value')" in finding.remedy


def test_a_constant_veto_is_named():
    (finding,) = found(Spec([("G X a", 1)]), "constant")
    assert "vetoes every episode" in finding.message


@pytest.mark.parametrize("formula", ["F a", "G(a | !a)", "F(a & !a)", "X a"])
def test_not_constant(formula):
    assert found(Spec([(formula, 1)]), "constant") == []


@pytest.mark.parametrize(
    ("formula", "severity"),
    [("a", "error"), ("F G true & !a", "error"), ("a & F b", "warning"), ("a -> G b", "warning")],
)
def test_first_state_only(formula, severity):
    (finding,) = found(Spec([(formula, 1)]), "first-state-only")
    assert finding.severity == severity
    assert "'a' at the first state only" in finding.message


@pytest.mark.parametrize(("formula", "severity"), [("O a", "error"), ("O a & F b", "warning")])
def test_the_past_of_the_first_state(formula, severity):
    (finding,) = found(Spec([(formula, 1)]), "first-state-only")
    assert finding.severity == severity
    assert "looks back from the first state, before which there is nothing" in finding.message
    assert "Write `now …`" in finding.remedy


@pytest.mark.parametrize("formula", ["F a", "F G(true & !a)", "X a", "G(a -> b)", "a U b", "now H a", "G(a -> O b)"])
def test_not_first_state_only(formula):
    assert found(Spec([(formula, 1)]), "first-state-only") == []


def test_violated_at_reset_by_what_was_sampled():
    spec = Spec([("G safe", 1)])
    (finding,) = found(spec, "violated-at-reset", initial_labels={"safe": np.array([1.0, 0.0, 0.5, 0.0])})
    assert finding.severity == "error"
    assert "in 2 of 4 sampled episodes" in finding.message
    state = "The first state itself violates it, and no agent can avoid it. Set veto=False in its pair, or write "
    assert finding.remedy.startswith(f"{state}`now safe`, which judges each step by itself")


@pytest.mark.parametrize(
    ("atom", "starts_later"),
    [
        ("next_obs[0] > 1", False),
        ({"expression": "action == 1", "at_reset": 0}, True),
        ("abs(next_obs[0] - obs[0]) > 0", True),
        (lambda obs, action, next_obs: next_obs[..., 0] > 1, False),
        (lambda obs, action, next_obs: action is not None and action == 1, True),
    ],
)
def test_a_later_start_is_proposed_only_for_atoms_that_read_more_than_the_state(atom, starts_later):
    spec = Spec([("G right", 1)], atoms={"right": atom})
    (finding,) = found(spec, "violated-at-reset", initial_labels={"right": np.zeros(3)})
    assert ("`WX G right`" in finding.remedy) is starts_later
    assert "Set veto=False in its pair, or write `now right`" in finding.remedy
    with pytest.warns(UserWarning, match="veto=False") as caught:
        warn_of_violation(spec, {"right": 0.0}, 1)
    assert finding.remedy in str(caught[0].message)


def test_not_violated_at_reset_by_what_was_sampled():
    spec = Spec([("G safe", 1), ("WX G other", 1), ("a & G b", 1)])
    labels = {"safe": [1.0, 0.5], "other": [0.0, 0.0], "a": [1.0, 1.0], "b": [1.0, 1.0]}
    assert found(spec, "violated-at-reset", initial_labels=labels) == []


def test_violated_at_reset_by_a_label_declared_for_it():
    moves = ExpressionAtom("action == 1", {}, at_reset=0)
    spec = Spec([("G(moves & safe)", 1)], atoms={"moves": moves, "safe": one})
    for version in (spec, spec.boolean()):
        (finding,) = found(version, "violated-at-reset")
        assert finding.severity == "error"
        assert "in every episode before the first action" in finding.message
    moves = ExpressionAtom("action == 1", {}, at_reset=1)
    assert found(spec.replace(atoms={"moves": moves, "safe": one}), "violated-at-reset") == []
    assert found(spec.replace(pairs=[("WX G(moves & safe)", 1)]), "violated-at-reset") == []


@pytest.mark.parametrize("at_reset", [0, 1])
def test_a_label_declared_for_the_reset_may_be_the_only_one(at_reset):
    spec = Spec([("G !moves", 1)], atoms={"moves": {"expression": "action == 1", "at_reset": at_reset}})
    assert [finding.rule for finding in spec.lint()] == ["violated-at-reset"] * at_reset


def test_violated_at_reset_by_an_atom_read_only_there():
    (finding,) = found(Spec([("a & G b", 1)]), "violated-at-reset")
    assert finding.severity == "warning"
    assert "can be violated before the first action, by 'a'" in finding.message


@pytest.mark.parametrize("formula", ["G safe", "G(a -> WX b)", "a | G b", "WX a"])
def test_not_violated_at_reset_as_far_as_can_be_told_without_samples(formula):
    assert found(Spec([(formula, 1)]), "violated-at-reset") == []


def test_no_safety_objective_no_violation():
    assert found(Spec([("a & F b", 1), Pair("a & G b", 1, veto=False)]), "violated-at-reset") == []


@pytest.mark.parametrize(
    "pairs",
    [
        [("G !crashed", 1), ("G(change -> H[1,5] !change)", 0.1)],
        [("F goal", 1), ("G(change -> H[1,5] !change)", 0.5)],
        [("G !crashed", 4), ("G calm", 2)],
        [Pair("G !crashed", 1, veto=True), ("G far", 0.2)],
        [("F goal", 1), ("G(change -> H[1,3] !change)", 1)],  # an action too soon, at any weight
        [("F goal", 1), ("G(change -> H[1,3] !change)", 3)],
        [("F goal", 1), ("G(!slow -> H[1,3] slow)", 1)],
    ],
)
def test_small_veto(pairs):
    (finding,) = found(Spec(pairs), "small-veto")
    assert (finding.severity, finding.pair) == ("warning", 1)
    assert "once violated, every step pays 0" in finding.message
    assert finding.remedy == "If it is a preference, set veto=False; if the veto is meant, veto=True."


@pytest.mark.parametrize(
    "pairs",
    [
        [("F goal", 10), ("G !crashed", 1)],  # a hazard on the way to a task
        [("G !crashed", 1), ("G calm", 0.6)],
        [("G !crashed", 1), Pair("G(change -> H[1,5] !change)", 0.1, veto=False)],
        [("G !crashed", 1), Pair("G(change -> H[1,5] !change)", 0.1, veto=True)],
        [("G !crashed", 1), Pair("G calm", 0.1, penalty=-5)],  # who gives a penalty means the veto
        [("G !crashed", 1), ("G(call -> F[0,5] answer)", 0.1)],  # which is told as deadline-vetoes
        [("G(change -> H[1,5] !change)", 0.1)],
        [("F goal", 1), Pair("G(change -> H[1,3] !change)", 1, veto=False)],
        [("F goal", 1), Pair("G(change -> H[1,3] !change)", 1, veto=True)],
        [("F goal", 1), ("G(brake -> H[1,3] quiet)", 1)],  # of two things
    ],
)
def test_not_small_veto(pairs):
    assert found(Spec(pairs), "small-veto") == []


def test_a_pause_of_the_same_weight_is_a_preference_unless_its_atom_reads_the_state_alone():
    pairs = [("F goal", 1), ("G(change -> H[1,3] !change)", 1)]
    of_action = {"goal": "next_obs[0] > 1", "change": {"expression": "action == 1", "at_reset": 0}}
    assert found(Spec(pairs, of_action), "small-veto")
    assert not found(Spec(pairs, {**of_action, "change": "next_obs[1] > 1"}), "small-veto")


def test_negative_veto():
    (finding,) = found(Spec([Pair("G !crash", -1, veto=True)]), "negative-veto")
    assert finding.severity == "error"
    assert "put the punishment into its penalty" in finding.remedy


def test_not_negative_veto():
    spec = Spec([Pair("G !crash", 1, veto=True), Pair("G a", 0, veto=True), ("F b", -1), ("G !b", -1)])
    assert found(spec, "negative-veto") == []


@pytest.mark.parametrize("formula", ["G !crash", "!F crash", "a R b", "a W b", "G(a -> WX b)"])
def test_opposite_sign(formula):
    (finding,) = found(Spec([(formula, -1)]), "opposite-sign")
    assert finding.severity == "error"
    assert "set veto=False" in finding.remedy


def test_opposite_sign_says_what_is_paid():
    for options, message in (
        ({}, "each step costs 10 for as long as it holds, and nothing from its violation on"),
        ({"payment": "delta"}, "the level that 'delta' pays by is -10 for as long as it holds, and 0 from"),
        ({"payment": "final"}, "the level that 'final' pays by is -10"),
        ({"semantics": "robustness"}, "the better it holds, the less is paid"),
    ):
        (finding,) = found(Spec([("G !crash", -10)], **options), "opposite-sign")
        assert message in finding.message
        assert finding.message.endswith(", so that violating it is what pays.")
    (finding,) = found(Spec([Pair("G !crash", -10, payment="final"), ("F a", 1)]), "opposite-sign")
    assert "the level that 'final' pays by" in finding.message


@pytest.mark.parametrize(
    "pair",
    [("G !crash", 1), ("F crash", -1), ("F G crash", -1), ("X crash", -1), ("G true", -1), ("G !crash", -1, False)],
)
def test_not_opposite_sign(pair):
    assert found(Spec([pair]), "opposite-sign") == []


@pytest.mark.parametrize("formula", ["F goal", "F G goal", "G(a | !a)", "G(a -> F b)", "G true", "X true"])
def test_veto_never_fires(formula):
    (finding,) = found(Spec([Pair(formula, 1, veto=True)]), "veto-never-fires")
    assert finding.severity == "warning"
    assert "a value above 0 stays possible" in finding.message


@pytest.mark.parametrize("formula", ["G safe", "a U b", "a R b", "X a", "G(a & !a)"])
def test_not_veto_never_fires(formula):
    assert found(Spec([Pair(formula, 1, veto=True)]), "veto-never-fires") == []
    assert found(Spec([("F goal", 1), Pair("G true", 1, veto=False)]), "veto-never-fires") == []


def test_a_veto_that_pays_is_told_with_the_numbers():
    spec = Spec([("G safe", 1), ("F G far", -5)])
    (finding,) = found(spec, "veto-pays")
    assert (finding.pair, finding.severity) == (0, "warning")
    assert "while it holds, a step pays down to -4, for `F G far`, and from its violation on 0." in finding.message
    assert finding.remedy.startswith("Give it a penalty below -4")
    state = spec.start({"safe": 1.0, "far": 1.0})
    state, while_safe = spec.step(state, {"safe": 1.0, "far": 1.0})
    state, violated = spec.step(state, {"safe": 0.0, "far": 1.0})
    assert (while_safe, violated) == (-4.0, 0.0)


def test_a_veto_that_may_pay_among_too_many_atoms_to_try():
    costs = [(f"F G {atom}", -1) for atom in MANY]
    (finding,) = found(Spec([("G safe", 1), *costs], penalty=-5), "veto-pays")
    assert "a step pays down to -13, for `F G p0` and" in finding.message
    assert finding.message.endswith("(There is too much to try to be sure.)")


def test_a_veto_that_ends_a_cost_of_every_step_is_told():
    cost = Pair("F G true", -1, payment="value")
    spec = Spec([("F goal", 10), ("G safe", 1), cost], payment="delta", penalty=-5)
    assert [finding.rule for finding in lint(spec)] == ["veto-pays"]
    (finding,) = found(spec, "veto-pays")
    assert "a step pays down to -1, for `F G true`, and from its violation on 0." in finding.message
    assert finding.remedy.startswith("Its penalty, -5, counts once, and should outweigh what all steps that are left")
    (finding,) = found(spec.replace(pairs=[("F goal", 10), ("G safe", 1), ("F far", -9)]), "veto-pays")
    assert "the level that 'delta' pays by is down to -8, for `F far`" in finding.message


def test_the_same_formula_paid_in_two_ways_is_not_redundant():
    assert found(Spec([("F goal", 1), Pair("F goal", 1, payment="delta")]), "redundant") == []


@pytest.mark.parametrize(
    "spec",
    [
        Spec([("G safe", 1), ("F G far", -5)], penalty=-4),
        Spec([("G safe", 6), ("F G far", -5)]),
        Spec([("G !crash", 1), ("F crash", -5)]),  # which only costs what is vetoed anyway
        Spec([("G safe", 1), ("F goal", 5)]),
        Spec([("F goal", 1), ("F G far", -5)]),
        Spec([Pair("G safe", 1, veto=False), ("F G far", -5)]),
        Spec([Pair("G (a | !a)", 1, veto=True), ("F G far", -5)]),
        Spec([Pair("G safe", 0, veto=True, penalty=-10), ("F G true", -1)]),
        Spec([("G safe", 1), ("F G far", -5)], payment="potential"),
    ],
)
def test_not_veto_pays(spec):
    assert found(spec, "veto-pays") == []


@pytest.mark.parametrize(
    ("one", "other"), [("G a", "G a"), ("G a", "!F !a"), ("F G a", "G F a"), ("a U b", "b | a U b")]
)
def test_redundant_equal_formulas(one, other):
    (finding,) = found(Spec([(one, 1), (other, 2)]), "redundant")
    assert (finding.pair, finding.severity) == (1, "warning")
    assert "Use one pair of weight 3" in finding.remedy


def test_redundant_weights_that_cancel_out():
    (finding,) = found(Spec([("F a", 2), ("F(a | a & b)", -2)]), "redundant")
    assert finding.severity == "error"
    assert "cancel out" in finding.message


def test_redundant_opposites_of_one_weight():
    (finding,) = found(Spec([("F G a", 2), ("F G !a", 2)]), "redundant")
    assert finding.severity == "error"
    assert "one minus the value of pair 1, `F G a`, and the same weight: together they are worth 2" in finding.message
    (finding,) = found(Spec([("F G a", 2), ("F G !a", 2)], payment="delta"), "redundant")
    assert "together they are worth 2 whatever happens" in finding.message
    (finding,) = found(Spec([("F G a", 2), ("F G !a", 2)], semantics="robustness"), "redundant")
    assert "minus the value of pair 1, `F G a`, and the same weight: together they are worth 0" in finding.message


def test_opposites_paid_in_two_ways_are_not_redundant():
    spec = Spec([("F a", 1), Pair("G !a", 1, veto=False, payment="delta")])
    state, rewards = spec.start({"a": 0.0}), []
    for label in (0.0, 1.0, 1.0):
        state, reward = spec.step(state, {"a": label})
        rewards.append(reward)
    assert len(set(rewards)) > 1
    assert found(spec, "redundant") == []


def test_redundant_vetoes():
    spec = Spec([("G(a & b)", 1), Pair("G a", 0, veto=True)])
    (finding,) = found(spec, "redundant")
    assert (finding.pair, finding.severity) == (1, "warning")
    (finding,) = found(spec.replace(pairs=spec.pairs[::-1]), "redundant")
    assert finding.pair == 0


def test_redundant_formulas_too_large_to_explore_are_compared_by_shape():
    everything = " & ".join(MANY)
    backwards = " & ".join(reversed(MANY))
    spec = Spec([(f"G({everything})", 1), (f"G({backwards})", 1), Pair(f"G({MANY[3]} & {MANY[5]})", 0, veto=True)])
    assert [finding.pair for finding in found(spec, "redundant")] == [1, 2, 2]
    spec = Spec([(f"F G({everything})", 1), (f"F G !({everything})", 1)])
    assert ["whatever happens" in finding.message for finding in found(spec, "redundant")] == [True]
    spec = Spec([(f"F({everything})", 1), (f"F({' | '.join(MANY)})", 1)])
    assert found(spec, "redundant") == []


@pytest.mark.parametrize(
    "pairs",
    [
        [("G a", 1), ("G b", 1)],
        [("G a", 1), ("F a", 1)],
        [("G(a & b)", 1), ("G a", 1)],
        [("F a", 1), Pair("G a", 0, veto=True)],
        [("G(a & b)", 1), Pair("G a", 0, veto=True, penalty=-5)],
        [("F G a", 25), ("F G !a", -1)],
        [("G a", 1), ("F !a", 1)],
        [("F(a & !a)", 1), ("F(b & !b)", 1)],
        [("X true", 1), ("F a", 1)],
    ],
)
def test_not_redundant(pairs):
    assert found(Spec(pairs), "redundant") == []


def test_no_pairs():
    (finding,) = Spec([]).lint()
    assert (finding.rule, finding.severity, finding.pair) == ("no-pairs", "error", None)
    assert found(Spec([("F a", 1)]), "no-pairs") == []


def test_a_spec_passes_its_options_on():
    labels = {"safe": np.array([0.0, 1.0])}
    assert [finding.rule for finding in Spec([("G safe", 1)]).lint(initial_labels=labels)] == ["violated-at-reset"]
    with pytest.raises(TypeError, match="initial_label"):
        Spec([]).lint(initial_label=labels)


def test_no_effect():
    (finding,) = found(Spec([("F goal", 0)]), "no-effect")
    assert "pays nothing and forbids nothing" in finding.message
    assert found(Spec([("F goal", 1), Pair("G !crash", 0, veto=True)]), "no-effect") == []


def test_undefined_and_unused_atoms():
    findings = findings_of(LintedSpec(Spec([("F goal", 1), ("G !crash", 1)]), {"gaol": one, "crash": one}))
    assert [(finding.rule, finding.severity) for finding in findings] == [
        ("undefined-atom", "error"),
        ("unused-atom", "warning"),
    ]
    assert findings[0].remedy == "Did you mean 'gaol'?"
    assert findings[1].remedy == "Should the formula that reads 'goal' read it?"


def test_atoms_that_are_defined_and_used_or_not_defined_at_all():
    assert lint(Spec([("F goal", 1)], atoms={"goal": one})) == []
    assert lint(Spec([("F goal", 1)])) == []


def test_run_together():
    (finding,) = found(Spec([("F a & GFb", 1)]), "run-together")
    assert "Did you mean 'G F b'?" in finding.remedy
    assert [f.rule for f in findings_of(LintedSpec(Spec([("F Gb", 1)]), {"b": one}))] == [
        "undefined-atom",
        "unused-atom",
        "run-together",
    ]


def test_not_run_together():
    assert found(Spec([("F Goal", 1)], atoms={"Goal": one}), "run-together") == []
    assert found(Spec([("F goal", 1)]), "run-together") == []


def test_too_large():
    findings = lint(Spec([("G(a -> F b)", 1), ("F goal", 1)], max_registers=0))
    assert [(finding.rule, finding.pair) for finding in findings] == [("too-large", 0), ("too-large", 1)]
    assert lint(Spec([("G(a -> F b)", 1), ("F goal", 1)], max_registers=2)) == []


def test_errors_come_first_and_pairs_are_named():
    findings = lint(Spec([("F G true", 1), Pair("G !crash", -1, name="no crash")]))
    assert [finding.severity for finding in findings] == ["error", "warning"]
    assert str(findings[0]).startswith("error [opposite-sign]: Pair 2 (no crash), `G !crash`, is a safety formula")


def test_findings_print_one_a_line_and_are_a_table_in_a_notebook():
    findings = lint(Spec([("F G true", 1), ("G !(crash & burn)", -1)]))
    assert str(findings).splitlines() == [str(finding) for finding in findings]
    assert findings._repr_html_().count("<tr>") == 3
    assert "G !(crash &amp; burn)" in findings._repr_html_()
    assert str(lint(Spec([("F goal", 1)]))) == "nothing that looks wrong"
    assert "nothing" in lint(Spec([("F goal", 1)]))._repr_html_()


def test_printed_findings_name_the_pairs_that_end_all_pay():
    findings = lint(Spec([("F goal", 1), ("G(change -> H[1,5] quiet)", 0.9), Pair("G !crash", 1, veto=False)]))
    assert findings == []
    note = "Once `G(change -> H[1,5] quiet)` is violated, every step pays 0, whatever the other pairs are worth."
    assert str(findings) == f"nothing that looks wrong\n{note} If that is not meant, set veto=False in its pair."
    assert "is violated, every step pays 0" in findings._repr_html_()
    assert "is violated" not in str(lint(Spec([("G !crash", 1)])))  # there is no other pair


@pytest.mark.parametrize(
    ("payment", "words"),
    [
        ("value", "every step pays -1"),
        ("delta", "what was paid by delta is taken back, down to -1"),
        ("potential", "the level of all pairs together is -1"),
        ("final", "the episode pays -1 at its end"),
    ],
)
def test_the_words_about_a_veto_are_those_of_the_payment(payment, words):
    spec = Spec([("F goal", 1), ("G(call -> F[0,5] answer)", 1), ("G !crash", 1)], penalty=-1, payment=payment)
    (finding,) = lint(spec)
    assert finding.rule == "deadline-vetoes"
    assert f"once violated, {words}" in finding.message
    assert lint(spec).notes[0].startswith(f"Once `G(call -> F[0,5] answer)` or `G !crash` is violated, {words}")


def test_pairs_of_another_penalty_have_a_note_of_their_own_and_a_veto_that_was_asked_for_needs_no_remedy():
    spec = Spec([("G !bump", 1), Pair("G !crash", 0, veto=True, penalty=-10)])
    assert lint(spec).notes == (
        "Once `G !bump` is violated, every step pays 0, whatever the other pairs are worth. If that is not meant, set "
        "veto=False in its pair.",
        "Once `G !crash` is violated, every step pays -10, whatever the other pairs are worth.",
    )


def test_every_rule_is_in_the_table_and_has_a_name_of_its_own():
    assert len({rule.__name__ for rule in RULES}) == len(RULES)
    assert all(rule.__module__.startswith("rewardspec.spec.lint.") for rule in RULES)


# What the rules stand on.

traces = st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])] * 2), min_size=1, max_size=5)


@settings(max_examples=60, deadline=None)
@given(formulas(3, ("a", "b")), formulas(3, ("a", "b")), traces)
def test_relations_that_are_claimed_hold(f, g, trace):
    claimed = compare(synthesize(f), synthesize(g))
    labels = {"a": [letter[0] for letter in trace], "b": [letter[1] for letter in trace]}
    left, right = evaluate(f, labels), evaluate(g, labels)
    assert "equal" not in (claimed or ()) or left == right
    assert "opposite" not in (claimed or ()) or left == 1.0 - right
    assert "at most" not in (claimed or ()) or left <= right
    assert "at least" not in (claimed or ()) or left >= right


@settings(max_examples=60, deadline=None)
@given(formulas(3, ("a", "b")), traces)
def test_a_veto_that_is_said_never_to_fire_does_not(formula, trace):
    monitor = synthesize(formula)
    if violable(formula) is False:
        state = monitor.initial_state()
        for a, b in trace:
            state, _ = monitor.step(state, {"a": a, "b": b})
            assert monitor.bounds(state)[1] > 0.0


def test_what_takes_too_long_is_left_open():
    monitor = synthesize(" & ".join(f"G {p}" for p in MANY))
    assert violable(monitor.formula) is True  # which takes no more than one trace
    assert compare(monitor, monitor) is None
