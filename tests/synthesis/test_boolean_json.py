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
    "a later version": ({"version": 2}, "`version` should be 1.*Received 2"),
    "a version that is no number": ({"version": True}, "version"),
    "an unknown field": ({"code": "import os"}, "'code'"),
    "a formula that is no text": ({"formula": 3}, "`formula` should be text"),
    "a formula with an error": ({"formula": "a U"}, "formula cannot be read"),
    "atoms of another formula": ({"atoms": ["a", "c"]}, "`atoms` should be those of the formula"),
    "accepting states that are no list": ({"accepting": 1}, "`accepting` should be a list"),
    "an accepting state out of range": ({"accepting": [3]}, "`accepting` should be an integer from 0 to 2"),
    "an accepting state that is no integer": ({"accepting": [1.0]}, "`accepting`"),
    "an accepting state that is true": ({"accepting": [True]}, "`accepting`"),
    "no states": ({"roots": []}, "at least one"),
    "a root out of range": ({"roots": [99, 1, 2]}, "`roots` should be an integer"),
    "nodes that are no list": ({"nodes": {}}, "`nodes` should be a list"),
    "a node that is no list": ({"nodes": [7, [1, 1, 2], [1, 0, 2]]}, "node 0"),
    "a node of two": ({"nodes": [[0, 1], [1, 1, 2], [1, 0, 2]]}, "node 0"),
    "a node with an unknown atom": ({"nodes": [[0, 4, 5], [2, 1, 2], [1, 0, 2]]}, "the atom of node 1"),
    "a node that leads nowhere": ({"nodes": [[0, 4, 6], [1, 1, 2], [1, 0, 2]]}, "a place in node 0"),
    "a node that leads to a negative place": ({"nodes": [[0, 4, -1], [1, 1, 2], [1, 0, 2]]}, "a place in node 0"),
    "a node that leads to itself": ({"nodes": [[0, 4, 3], [1, 1, 2], [1, 0, 2]]}, "later atoms only"),
    "nodes in a circle": ({"nodes": [[0, 4, 5], [1, 3, 2], [1, 0, 2]]}, "later atoms only"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(name):
    changes, message = DAMAGE[name]
    data = json.loads(synthesize_boolean("a U b").to_json())
    assert len(data["nodes"]) == 3
    with pytest.raises(MonitorFileError, match=message):
        BooleanMonitor.from_json(json.dumps(data | changes))


@pytest.mark.parametrize("field", ["format", "version", "formula", "atoms", "accepting", "roots", "nodes"])
def test_every_field_is_needed(field):
    data = json.loads(synthesize_boolean("a U b").to_json())
    del data[field]
    with pytest.raises(MonitorFileError, match=field):
        BooleanMonitor.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", "[" * 100_000, '{"format": NaN}', None, 5])
def test_what_is_no_monitor_at_all_is_refused(text):
    with pytest.raises(MonitorFileError):
        BooleanMonitor.from_json(text)


def test_every_truncation_is_refused():
    saved = synthesize_boolean("a U b").to_json()
    for length in range(len(saved)):
        with pytest.raises(MonitorFileError):
            BooleanMonitor.from_json(saved[:length])
