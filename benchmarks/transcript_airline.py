"""Two rules on tau-bench's published airline conversations, by the spec file and by plain Python.

python benchmarks/transcript_airline.py gpt-4o-airline.json > benchmarks/results/transcript_airline.md

The file is `historical_trajectories/gpt-4o-airline.json` of sierra-research/tau-bench, and no part of this repository.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import rewardspec as rs
from rewardspec.transcripts import check, events_of, load_conversations
from rewardspec.transcripts.rules import RuleBook

RULES = Path(__file__).parents[1] / "examples" / "agents" / "airline.toml"
CHANGES = {
    "update_reservation_flights",
    "update_reservation_baggages",
    "update_reservation_passengers",
    "cancel_reservation",
}


def by_hand(messages: list[dict]) -> tuple[bool, bool]:
    """Whether a conversation breaks the first and the second rule, without the library."""
    looked_up, pending, recent = set(), {}, []
    unseen = unasked = False
    for message in messages:
        content = message.get("content") or ""
        calls = message.get("tool_calls") or []
        if message["role"] == "tool":
            name, arguments = pending[message["tool_call_id"]]
            if name == "get_reservation_details" and not content.startswith("Error"):
                looked_up.add(arguments["reservation_id"])
            recent.append(False)
            continue
        if content.strip():
            recent.append(message["role"] == "user" and bool(re.search(r"\byes\b", content.lower())))
        for call in calls:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            pending[call["id"]] = name, arguments
            if name in CHANGES:
                unseen = unseen or arguments["reservation_id"] not in looked_up
                unasked = unasked or not any(recent[-2:])
            recent.append(False)
    return unseen, unasked


def main() -> None:
    """Print how many conversations break each rule."""
    book = RuleBook(rs.Spec.load(RULES))
    conversations = list(load_conversations(sys.argv[1]))
    names = [rule.name for rule in book.rules]
    by_spec = [{finding.rule for finding in check(book, messages)} for messages in conversations]
    plain = [by_hand(messages) for messages in conversations]
    events = sum(len(events_of(messages)) for messages in conversations)
    print(f"{len(conversations)} conversations, {events:,} events.\n")
    print("| rule | conversations that break it, by the spec | by plain Python | that differ |\n|---|--:|--:|--:|")
    for k, name in enumerate(names):
        first, second = [name in found for found in by_spec], [found[k] for found in plain]
        differ = sum(a != b for a, b in zip(first, second, strict=True))
        print(f"| {name} | {sum(first)} | {sum(second)} | {differ} |")


if __name__ == "__main__":
    main()
