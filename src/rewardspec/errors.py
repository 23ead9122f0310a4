"""The exceptions of rewardspec.

Every error that bad input can cause is a subclass of `Error`, so `except rewardspec.Error` catches them all.
Each message says what was wrong, the value received, and what to do about it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable


class Error(Exception):
    """Base class of every error that rewardspec raises on purpose."""


class FormulaError(Error, ValueError):
    """A formula that cannot be read.

    Attributes:
        text: The text that was being read, or None where the formula was not text.
        line: Line of the error, from 1.
        column: Column of the error, from 1.
        expected: What could have stood there, in words.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str | None = None,
        line: int | None = None,
        column: int | None = None,
        expected: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.text = text
        self.line = line
        self.column = column
        self.expected = expected


class LabelError(Error, ValueError):
    """A label that is missing, is not a number in [0, 1], or has the wrong shape."""


class SynthesisError(Error, ValueError):
    """A formula whose machine is larger than the budget allows.

    Attributes:
        subformula: The part of the formula that is too large, where it is known.
    """

    def __init__(self, message: str, *, subformula: object = None) -> None:
        super().__init__(message)
        self.subformula = subformula


class PolicyFileError(Error, ValueError):
    """A saved policy that is damaged, foreign, or cannot be read or written."""


class MonitorFileError(Error, ValueError):
    """A saved monitor that is damaged, foreign, or of an unknown version."""


class SpecError(Error, ValueError):
    """A specification that contradicts itself."""


class UnknownEnvironmentError(Error, LookupError):
    """A name that none of the library's environments has."""


class ModelError(Error, ValueError):
    """An environment without a finite model, or a product larger than the budget allows."""


class RecordingError(Error, ValueError):
    """Recorded arrays that do not fit together."""


class MissingExtraError(Error, ImportError):
    """An optional dependency that is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed. Run in a checkout of the repository: pip install "
            f"'.[{extra}]'"
        )
        self._arguments = package, extra, purpose

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        # An exception is made again from its message alone, unless it says otherwise; workers send theirs home.
        return MissingExtraError, self._arguments


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint naming the known word nearest to `word`, or the empty string.

    Example:
        >>> did_you_mean("ballanced", ["balanced", "reach_goal"])
        " Did you mean 'balanced'?"
        >>> did_you_mean("lake", ["frozen_lake", "taxi"])
        " Did you mean 'frozen_lake'?"
    """
    words = list(known)
    close = difflib.get_close_matches(word, words, n=1)
    if not close and len(word) > 2:
        close = [other for other in words if word in other]
        close = close if len(close) == 1 else []
    return f" Did you mean {close[0]!r}?" if close else ""


def shown(value: object) -> str:
    """A value for a message: on one line that is not too long.

    Example:
        >>> shown("yes"), shown(range(3)), shown(16**5_000)
        ("'yes'", 'range(0, 3)', 'an int that is too large to print')
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python refuses to write integers of thousands of digits
        return f"an {type(value).__name__} that is too large to print"
    return text if len(text) <= 80 else f"{text[:78]} …"


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Line and column of a position in a text, both counted from 1."""
    before = text[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


def marked_line(text: str, line: int, column: int, width: int = 88) -> str:
    """Show a line of a text, indented, with a caret under a column; of a long line, the part around the column.

    Example:
        >>> print(marked_line("a + b", 1, 5))
            a + b
                ^
    """
    whole = text.split("\n")[line - 1]
    start = max(0, min(column - 1 - width // 2, len(whole) - width)) if len(whole) > width else 0
    left, right = ("… " if start else ""), (" …" if start + width < len(whole) else "")
    # Tabs and the like become single spaces, so that the caret stays under its place.
    visible = re.sub(r"\s", " ", f"{left}{whole[start : start + width]}{right}")
    return f"    {visible}\n    {' ' * (len(left) + column - 1 - start)}^"
