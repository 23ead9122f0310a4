"""Error messages for formulas that do not parse: the place, what was expected, and a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import lark

from rewardspec.errors import FormulaError, line_and_column, marked_line
from rewardspec.logic.formulas import Formula
from rewardspec.logic.operators import BETWEEN, OPERATORS, PREFIX
from rewardspec.logic.unknown_atoms import LETTERS

_OPERANDS = frozenset(["PREFIX", "LPAR", "CONSTANT", "NUMBER", "NAME", "QUOTED"])
_OPERATORS = frozenset(["AND", "OR", "XOR", "IMPLIES", "IFF", "BETWEEN"])

_IN_FRONT = "A quantifier stands in front of a whole formula, as in 'forall box: G held(box)'."
_CHARACTER_REMEDIES = {
    "=": "A comparison is an atom in double quotes; equivalence is '<->' and implication '->'.",
    "<": "A comparison is an atom in double quotes, as in 'G \"x < 3\"'; equivalence is '<->', eventually 'F' or '<>'.",
    ">": "A comparison is an atom in double quotes, as in 'G \"x > 3\"'; implication is '->'.",
    "-": "Implication is '->'. A name with a dash needs double quotes.",
    ".": "A name with a dot needs double quotes.",
    '"': "Close the quoted atom with another double quote.",
    "'": "Quoted atoms use double quotes.",
    "/": "Conjunction is '&'.",
    "\\": "Disjunction is '|'.",
    "[": "Close the interval with ']', as in 'F[0,5] a'; 'always' is 'G' or '[]'.",
    ":": _IN_FRONT,
    "{": "Group with round parentheses; a count is a whole number, as in 'F{3} a'.",
}
_TOKEN_REMEDIES = {
    "INTERVAL": "An interval follows a temporal operator, as in 'F[0,5] a'; a name with brackets needs double quotes.",
    "COUNT": "A count follows F or G, as in 'F{3} a'; group with round parentheses.",
    "TIMES": "A scale is a number before the formula, as in '0.8 * a'; conjunction is '&'.",
    "QUANTIFIER": _IN_FRONT,
    "COLON": _IN_FRONT,
    "PLUS": "Only a scaled formula is raised by a number, as in '0.8 * a + 0.1'; disjunction is '|'.",
}
_APPLIED = re.compile(r"\(\s*[^\W\d]\w*\s*\)")  # what follows the name of an atom about a thing
_QUANTIFIERS = ("forall", "exists", "mean")
_FOREIGN_WORDS = {"never": "G !", "henceforth": "G", "sometime": "F", "sometimes": "F"}

_PREFIXES = frozenset(text for row in OPERATORS.values() if row.binding == PREFIX for text in row.spellings)
_LOOKING_BACK = frozenset(text for row in OPERATORS.values() if row.tense == "past" for text in row.spellings)
_WORDS = frozenset(text for row in OPERATORS.values() for text in row.spellings if re.fullmatch("[a-z_]+", text))
_LETTERS_BETWEEN = frozenset(row.text for row in OPERATORS.values() if row.binding == BETWEEN)


class MisuseError(Exception):
    """Text that the grammar allows but that means nothing, what was found at a token, and what could stand there."""

    def __init__(self, token: lark.Token, found: str, expected: str, remedy: str) -> None:
        super().__init__(found)
        self.position = token.start_pos or 0
        self.found = found
        self.expected = expected
        self.remedy = remedy


def shown(text: str) -> str:
    """A part of a formula as messages show it: quoted, and cut short where it is long."""
    return repr(text[:40] + "…" if len(text) > 40 else str(text))


def checked(token: lark.Token, expected: str, build: Callable[..., Formula], *args: object) -> Formula:
    """Call `build`; if it refuses its arguments, raise an error that points at the token."""
    try:
        return build(*args)
    except FormulaError as error:
        raise MisuseError(token, f"{shown(token)} cannot be used", expected, str(error)) from None


def explain_misuse(text: str, misuse: MisuseError) -> FormulaError:
    """The error to raise for a misuse."""
    line, column = line_and_column(text, misuse.position)
    return _error(text, line, column, misuse.found, (misuse.expected,), misuse.remedy)


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
        line, column = line_and_column(text, position)
        found = f"{name!r} was read as an atom"
    return _error(text, line, column, found, expected, remedy)


def _error(text: str, line: int, column: int, found: str, expected: tuple[str, ...], remedy: str) -> FormulaError:
    place = marked_line(text, line, column)
    message = f"{found} at line {line}, column {column}.\n\n{place}\nExpected {_join(expected)}."
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
    """Describe what was found, and how to mend it."""
    if _at_end(error):
        if not text.strip():
            return "The formula is empty", "Write one, for example 'F goal' or 'G !crash'."
        opened = _unclosed_parenthesis(text)
        closing = "" if opened is None else f" and close the '(' opened at line {opened[0]}, column {opened[1]}"
        return (
            "The formula stops too early",
            f"Finish the formula{closing}. {_reserved_name(text, _LOOKING_BACK)}".strip(),
        )
    if isinstance(error, lark.UnexpectedToken):
        token = error.token
        return f"Unexpected {str(token)!r}", _token_remedy(text, token)
    position = error.pos_in_stream or 0
    if text.startswith('""', position):
        return "Empty quoted atom", "Put the atom's name between the double quotes."
    character = text[position]
    return f"Unexpected character {character!r}", _CHARACTER_REMEDIES.get(character, "")


def _token_remedy(text: str, token: lark.Token) -> str:
    word, position = str(token), token.start_pos or 0
    if token.type == "RPAR" and _unclosed_parenthesis(text[:position]) is None:
        return "This ')' closes nothing: remove it, or open a '(' before it."
    if token.type == "NAME" and word.upper() in _LETTERS_BETWEEN:
        return f"Temporal operators are upper-case: did you mean '{word.upper()}'?"
    if token.type == "NAME" and word.lower() in _WORDS:
        return f"Operators in words are lower-case: did you mean '{word.lower()}'?"
    if token.type in _OPERANDS:
        return "Join the two formulas with an operator."
    if token.type == "BETWEEN":
        return f"{word!r} stands between two formulas; an atom of that name needs double quotes."
    return _TOKEN_REMEDIES.get(token.type) or _reserved_name(text[:position], _PREFIXES)


def _reserved_name(before: str, operators: Collection[str]) -> str:
    """A remedy where the text ends in one of the operators, which may have been meant as an atom."""
    word = re.search(r"(?<![\w\"])([^\W\d]\w*)\s*$", before)
    if word is None or word[1] not in operators:
        return ""
    return f"{word[1]!r} is an operator, which needs a formula after it; an atom of that name needs double quotes."


def _mistaken_operator(text: str, error: lark.UnexpectedInput) -> tuple[int, str, str] | None:
    """Position and name of an atom that was meant as an operator, with what to write instead.

    Example:
        `FG p`: the error is found at `p`, which cannot follow an atom; the mistake is the word before it.
    """
    if not isinstance(error, lark.UnexpectedToken) or error.token.type not in _OPERANDS:
        return None
    here = error.token.start_pos or 0
    before = re.search(r"(?<![\w\"])([^\W\d]\w*)\s*$", text[:here])
    if before is None:
        return None
    word, position = before[1], before.start(1)
    if word in _QUANTIFIERS and error.token.type == "NAME":
        return position, word, _IN_FRONT
    if word.lower() in _FOREIGN_WORDS:
        written = _FOREIGN_WORDS[word.lower()]
        return position, word, f"The operator is written '{written}'; an atom of that name needs double quotes."
    if word != word.lower() and word.lower() in _WORDS:
        return position, word, f"Operators in words are lower-case: did you mean '{word.lower()}'?"
    letter = "|".join(LETTERS)
    if re.fullmatch(f"(?:{letter}){{2,}}", word):
        apart = " ".join(re.findall(letter, word))
        return position, word, f"Operators need spaces between them: did you mean '{apart}'?"
    if len(word) == 1 and word.islower() and word.upper() in LETTERS:
        return position, word, f"Temporal operators are upper-case: did you mean '{word.upper()}'?"
    if _APPLIED.match(text, here):
        return position, word, f"An atom takes the variable of a quantifier alone: 'forall box: G {word}(box)'."
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
    return line_and_column(text, opened[-1])


def _join(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]
