"""`rewardspec transcripts RULES FILE …`: the rules that recorded conversations of a language agent do not keep."""

from __future__ import annotations

import argparse
import json
import sys

from rewardspec.cli.options import add_no_references, aligned, command, spec_in
from rewardspec.transcripts.checking import Finding, check
from rewardspec.transcripts.messages import events_of, load_conversations
from rewardspec.transcripts.rewards import Scorer
from rewardspec.transcripts.rules import RuleBook
from rewardspec.types import Subparsers


def add_parser(commands: Subparsers) -> None:
    """Describe the command."""
    parser = command(
        commands,
        "transcripts",
        "check recorded conversations of a language agent against rules over its tool calls and messages",
        """
        rewardspec transcripts rules.toml conversations.jsonl
        rewardspec transcripts rules.toml conversations.jsonl --format json
        """,
        "A file is JSON, or JSON lines with a conversation on each line. The exit status is 0 if "
        "every\nconversation keeps every rule, 1 if one does not, and 2 for bad input. Atoms that no event makes true "
        "are\nnamed on standard error.",
    )
    parser.add_argument("rules", metavar="RULES", help="the spec file with the rules")
    parser.add_argument("files", metavar="FILE", nargs="+", help="files of conversations")
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="how to print them (default: %(default)s)"
    )
    add_no_references(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the report."""
    spec = spec_in(arguments.rules, arguments)
    book, scorer = RuleBook(spec), Scorer(spec)
    rows: list[dict[str, object]] = []
    matched: set[str] = set()
    broken = number = 0
    for path in arguments.files:
        for messages in load_conversations(path):
            found = check(book, messages)
            broken += bool(found)
            matched |= {atom for event in events_of(messages) for atom, things in book.read(event).items() if things}
            if arguments.format == "json":
                scored = scorer(messages)
                findings = [finding.to_json() for finding in found]
                entry = {"conversation": number, "total": scored.total, "turns": scored.turns, "findings": findings}
                print(json.dumps(entry, ensure_ascii=False))
            rows += [_row(number, finding) for finding in found]
            number += 1
    if arguments.format == "table":
        print(_table(rows), end="")
        one = "conversation" if number == 1 else "conversations"
        print(f"{number:,} {one}: {number - broken:,} keep every rule, {broken:,} do not.")
    unmatched = ", ".join(atom for atom in book.atoms if atom not in matched)
    if unmatched:
        print(f"No event makes these atoms true: {unmatched}. Is a name misspelt?", file=sys.stderr)
    return 1 if broken else 0


def _row(number: int, finding: Finding) -> dict[str, object]:
    return {"conversation": number, "rule": finding.rule, "status": finding.status, "for": finding.thing,
            "message": "" if finding.message is None else finding.message, "event": finding.what}  # fmt: skip


def _table(rows: list[dict[str, object]]) -> str:
    if not rows:
        return ""
    lines = [list(rows[0]), *([str(cell) for cell in row.values()] for row in rows)]
    return "".join(f"{line}\n" for line in aligned(lines))
