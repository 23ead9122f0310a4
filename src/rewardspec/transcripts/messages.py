"""Events of a conversation, from chat messages in OpenAI's form, and files of conversations."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from rewardspec.errors import RecordingError, shown
from rewardspec.spec.atoms.event_atoms import Event
from rewardspec.types import Json

Message: TypeAlias = Mapping[str, Json]
"""A chat message: a mapping with `role`, `content` and, for the assistant, `tool_calls`."""

ErrorTest: TypeAlias = Callable[[Message], bool]
"""Decides whether the message of a tool reports an error."""

_ROLES = {"user": "user", "system": "system", "developer": "system", "assistant": "assistant"}
_TOOLS = ("tool", "function")
_CONVERSATION = ("messages", "traj", "conversation")  # keys under which files hold the messages


def reports_error(message: Message) -> bool:
    """Return whether the message of a tool reports an error.

    It does if it has `is_error` or `status: "error"`, if its content is a JSON object with an `error`, or if its text
    starts with "Error", whatever the case.

    Example:
        >>> reports_error({"role": "tool", "content": "Error: no such order"})
        True
        >>> reports_error({"role": "tool", "content": '{"status": "delivered"}'})
        False
    """
    if message.get("is_error") or message.get("status") == "error":
        return True
    text = text_of(message).lstrip()
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return False
        return isinstance(found, dict) and bool(found.get("error") or found.get("is_error"))
    return text[:5].lower() == "error"


class Reader:
    """Turns messages into events, one after the other.

    An assistant's message is an event for its text, if it has any, and one for each call, in order. The message of a
    tool is a result or an error, with the name and the arguments of the call that it answers.

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
        self._calls: dict[str, tuple[str, dict[str, Json]]] = {}  # by id, and the last of each name
        self.messages = 0
        self.turn = -1

    def read(self, message: Message) -> list[Event]:
        """The events of the next message."""
        number = self.messages
        role = message.get("role") if isinstance(message, Mapping) else None
        if role not in _ROLES and role not in _TOOLS:
            roles = ", ".join((*_ROLES, *_TOOLS))
            raise RecordingError(
                f"Message {number} should be a mapping whose `role` is one of {roles}. Received {shown(message)}."
            )
        self.messages += 1
        text = text_of(message)
        if role in _TOOLS:
            name, arguments = self._answered(message)
            kind = "error" if self._is_error(message) else "result"
            return [Event(kind, name, arguments, text, number, self.turn)]  # type: ignore[arg-type]
        events = []
        if role == "assistant":
            self.turn += 1
        calls = calls_of(message, number) if role == "assistant" else []
        if text.strip() or not calls:
            events.append(Event(_ROLES[role], text=text, message=number, turn=self.turn))  # type: ignore[arg-type]
        for identifier, name, arguments in calls:
            self._calls[f"name {name}"] = name, arguments
            if identifier:
                self._calls[f"id {identifier}"] = name, arguments
            events.append(Event("call", name, arguments, message=number, turn=self.turn))
        return events

    def _answered(self, message: Message) -> tuple[str, dict[str, Json]]:
        identifier, name = message.get("tool_call_id"), message.get("name")
        for key in (f"id {identifier}", f"name {name}"):
            if key in self._calls:
                return self._calls[key]
        return (name if isinstance(name, str) else ""), {}


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
    """The text of a message: its content, or the texts of its parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text", "") if isinstance(part, Mapping) else part for part in content]
        return "\n".join(part for part in parts if isinstance(part, str))
    return "" if content is None else json.dumps(content, default=str)


def calls_of(message: Message, number: int = 0) -> list[tuple[str, str, dict[str, Json]]]:
    """Identifier, name and arguments of each call of an assistant's message.

    Arguments that are no JSON object are left out.
    """
    calls = message.get("tool_calls") or (
        [{"function": message["function_call"]}] if message.get("function_call") else []
    )
    if not isinstance(calls, list | tuple):
        raise RecordingError(f"`tool_calls` of message {number} should be a list. Received {shown(calls)}.")
    return [read_call(call, number) for call in calls]


def read_call(call: Json, number: int = 0) -> tuple[str, str, dict[str, Json]]:
    """Identifier, name and arguments of a call, as a mapping with `function` or with `name` and `arguments`."""
    function = call.get("function", call) if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str) or not name:
        raise RecordingError(f"A call of message {number} should have a function with a name. Received {shown(call)}.")
    arguments = function.get("arguments", function.get("input", {}))  # type: ignore[union-attr]
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            arguments = {}
    return str(call.get("id") or ""), name, arguments if isinstance(arguments, dict) else {}


def load_conversations(path: str | os.PathLike[str]) -> Iterator[list[Message]]:
    """Read conversations from a file: JSON, or JSON lines with a conversation on each line.

    A conversation is a list of messages, or an object with one under `messages`, `traj` or `conversation`. A file of
    JSON holds one conversation or a list of them.

    Raises:
        RecordingError: The file cannot be read, or holds something else.
    """
    name = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            if name.endswith((".jsonl", ".ndjson")):
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        yield _conversation(_parsed(line, f"Line {number} of {name}"), f"Line {number} of {name}")
                return
            found = _parsed(file.read(), name)
    except UnicodeDecodeError:
        raise RecordingError(f"{name} is not UTF-8 text.") from None
    except OSError as error:
        raise RecordingError(f"Cannot read {name!r}: {error.strerror}.") from None
    several = isinstance(found, list) and not (found and isinstance(found[0], dict) and "role" in found[0])
    for number, each in enumerate(found if several else [found]):
        yield _conversation(each, f"Conversation {number} of {name}")


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
