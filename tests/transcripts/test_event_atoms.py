"""Atoms about the events of conversations."""

import pytest

import rewardspec as rs
from rewardspec.spec.atoms.event_atoms import Event, as_number, read_event_atom
from rewardspec.transcripts import Guard
from tests.transcripts.conversations import UNCLEAR


def test_things_are_compared_as_text_and_lists_name_several():
    atom = read_event_atom({"call": "refund", "id": "orders.ids"})
    assert atom.things(Event("call", "refund", {"orders": {"ids": [7, "7a", None]}})) == ["7", "7a"]
    created = read_event_atom({"result": "create", "id": "result.order_id"})
    assert created.things(Event("result", "create", {}, '{"order_id": "A1"}')) == ["A1"]
    assert created.things(Event("result", "create", {}, "no JSON")) == []


def test_conditions_on_arguments():
    atom = read_event_atom({"call": "pay", "where": {"amount": {"above": 100, "at_most": 200}, "to": ["me", "you"]}})
    assert atom.holds(Event("call", "pay", {"amount": 150, "to": "me"}))
    assert not atom.holds(Event("call", "pay", {"amount": 100, "to": "me"}))
    assert not atom.holds(Event("call", "pay", {"amount": 150, "to": "them"}))


@pytest.mark.parametrize(
    ("where", "value", "meets"),
    [
        ({"above": 500}, "501", True),
        ({"above": 500}, " 5.01e2 ", True),
        ({"above": 500}, "9" * 5_000, True),
        ({"above": 500}, "500", False),
        ({"at_most": 3}, "3", True),
        ({"above": 500}, "$501", False),
        ({"above": 500}, "inf", False),
        ({"above": 0}, True, False),
        (2, 2.0, True),
        (2, "2", True),
        (2, "2.0", True),
        (2, "two", False),
        (1, True, False),
        (2**60 + 1, str(2**60), False),
        ([2, "many"], "2", True),
        ("2.0", 2, False),
        (True, "true", True),
        ("me", None, False),
    ],
)
def test_numbers_may_be_written_as_text(where, value, meets):
    atom = read_event_atom({"call": "pay", "where": {"x": where}})
    assert atom.holds(Event("call", "pay", {"x": value})) is meets


@pytest.mark.parametrize("text", ["1" * 9_999 + "x", "." + "1" * 9_998 + "x", "1e" + "1" * 9_997 + "x"])
def test_a_long_text_that_is_almost_a_number_is_none(text):
    assert as_number(text) is None


def test_a_number_in_a_text_has_a_greatest_length():
    assert [as_number(text) for text in ("1.", "1.5", ".5", "1.e2", ".")] == [1.0, 1.5, 0.5, 100.0, None]
    assert as_number("1" * 10_000) == float("inf")
    assert as_number("1" * 10_001) is None
    assert not Guard(UNCLEAR).check("pay", {"amount": "1" * 10_001}).allowed


def test_a_result_that_python_printed_has_parts():
    created = read_event_atom({"result": "create", "id": "result.order_id"})
    assert created.things(Event("result", "create", {}, str({"order_id": "A1", "at": None}))) == ["A1"]
    assert created.things(Event("result", "create", {}, str({"order_id": (1, 2), "raw": b"x"}))) == ["1", "2"]
    assert created.things(Event("result", "create", {}, str({"order_id": {1}}))) == ["{1}"]
    assert created.things(Event("result", "create", {}, str({("order_id",): 1}))) == []


@pytest.mark.parametrize("where", ['"😀" = 3', "amount = { above = -inf, below = 1e22 }", 'b = [true, 2.5, "x"]'])
def test_conditions_survive_a_file(where):
    spec = rs.Spec.from_toml(f'atoms.a = {{ call = "f", where = {{ {where} }} }}\npairs = [["G !a", 1]]')
    assert rs.Spec.from_toml(spec.to_toml()) == spec


def test_words_of_a_message_are_whole_words():
    atom = read_event_atom({"user": "yes"})
    assert atom.holds(Event("user", text="YES!"))
    assert not atom.holds(Event("user", text="That was yesterday."))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('{ call = "f", result = "f" }', "has one of the keys"),
        ('{ call = "f", idd = "x" }', "Did you mean 'id'"),
        ("{ call = 3 }", "should be a text or a list of texts"),
        ('{ user = "yes", id = "x" }', "a message has no arguments"),
        ('{ call = "f", where = { x = { over = 3 } } }', "should compare by"),
        ('{ call = "f", text = "x" }', "a call has no text"),
        ('{ call = "f", id = "x", optional = 1 }', "`optional` should be true or false"),
        ('{ user = "yes", optional = true }', "a message has no arguments"),
        ('{ calls = "refund", id = "x" }', "system. Did you mean 'call'?"),
        ('{ call = "f", where = { day = 2030-01-31 } }', "Write a date as text, in quotes"),
        ('{ call = "f", where = { day = ["x", 2030-01-31] } }', "Write a date as text, in quotes"),
        ('{ call = "f", where = { day = [["x", 2030-01-31]] } }', "Write a date as text, in quotes"),
        ('{ call = "f", where = { x = [{ above = 100 }, { below = 0 }] } }', "no table in a list; write two atoms"),
        ('{ call = "f", where = { x = [1, { over = 100 }] } }', "no table in a list"),
        ('{ call = "f", where = { x = [[{ above = 100 }]] } }', "no table in a list"),
    ],
)
def test_an_atom_that_says_nothing_is_refused(entry, message):
    with pytest.raises(rs.SpecError, match=message):
        rs.Spec.from_toml(f'atoms.a = {entry}\npairs = [["G a", 1]]')
