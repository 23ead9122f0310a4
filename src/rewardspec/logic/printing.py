"""From formulas to text, with the fewest parentheses that `parse` needs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rewardspec.errors import FormulaError
from rewardspec.logic.formulas import (
    FIRST,
    LAST,
    Affine,
    And,
    Atom,
    Constant,
    Eventually,
    Formula,
    Nary,
    Unary,
    number_text,
)
from rewardspec.logic.operators import BETWEEN, CONSTANTS, IMPLIES, OPERATORS, PREFIX, Operator
from rewardspec.logic.quantifiers import SYMBOLS, AtomOf, Quantified

RESERVED = frozenset(
    word
    for word in [*CONSTANTS, "now", *(text for row in OPERATORS.values() for text in row.spellings)]
    if word.isidentifier()
)
# What means something else in LaTeX's math mode, where spaces would vanish too.
_LATEX_CHARACTERS = {character: "\\" + character for character in " _#$%&{}"}
_LATEX_CHARACTERS |= {"\\": r"\backslash ", "^": r"{\wedge}", "~": r"{\sim}"}


def quoted(text: str) -> str:
    """The text in double quotes, with backslashes before those in it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@dataclass(frozen=True)
class Style:
    """A notation: everything that the table of operators leaves open.

    Attributes:
        symbol: The symbol of an operator.
        spaced: Whether a letter that stands before its operand is set off by a space.
        latex: Whether the text is LaTeX, with names and annotations to match.
    """

    true: str
    false: str
    symbol: Callable[[Operator], str]
    spaced: bool = False
    latex: bool = False

    def atom(self, name: str) -> str:
        """The atom's name, quoted where it is not a plain identifier."""
        if self.latex:
            return r"\mathit{" + _escaped(name) + "}"
        if re.fullmatch(r"[^\W\d]\w*", name) and name not in RESERVED:
            return name
        return quoted(name)

    def quantifier(self, formula: Quantified) -> str:
        """The symbol of a quantifier, set off from the variable."""
        return SYMBOLS[type(formula)][2 if self.latex else 0 if self.spaced else 1]

    def operator(self, formula: Formula) -> str:
        """The symbol with its interval or count."""
        symbol = self.symbol(OPERATORS[type(formula)])
        if self.latex and formula.annotation:
            return f"{symbol.rstrip()}_{{{_escaped(formula.annotation)}}} "
        return symbol + formula.annotation


STYLES = {
    "ascii": Style("true", "false", lambda row: row.text, spaced=True),
    "unicode": Style("⊤", "⊥", lambda row: row.unicode),
    "latex": Style(r"\top", r"\bot", lambda row: row.latex, latex=True),
}


def to_string(formula: Formula, style: str = "ascii", *, longest: int | None = None) -> str:
    """The formula as text in one of `STYLES`; of a text with more than `longest` characters the beginning, and "…".

    Example:
        >>> from rewardspec.logic.parsing import parse
        >>> to_string(parse("(!(a)) U ((a) & (F[<=5](b)))"))
        '!a U (a & F[0,5] b)'
        >>> to_string(parse("G(a -> X b)"), "unicode")
        '□(a → ○b)'
        >>> to_string(parse("F(last & a & b)"))
        'now(a & b)'
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
    if isinstance(formula, AtomOf):
        thing = style.atom(formula.thing) if style.latex else formula.thing
        return [style.atom(formula.predicate), f"({thing})"]
    if isinstance(formula, Atom):
        return [style.atom(formula.name)]
    if isinstance(formula, Quantified):
        colon = r"\colon " if style.latex else ": "
        return [style.quantifier(formula), style.atom(formula.variable), colon, formula.body]
    if isinstance(formula, Constant):
        return [{1.0: style.true, 0.0: style.false}.get(formula.value) or number_text(formula.value)]
    if formula in (LAST, FIRST):
        name = "last" if formula == LAST else "first"
        return [rf"\mathit{{{name}}}" if style.latex else name]
    if isinstance(formula, Affine):
        return _affine_pieces(formula, style)
    if isinstance(formula, Unary):
        symbol, arg = style.operator(formula), formula.arg
        if _is_now(formula) and not style.latex:
            symbol, arg = "now", _operand(formula)
        if _binding(arg) < PREFIX:
            return [symbol, "(", arg, ")"]
        return [symbol, " " if symbol == "now" or (style.spaced and symbol[0].isalpha()) else "", arg]
    symbol = style.operator(formula)
    pieces: list[Formula | str] = []
    for position, operand in enumerate(formula.args):
        if position:
            pieces.append(f" {symbol.strip()} ")
        pieces.extend(["(", operand, ")"] if _needs_parentheses(formula, operand, position) else [operand])
    return pieces


def _is_now(formula: Formula) -> bool:
    """Return whether a formula is `now φ`, that is `F(last & φ)`."""
    if not isinstance(formula, Eventually) or formula.annotation:
        return False
    return isinstance(formula.arg, And) and formula.arg.args[0] == LAST


def _operand(formula: Unary) -> Formula:
    """Return what is written after the operator: of `now φ` only φ."""
    if not _is_now(formula):
        return formula.arg
    _, *others = formula.arg.args
    return others[0] if len(others) == 1 else And(*others)


def _affine_pieces(formula: Affine, style: Style) -> list[Formula | str]:
    times, arg = r"\cdot" if style.latex else "*", formula.arg
    operand = ["(", arg, ")"] if _binding(arg) < PREFIX or (formula.offset and _takes_offset(arg)) else [arg]
    plus = f" + {number_text(formula.offset)}" if formula.offset else ""
    return [f"{number_text(formula.scale)} {times} ", *operand, plus]


def _takes_offset(formula: Formula) -> bool:
    """Return whether an offset after the formula would be parsed as one of a scale inside it."""
    while isinstance(formula, Unary) and not isinstance(formula, Affine):
        operand = _operand(formula)
        if _binding(operand) < PREFIX:
            return False
        formula = operand
    return isinstance(formula, Affine) and formula.offset == 0.0


def _escaped(text: str) -> str:
    return "".join(_LATEX_CHARACTERS.get(character, character) for character in text)


def _binding(formula: Formula) -> int:
    return OPERATORS[type(formula)].binding if formula.args else PREFIX


def _needs_parentheses(outer: Formula, operand: Formula, position: int) -> bool:
    ours, theirs = _binding(outer), _binding(operand)
    if theirs != ours:
        return theirs < ours
    if isinstance(outer, Nary):
        return False  # flattened, so an equal binding cannot occur
    return position != (1 if ours in (IMPLIES, BETWEEN) else 0)
