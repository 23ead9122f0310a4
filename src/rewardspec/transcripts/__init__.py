"""Rules for language agents: a report over conversations, a guard for calls, and a reward for each turn."""

from rewardspec.spec.atoms.event_atoms import Event, EventAtom
from rewardspec.transcripts.checking import Finding, check
from rewardspec.transcripts.guard import Decision, Guard, Reason, check_call
from rewardspec.transcripts.messages import events_of, load_conversations
from rewardspec.transcripts.rewards import Score, Scorer, score

__all__ = [
    "Decision",
    "Event",
    "EventAtom",
    "Finding",
    "Guard",
    "Reason",
    "Score",
    "Scorer",
    "check",
    "check_call",
    "events_of",
    "load_conversations",
    "score",
]
