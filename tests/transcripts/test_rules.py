"""Messages become events, and rules over them are judged as the definition says."""

import asyncio
import random
from types import SimpleNamespace

import pytest

import rewardspec as rs
from benchmarks import transcript_agreement as definition
from rewardspec.spec.atoms.event_atoms import Event, as_number, read_event_atom
from rewardspec.transcripts import Guard, Scorer, check, check_call, events_of
from rewardspec.transcripts.messages import reports_error
from rewardspec.transcripts.rules import ANY, RuleBook
from rewardspec.transcripts.trainers import trl_reward, verifiers_reward, verifiers_rubric, verl_reward

REFUND = """
sorts = { order_id = "names" }
penalty = -2
[atoms]
refund = { call = "refund", id = "order_id" }
looked_up = { result = "get_order", id = "order_id" }
thanked = { assistant = "thank you" }
[[pairs]]
name = "lookup first"
formula = "forall order_id: G(refund(order_id) -> O looked_up(order_id))"
weight = 1
[[pairs]]
name = "thank"
formula = "F thanked"
weight = 2
"""
SPEC = rs.Spec.from_toml(REFUND)


def call(name, identifier="1", **arguments):
    return {"id": identifier, "function": {"name": name, "arguments": arguments}}


def asks(*calls, content=None):
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def answers(identifier="1", content="ok"):
    return {"role": "tool", "tool_call_id": identifier, "content": content}


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


def lookups(*identifiers):
    """Calls of get_order for the orders 7, 8, 9, with these ids; None for a call without one."""
    return asks(
        *(
            {"function": {"name": "get_order", "arguments": {"order_id": 7 + k}}} | ({"id": i} if i is not None else {})
            for k, i in enumerate(identifiers)
        )
    )


def result(content="ok", **more):
    return {"role": "tool", "content": content, **more}


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


@pytest.mark.parametrize("said", [{"tool_call_id": "answered"}, {"tool_call_id": "of no call"}, {"name": "other"}])
def test_many_calls_without_results_are_read(said):
    messages = [asks(call("other", "answered")), result(tool_call_id="answered")]
    for number in range(5_000):
        messages += [asks(call("get_order", str(number))), result(**said)]
    assert len(events_of(messages)) == len(messages)


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('atoms.a = { call = "f", id = "x" }\npairs = [["G !a", 1]]', "is about no thing; leave out `id`"),
        ('sorts = { x = "names" }\natoms.a = { call = "f" }\npairs = [["forall x: G !a(x)", 1]]', "add `id`"),
        ('sorts = { x = 3 }\natoms.a = { call = "f", id = "x" }\npairs = [["forall x: G !a(x)", 1]]', "of names"),
        ('atoms.a = { call = "f" }\npairs = [["F a & G !a", 1]]', "No conversation can keep"),
        ('atoms.a = { call = "f", id = "x" }\npairs = [["forall x: G !a(x)", 1]]', "sorts={'x': 'names'}"),
        ('pairs = [["F a", 1]]', "has no atoms"),
    ],
)
def test_a_spec_that_cannot_be_checked_is_refused(text, message):
    with pytest.raises(rs.SpecError, match=message):
        RuleBook(rs.Spec.from_toml(text))


def test_an_asked_call_is_not_one_that_succeeded():
    asked = [asks(call("get_order", order_id=7)), answers(content="Error: no such order")]
    assert not check_call(SPEC, asked, "refund", {"order_id": 7}).allowed
    assert check_call(SPEC, [asked[0], answers()], "refund", {"order_id": "7"}).allowed


def test_a_blocked_call_does_not_count_and_others_go_on():
    guard = Guard(SPEC)
    first, second = guard.add(asks(call("refund", "1", order_id=7), call("get_order", "2", order_id=7)))
    assert (first.allowed, first.id, second.allowed) == (False, "1", True)
    assert "'lookup first' for 7" in str(first)
    assert guard.add(answers("1", str(first))) == guard.add(answers("2")) == []
    (third,) = guard.add(asks(call("refund", "3", order_id=7)))
    assert third.allowed


def test_the_identifier_of_a_blocked_call_may_be_used_again():
    guard = Guard(SPEC)
    assert not guard.add(asks(call("refund", "1", order_id=7)))[0].allowed
    guard.add(answers("1", "blocked"))
    assert guard.add(asks(call("get_order", "1", order_id=7)))[0].allowed
    guard.add(answers("1"))
    assert guard.check("refund", {"order_id": 7}).allowed


def test_a_guard_refuses_what_is_no_message():
    with pytest.raises(rs.RecordingError, match="Message 0 should be a mapping"):
        Guard(SPEC).add("hello")


def test_a_broken_rule_still_guards_other_things():
    found = check(
        SPEC, [asks(call("refund", order_id=1)), asks(call("refund", order_id=1), call("refund", order_id=2))]
    )
    assert [(f.thing, f.message) for f in found if f.status == "broken"] == [("1", 0), ("2", 1)]


def test_verdicts_and_decisions_are_those_of_a_brute_force_definition():
    rng, book = random.Random(3), RuleBook(definition.spec())
    formulas, names = list(definition.RULES.values()), list(definition.RULES)
    seen = set()
    for _ in range(40):
        states, traces = book.initial, dict.fromkeys((*definition.IDS, definition.NOBODY), ())
        for _ in range(4):
            event = definition.random_event(rng)
            said = {(rule.name, thing) for rule, thing in book.broken_by(states, event)}
            before, expected = traces, set()
            traces = {thing: (*trace, definition.letter_of(event, thing)) for thing, trace in traces.items()}
            states = book.step(states, event)
            for rule, state, name, formula in zip(book.rules, states, names, formulas, strict=True):
                about = [definition.NOBODY] if not name.startswith(("forall", "exists")) else list(traces)
                how = any if name.startswith("exists") else all
                can = {thing: definition.can_hold(formula, traces[thing]) for thing in about}
                assert rule.holds(state) == how(definition.holds(formula, traces[thing]) for thing in about)
                assert rule.possible(state) == how(can.values())
                if event.kind == "call" and not name.startswith("exists"):
                    new = [
                        t for t in about if not can[t] and (not before[t] or definition.can_hold(formula, before[t]))
                    ]
                    expected |= {(name, "" if len(about) == 1 else ANY if t == definition.NOBODY else t) for t in new}
            if event.kind == "call":
                assert said == expected
                seen |= expected
    assert len(seen) > 8


def test_values_of_random_conversations_are_those_of_the_spec():
    spec = definition.spec()
    book, rng = RuleBook(spec), random.Random(4)
    for _ in range(60):
        states, state = book.initial, spec.initial_state()
        for _ in range(6):
            event = definition.random_event(rng)
            states = book.step(states, event)
            state, _ = spec.step(state, book.labels(event))
            assert [rule.holds(own) for rule, own in zip(book.rules, states, strict=True)] == [
                value == 1 for value in spec.values(state)
            ]


MESSAGES = [{"role": "user", "content": "Refund 7."}, asks(call("get_order", order_id=7)), answers()]
MESSAGES += [asks(call("refund", "2", order_id=7)), answers("2"), {"role": "assistant", "content": "Thank you."}]


def test_a_turn_is_paid_for_what_it_changes():
    scored = Scorer(SPEC)(MESSAGES)
    assert scored.turns == [1.0, 0.0, 2.0]
    assert (scored.total, scored.values) == (3.0, {"lookup first": 1.0, "thank": 1.0})
    assert Scorer(SPEC)([]).total == 0.0
    assert Scorer(SPEC)([MESSAGES[0], *MESSAGES[3:]]).turns == [-2.0, 0.0]
    assert Scorer(SPEC)(MESSAGES[:1])[:2] == (1.0, [])  # nobody to pay


def test_adapters_have_the_signatures_of_the_trainers():
    # TRL 1.16 calls reward(prompts=…, completions=…, completion_ids=…, **columns) and wants a list of floats.
    reward = trl_reward(SPEC)
    calls = {"completion_ids": [[1], [2]], "trainer_state": None, "answer": ["a", "b"]}
    given = reward(prompts=[MESSAGES[:1]] * 2, completions=[MESSAGES[1:], MESSAGES[3:]], **calls)
    assert given == [3.0, -2.0]
    assert reward.__name__ == "rewardspec"
    # verl calls compute_score(data_source=…, solution_str=…, ground_truth=…, extra_info=…) and reads `score`.
    scored = verl_reward(SPEC)(
        data_source="orders", solution_str="…", ground_truth="", extra_info={"messages": MESSAGES}
    )
    assert scored == {"score": 3.0, "turn_scores": [1.0, 0.0, 2.0]}
    for extra_info in (None, {"num_turns": 2}):
        with pytest.raises(rs.RecordingError, match=r"needs the conversation in extra_info\['messages'\]"):
            verl_reward(SPEC)("orders", "Thank you.", "", extra_info)
    assert verl_reward(SPEC, response_is_message=True)("orders", "Thank you.", "")["score"] == 3.0
    assert verl_reward(SPEC, response_is_message=True)("orders", "…", "", {"messages": MESSAGES}) == scored
    # verifiers before 0.4 calls a function with those of prompt, completion, state and others that its signature names.
    functions, weights = verifiers_rubric(SPEC)
    state = {}
    assert functions[0](prompt=MESSAGES[:1], completion=MESSAGES[1:], state=state) == 3.0
    assert state["turn_rewards"] == [1.0, 0.0, 2.0]
    assert weights == [1.0, 0.0, 0.0]
    assert [function.__name__ for function in functions] == ["rewardspec_total", "lookup first", "thank"]


def test_messages_of_verifiers_are_read():
    types = pytest.importorskip("verifiers.v1.types")
    messages = [
        types.UserMessage(content="Refund 7."),
        types.AssistantMessage(tool_calls=[types.ToolCall(id="1", name="get_order", arguments='{"order_id": 7}')]),
        types.ToolMessage(tool_call_id="1", content="ok"),
        types.AssistantMessage(tool_calls=[types.ToolCall(id="2", name="refund", arguments='{"order_id": "7"}')]),
        types.ToolMessage(tool_call_id="2", content="ok"),
        types.AssistantMessage(content="Thank you."),
    ]
    decorated = pytest.importorskip("verifiers.v1").reward(verifiers_reward(SPEC), weight=2.0)
    assert asyncio.run(decorated(SimpleNamespace(messages=messages))) == 3.0
    assert asyncio.run(decorated(SimpleNamespace(messages=[messages[0], *messages[3:]]))) == -2.0


def test_a_trainer_of_trl_takes_the_function():
    data_utils = pytest.importorskip("trl.data_utils")
    example = {"prompt": MESSAGES[:1], "completion": MESSAGES[1:]}
    assert data_utils.is_conversational(example)
    assert trl_reward(SPEC)(prompts=[example["prompt"]], completions=[example["completion"]]) == [3.0]


def test_a_guard_leaves_out_the_result_of_a_blocked_call_and_of_no_other():
    spec = rs.Spec.from_toml(
        '[atoms]\npay = { call = "pay" }\npaid = { result = "pay" }\n'
        '[[pairs]]\nformula = "G !pay"\nweight = 1\n[[pairs]]\nformula = "G !paid"\nweight = 1\n'
    )

    def call(identifier):
        function = {"name": "pay", "arguments": "{}"}
        return {"role": "assistant", "tool_calls": [{"id": identifier, "type": "function", "function": function}]}

    guard = Guard(spec)
    assert [decision.allowed for decision in guard.add(call("one"))] == [False]
    assert guard.add({"role": "tool", "tool_call_id": "one", "content": "no"}) == []
    assert guard.add({"role": "tool", "tool_call_id": ["one"], "content": "no"}) == []  # unhashable


@pytest.mark.parametrize(
    ("identifier", "said"),
    [
        ("a", {"tool_call_id": "a"}),
        (0, {"tool_call_id": 0}),
        (1, {"tool_call_id": "1"}),
        (None, {"name": "get_order"}),
        ("", {"tool_call_id": "", "name": "get_order"}),
        (None, {}),
        ("a", {"name": "get_order"}),
    ],
)
def test_the_result_of_a_blocked_call_counts_for_nothing_whatever_its_id(identifier, said):
    text = REFUND + '[[pairs]]\nformula = "G(asked -> O yes)"\nweight = 1\n'
    text = text.replace("[atoms]", '[atoms]\nasked = { call = "get_order" }\nyes = { user = "yes" }')
    guard = Guard(rs.Spec.from_toml(text))
    assert [decision.allowed for decision in guard.add(lookups(identifier))] == [False]
    guard.add(result("not allowed", **said))
    assert not guard.check("refund", {"order_id": 7}).allowed
    guard.add({"role": "user", "content": "Yes."})
    # A later call with the same id, or none, is answered by the next result.
    assert [decision.allowed for decision in guard.add(lookups(identifier))] == [True]
    guard.add(result(**said))
    assert guard.check("refund", {"order_id": 7}).allowed


def test_of_parallel_calls_the_blocked_one_takes_its_own_result():
    text = """
    atoms.seven = { call = "get_order", where = { order_id = 7 } }
    atoms.failed = { error = "get_order", where = { order_id = 8 } }
    atoms.retry = { call = "get_order", where = { order_id = 9 } }
    pairs = [["G !seven", 1], ["G(retry -> !O failed)", 1]]
    """
    guard = Guard(rs.Spec.from_toml(text))
    assert [decision.allowed for decision in guard.add(lookups(None, None))] == [False, True]
    guard.add(result("Error: not allowed", name="get_order"))
    assert guard.check("get_order", {"order_id": 9}).allowed
    guard.add(result("Error: gone", name="get_order"))
    assert not guard.check("get_order", {"order_id": 9}).allowed


UNCLEAR = rs.Spec.from_toml("""
sorts = { order_id = "names", path = "names" }
pairs = [
    ["G !large", 1],
    ["G !broad", 1],
    ["G !forced", 1],
    ["forall order_id: G(refund(order_id) -> O paid(order_id))", 1],
    ["forall path: G{9} !touched(path)", 1],
    ["mean order_id: F foreign(order_id)", 1],
]
[atoms]
large = { call = "pay", where = { amount = { above = 500 } } }
broad = { call = "search", where = { limit = { above = 100 } }, optional = true }
forced = { call = "delete", where = { force = true } }
refund = { call = "refund", id = "order_id" }
foreign = { call = "refund", id = "order_id", where = { currency = "USD" } }
touched = { call = "*", id = "path", optional = true }
paid = { result = "pay", id = "order_id" }
""")


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("refund", '{"order_id": 7', "its arguments are not a JSON object"),
        ("refund", "[7]", "its arguments are not a JSON object"),
        ("refund", {}, "it has no 'order_id'"),
        ("refund", None, "it has no 'order_id'"),
        ("refund", {"order_id": None}, "it has no 'order_id'"),
        ("refund", {"order_id": []}, "it has no 'order_id'"),
        ("refund", {"orderId": 7}, "it has no 'order_id'"),
        ("pay", {}, "it has no 'amount'"),
        ("pay", {"amount": "$501"}, "its 'amount' is not a number"),
        ("pay", {"amount": float("nan")}, "its 'amount' is not a number"),
        ("pay", {"amount": True}, "its 'amount' is not a number"),
        ("pay", "{", "its arguments are not a JSON object"),
        ("pay", {"amount": "5"}, ""),
        ("search", {}, ""),  # optional
        ("search", {"limit": None}, ""),
        ("search", {"limit": "all"}, "its 'limit' is not a number"),
        ("delete", {}, ""),  # a value that is not there is not the wanted one
        ("delete", "{", "its arguments are not a JSON object"),
        ("other", {}, ""),
        ("other", "{", "its arguments are not a JSON object"),  # it may have a path
    ],
)
def test_a_call_that_a_rule_cannot_judge_is_blocked_and_reported(name, arguments, why):
    decision = Guard(UNCLEAR).check(name, arguments)
    assert decision == check_call(UNCLEAR, [], name, arguments)
    assert decision.allowed is not bool(why)
    assert {reason.unclear for reason in decision.reasons} == ({why} if why else set())
    (blocked,) = Guard(UNCLEAR).add(asks({"id": "1", "function": {"name": name, "arguments": arguments}}))
    assert blocked == decision._replace(id="1")
    found = check(UNCLEAR, [asks({"id": "1", "function": {"name": name, "arguments": arguments}})])
    assert [(f.rule, f.what, f.event) for f in found if f.status == "unclear"] == [
        (reason.rule, f"call {name}: {why}", 0) for reason in decision.reasons
    ]


@pytest.mark.parametrize(
    ("name", "arguments"), [("refund", {"orderId": 7}), ("refund", "{broken"), ("pay", {"amount": "lots"})]
)
def test_a_threshold_leaves_unclear_calls_unclear(name, arguments):
    plain = Guard(UNCLEAR).check(name, arguments)
    assert not plain.allowed
    spec = rs.Spec.from_toml("threshold = 0.5\n" + UNCLEAR.to_toml())
    assert rs.Spec.from_toml(spec.to_toml()) == spec
    messages = [asks({"id": "1", "function": {"name": name, "arguments": arguments}})]
    for thresholded in (spec, UNCLEAR.boolean(), spec.boolean(1.0)):
        assert Guard(thresholded).check(name, arguments) == plain
        assert check(thresholded, messages) == check(UNCLEAR, messages)


def test_a_threshold_does_not_hide_that_an_atom_lacks_its_id():
    text = 'threshold = 0.5\nsorts = { x = "names" }\natoms.a = { call = "f" }\npairs = [["forall x: G !a(x)", 1]]'
    with pytest.raises(rs.SpecError, match="add `id`"):
        RuleBook(rs.Spec.from_toml(text))


def test_the_reason_of_an_unclear_call_is_text_for_the_model():
    assert str(Guard(SPEC).check("refund", {})) == (
        "blocked: refund is not allowed now, it has no 'order_id', which the rule 'lookup first' needs"
    )


def test_a_condition_that_fails_makes_an_atom_false_whatever_else_is_missing():
    atom = read_event_atom({"call": "pay", "id": "to", "where": {"currency": "USD", "amount": {"above": 5}}})
    assert atom.unclear(Event("call", "pay", {"currency": "EUR"})) == ""
    assert atom.unclear(Event("call", "pay", {"currency": "USD", "amount": 4})) == ""
    assert atom.unclear(Event("call", "pay", {"currency": "USD", "amount": 6})) == "it has no 'to'"
    assert atom.unclear(Event("call", "pay", {"currency": "USD", "to": "me"})) == "it has no 'amount'"


def test_an_optional_atom_survives_a_file():
    assert rs.Spec.from_toml(UNCLEAR.to_toml()) == UNCLEAR
    assert UNCLEAR.atom_functions["touched"].optional


def test_a_limit_of_calls_before_the_answer_is_one_of_parallel_calls_too():
    # The recipe of the guide: a deadline such as F[0,8] counts events, and so it counts results as well.
    spec = rs.Spec.from_toml("""
        atoms.any_call = { call = "*" }
        atoms.answer = { assistant = "*" }
        pairs = [["F answer & G{4} !(any_call & !O answer)", 1]]
    """)
    user, answer = {"role": "user", "content": "Where is order 7?"}, {"role": "assistant", "content": "Here."}
    for turns in ([2, 2], [1, 1, 1, 1], [4], []):
        messages, guard = [user], Guard(spec)
        for number in turns:
            ids = list(map(str, range(number)))
            messages += [lookups(*ids), *[result(tool_call_id=i) for i in ids]]
        assert check(spec, [*messages, answer, lookups("later")]) == []
        assert [finding.status for finding in check(spec, messages)] == ["not done"]
        for message in messages:
            guard.add(message)
        assert guard.check("get_order").allowed is (sum(turns) < 4)
