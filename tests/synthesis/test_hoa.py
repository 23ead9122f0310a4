"""Automata as HOA text."""

import re

from rewardspec.synthesis.boolean.boolean_monitor import synthesize_boolean


def test_header_and_body():
    lines = synthesize_boolean("a U b").to_hoa().splitlines()
    assert lines[0] == "HOA: v1"
    assert "States: 3" in lines
    assert "Start: 0" in lines
    assert 'AP: 2 "a" "b"' in lines
    body = lines[lines.index("--BODY--") :]
    assert body == [
        "--BODY--",
        "State: 0",
        "[!0&!1] 1",
        "[1] 2",
        "[0&!1] 0",
        "State: 1",
        "[t] 1",
        "State: 2 {0}",
        "[t] 2",
        "--END--",
    ]


def test_names_are_quoted():
    text = synthesize_boolean(r'F "say \"hi\" \\ there"').to_hoa()
    assert r'AP: 1 "say \"hi\" \\ there"' in text.splitlines()
    assert r'name: "F \"say \\\"hi\\\" \\\\ there\""' in text.splitlines()


def test_formulas_without_atoms_have_none():
    assert "AP: 0" in synthesize_boolean("true").to_hoa().splitlines()


def test_labels_use_only_what_hoa_knows():
    parity = synthesize_boolean("F(" + " ^ ".join(f"p{k}" for k in range(8)) + ")")
    negated = synthesize_boolean("F(a & b | c & d | e & f)")
    for monitor in (parity, negated):
        labels = re.findall(r"^\[(.*)\] \d+$", monitor.to_hoa(), flags=re.MULTILINE)
        assert len(labels) == 3
        assert all(re.fullmatch(r"[\dt!&| ()]+", label) for label in labels)
    assert "[!(0&1 | 2&3 | 4&5)] 0" in negated.to_hoa().splitlines()
