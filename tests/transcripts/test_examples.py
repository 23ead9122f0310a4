"""The ten rules that were asked for in public: each is kept by one conversation and broken by another."""

import json
import tomllib

import pytest

import rewardspec as rs
from rewardspec.cli import main
from rewardspec.transcripts import Guard, check, load_conversations, score
from rewardspec.transcripts.messages import calls_of
from tests.markdown import ROOT

AGENTS = ROOT / "examples" / "agents"
SPEC = rs.Spec.load(AGENTS / "rules.toml")


def conversations(name):
    """The conversations of a file, by the rule that each is about."""
    lines = (AGENTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return {entry["about"]: entry["messages"] for entry in map(json.loads, lines)}


KEPT, BROKEN = conversations("kept"), conversations("broken")


def test_there_are_ten_rules_each_with_a_thread_and_two_conversations():
    assert len(SPEC.pairs) == 10
    assert list(KEPT) == list(BROKEN) == list(SPEC.names)
    lines = (AGENTS / "rules.toml").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if line.startswith("name = ")]
    assert all("#" in line.partition(" # ")[2] for line in named)


@pytest.mark.parametrize("rule", SPEC.names)
def test_a_rule_is_kept_and_broken(rule):
    assert check(SPEC, KEPT[rule]) == []
    findings = check(SPEC, BROKEN[rule])
    assert rule in {finding.rule for finding in findings}
    assert {finding.rule for finding in findings} <= {rule, "the policy check succeeds before the end"}


@pytest.mark.parametrize("rule", SPEC.names)
def test_the_guard_blocks_what_the_report_says_and_nothing_else(rule):
    guard = Guard(SPEC)
    assert all(decision.allowed for message in KEPT[rule] for decision in guard.add(message))
    guard, blocked = Guard(SPEC), []
    for number, message in enumerate(BROKEN[rule]):
        blocked += [(number, reason.rule) for decision in guard.add(message) for reason in decision.reasons]
    assert blocked == [(f.message, f.rule) for f in check(SPEC, BROKEN[rule]) if f.status == "broken"]


@pytest.mark.parametrize("messages", [*KEPT.values(), *BROKEN.values()])
def test_the_rewards_of_the_turns_add_up(messages):
    scored = score(SPEC, messages)
    assert sum(scored.turns) == pytest.approx(scored.total)
    assert len(scored.turns) == sum(message["role"] == "assistant" for message in messages)
    broken = {finding.rule for finding in check(SPEC, messages)}
    assert {name for name, value in scored.values.items() if value == 0} == broken


def test_the_command_reports_and_has_an_exit_status(capsys):
    assert main(["transcripts", str(AGENTS / "rules.toml"), str(AGENTS / "kept.jsonl")]) == 0
    assert capsys.readouterr().out == "10 conversations: 10 keep every rule, 0 do not.\n"
    assert main(["transcripts", str(AGENTS / "rules.toml"), str(AGENTS / "broken.jsonl"), "--format", "json"]) == 1
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(entries) == 10
    assert entries[1]["findings"][0]["thing"] == "7"
    assert entries[1]["total"] == -1.0
    assert sum(entries[1]["turns"]) == pytest.approx(-1.0)
    assert main(["transcripts", str(AGENTS / "rules.toml"), "nowhere.jsonl"]) == 2


@pytest.mark.parametrize(("name", "text"), [("none.jsonl", ""), ("none.ndjson", "\n\n"), ("none.json", "[]")])
def test_a_file_without_conversations_is_an_error(name, text, tmp_path, capsys):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(rs.RecordingError, match="has no conversation"):
        list(load_conversations(path))
    assert main(["transcripts", str(AGENTS / "rules.toml"), str(path)]) == 2
    assert "has no conversation" in capsys.readouterr().err


def test_the_command_names_the_atoms_that_nothing_made_true(tmp_path, capsys):
    rules, said = tmp_path / "rules.toml", tmp_path / "one.json"
    rules.write_text("""
        sorts = { order_id = "names" }
        pairs = [["forall order_id: G !refund(order_id)", 1], ["G !misspelt", 1], ["G !user", 1], ["G !asked", 1]]
        [atoms]
        refund = { call = "refund", id = "order" }    # there is no argument of this name
        misspelt = { call = "refnd" }
        user = { user = "*" }
        asked = { call = "refund" }
    """)
    function = {"name": "refund", "arguments": {"order_id": 7}}
    asks = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": function}]}
    said.write_text(json.dumps([{"role": "user", "content": "Hello"}, asks]), encoding="utf-8")
    for output in ("table", "json"):
        assert main(["transcripts", str(rules), str(said), "--format", output]) == 1
        printed = capsys.readouterr()
        assert printed.err == "No event makes these atoms true: misspelt, refund. Is a name misspelt?\n"
        assert "it has no 'order'" in printed.out
    main(["transcripts", str(AGENTS / "rules.toml"), str(AGENTS / "broken.jsonl"), str(AGENTS / "kept.jsonl")])
    assert capsys.readouterr().err == ""


def test_a_spec_about_events_is_written_and_read_again():
    assert rs.Spec.from_toml(SPEC.to_toml()) == SPEC
    text = (AGENTS / "airline.toml").read_text(encoding="utf-8")
    assert rs.Spec.from_toml(rs.Spec.from_toml(text).to_toml()) == rs.Spec.from_toml(text)
    assert tomllib.loads(SPEC.to_toml())["atoms"]["payment"]["where"] == {"amount": {"above": 500}}


def test_the_command_check_reads_the_rules(capsys):
    assert main(["check", str(AGENTS / "rules.toml")]) == 0
    assert "refund only after lookup" in capsys.readouterr().out


def test_conversations_are_read_from_files(tmp_path):
    messages = KEPT["no payment above 500"]
    path = tmp_path / "one.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    assert list(load_conversations(path)) == [messages]
    path.write_text(json.dumps([{"traj": messages}, messages]), encoding="utf-8")
    assert list(load_conversations(path)) == [messages, messages]
    assert [call.name for message in messages for call in calls_of(message)] == ["pay", "check_policy"]
