"""Rules over conversations are judged as the definition says: reports, guards and rewards."""

import asyncio
import random
from types import SimpleNamespace

import pytest

import rewardspec as rs
from benchmarks import transcript_agreement as definition
from rewardspec.spec.atoms.event_atoms import Event, read_event_atom
from rewardspec.transcripts import Guard, Scorer, check, check_call
from rewardspec.transcripts.rules import ANY, RuleBook
from rewardspec.transcripts.trainers import trl_reward, verifiers_reward, verifiers_rubric, verl_reward
from tests.transcripts.conversations import MESSAGES, REFUND, SPEC, UNCLEAR, answers, asks, call, lookups, result


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
