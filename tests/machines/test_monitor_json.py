"""Saved monitors come back as they were, and anything else is refused."""

import copy
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ('{"format": "rewardspec.monitor", "vers', "not JSON"),
        ("[]", "not a saved quantitative monitor"),
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


def _set(document, path, value):
    *front, last = path
    for key in front:
        document = document[key]
    document[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("formula",), "F F F("),
        (("formula",), 3),
        (("atoms",), ["a", "a"]),
        (("atoms",), ["a", "c"]),
        (("atoms",), "ab"),
        (("registers", 0), "value"),
        (("registers", 0, "initial"), 0.5),
        (("registers", 0, "initial"), True),
        (("registers", 0, "name"), None),
        (("nodes", 0), ["label", "zzz"]),
        (("nodes", 0), ["eval", "1"]),
        (("nodes", 0), ["min", 0, 1]),
        (("nodes", 0), ["register", 7]),
        (("nodes", 0), ["constant", 3]),
        (("nodes", 0), []),
        (("nodes",), {}),
        (("states",), []),
        (("states", 0), None),
        (("states", 0, "output"), 10**9),
        (("states", 0, "output"), -1),
        (("states", 0, "updates"), []),
        (("states", 0, "updates"), ["0"]),
        (("loop",), 5),
        (("loop",), "0"),
        (("loop",), True),
    ],
)
def test_damage_is_noticed(path, value):
    document = json.loads(rs.synthesize("G(a -> F b)").to_json())
    damaged = copy.deepcopy(document)
    _set(damaged, path, value)
    with pytest.raises(rs.MonitorFileError):
        rs.Monitor.from_json(json.dumps(damaged))


@pytest.mark.parametrize("field", ["formula", "atoms", "registers", "nodes", "states", "loop"])
def test_missing_fields_are_noticed(field):
    document = json.loads(rs.synthesize("G(a -> F b)").to_json())
    del document[field]
    with pytest.raises(rs.MonitorFileError, match=field):
        rs.Monitor.from_json(json.dumps(document))


def test_windows_that_hold_more_than_a_machine_may_are_refused():
    document = json.loads(rs.synthesize("now H[0,90000] a & now O[0,9000] b").to_json())
    document["windows"][0]["length"] = 91_001
    with pytest.raises(rs.MonitorFileError, match=r"windows hold 100,001 values, and at most 100,000 are allowed"):
        rs.Monitor.from_json(json.dumps(document))
    document["windows"][0]["length"] = 91_000
    rs.Monitor.from_json(json.dumps(document))
