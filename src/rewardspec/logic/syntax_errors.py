"""What to tell someone whose formula does not parse: the place, what was expected, and a remedy."""

from __future__ import annotations

import re

import lark

from rewardspec.errors import FormulaError

_OPERANDS = frozenset(
    [
        "NOT",
        "NEXT",
        "STRONG_NEXT",
        "WEAK_NEXT",
        "EVENTUALLY",
        "ALWAYS",
        "LPAR",
        "TRUE",
        "FALSE",
        "LAST",
        "NAME",
        "QUOTED",
    ]
)
_OPERATORS = frozenset(["AND", "OR", "XOR", "IMPLIES", "IFF", "UNTIL", "RELEASE", "WEAK_UNTIL", "STRONG_RELEASE"])

_CHARACTER_REMEDIES = {
    "=": "Comparisons belong in an atom's function; equivalence is '<->' and implication '->'.",
    "<": "Comparisons belong in an atom's function; equivalence is '<->', 'eventually' is 'F' or '<>'.",
    ">": "Comparisons belong in an atom's function; implication is '->'.",
    "-": "Implication is '->'. A name with a dash needs double quotes.",
    ".": "A name with a dot needs double quotes.",
    '"': "Close the quoted atom with another double quote.",
    "'": "Quoted atoms use double quotes.",
    "/": "Conjunction is '&'.",
    "\\": "Disjunction is '|'.",
    "[": "'always' is 'G' or '[]'; strong next is 'X' or 'X[!]'. Time bounds are not part of this logic.",
    "{": "Group with round parentheses.",
}

_OPERATORS_IN_WORDS = {
    "always": "G",
    "globally": "G",
    "eventually": "F",
    "finally": "F",
    "next": "X",
    "until": "U",
    "release": "R",
    "releases": "R",
    "unless": "W",
    "implies": "->",
    "iff": "<->",
}


def explain_syntax_error(text: str, error: lark.UnexpectedInput) -> FormulaError:
    """A FormulaError that shows the line, a caret under the place, what was expected, and what to do."""
    mistaken = _mistaken_operator(text, error)
    if mistaken is None:
        expected = _expected_in_words(error)
        line, column = _place(text, error)
        found, remedy = _diagnose(text, error, line, column)
    else:
        position, name, remedy = mistaken
        expected = ("an operator",)
        line, column = _line_and_column(text, position)
        found = f"{name!r} was read as an atom"
    shown, caret = _window(text.split("\n")[line - 1], column)
    message = f"{found} at line {line}, column {column}.\n\n    {shown}\n    {caret}\nExpected {_join(expected)}."
    if remedy:
        message += f" {remedy}"
    return FormulaError(message, text=text, line=line, column=column, expected=expected)


def _at_end(error: lark.UnexpectedInput) -> bool:
    return isinstance(error, lark.UnexpectedToken) and error.token.type == "$END"


def _place(text: str, error: lark.UnexpectedInput) -> tuple[int, int]:
    if not _at_end(error):
        return error.line, error.column
    lines = text.rstrip().split("\n")  # as lark counts them; str.splitlines knows other line ends too
    return len(lines), len(lines[-1]) + 1


def _expected_in_words(error: lark.UnexpectedInput) -> tuple[str, ...]:
    if not isinstance(error, lark.UnexpectedToken):
        return ("an atom", "an operator", "a parenthesis")
    names = set(error.accepts or error.expected)
    words = []
    if names & _OPERANDS:
        words.append("a formula")
    if names & _OPERATORS:
        words.append("an operator such as '&' or 'U'")
    if "RPAR" in names:
        words.append("')'")
    if "$END" in names:
        words.append("the end of the formula")
    return tuple(words)


def _diagnose(text: str, error: lark.UnexpectedInput, line: int, column: int) -> tuple[str, str]:
    """What was found, and how to mend it."""
    if _at_end(error):
        if not text.strip():
            return "The formula is empty", "Write one, for example 'F goal' or 'G !crash'."
        opened = _unclosed_parenthesis(text)
        remedy = "Finish the formula."
        if opened is not None:
            remedy = f"Finish the formula and close the '(' opened at line {opened[0]}, column {opened[1]}."
        return "The formula stops too early", remedy
    if isinstance(error, lark.UnexpectedCharacters):
        if text.startswith('""', error.pos_in_stream):
            return "Empty quoted atom", "Put the atom's name between the double quotes."
        return f"Unexpected character {error.char!r}", _CHARACTER_REMEDIES.get(error.char, "")
    token = error.token  # type: ignore[attr-defined]
    found = f"Unexpected {str(token)!r}"
    if token.type == "RPAR" and _unclosed_parenthesis(text[: token.start_pos]) is None:
        return found, "This ')' closes nothing: remove it, or open a '(' before it."
    if token.type == "NAME" and str(token).upper() in ("U", "R", "W", "M"):
        return found, f"Temporal operators are upper-case: did you mean '{str(token).upper()}'?"
    if token.type == "NAME" and str(token).lower() in ("and", "or", "xor"):
        return found, f"Operators in words are lower-case: did you mean '{str(token).lower()}'?"
    if token.type in _OPERANDS:
        return found, "Join the two formulas with an operator."
    if token.type in ("UNTIL", "RELEASE", "WEAK_UNTIL", "STRONG_RELEASE"):
        return found, f"{str(token)!r} stands between two formulas; an atom of that name needs double quotes."
    return found, ""


def _mistaken_operator(text: str, error: lark.UnexpectedInput) -> tuple[int, str, str] | None:
    """Position and name of an atom that was meant as an operator, with what to write instead.

    Example:
        `always p`: the error is found at `p`, which cannot follow an atom; the mistake is the word before it.
    """
    if not isinstance(error, lark.UnexpectedToken) or error.token.type not in _OPERANDS:
        return None
    here = error.token.start_pos or 0
    words = [(here, str(error.token))]
    before = re.search(r"(?<![\w\"])([^\W\d]\w*)\s*$", text[:here])
    if before is not None:
        words.insert(0, (before.start(1), before[1]))
    for position, word in words:
        written = _OPERATORS_IN_WORDS.get(word.lower())
        if written is not None:
            return position, word, f"The operator is written '{written}'; an atom of that name needs double quotes."
        together = re.fullmatch(r"(?:wX|WX|[GFXN]){2,}", word)
        if together is not None and position != here:
            apart = " ".join(re.findall(r"wX|WX|[GFXN]", word))
            return position, word, f"Operators need spaces between them: did you mean '{apart}'?"
        if position != here and len(word) == 1 and word.upper() in "FGX" and word.islower():
            return position, word, f"Temporal operators are upper-case: did you mean '{word.upper()}'?"
    return None


def _unclosed_parenthesis(text: str) -> tuple[int, int] | None:
    """Line and column of the last '(' without a ')', outside quoted atoms."""
    opened: list[int] = []
    blanked = re.sub(r'"(\\.|[^"\\])*"', lambda quoted: " " * len(quoted[0]), text, flags=re.DOTALL)
    for position, character in enumerate(blanked):
        if character == "(":
            opened.append(position)
        elif character == ")" and opened:
            opened.pop()
    if not opened:
        return None
    return _line_and_column(text, opened[-1])


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    """Both counted from 1."""
    before = text[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


def _window(line: str, column: int, width: int = 88) -> tuple[str, str]:
    """The part of a long line around the column, and the caret line under it."""
    start = 0
    if len(line) > width:
        start = max(0, min(column - 1 - width // 2, len(line) - width))
    shown = line[start : start + width]
    left, right = ("… " if start else ""), (" …" if start + width < len(line) else "")
    # Tabs and the like as single spaces, so that the caret stays under its place.
    return re.sub(r"\s", " ", f"{left}{shown}{right}"), " " * (len(left) + column - 1 - start) + "^"


def _join(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
