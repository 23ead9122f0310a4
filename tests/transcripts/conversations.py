"""Conversations and rules that several tests use."""

import rewardspec as rs

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


MESSAGES = [
    {"role": "user", "content": "Refund 7."},
    asks(call("get_order", order_id=7)),
    answers(),
    asks(call("refund", "2", order_id=7)),
    answers("2"),
    {"role": "assistant", "content": "Thank you."},
]

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
