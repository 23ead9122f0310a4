"""Atoms about the events of a conversation: a call of a tool, its result or error, or a message.

In a spec file such an atom is a table with one of the kinds of events as its key:

looked_up = { result = "get_order", id = "order_id" }     # the call succeeded
refund = { call = "refund", id = "order_id" }             # the call was asked for
large = { call = "refund", where = { amount = { above = 100 } } }
broad = { call = "search", where = { limit = { above = 100 } }, optional = true }   # `limit` may be left out
change = { call = ["update_*", "cancel_order"] }
agreed = { user = ["yes", "go ahead"] }                   # a message with one of these words

`rewardspec.transcripts` turns messages into events.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
import json
import operator
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from rewardspec.errors import SpecError, did_you_mean, shown
from rewardspec.types import Action, Json, Number, Observation

Kind: TypeAlias = Literal["call", "result", "error", "user", "assistant", "system"]

TOOL_KINDS = ("call", "result", "error")
MESSAGE_KINDS = ("user", "assistant", "system")
KINDS = (*TOOL_KINDS, *MESSAGE_KINDS)
_OPTIONS = ("id", "where", "text", "optional")
_COMPARISONS = {"above": operator.gt, "below": operator.lt, "at_least": operator.ge, "at_most": operator.le}
_RESULT = "result."
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*", re.IGNORECASE | re.ASCII)
_LONGEST_NUMBER = 10_000  # characters; a longer text is no number
_LONGEST_LITERAL = 20_000  # characters; what reads a Python literal may take quadratic time


class Event(NamedTuple):
    """One event of a conversation.

    Attributes:
        kind: What happened: a tool was called, a call succeeded, a call failed, or someone wrote a message.
        name: Name of the tool; empty for a message.
        arguments: Arguments of the call, also for its result.
        text: Text of the message or of the result.
        message: Index of the message that the event is in.
        turn: Number of the assistant's message that the event belongs to, from 0; -1 before the first.
        readable: Whether the arguments could be read; if not, they are empty.
    """

    kind: Kind
    name: str = ""
    arguments: Mapping[str, Json] = {}
    text: str = ""
    message: int = 0
    turn: int = -1
    readable: bool = True


@dataclass(frozen=True)
class EventAtom:
    """An atom about events; called as an atom's function, it reads the event as `next_obs`.

    Attributes:
        kind: The kind of event.
        names: Names of tools, or words of a message; `*` matches anything.
        id: The argument that names the thing the atom is about, such as `order_id`; parts of nested arguments are
            joined by dots, and `result.order_id` is read from a result that is a JSON object. None for an atom about
            no thing.
        where: Conditions on arguments.
        text: Words, one of which the text of a result or error contains; none for any text.
        optional: Whether a call may leave out the argument that `id` names and those that `where` compares. The atom is
            then false of it; otherwise it is `unclear`.

    Example:
        >>> atom = read_event_atom({"call": "refund", "id": "order_id"})
        >>> atom.things(Event("call", "refund", {"order_id": 7}))
        ['7']
    """

    kind: Kind
    names: tuple[str, ...]
    id: str | None = None
    where: Mapping[str, Json] = field(default_factory=dict)
    text: tuple[str, ...] = ()
    optional: bool = False

    def __hash__(self) -> int:
        return hash((self.kind, self.names, self.id, self.text))

    def __call__(self, obs: Observation, action: Action, next_obs: Observation) -> Number:
        """Return the label: 1.0 or 0.0, or for an atom about things the things that the event names."""
        if not isinstance(next_obs, Event):
            raise SpecError(f"an atom about a {self.kind} reads events of a conversation. Received {shown(next_obs)}.")
        holds = self.concerns(next_obs.kind, next_obs.name) and self.holds(next_obs)
        if self.id is None:
            return float(holds)
        return self.things(next_obs) if holds else []

    def concerns(self, kind: str, name: str) -> bool:
        """Return whether events of this kind, from a tool of this name, can make the atom true."""
        if kind != self.kind:
            return False
        return kind in MESSAGE_KINDS or any(fnmatch.fnmatchcase(name, pattern) for pattern in self.names)

    def holds(self, event: Event) -> bool:
        """Return whether the atom is true of an event that it concerns."""
        words = self.names if self.kind in MESSAGE_KINDS else self.text
        if words and "*" not in words and not any(_word(word).search(event.text) for word in words):
            return False
        return all(_meets(_part(event, path), wanted) for path, wanted in self.where.items())

    def unclear(self, event: Event) -> str:
        """Return why the atom cannot be judged for a call that it is about; an empty text if it can be judged."""
        if self.id is None and not self.where:
            return ""
        if not event.readable:
            return "its arguments are not a JSON object"
        why = ""
        for path, wanted in self.where.items():
            value = _part(event, path)
            if not isinstance(wanted, dict) or as_number(value) is not None:
                if not _meets(value, wanted):
                    return ""
            elif value is None and self.optional:
                return ""
            else:
                why = why or (f"it has no {path!r}" if value is None else f"its {path!r} is not a number")
        if self.id is None or self.things(event):
            return why
        return "" if self.optional else why or f"it has no {self.id!r}"

    def things(self, event: Event) -> list[str]:
        """The things that an event names, as text: none, one, or each entry of a list."""
        assert self.id is not None
        found = _part(event, self.id)
        if found.__class__ is str:
            return [found]
        return [_as_text(entry) for entry in (found if isinstance(found, list) else [found]) if entry is not None]

    def to_toml(self) -> str:
        """The atom as a TOML table on one line."""
        table: dict[str, Json] = {self.kind: _one_or_list(self.names)}
        if self.id is not None:
            table["id"] = self.id
        if self.where:
            table["where"] = dict(self.where)
        if self.text:
            table["text"] = _one_or_list(self.text)
        if self.optional:
            table["optional"] = True
        return _inline(table)


def read_event_atom(entry: Mapping[str, Json]) -> EventAtom:
    """The atom that a table of a spec file describes."""
    kinds = [kind for kind in KINDS if kind in entry]
    if len(kinds) != 1:
        raise SpecError(f"an atom about events has one of the keys {', '.join(KINDS)}. Received {shown(entry)}.")
    (kind,) = kinds
    for key in entry:
        if key not in (kind, *_OPTIONS):
            hint = did_you_mean(str(key), _OPTIONS)
            raise SpecError(f"Unknown key {key!r} beside `{kind}`; known: {', '.join(_OPTIONS)}.{hint}")
    names, text, where, place = entry[kind], entry.get("text", []), entry.get("where", {}), entry.get("id")
    optional = entry.get("optional", False)
    if place is not None and not (isinstance(place, str) and place):
        raise SpecError(f"`id` should be the name of an argument. Received {shown(place)}.")
    if not isinstance(where, dict):
        raise SpecError(f"`where` should be a table of arguments and what they should be. Received {shown(where)}.")
    for path, wanted in where.items():
        for each in _values(wanted):
            if isinstance(each, dict) and isinstance(wanted, list):
                raise SpecError(
                    f"`where.{path}` should have no table in a list; write two atoms and join them by | in the "
                    f"formula. Received {shown(wanted)}."
                )
            if not isinstance(each, str | int | float | dict):
                raise SpecError(
                    f"`where.{path}` should be text, a number, true or false, or a list of these. Received "
                    f"{shown(each)}. Write a date as text, in quotes."
                )
        if isinstance(wanted, dict) and (not wanted or any(key not in _COMPARISONS for key in wanted)):
            raise SpecError(f"`where.{path}` should compare by {', '.join(_COMPARISONS)}. Received {shown(wanted)}.")
        if isinstance(wanted, dict) and not all(_is_number(bound) for bound in wanted.values()):
            raise SpecError(f"`where.{path}` should compare with numbers. Received {shown(wanted)}.")
    if not isinstance(optional, bool):
        raise SpecError(f"`optional` should be true or false. Received {shown(optional)}.")
    if kind in MESSAGE_KINDS and (text or where or place or optional):
        raise SpecError(f"a message has no arguments; `{kind}` takes words alone. Received {shown(entry)}.")
    if kind == "call" and text:
        raise SpecError(f"a call has no text; use `where` for its arguments. Received {shown(entry)}.")
    words = _words(text, "text") if text else ()
    return EventAtom(kind, _words(names, kind), place, where, words, optional)  # type: ignore[arg-type]


def read_result(text: str) -> Json:
    """The JSON in the text of a result, or the dict or list that Python printed; None where there is neither.

    Example:
        >>> read_result('{"order_id": 7}'), read_result("{'error': 'no such order'}"), read_result("delivered")
        ({'order_id': 7}, {'error': 'no such order'}, None)
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    text = text.strip()
    if not text.startswith(("{", "[")) or len(text) > _LONGEST_LITERAL:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # of escapes that are none
            return json.loads(json.dumps(ast.literal_eval(text), default=str))  # sets and bytes become text
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def as_number(value: Json) -> int | float | None:
    """A number, or the one that a text is; None for anything else, also for NaN.

    Example:
        >>> as_number("501"), as_number(2.5), as_number("$5"), as_number(True)
        (501, 2.5, None, None)
    """
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER and _NUMBER.fullmatch(value):
        try:
            return int(value)
        except ValueError:  # a fraction, or thousands of digits
            return float(value)
    return value if _is_number(value) and value == value else None


def _values(wanted: Json) -> list[Json]:
    """What a condition wants: the entries of a list, also of lists in it, or the one value."""
    return [value for each in wanted for value in _values(each)] if isinstance(wanted, list) else [wanted]


def _words(value: Json, key: str) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word.strip() for word in words):
        raise SpecError(f"`{key}` should be a text or a list of texts; '*' is any. Received {shown(value)}.")
    return tuple(words)


@functools.lru_cache(1024)
def _word(word: str) -> re.Pattern[str]:
    """What finds a word or phrase, whole and whatever the case."""
    return re.compile(rf"(?<!\w){re.escape(word.strip())}(?!\w)", re.IGNORECASE)


def _part(event: Event, path: str) -> Json:
    """The argument at a dotted path, or the part of a JSON result; None where there is none."""
    found: Json = event.arguments
    if path in found:
        return found[path]
    if path.startswith(_RESULT):
        path = path.removeprefix(_RESULT)
        found = read_result(event.text)
    for key in path.split("."):
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found


def _meets(value: Json, wanted: Json) -> bool:
    if isinstance(wanted, list):
        return any(_meets(value, each) for each in wanted)
    number = as_number(value)
    if isinstance(wanted, dict):
        return number is not None and all(_COMPARISONS[key](number, bound) for key, bound in wanted.items())
    if _is_number(wanted):
        return bool(number == wanted)
    return value is not None and _as_text(value) == _as_text(wanted)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _as_text(value: Json) -> str:
    """A value as text, so that 7 and "7" are the same thing."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _one_or_list(words: tuple[str, ...]) -> Json:
    return words[0] if len(words) == 1 else list(words)


def _inline(value: Json) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_inline(key)} = {_inline(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, float):
        return repr(value)  # JSON has no infinity
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
