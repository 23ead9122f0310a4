"""Saved monitors come back as they were, and anything else is refused."""

import json
import random

import pytest

import rewardspec as rs
from tests.strategies import random_formula


def test_round_trip():
    rng = random.Random(0)
    for _ in range(60):
        monitor = rs.synthesize(random_formula(rng, depth=4, atoms=("a", "b", "c")))
        again = rs.Monitor.from_json(monitor.to_json())
        assert again == monitor
        assert again.to_json() == monitor.to_json()


def test_strange_atom_names_survive():
    monitor = rs.synthesize(rs.formulas.Eventually(rs.Atom('a "quoted" \\ name\n__import__("os")')))
    assert rs.Monitor.from_json(monitor.to_json()) == monitor
    assert rs.Monitor.from_json(monitor.to_json()).run({monitor.atoms[0]: [0.25, 0.5]}).tolist() == [0.25, 0.5]


@pytest.mark.parametrize("synthesize", [rs.synthesize, rs.synthesize_boolean])
def test_a_monitor_about_one_thing_survives(synthesize):
    monitor = synthesize(rs.parse("forall box: F held(box)").about("3"))
    again = type(monitor).from_json(monitor.to_json())
    assert again.to_json() == monitor.to_json()
    assert again.run({"held(3)": [0, 1]}).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ('{"format": "rewardspec.monitor", "vers', "not JSON"),
        ("[]", "not a saved monitor of format .rewardspec.monitor."),
        ('{"format": "something else"}', "something else"),
        ('{"format": "rewardspec.monitor", "version": 99}', "version 99"),
        ("[" * 100_000, "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (None, "JSON text"),
    ],
)
def test_foreign_text_is_refused(text, message):
    with pytest.raises(rs.MonitorFileError, match=message):
        rs.Monitor.from_json(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("formula", "F F F("),
        ("formula", 3),
        ("semantics", "probability"),
        ("semantics", None),
        ("registers", 3),
        ("states", None),
        ("version", True),
    ],
)
def test_damage_is_noticed(field, value):
    document = json.loads(rs.synthesize("G(a -> F b)").to_json())
    with pytest.raises(rs.MonitorFileError):
        rs.Monitor.from_json(json.dumps(document | {field: value}))


@pytest.mark.parametrize("field", ["formula", "semantics", "registers", "states"])
def test_missing_fields_are_noticed(field):
    document = json.loads(rs.synthesize("G(a -> F b)").to_json())
    del document[field]
    with pytest.raises(rs.MonitorFileError, match=field):
        rs.Monitor.from_json(json.dumps(document))


def test_a_changed_table_does_not_change_the_machine():
    monitor = rs.synthesize("G(a -> F b)", semantics="robustness")
    document = json.loads(monitor.to_json())
    document["nodes"][0] = ["constant", 1]
    document["registers"][0]["name"] = "*/ hacked"
    assert rs.Monitor.from_json(json.dumps(document)) == monitor


def test_a_machine_beyond_the_default_budget_comes_back():
    formula = " & ".join(f"F(a{k} & F b{k})" for k in range(40))
    monitor = rs.synthesize(formula, max_registers=500)
    assert rs.Monitor.from_json(monitor.to_json()) == monitor
