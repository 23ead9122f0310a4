"""Messages become events: which call a result is about, and what is an error."""

import random

import pytest

import rewardspec as rs
from rewardspec.transcripts import Scorer, events_of
from rewardspec.transcripts.messages import reports_error
from tests.transcripts.conversations import MESSAGES, SPEC, answers, asks, call, lookups, result


def test_parallel_calls_are_events_in_order_and_results_know_their_call():
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        asks(call("a", "1", x=1), call("b", "2"), content="Let me see."),
        answers("2", "Error: no"),
        answers("1", '{"x": 3}'),
    ]
    events = events_of(messages)
    assert [(event.kind, event.name) for event in events] == [
        ("system", ""),
        ("user", ""),
        ("assistant", ""),
        ("call", "a"),
        ("call", "b"),
        ("error", "b"),
        ("result", "a"),
    ]
    assert events[6].arguments == {"x": 1}
    assert [event.turn for event in events] == [-1, -1, 0, 0, 0, 0, 0]
    assert [event.message for event in events] == [0, 1, 2, 2, 2, 3, 4]


def test_the_older_form_of_calls_is_read():
    messages = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"x": 1}'}},
        {"role": "function", "name": "f", "content": "done"},
    ]
    assert [event[:3] for event in events_of(messages)] == [("call", "f", {"x": 1}), ("result", "f", {"x": 1})]


@pytest.mark.parametrize(
    "message", [None, {}, {"role": "robot"}, {"role": "assistant", "tool_calls": [{"function": {}}]}, "text"]
)
def test_what_is_no_message_is_refused(message):
    with pytest.raises(rs.Error, match=r"Message 0|message 0"):
        events_of([message])


@pytest.mark.parametrize(
    ("given", "arguments", "readable"),
    [
        ('{"order_id": 7}', {"order_id": 7}, True),
        (r'"{\"order_id\": 7}"', {"order_id": 7}, True),
        ({"order_id": 7}, {"order_id": 7}, True),
        (None, {}, True),
        ("", {}, True),
        ("null", {}, True),
        ('{"order_id": ', {}, False),
        ("[7]", {}, False),
        ("9" * 5_000, {}, False),
    ],
)
def test_arguments_are_read_also_when_encoded_twice(given, arguments, readable):
    (event,) = events_of([asks({"id": "1", "function": {"name": "refund", "arguments": given}})])
    assert (event.arguments, event.readable) == (arguments, readable)


def no_text(role="assistant", **more):
    return {"role": role, "content": None, **more}


@pytest.mark.parametrize("content", [None, "", "  ", [], [{"type": "image_url", "image_url": {}}]])
@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_a_message_without_text_and_calls_is_no_event(role, content):
    assert events_of([{"role": role, "content": content}]) == []
    # It is a turn nevertheless, so that there is a reward for each message of the assistant.
    assert len(Scorer(SPEC)([*MESSAGES, {"role": "assistant", "content": content}]).turns) == 4
    assert Scorer(SPEC)([{"role": "assistant", "content": content}]).turns == [0.0]


def test_a_refusal_is_text():
    assert events_of([no_text(refusal="I cannot do that.")])[0].text == "I cannot do that."
    parts = [{"type": "text", "text": "No."}, {"type": "refusal", "refusal": "I cannot."}]
    assert events_of([{"role": "assistant", "content": parts}])[0].text == "No.\nI cannot."


def results(*messages):
    """The order that each result is about, and whether it is an error."""
    found = [event for event in events_of(messages) if event.kind in ("result", "error")]
    return [(event.name, event.arguments.get("order_id"), event.kind) for event in found]


ANSWERED = [("get_order", 7, "result"), ("get_order", 8, "error")]


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ((None, None), [{"name": "get_order"}] * 2),  # TRL 1.16
        (("a", "b"), [{"name": "get_order"}] * 2),
        ((None, None), [{}] * 2),  # verl 0.9.1
        (("a", "b"), [{"tool_call_id": None}, {"tool_call_id": ""}]),
        (("", ""), [{"tool_call_id": "", "name": "get_order"}] * 2),
        (("a", "a"), [{"tool_call_id": "a"}] * 2),
        ((0, 1), [{"tool_call_id": 0}, {"tool_call_id": 1}]),
        ((0, 1), [{"tool_call_id": "0"}, {"tool_call_id": "1"}]),
        ((None, None), [{"tool_call_id": "given by a template"}] * 2),
    ],
)
def test_results_belong_to_parallel_calls_of_a_tool_in_their_order(ids, said):
    first, second = said
    assert results(lookups(*ids), result(**first), result("Error: no", **second)) == ANSWERED


def test_results_with_an_id_may_come_in_any_order():
    messages = [lookups("a", "b"), result("Error", tool_call_id="b"), result(tool_call_id="a")]
    assert results(*messages) == ANSWERED[::-1]


def test_a_result_without_an_id_is_of_its_tool():
    calls = asks(call("other", "1"), call("get_order", "2", order_id=7))
    assert results(calls, result(name="get_order"), result(name="other")) == [
        ("get_order", 7, "result"),
        ("other", None, "result"),
    ]


def test_a_call_that_was_never_answered_takes_no_later_result():
    for said in ({"name": "get_order"}, {}, {"tool_call_id": "a"}):
        assert results(lookups("a"), lookups("x", "a"), result(**said), result(**said))[-1][1] in (7, 8)
    assert results(lookups(None), asks(call("get_order", "2", order_id=9)), result(name="get_order")) == [
        ("get_order", 9, "result")
    ]


def test_a_result_belongs_to_the_call_that_the_definition_says():
    rng = random.Random(5)
    for _ in range(300):
        messages, waiting, last, expected = [], [], {}, []
        for number in range(12):
            if rng.random() < 0.4:
                made = [
                    (rng.choice(["", "1", "2"]), rng.choice("ab"), f"{number}.{k}") for k in range(rng.randint(0, 3))
                ]
                messages.append(asks(*(call(name, identifier, which=which) for identifier, name, which in made)))
                waiting.append(list(made))
                last |= {identifier: each for each in made if (identifier := each[0])}
                continue
            identifier, name = rng.choice(["", "1", "2", "3"]), rng.choice(["", "a", "b"])
            messages.append(result(tool_call_id=identifier, name=name))
            known = last.get(identifier)
            fitting = [
                (calls, each)
                for calls in reversed(waiting)
                for each in calls
                if (each[0] == identifier if known else name in ("", each[1]) and not (identifier and each[0]))
            ]
            for calls, each in fitting[:1]:
                calls.remove(each)
            expected.append(fitting[0][1][2] if fitting else known[2] if known else None)
        found = [event.arguments.get("which") for event in events_of(messages) if event.kind == "result"]
        assert found == expected


def test_more_results_than_calls():
    # With an id they belong to the call; without one they are about nothing.
    assert [order for _, order, _ in results(lookups("a"), *[result(tool_call_id="a")] * 2)] == [7, 7]
    assert [order for _, order, _ in results(lookups(None), *[result(name="get_order")] * 2)] == [7, None]
    assert results(lookups("a"), result(tool_call_id="other", name="get_order")) == [("get_order", None, "result")]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("Error: no such order", True),
        ("ERROR 404", True),
        ("error", True),
        (" Error (code 5)", True),
        ("Errors: none", False),
        ("Error-free build", False),
        ("error_rate=0.0", False),
        ("error = 0.01", False),
        ("error.log was written", False),
        ("No error", False),
        ('{"error": "no such order"}', True),
        ('{"ok": false, "error": {"code": 5}}', True),
        ('{"error": null, "order": 7}', False),
        ('{"error": "cut o', True),
        ('{"error": null, "rows": [1,2,', False),
        ('{"error": null', False),
        ('{ "error" :  false, "rows": [1,2,', False),
        ('{"error": "", "rows": [1,2,', False),
        ('{"error": 0, "rows": [1,2,', False),
        ('{"error": 0.0, "rows": [1,2,', False),
        ('{"error": [ ], "rows": [1,2,', False),
        ('{"error": {}, "rows": [1,2,', False),
        ('{"error": 0.5, "rows": [1,2,', True),
        ('{"error": 04, "rows": [1,2,', True),
        ('{"error": nullable, "rows": [1,2,', True),
        ('{"error": ["no such order"], "rows": [1,2,', True),
        ('{"error": {"code": 5}, "rows": [1,2,', True),
        ("{'error': None, 'at': datetime.datetime(2026, 1, 1)}", False),
        ("{'error': '', 'at': datetime.datetime(2026, 1, 1)}", False),
        ("{'error': 'None', 'at': datetime.datetime(2026, 1, 1)}", True),
        (str({"error": None, "rows": "x" * 100_000}), False),
        (str({"error": "no such order"}), True),  # TRL 1.16
        (str({"ok": False, "error": "it's gone"}), True),
        (str({"error": None, "order": 7}), False),
        (str({"text": "'error': none"}), False),
        (str({"error": "x" * 100_000}), True),
        ("{'error': <Timeout>}", True),
        ("{'a': " * 5_000, False),
        ("{" + "-" * 15_000 + "1}", False),
        (r"{'a': '\d'}", False),  # Python warns of such an escape
        ("{__import__('os').getcwd()}", False),
        ("", False),
    ],
)
def test_an_error_is_recognized_however_it_is_written(text, error):
    assert reports_error({"role": "tool", "content": text}) is error
