"""What to tell someone whose atom's expression cannot be read: the place, what was expected, and a remedy."""

from __future__ import annotations

import re

import lark

from rewardspec.errors import SpecError

_REMEDIES = {
    "=": "Equality is '=='.",
    "^": "A power is '**'.",
    "~": "Negation is 'not'.",
    ":": "A function is named as 'package.module:function', with nothing else in the text.",
    "?": "A choice is where(condition, then, otherwise).",
    "{": "Group with round parentheses.",
    ";": "An atom is one expression.",
    '"': "Expressions hold no text; components are named without quotes.",
    "'": "Expressions hold no text; components are named without quotes.",
}
_OPERANDS = frozenset(["NUMBER", "NAME", "LPAR", "NOT"])


def at_place(message: str, text: str, position: int, remedy: str = "") -> SpecError:
    """A SpecError that shows the line of the text and a caret under the position.

    Example:
        >>> print(at_place("Unknown name 'y'", "x + y", 4, "Known: x."))
        Unknown name 'y' at line 1, column 5.
        <BLANKLINE>
            x + y
                ^
        Known: x.
    """
    before = text[:position]
    line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
    shown, caret = _window(text.split("\n")[line - 1], column)
    ending = f"\n{remedy}" if remedy else ""
    return SpecError(f"{message} at line {line}, column {column}.\n\n    {shown}\n    {caret}{ending}")


def explain_syntax_error(text: str, error: lark.UnexpectedInput) -> SpecError:
    """The SpecError for a text that the grammar refuses."""
    if not text.strip():
        return SpecError("The expression is empty. Write one, for example 'abs(x) < 2'.")
    if isinstance(error, lark.UnexpectedCharacters):
        position = error.pos_in_stream or 0
        return at_place(f"Unexpected character {error.char!r}", text, position, _REMEDIES.get(error.char, ""))
    if not isinstance(error, lark.UnexpectedToken):
        return SpecError(f"The expression {text!r} cannot be read.")
    names = set(error.accepts or error.expected)
    token = error.token
    if token.type == "$END":
        remedy = "Finish the expression and close every '('." if "RPAR" in names else "Finish the expression."
        return at_place("The expression stops too early", text, len(text.rstrip()), remedy)
    found = f"Unexpected {str(token)!r}"
    if token.type == "RPAR" and not names & {"RPAR", "NUMBER"}:
        remedy = "This ')' closes nothing: remove it, or open a '(' before it."
    elif "INDEX" in names:
        remedy = "Expected a whole number between the brackets."
    elif "NUMBER" in names:
        remedy = "Expected a number, a component, a function or '('."
    elif token.type in _OPERANDS:
        remedy = "Expected an operator such as '*' or '<' before it."
    else:
        remedy = "Expected an operator or the end of the expression."
    return at_place(found, text, token.start_pos or 0, remedy)


def _window(line: str, column: int, width: int = 88) -> tuple[str, str]:
    """The part of a long line around the column, and the caret line under it."""
    start = max(0, min(column - 1 - width // 2, len(line) - width)) if len(line) > width else 0
    left, right = ("… " if start else ""), (" …" if start + width < len(line) else "")
    shown = f"{left}{line[start : start + width]}{right}"
    return re.sub(r"\s", " ", shown), " " * (len(left) + column - 1 - start) + "^"
