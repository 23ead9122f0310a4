"""Error messages for atoms that do not exist: the nearest one that does, or operators written without spaces."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewardspec.errors import FormulaError, did_you_mean
from rewardspec.logic.formulas import Formula
from rewardspec.logic.operators import OPERATORS, PREFIX

# The operators that are one capital letter before their operand, or two; the longer ones first.
LETTERS = sorted(
    {
        text
        for row in OPERATORS.values()
        if row.binding == PREFIX
        for text in row.spellings
        if re.fullmatch("[wW]?[A-Z]", text)
    },
    key=lambda text: (-len(text), text),
)


def require_known_atoms(formula: Formula, known: Iterable[str], what: str = "known atoms") -> None:
    """Raise a FormulaError that names the first atom of `formula` not in `known`, with the nearest one that is."""
    known = list(known)
    for name in formula.atoms:
        if name not in known:
            listing = ", ".join(known) or "none"
            raise FormulaError(f"Unknown atom {name!r}; {what}: {listing}.{atom_hint(name, known)}")


def atom_hint(name: str, known: Iterable[str] = ()) -> str:
    """Suggest what the writer of the unknown atom `name` may have meant; the empty string if nothing is near.

    Example:
        >>> atom_hint("GFa", ["a", "b"])
        " Did you mean 'G F a'?"
    """
    known = list(known)
    spaced = _apart(name) if known else operators_run_together(name)
    if spaced and (not known or spaced.split()[-1] in known):
        return f" Did you mean {spaced!r}?"
    return did_you_mean(name, known)


def operators_run_together(name: str) -> str | None:
    """`"G F a"` for `"GFa"`: operators and an atom that were written without spaces; None for other names."""
    spaced = _apart(name)
    return None if spaced is None or (spaced[:2] in _MOSTLY_WORDS and spaced.count(" ") == 1) else spaced


_MOSTLY_WORDS = ("O ", "H ", "Y ")  # with which words begin: Open, Hot, Yellow


def _apart(name: str) -> str | None:
    letter = "|".join(LETTERS)
    match = re.fullmatch(rf"((?:{letter})+)([a-z_]\w*)", name)
    return None if match is None else " ".join([*re.findall(letter, match[1]), match[2]])
