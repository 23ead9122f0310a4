"""Measuring and breaking text, without a font library."""

from __future__ import annotations

import re
import unicodedata

# Advance widths in thousandths of an em: of DejaVu Sans, the widest of the usual sans fonts, so that text fits in
# every one of them.
_WIDTHS: dict[str, int] = {
    character: units
    for characters, units in (
        ("′", 227),
        ("ijlIJ'", 295),
        (" ,.:;|/\\", 337),
        ("f-()[]t", 392),
        ("r!₀₁₂₃₄₅₆₇₈₉", 411),
        ('csz?*_`L"', 557),
        ("vxykFaeoTY", 615),
        ("bdghnpqu0123456789$EPS{}", 636),
        ("ABCKRVXZ", 698),
        ("UHN∧∨", 752),
        ("DGOQ&", 787),
        ("w#+<=>^~¬←−→↔⊕", 838),
        ("⊤⊥M", 871),
        ("mW@%…", 1000),
    )
    for character in characters
}
_BOLD = 1.12
# Breaking `1 − a` in two would hide that it is one operand.
_BREAK = re.compile(r"(?<!−) (?!−)")


def width(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide the text is at a font size; rather too much than too little.

    Example:
        >>> round(width("max(a, b)", 10))
        49
    """
    return sum(map(_advance, text)) * size / 1000 * (_BOLD if bold else 1.0)


def _advance(character: str) -> int:
    known = _WIDTHS.get(character)
    if known is not None:
        return known
    if unicodedata.combining(character):
        return 0
    return 1000 if unicodedata.east_asian_width(character) in "WF" or ord(character) > 0xFFFF else 838


def wrap(text: str, limit: float, size: float, *, bold: bool = False, hanging: str = "") -> list[str]:
    """One line of text in lines no wider than the limit where spaces allow it; later ones begin with `hanging`.

    Example:
        >>> wrap("v ← max(b, min(v, 1 − a))", 120, 12, hanging="  ")
        ['v ← max(b,', '  min(v, 1 − a))']
    """
    words = _BREAK.split(text)
    lines: list[str] = []
    start = 0
    while start < len(words):
        lead = hanging if lines else ""
        end = start + 1
        while end < len(words) and width(lead + " ".join(words[start : end + 1]), size, bold=bold) <= limit:
            end += 1
        if end < len(words):
            end = _best_break(words, start, end)
        lines.append(lead + " ".join(words[start:end]))
        start = end
    return lines


def _best_break(words: list[str], start: int, end: int) -> int:
    """Find the best break of a line of `words[start:end]`: outside as many parentheses as possible, then late."""
    depth = 0
    depths = {}
    for position in range(start, end):
        depth += words[position].count("(") - words[position].count(")")
        depths[position + 1] = depth
    # A line should be half full, or the text would grow long instead of wide.
    return min((at for at in depths if at - start > (end - start) // 2), key=lambda at: (depths[at], -at), default=end)


def printable(text: str) -> str:
    r"""The text with characters that no picture format takes replaced by visible ones.

    Example:
        >>> printable("two\nlines")
        'two␊lines'
    """
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    # Lone surrogates and these two are not characters to XML.
    if code == 0x7F or unicodedata.category(character) in ("Cc", "Cs") or code in (0xFFFE, 0xFFFF):
        return "�"
    return character
