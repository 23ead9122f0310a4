"""Messages become events, and rules over them are judged as the definition says."""

import asyncio
import random
from types import SimpleNamespace

import pytest

import rewardspec as rs
from benchmarks import transcript_agreement as definition
from rewardspec.spec.atoms.event_atoms import Event, read_event_atom
from rewardspec.transcripts import Guard, Scorer, check, check_call, events_of
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


def test_arguments_that_are_no_json_are_left_out():
    broken = {"id": "1", "function": {"name": "refund", "arguments": '{"order_id": '}}
    assert events_of([asks(broken)])[0].arguments == {}


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
    assert not atom.holds(Event("call", "pay", {"amount": "150", "to": "me"}))
    assert not atom.holds(Event("call", "pay", {"amount": 150, "to": "them"}))


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
        ('{ call = "f", where = { day = 2030-01-31 } }', "Write a date as text, in quotes"),
        ('{ call = "f", where = { day = ["x", 2030-01-31] } }', "Write a date as text, in quotes"),
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
    assert verl_reward(SPEC)("orders", "Thank you.", "")["score"] == 3.0
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
    # A call without an identifier is blocked too, and hides no later result.
    guard = Guard(spec)
    assert not guard.add(call(""))[0].allowed
    assert guard._blocked == set()
