"""The reward of each turn of a conversation. The rewards add up to the value at its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from rewardspec.spec.spec import Spec
from rewardspec.transcripts.messages import ErrorTest, Message, Reader, reports_error
from rewardspec.transcripts.rules import RuleBook


class Score(NamedTuple):
    """Value of a conversation, and the reward of each turn.

    Attributes:
        total: The value at the end: the weighted sum of the formulas' values or, once a rule that vetoes is broken, the
            penalty; 0 for a conversation without events.
        turns: The reward of each of the assistant's messages. Its calls, their results, and what the user answers count
            for it; what comes before the first counts for the first. They add up to `total`. A conversation without a
            message of the assistant has no turns.
        values: The value of each formula at the end, by name.
    """

    total: float
    turns: list[float]
    values: dict[str, float]


class Scorer:
    """Scorer of conversations by a spec. Each event pays the change of the value, whatever the spec's payment is.

    Args:
        spec: The spec, with atoms about events.
        is_error: Decides whether the message of a tool reports an error.
    """

    def __init__(self, spec: Spec, is_error: ErrorTest = reports_error) -> None:
        pairs = [dataclasses.replace(pair, payment=None) for pair in spec.pairs]
        self._spec = spec.replace(pairs=pairs, payment="delta")
        self._book = RuleBook(self._spec)
        self._is_error = is_error

    def __call__(self, messages: Iterable[Message]) -> Score:
        """Score a conversation.

        Raises:
            RecordingError: One of the messages is no chat message.
        """
        spec, state = self._spec, self._spec.initial_state()
        reader = Reader(self._is_error)
        events = [event for message in messages for event in reader.read(message)]
        turns = [0.0] * (1 + reader.turn)
        for event in events:
            state, reward = spec.step(state, self._book.labels(event))
            if turns:
                turns[max(event.turn, 0)] += reward
        if not events:
            return Score(0.0, turns, dict.fromkeys(spec.names, 0.0))
        return Score(float(spec.level(state)), turns, dict(zip(spec.names, spec.values(state), strict=True)))


def score(spec: Spec, messages: Iterable[Message]) -> Score:
    """Score one conversation. For many conversations, use a `Scorer`, which prepares the spec once."""
    return Scorer(spec)(messages)
