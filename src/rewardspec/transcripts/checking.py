"""The report over a recorded conversation: which rules it breaks, where, and what was never done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from rewardspec.spec.spec import Spec
from rewardspec.transcripts.messages import ErrorTest, Message, events_of, reports_error
from rewardspec.transcripts.rules import RuleBook
from rewardspec.types import JsonObject

Status: TypeAlias = Literal["broken", "not done", "unclear"]


class Finding(NamedTuple):
    """A rule that a conversation does not keep.

    Attributes:
        rule: Name of the rule.
        status: `"broken"` at an event after which nothing can repair it; `"not done"` where something that the rule
            asks for had not happened when the conversation ended; `"unclear"` at a call that the rule cannot judge,
            because its arguments cannot be read or lack the one that the rule needs.
        thing: The thing, such as an order's number, for which it is; empty for a rule about none.
        event: Index of the event that broke it or is unclear; None for what was not done.
        message: Index of that event's message.
        what: That event in words, and why it is unclear.
    """

    rule: str
    status: Status
    thing: str
    event: int | None = None
    message: int | None = None
    what: str = ""

    def to_json(self) -> JsonObject:
        """The finding as a JSON object."""
        return self._asdict()


def check(spec: Spec | RuleBook, messages: Iterable[Message], is_error: ErrorTest = reports_error) -> list[Finding]:
    """Return the rules that a recorded conversation breaks, leaves undone or leaves open, in the order of events.

    Args:
        spec: The spec; a `RuleBook` of it is not compiled again for each conversation.
        messages: The messages.
        is_error: Decides whether the message of a tool reports an error.

    Raises:
        RecordingError: One of them is no chat message.
    """
    book = spec if isinstance(spec, RuleBook) else RuleBook(spec)
    states, found = book.initial, []
    for number, event in enumerate(events_of(messages, is_error)):
        what = f"{event.kind} {event.name}".strip()
        for rule, thing in book.broken_by(states, event):
            found.append(Finding(rule.name, "broken", thing, number, event.message, what))
        for rule, why in book.unclear(event):
            found.append(Finding(rule.name, "unclear", "", number, event.message, f"{what}: {why}"))
        states = book.step(states, event)
    for rule, state in zip(book.rules, states, strict=True):
        found += [Finding(rule.name, "not done", thing) for thing in rule.undone(state)]
    return found
