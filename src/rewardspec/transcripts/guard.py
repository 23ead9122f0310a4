"""A guard for the calls of a language agent: it says before a call which rule the call would break."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rewardspec.spec.atoms.event_atoms import Event
from rewardspec.spec.spec import Spec
from rewardspec.transcripts.messages import Call, ErrorTest, Message, Reader, read_arguments, reports_error
from rewardspec.transcripts.rules import RuleBook, RuleState
from rewardspec.types import Json


class Reason(NamedTuple):
    """Why a call is blocked.

    Attributes:
        rule: Name of the rule that it would break.
        formula: The rule.
        thing: The thing, such as an order's number, for which it would break the rule; empty for a rule about none.
        unclear: Why the rule cannot judge the call; empty where it would break the rule.
    """

    rule: str
    formula: str
    thing: str
    unclear: str = ""

    def __str__(self) -> str:
        if self.unclear:
            return f"{self.unclear}, which the rule {self.rule!r} needs"
        about = f" for {self.thing}" if self.thing else ""
        return f"it would break the rule {self.rule!r}{about}"


class Decision(NamedTuple):
    """Decision of the guard about a call.

    Attributes:
        allowed: Whether the call may be made.
        reasons: The rules that it would break, or that cannot judge it.
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

    A call is blocked if some rule can still be kept before it and can no longer be kept after it. For a rule about
    things, this has to be so for one of them. A call is also blocked if a rule is about it but cannot judge it: its
    arguments are not a JSON object, it lacks the argument that `id` names or that `where` compares, unless the atom is
    `optional`, or what is compared is not a number. Every other call is allowed. A blocked call counts as not made.

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
        self._blocked: set[Call] = set()

    def check(self, name: str, arguments: Mapping[str, Json] | str | None = None) -> Decision:
        """Judge a call that may be made next; its arguments may be JSON. The guard does not change."""
        return _judged(self._book, self._states, _call(name, arguments))

    def add(self, message: Message) -> list[Decision]:
        """Add a message to the conversation, and judge its calls in order.

        A call that is allowed counts as made when the next one is judged, a blocked one as not made. The result of a
        blocked call is left out, so that the reason can be returned to the model in its place. `Reader` says which
        result belongs to which call.

        Returns:
            A decision for each call.

        Raises:
            RecordingError: It is no chat message.
        """
        events = self._reader.read(message)
        decisions: list[Decision] = []
        calls = iter(self._reader.calls)
        for event in events:
            if event.kind == "call":
                call = next(calls)
                decision = _judged(self._book, self._states, event)._replace(id=call.id)
                decisions.append(decision)
                if not decision.allowed:
                    self._blocked.add(call)
                    continue
            elif event.kind in ("result", "error") and not self._blocked.isdisjoint(self._reader.calls):
                continue
            self._states = self._book.step(self._states, event)
        return decisions


def check_call(
    spec: Spec, messages: Iterable[Message], name: str, arguments: Mapping[str, Json] | str | None = None
) -> Decision:
    """Judge a call that may be made after a conversation; see `Guard`, which is faster for several calls."""
    book, reader = RuleBook(spec), Reader()
    states = book.initial
    for message in messages:
        for event in reader.read(message):
            states = book.step(states, event)
    return _judged(book, states, _call(name, arguments))


def _call(name: str, given: Mapping[str, Json] | str | None) -> Event:
    arguments, readable = read_arguments(given)
    return Event("call", name, arguments, readable=readable)


def _judged(book: RuleBook, states: tuple[RuleState, ...], event: Event) -> Decision:
    reasons = [Reason(rule.name, rule.text, thing) for rule, thing in book.broken_by(states, event)]
    reasons += [Reason(rule.name, rule.text, "", why) for rule, why in book.unclear(event)]
    return Decision(not reasons, tuple(reasons), event.name)
