"""Events of a conversation, from chat messages in OpenAI's form, and files of conversations."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rewardspec.errors import RecordingError, shown
from rewardspec.spec.atoms.event_atoms import Event, read_result
from rewardspec.types import Json

Message: TypeAlias = Mapping[str, Json]
"""A chat message: a mapping with `role`, `content` and, for the assistant, `tool_calls`."""

ErrorTest: TypeAlias = Callable[[Message], bool]
"""Decides whether the message of a tool reports an error."""

_ROLES = {"user": "user", "system": "system", "developer": "system", "assistant": "assistant"}
_TOOLS = ("tool", "function")
_CONVERSATION = ("messages", "traj", "conversation")  # keys under which files hold the messages


# The word "Error", or the start of an object with an error that is not empty and that cannot be read, such as one that
# is cut off.
_EMPTY = r"""(?:(?:null|none|false|0(?:\.0*)?)(?![\w.])|""|''|\[\s*\]|\{\s*\}|\(\s*\))"""
_ERROR = re.compile(
    rf"""\s*(error(?!\w|\s*=|[-./]\w)|\{{\s*(?P<quote>["'])error(?P=quote)\s*:(?!\s*{_EMPTY}))""", re.IGNORECASE
)


def reports_error(message: Message) -> bool:
    """Return whether the message of a tool reports an error.

    It does if it has `is_error` or `status: "error"`, if its content is an object with an `error` that is not empty, in
    JSON or as Python prints it, also one that cannot be read after such a first key `error`, or if its text starts with
    the word "Error", whatever the case. "Errors", "Error-free" and "error_rate=0" are other words.

    Example:
        >>> reports_error({"role": "tool", "content": "Error: no such order"})
        True
        >>> reports_error({"role": "tool", "content": '{"status": "delivered"}'})
        False
    """
    if message.get("is_error") or message.get("status") == "error":
        return True
    text = text_of(message)
    found = read_result(text)
    if isinstance(found, dict):
        return bool(found.get("error") or found.get("is_error"))
    return _ERROR.match(text) is not None


@dataclass(eq=False, slots=True)
class Call:
    """A call that the agent asked for.

    Attributes:
        id: Its identifier, as text; empty where it has none.
        name: Name of the tool.
        arguments: Its arguments; empty where they cannot be read.
        readable: Whether the arguments are a JSON object.
    """

    id: str
    name: str
    arguments: Mapping[str, Json]
    readable: bool = True


class Reader:
    """Turns messages into events, one after the other.

    An assistant's message is an event for its text, if it has any, and one for each call, in order. The message of a
    tool is a result or an error, with the name and the arguments of the call that it answers:

    - A result with an id answers a call with this id.
    - A result without an id answers a call of the tool that it names, or of any tool if it names none.
    - A result with an id that no call has answers a call without an id, again by its tool.

    Several calls may fit that have no result yet. Then it answers the first of them in the newest message that has any.
    If all calls with its id have a result, it belongs to the last of them.

    Attributes:
        messages: Number of messages read.
        turn: Number of the assistant's last message, from 0; -1 before the first.
        calls: The calls that the last message makes, or the one that it answers.

    Example:
        >>> reader = Reader()
        >>> call = {"id": "1", "function": {"name": "get_order", "arguments": '{"order_id": 7}'}}
        >>> [event.kind for event in reader.read({"role": "assistant", "content": "", "tool_calls": [call]})]
        ['call']
        >>> reader.read({"role": "tool", "tool_call_id": "1", "content": "shipped"})[0][:4]
        ('result', 'get_order', {'order_id': 7}, 'shipped')
    """

    def __init__(self, is_error: ErrorTest = reports_error) -> None:
        self._is_error = is_error
        # The calls that a result may be about, by what it says; newest message last, its calls in order.
        self._waiting: dict[tuple[str, str], list[tuple[int, deque[Call]]]] = {}
        self._done: set[Call] = set()  # calls that were answered
        self._last: dict[str, Call] = {}  # by id
        self.messages = 0
        self.turn = -1
        self.calls: list[Call] = []

    def read(self, message: Message) -> list[Event]:
        """The events of the next message."""
        number = self.messages
        role = message.get("role") if isinstance(message, Mapping) else None
        if role not in _ROLES and role not in _TOOLS:
            roles = ", ".join((*_ROLES, *_TOOLS))
            raise RecordingError(
                f"Message {number} should be a mapping whose `role` is one of {roles}. Received {shown(message)}."
            )
        calls = calls_of(message, number) if role == "assistant" else []
        self.messages += 1
        self.turn += role == "assistant"
        text = text_of(message)
        if role in _TOOLS:
            call = self._answered(message)
            self.calls = [call]
            kind = "error" if self._is_error(message) else "result"
            return [Event(kind, call.name, call.arguments, text, number, self.turn, call.readable)]  # type: ignore[arg-type]
        self.calls = calls
        self._last |= {call.id: call for call in calls if call.id}
        for call in calls:
            self._wait(call, number)
        events = [Event("call", c.name, c.arguments, "", number, self.turn, c.readable) for c in calls]
        if text.strip():
            events.insert(0, Event(_ROLES[role], text=text, message=number, turn=self.turn))  # type: ignore[arg-type]
        return events

    def _answered(self, message: Message) -> Call:
        identifier, name = _identifier(message.get("tool_call_id")), _name(message)
        known = self._last.get(identifier)
        key = ("id", identifier) if known else ("no id" if identifier else "any", name)
        waiting = self._waiting.get(key, [])
        while waiting:
            calls = waiting[-1][1]
            while calls:
                call = calls.popleft()
                if call not in self._done:
                    self._done.add(call)
                    return call
            waiting.pop()
        return known or Call("", name, {})

    def _wait(self, call: Call, number: int) -> None:
        """Let a call of a message wait for a result: one with its id, or without an id that a call has."""
        keys = [("any", call.name), ("any", "")]
        keys += [("id", call.id)] if call.id else [("no id", call.name), ("no id", "")]
        for key in keys:
            waiting = self._waiting.setdefault(key, [])
            if not waiting or waiting[-1][0] != number:
                waiting.append((number, deque()))
            waiting[-1][1].append(call)


def events_of(messages: Iterable[Message], is_error: ErrorTest = reports_error) -> list[Event]:
    """Return the events of a conversation.

    Args:
        messages: The messages, in order.
        is_error: Decides whether the message of a tool reports an error.

    Raises:
        RecordingError: One of them is no chat message.
    """
    reader = Reader(is_error)
    return [event for message in messages for event in reader.read(message)]


def text_of(message: Message) -> str:
    """The text of a message: its content, or the texts of its parts. A refusal is text, too."""
    content = message.get("content")
    if content is None:
        content = message.get("refusal")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text", part.get("refusal")) if isinstance(part, Mapping) else part for part in content]
        return "\n".join(part for part in parts if isinstance(part, str))
    return "" if content is None else json.dumps(content, default=str)


def calls_of(message: Message, number: int = 0) -> list[Call]:
    """The calls of an assistant's message."""
    calls = message.get("tool_calls") or (
        [{"function": message["function_call"]}] if message.get("function_call") else []
    )
    if not isinstance(calls, list | tuple):
        raise RecordingError(f"`tool_calls` of message {number} should be a list. Received {shown(calls)}.")
    return [read_call(call, number) for call in calls]


def read_call(call: Json, number: int = 0) -> Call:
    """A call, from a mapping with `function` or with `name` and `arguments`."""
    function = call.get("function", call) if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str) or not name:
        raise RecordingError(f"A call of message {number} should have a function with a name. Received {shown(call)}.")
    given = function.get("arguments", function.get("input"))  # type: ignore[union-attr]
    return Call(_identifier(call.get("id")), name, *read_arguments(given))


def read_arguments(given: Mapping[str, Json] | str | None) -> tuple[Mapping[str, Json], bool]:
    """Arguments of a call, and whether they can be read: a mapping, JSON of one, or JSON of such JSON.

    None, `null` and empty text are no arguments.

    Example:
        >>> read_arguments('{"order_id": 7}'), read_arguments('{"order_id": '), read_arguments("")
        (({'order_id': 7}, True), ({}, False), ({}, True))
    """
    found: Json = given
    for _ in range(2):
        if isinstance(found, str):
            try:
                found = json.loads(found) if found.strip() else None
            except (ValueError, RecursionError):
                return {}, False
    if found is None:
        return {}, True
    return (found, True) if isinstance(found, Mapping) else ({}, False)


def _identifier(found: Json) -> str:
    return "" if found is None else str(found)


def _name(message: Message) -> str:
    name = message.get("name")
    return name if isinstance(name, str) else ""


def load_conversations(path: str | os.PathLike[str]) -> Iterator[list[Message]]:
    """Read conversations from a file: JSON, or JSON lines with a conversation on each line.

    A conversation is a list of messages, or an object with one under `messages`, `traj` or `conversation`. A file of
    JSON holds one conversation or a list of them.

    Raises:
        RecordingError: The file cannot be read, holds something else, or holds no conversation.
    """
    name = os.fspath(path)
    empty = True
    for found, where in _entries(name):
        empty = False
        yield _conversation(found, where)
    if empty:
        raise RecordingError(f"{name} has no conversation. It should have JSON of one, or one on each line.")


def _entries(name: str) -> Iterator[tuple[Json, str]]:
    """What a file has for each conversation, and where."""
    try:
        with open(name, encoding="utf-8") as file:
            if name.endswith((".jsonl", ".ndjson")):
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        yield _parsed(line, f"Line {number} of {name}"), f"Line {number} of {name}"
                return
            found = _parsed(file.read(), name)
    except UnicodeDecodeError:
        raise RecordingError(f"{name} is not UTF-8 text.") from None
    except OSError as error:
        raise RecordingError(f"Cannot read {name!r}: {error.strerror}.") from None
    several = isinstance(found, list) and not (found and isinstance(found[0], dict) and "role" in found[0])
    for number, each in enumerate(found if several else [found]):
        yield each, f"Conversation {number} of {name}"


def _parsed(text: str, where: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"{where} is not valid JSON: {error}.") from None


def _conversation(found: Json, where: str) -> list[Message]:
    if isinstance(found, dict):
        found = next((found[key] for key in _CONVERSATION if key in found), None)
    if not isinstance(found, list):
        raise RecordingError(
            f"{where} should be a list of messages, or an object with one under {', '.join(_CONVERSATION)}. "
            f"Received {shown(found)}."
        )
    return found
