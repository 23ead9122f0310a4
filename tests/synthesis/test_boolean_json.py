"""Saved Boolean monitors come back equal, and damaged ones are refused with a reason."""

import json

import pytest

from rewardspec.errors import MonitorFileError
from rewardspec.synthesis.boolean.boolean_monitor import BooleanMonitor, synthesize_boolean

FORMULAS = ["true", "a", "G(request -> F grant)", "F(a & F(b & F c))", '"odd name" U (b | X !"é\\"")', "F a & (b | !b)"]
RESPONSES = " & ".join(f"G(a{k} -> F b{k})" for k in range(8))


@pytest.mark.parametrize("text", [*FORMULAS, RESPONSES])
def test_a_saved_monitor_comes_back_equal(text):
    monitor = synthesize_boolean(text)
    saved = monitor.to_json()
    loaded = BooleanMonitor.from_json(saved)
    assert loaded == monitor
    assert hash(loaded) == hash(monitor)
    assert loaded.to_json() == saved
    assert loaded.atoms == monitor.atoms
    labels = dict.fromkeys(monitor.atoms, 1)
    assert loaded.step(loaded.initial_state(), labels) == monitor.step(monitor.initial_state(), labels)


def test_a_loaded_monitor_is_as_complete_as_a_new_one():
    loaded = BooleanMonitor.from_json(synthesize_boolean("a U b").to_json())
    assert [str(guard) for guard, _ in loaded.transitions[0]] == ["!a & !b", "b", "a & !b"]
    assert loaded.run({"a": [1, 0], "b": [0, 1]}).tolist() == [0, 1]
    assert loaded.bounds(1) == (0, 0)


DAMAGE = {
    "another format": ({"format": "rewardspec.quantitative"}, "format"),
    "a later version": ({"version": 2}, "version 2; this release of rewardspec reads version 1"),
    "a version that is no number": ({"version": True}, "version"),
    "a formula that is no text": ({"formula": 3}, "`formula` should be text"),
    "a formula with an error": ({"formula": "a U"}, "formula cannot be read"),
    "states that are no list": ({"roots": 3}, "`roots` should be a list"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(name):
    changes, message = DAMAGE[name]
    data = json.loads(synthesize_boolean("a U b").to_json())
    with pytest.raises(MonitorFileError, match=message):
        BooleanMonitor.from_json(json.dumps(data | changes))


@pytest.mark.parametrize("field", ["format", "version", "formula", "roots"])
def test_every_field_that_is_read_is_needed(field):
    data = json.loads(synthesize_boolean("a U b").to_json())
    del data[field]
    with pytest.raises(MonitorFileError, match=field):
        BooleanMonitor.from_json(json.dumps(data))


def test_a_changed_table_does_not_change_the_automaton():
    monitor = synthesize_boolean("a U b")
    data = json.loads(monitor.to_json()) | {"accepting": [], "nodes": [[0, 1]]}
    assert BooleanMonitor.from_json(json.dumps(data)) == monitor


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", "[" * 100_000, '{"format": NaN}', None, 5])
def test_what_is_no_monitor_at_all_is_refused(text):
    with pytest.raises(MonitorFileError):
        BooleanMonitor.from_json(text)


def test_every_truncation_is_refused():
    saved = synthesize_boolean("a U b").to_json()
    for length in range(len(saved)):
        with pytest.raises(MonitorFileError):
            BooleanMonitor.from_json(saved[:length])
