"""A guard for the calls of a language agent: it says before a call which rule the call would break."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rewardspec.spec.atoms.event_atoms import Event
from rewardspec.spec.spec import Spec
from rewardspec.transcripts.messages import ErrorTest, Message, Reader, calls_of, reports_error
from rewardspec.transcripts.rules import RuleBook, RuleState
from rewardspec.types import Json


class Reason(NamedTuple):
    """Why a call is blocked.

    Attributes:
        rule: Name of the rule that it would break.
        formula: The rule.
        thing: The thing, such as an order's number, for which it would break the rule; empty for a rule about none.
    """

    rule: str
    formula: str
    thing: str

    def __str__(self) -> str:
        about = f" for {self.thing}" if self.thing else ""
        return f"it would break the rule {self.rule!r}{about}"


class Decision(NamedTuple):
    """Decision of the guard about a call.

    Attributes:
        allowed: Whether the call breaks no rule.
        reasons: The rules that it would break.
        name: Name of the tool.
        id: The identifier of the call; empty where it has none.
    """

    allowed: bool
    reasons: tuple[Reason, ...]
    name: str
    id: str = ""

    def __str__(self) -> str:
        return (
            "allowed"
            if self.allowed
            else f"blocked: {self.name} is not allowed now, " + "; ".join(map(str, self.reasons))
        )


class Guard:
    """Guard that follows a conversation and blocks the calls that would break a rule.

    A call is blocked if and only if some rule can still be kept before it and can no longer be kept after it. For a
    rule about things, this has to be so for one of them. A blocked call counts as not made.

    Args:
        spec: The spec with the rules.
        is_error: Decides whether the message of a tool reports an error.

    Example:
        >>> spec = Spec.from_toml('''
        ... sorts = { order_id = "names" }
        ... [atoms]
        ... refund = { call = "refund", id = "order_id" }
        ... looked_up = { result = "get_order", id = "order_id" }
        ... [[pairs]]
        ... formula = "forall order_id: G(refund(order_id) -> O looked_up(order_id))"
        ... weight = 1
        ... name = "refund only after lookup"
        ... ''')
        >>> print(Guard(spec).check("refund", {"order_id": 7}))
        blocked: refund is not allowed now, it would break the rule 'refund only after lookup' for 7
    """

    def __init__(self, spec: Spec, is_error: ErrorTest = reports_error) -> None:
        self._book = RuleBook(spec)
        self._states = self._book.initial
        self._reader = Reader(is_error)
        self._blocked: set[str] = set()

    def check(self, name: str, arguments: Mapping[str, Json] | None = None) -> Decision:
        """Judge a call that may be made next. The guard does not change."""
        return _judged(self._book, self._states, Event("call", name, arguments or {}))

    def add(self, message: Message) -> list[Decision]:
        """Add a message to the conversation, and judge its calls in order.

        A call that is allowed counts as made when the next one is judged, a blocked one as not made. A result with the
        identifier of a blocked call is left out, so that the reason can be returned to the model in its place.

        Returns:
            A decision for each call.

        Raises:
            RecordingError: It is no chat message.
        """
        if isinstance(message, Mapping) and message.get("role") in ("tool", "function"):
            identifier = message.get("tool_call_id")
            if isinstance(identifier, str) and identifier in self._blocked:
                self._reader.messages += 1
                return []
        decisions = []
        events = self._reader.read(message)
        identifiers = iter(
            [identifier for identifier, _, _ in calls_of(message)] if message["role"] == "assistant" else []
        )
        for event in events:
            if event.kind == "call":
                decision = _judged(self._book, self._states, event)._replace(id=next(identifiers))
                decisions.append(decision)
                if not decision.allowed:
                    self._blocked |= {decision.id} - {""}
                    continue
                self._blocked.discard(decision.id)  # some agents number the calls of each message anew
            self._states = self._book.step(self._states, event)
        return decisions


def check_call(
    spec: Spec, messages: Iterable[Message], name: str, arguments: Mapping[str, Json] | None = None
) -> Decision:
    """Judge a call that may be made after a conversation. For several calls, use a `Guard`."""
    book, reader = RuleBook(spec), Reader()
    states = book.initial
    for message in messages:
        for event in reader.read(message):
            states = book.step(states, event)
    return _judged(book, states, Event("call", name, arguments or {}))


def _judged(book: RuleBook, states: tuple[RuleState, ...], event: Event) -> Decision:
    reasons = tuple(Reason(rule.name, rule.text, thing) for rule, thing in book.broken_by(states, event))
    return Decision(not reasons, reasons, event.name)
