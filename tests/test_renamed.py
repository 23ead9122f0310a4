"""Deprecated names work as the present ones do, and warn."""

import pytest

import rewardspec as rs
from rewardspec.episodes import relabeling

SPEC = rs.Spec([("F(a & F b)", 1)], payment="delta")
STATE = SPEC.start({"a": 1.0, "b": 0.5})


@pytest.mark.parametrize(
    ("use", "expected", "message"),
    [
        (lambda: rs.synthesize("X p").transitions, rs.synthesize("X p").successors, "Use Monitor.successors instead"),
        (
            lambda: rs.RewardMachine.of_formula("F a"),
            rs.RewardMachine.from_formula("F a"),
            "RewardMachine.from_formula",
        ),
        (
            lambda: rs.RewardMachine.of_edges([(0, 1, "a", 1)], [1]),
            rs.RewardMachine.from_edges([(0, 1, "a", 1)], [1]),
            "RewardMachine.from_edges",
        ),
        (lambda: rs.tasks.Task.of("CartPole-v1").name, "CartPole-v1", "Use Task.from_env"),
        (
            lambda: rs.tasks.Measure.of_formula("F a"),
            rs.tasks.Measure.from_formula("F a"),
            "Use Measure.from_formula",
        ),
        (lambda: rs.evaluate("F x", {"x": [-1.0, 2.0]}, "robustness"), 2.0, "Use semantics=… instead"),
        (lambda: rs.evaluate_prefixes("F x", {"x": [-1.0]}, "robustness"), [-1.0], "Use semantics=… instead"),
        (lambda: SPEC.control(STATE), 0, "Spec.control_state"),
        (lambda: SPEC.registers_of(STATE), SPEC.register_values(STATE), "Spec.register_values"),
        (lambda: SPEC.unpaid(STATE), SPEC.reset_baseline(STATE), "Spec.reset_baseline"),
        (lambda: rs.audit.Finding, rs.audit.AuditFinding, "rewardspec.audit.AuditFinding"),
        (lambda: relabeling.Relabelled, relabeling.Relabeled, "relabeling.Relabeled"),
    ],
)
def test_a_deprecated_name_warns_and_works(use, expected, message):
    with pytest.warns(DeprecationWarning, match=message):
        assert use() == expected
