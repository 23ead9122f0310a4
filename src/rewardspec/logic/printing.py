"""From formulas to text, with the fewest parentheses that `parse` needs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rewardspec.errors import FormulaError
from rewardspec.logic.formulas import (
    LAST,
    Always,
    And,
    Atom,
    Constant,
    Eventually,
    Formula,
    Iff,
    Implies,
    Nary,
    Next,
    Not,
    Or,
    Release,
    StrongRelease,
    Unary,
    Until,
    WeakNext,
    WeakUntil,
    Xor,
)

_BINDING: dict[type[Formula], int] = {
    Iff: 1,
    Implies: 2,
    Or: 3,
    Xor: 4,
    And: 5,
    Until: 6,
    Release: 6,
    WeakUntil: 6,
    StrongRelease: 6,
}
_UNARY_BINDING = 7
_RIGHT_ASSOCIATIVE = (Implies, Until, Release, WeakUntil, StrongRelease)
_RESERVED = frozenset(
    ["X", "WX", "wX", "N", "F", "G", "U", "R", "W", "M", "true", "false", "last", "not", "and", "or", "xor"]
)
# What means something else in LaTeX's math mode, where spaces would vanish too.
_LATEX_CHARACTERS = {character: "\\" + character for character in " _#$%&{}"}
_LATEX_CHARACTERS |= {"\\": r"\backslash ", "^": r"{\wedge}", "~": r"{\sim}"}


@dataclass(frozen=True)
class Style:
    """How to write each operator.

    Attributes:
        symbols: Text of each operator, constant and `last`.
        space_after: Unary operators that stand off from what follows unless it is a parenthesis.
    """

    true: str
    false: str
    last: str
    symbols: dict[type[Formula], str]
    space_after: frozenset[type[Formula]] = field(default_factory=frozenset)
    latex: bool = False

    def atom(self, name: str) -> str:
        """The atom's name, quoted where it is not a plain identifier."""
        if self.latex:
            return r"\mathit{" + "".join(_LATEX_CHARACTERS.get(character, character) for character in name) + "}"
        if re.fullmatch(r"[^\W\d]\w*", name) and name not in _RESERVED:
            return name
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'


_LETTERS: dict[type[Formula], str] = {Until: "U", Release: "R", WeakUntil: "W", StrongRelease: "M"}
_ASCII: dict[type[Formula], str] = {Next: "X", WeakNext: "WX", Eventually: "F", Always: "G", Not: "!"}
_CONNECTIVES: dict[type[Formula], str] = {And: "&", Or: "|", Xor: "^", Implies: "->", Iff: "<->"}

STYLES = {
    "ascii": Style(
        "true",
        "false",
        "last",
        _LETTERS | _ASCII | _CONNECTIVES,
        frozenset({Next, WeakNext, Eventually, Always}),
    ),
    "unicode": Style(
        "⊤",
        "⊥",
        "last",
        _LETTERS
        | {Next: "○", WeakNext: "●", Eventually: "◇", Always: "□", Not: "¬"}
        | {And: "∧", Or: "∨", Xor: "⊕", Implies: "→", Iff: "↔"},
    ),
    "latex": Style(
        r"\top",
        r"\bot",
        r"\mathit{last}",
        {kind: rf"\mathbin{{\mathcal{{{letter}}}}}" for kind, letter in _LETTERS.items()}
        | {Next: r"\bigcirc ", WeakNext: r"\bullet ", Eventually: r"\Diamond ", Always: r"\Box ", Not: r"\lnot "}
        | {And: r"\land", Or: r"\lor", Xor: r"\oplus", Implies: r"\rightarrow", Iff: r"\leftrightarrow"},
        latex=True,
    ),
}


def to_string(formula: Formula, style: str = "ascii", *, longest: int | None = None) -> str:
    """The formula as text; see `Formula.to_string`.

    Args:
        formula: The formula.
        style: One of `STYLES`.
        longest: Write no more than about this many characters, and end with "…" where that cuts the text short.

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> to_string(parse("(!(a)) U ((a) & (F(b)))"))
        '!a U (a & F b)'
        >>> to_string(parse("G(a -> X b)"), "unicode")
        '□(a → ○b)'
    """
    if style not in STYLES:
        raise FormulaError(f"`style` should be one of {', '.join(STYLES)}. Received {style!r}.")
    written = STYLES[style]
    # Pieces of text and formulas still to be written, last first: a stack in place of recursion.
    output: list[str] = []
    todo: list[Formula | str] = [formula]
    written_so_far = 0
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            output.append(item)
            written_so_far += len(item)
            if longest is not None and written_so_far > longest:
                return "".join(output)[: longest - 1].rstrip() + "…"
        else:
            todo.extend(reversed(_pieces(item, written)))
    return "".join(output).strip()


def _pieces(formula: Formula, style: Style) -> list[Formula | str]:
    """The text of one operator, with its operands left as formulas."""
    if isinstance(formula, Atom):
        return [style.atom(formula.name)]
    if isinstance(formula, Constant):
        return [style.true if formula.value else style.false]
    if isinstance(formula, WeakNext) and formula == LAST:
        return [style.last]
    symbol = style.symbols[type(formula)]
    if isinstance(formula, Unary):
        if _binding(formula.arg) < _UNARY_BINDING:
            return [symbol, "(", formula.arg, ")"]
        return [symbol, " " if type(formula) in style.space_after else "", formula.arg]
    pieces: list[Formula | str] = []
    for position, operand in enumerate(formula.args):
        if position:
            pieces.append(f" {symbol} ")
        pieces.extend(["(", operand, ")"] if _needs_parentheses(formula, operand, position) else [operand])
    return pieces


def _binding(formula: Formula) -> int:
    return _BINDING.get(type(formula), _UNARY_BINDING)


def _needs_parentheses(outer: Formula, operand: Formula, position: int) -> bool:
    ours, theirs = _binding(outer), _binding(operand)
    if theirs != ours:
        return theirs < ours
    if isinstance(outer, Nary):
        return False  # flattened, so an equal binding cannot occur
    associates_here = 1 if isinstance(outer, _RIGHT_ASSOCIATIVE) else 0
    return position != associates_here
