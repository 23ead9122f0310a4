"""`rewardspec check`."""

import re

import pytest

from rewardspec.cli import main
from rewardspec.errors import SynthesisError


def report_on(formula: str, capsys, *options: str) -> str:
    assert main(["check", formula, *options]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_it_tells_what_a_person_wants_to_know(capsys):
    assert report_on("[] (request => <> grant)", capsys) == (
        "Formula     G(request -> F grant)\n"
        "In words    at every step: if request then sooner or later: grant\n"
        "Atoms       request, grant\n"
        "Kind        mixed: neither safety nor goal, it can still turn either way\n"
        "Monitor     1 register, 1 control state\n"
        "            starts with value = 1\n"
        "            value ← max(grant, min(value, 1 − request))\n"
        "            reward = value′\n"
        "            a prime (′) marks the value just computed\n"
        "Range       0 to 1\n"
        "Automaton   2 states, 1 accepting (Boolean labels)\n"
    )


def test_durations_are_steps_of_a_second_or_of_the_period(tmp_path, capsys):
    out = report_on("G(a -> F[0s,10s] b)", capsys)
    assert out.startswith("Period      1 seconds, by which durations become steps; --period changes it\n")
    assert "Formula     G(a -> F[0,10] b)\n" in out
    assert "Formula     G(a -> F[0,300] b)\n" in report_on("G(a -> F[0s,10s] b)", capsys, "--period", "1/30")
    rules = tmp_path / "rules.toml"
    rules.write_text("[[pairs]]\nformula = 'alarm -> F[0s,1min] \"x < 5\"'\nweight = 1\n")
    out = report_on(str(rules), capsys)
    assert out.startswith("Period      1 seconds")
    assert "F[0,60]" in out
    assert "first-state-only" in out
    assert main(["check", str(rules), "--env", "CartPole-v1"]) == 2
    assert "has durations" in capsys.readouterr().err
    rules.write_text("atoms.high = 'x - x@5s > 5'\n[[pairs]]\nformula = 'G(high -> F[0s,1min] low)'\nweight = 1\n")
    assert "F[0,120]" in report_on(str(rules), capsys, "--period", "0.5")
    assert main(["check", str(rules), "--env", "CartPole-v1", "--period", "1"]) == 2
    assert "Give one of them" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("formula", "kind"),
    [
        ("p & q", "propositional"),
        ("X p", "bounded"),
        ("G !crash", "safety"),
        ("F goal", "co-safety"),
        ("F H[0,5] goal", "co-safety"),
        ("F G[0,5] goal", "co-safety: asks only that something good happens some day; what the episode's end cuts off"),
        ("G F goal", "mixed"),
        ("G(key -> F[0,20] door)", "safety"),
        ("now H[0,5] quiet", "mixed"),
    ],
)
def test_it_names_the_kind(formula, kind, capsys):
    assert f"\nKind        {kind}" in report_on(formula, capsys)


def test_a_deadline_is_shown_as_a_window(capsys):
    out = report_on("G(key -> F[0,20] door)", capsys)
    assert "In words    at every step: if key then within 20 steps: door\n" in out
    assert "            recent ← max(last 20 of value)\n" in out
    assert "Automaton   22 states, 1 accepting" in out


def test_what_robustness_does_not_have_is_refused(capsys):
    assert "Range       -inf to inf" in report_on("G(a -> F[0,5] b)", capsys, "--semantics", "robustness")
    assert "refused: Robustness has no scales" in report_on("0.5 * F a", capsys, "--semantics", "robustness")


@pytest.mark.parametrize("formula", ["F[0,99999999] a", "G(a -> F[0,50000] b)"])
def test_an_interval_that_is_too_long_to_unfold_is_named(formula, capsys):
    interval = formula[formula.index("F[") : formula.index("]") + 1]
    out = " ".join(report_on(formula, capsys).split())
    assert re.search(rf"refused: `{re.escape(interval)}` in .* counts [\d,]+ steps\..* up to about 10,000\.", out)


@pytest.mark.parametrize(
    ("formula", "operator", "most"),
    [
        ("Y[1000000000] a", "Y[1000000000]", "100,000"),
        ("now H[0,1000000000] a", "H[0,1000000000]", "100,000"),
        ("G(a -> O[0,60000] b & O[1,60001] c)", "O[1,60001]", "100,000"),
        ("now (a S[4,800000000] b)", "S[4,800000000]", "100,000"),
        ("X[1000000000] a", "X[1000000000]", "10,000"),
        ("F{1000000000} a", "F{1000000000}", "514"),
        ("G{1000000000} a", "G{1000000000}", "514"),
        ("G(a -> F[0,1000000000;0.9] b)", "F[0,1000000000;0.9]", "514"),
        ("F[1000000000,;0.5] a", "F[1000000000,;0.5]", "514"),
    ],
)
def test_a_number_that_is_too_large_is_named_with_its_operator(formula, operator, most, capsys):
    out = " ".join(report_on(formula, capsys).split())
    assert f"`{operator}`" in out
    assert re.search(rf"Monitor refused: .*\b{most}\. Use a smaller number", out)


def test_text_of_shared_parts_is_cut(capsys):
    out = report_on("F(" + " ^ ".join("abcdefghijklmnopqrstuvwxyz") + ")", capsys)
    assert "min(…)" in out
    assert len(out) < 20_000


def test_control_states_are_told_apart(capsys):
    out = report_on("p", capsys)
    assert "1 register, 2 control states" in out
    assert "in state 0:" in out
    assert "in state 1:" in out


def test_a_range_that_is_too_costly_to_find_leaves_the_rest(capsys, monkeypatch):
    def too_costly(self, state):
        raise SynthesisError("finding the bounds takes too long")

    monkeypatch.setattr("rewardspec.machines.monitor.Monitor.bounds", too_costly)
    out = report_on("G !crash & landed", capsys)
    assert "Monitor     2 registers" in out or "Monitor     1 register" in out
    assert "Range       not known: finding the bounds takes too long\nAutomaton" in out
    assert "Warning     'landed' is read at the first state only" in out


def test_warnings_come_last(capsys):
    *_, warning = report_on("G !crash & landed", capsys).split("Warning     ")
    assert " ".join(warning.split()).startswith("'landed' is read at the first state only")


def test_large_machines_are_counted_and_long_formulas_shortened(capsys):
    formula = " & F(".join(f"visited_the_station_number_{k}" for k in range(25))
    out = report_on(f"F({formula}{')' * 25}", capsys)
    assert re.search(r"\nMonitor     25 registers, 1 control state\nRange       0 to 1\nAutomaton   26 states,", out)
    assert re.match(r"Formula     F\(.{498} … \([0-9]+ characters\)\n", out)
    assert "In words" not in out


def test_spot_syntax_reads_a_bare_next_as_weak(capsys):
    assert report_on("X p", capsys).startswith("Formula     X p\n")
    assert report_on("X p", capsys, "--syntax", "spot").startswith("Formula     WX p\n")


def test_a_syntax_error_shows_a_caret_and_a_remedy_and_exits_2(capsys):
    assert main(["check", "G(a -> F"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "error: The formula stops too early at line 1, column 9.\n"
        "\n"
        "    G(a -> F\n"
        "            ^\n"
        "Expected a formula. Finish the formula and close the '(' opened at line 1, column 2.\n"
    )


def test_an_empty_formula_is_answered_with_an_example(capsys):
    assert main(["check", ""]) == 2
    assert "for example 'F goal'" in capsys.readouterr().err
