"""What lint reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewardspec.spec.pairs import Pair

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """Something that looks wrong.

    Attributes:
        rule: The rule's name.
        severity: `"error"` or `"warning"`.
        pair: The pair's number, from 0, or None where it is about the whole spec.
        message: What is wrong, and why.
        remedy: What to do about it.
    """

    rule: str
    severity: Severity
    pair: int | None
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.severity} [{self.rule}]: {self.message} {self.remedy}"


def called(number: int, pair: Pair) -> str:
    """How findings call a pair."""
    name = "" if pair.name is None else f" ({pair.name})"
    return f"Pair {number + 1}{name}, `{pair.formula}`,"
