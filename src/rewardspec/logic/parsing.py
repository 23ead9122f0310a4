"""From text to formulas: `parse`."""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

import lark

from rewardspec.errors import FormulaError, did_you_mean
from rewardspec.logic.formulas import (
    FALSE,
    LAST,
    TRUE,
    Always,
    And,
    Atom,
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
    Until,
    WeakNext,
    WeakUntil,
    Xor,
)
from rewardspec.logic.syntax_errors import explain_syntax_error

Syntax = Literal["rewardspec", "spot"]


def parse(text: str | Formula, *, syntax: Syntax = "rewardspec", atoms: Iterable[str] | None = None) -> Formula:
    """Read a formula.

    Args:
        text: The formula, in ASCII, word or Unicode form; the docs list every form. A formula is taken as it is.
        syntax: `"spot"` reads a bare `X` as weak next, as Spot does; otherwise `X` is strong.
        atoms: The atoms that exist, if they are known; any other is then an error.

    Raises:
        FormulaError: The text is not a formula, or names an unknown atom. Shows the line, a caret and a remedy.

    Example:
        >>> parse("[] (request => <> grant)")
        parse('G(request -> F grant)')
        >>> parse("X a", syntax="spot")
        parse('WX a')
    """
    if isinstance(text, Formula):
        formula = text
    elif not isinstance(text, str):
        raise FormulaError(f"A formula's text should be a string. Received {text!r} of type {type(text).__name__}.")
    elif syntax not in ("rewardspec", "spot"):
        raise FormulaError(f"`syntax` should be 'rewardspec' or 'spot'. Received {syntax!r}.")
    else:
        try:
            formula = _Builder(syntax).build(text)
        except lark.UnexpectedInput as error:
            raise explain_syntax_error(text, error) from None
    if atoms is not None:
        require_known_atoms(formula, atoms)
    return formula


def require_known_atoms(formula: Formula, known: Iterable[str], what: str = "known atoms") -> None:
    """Raise a FormulaError that names the first atom of `formula` not in `known`, with the nearest one that is."""
    known = list(known)
    for name in formula.atoms:
        if name not in known:
            listing = ", ".join(known) or "none"
            raise FormulaError(f"Unknown atom {name!r}; {what}: {listing}.{atom_hint(name, known)}")


def atom_hint(name: str, known: Iterable[str] = ()) -> str:
    """What the writer of the unknown atom `name` may have meant, or the empty string.

    Example:
        >>> atom_hint("GFa", ["a", "b"])
        " Did you mean 'G F a'?"
    """
    known = list(known)
    spaced = operators_run_together(name)
    if spaced and (not known or spaced.split()[-1] in known):
        return f" Did you mean {spaced!r}?"
    return did_you_mean(name, known)


def operators_run_together(name: str) -> str | None:
    """`"G F a"` for `"GFa"`: operators and an atom that were written without spaces; None for other names."""
    match = re.fullmatch(r"(wX|WX|[GFXN])((?:wX|WX|[GFXN])*)([a-z_]\w*)", name)
    if match is None:
        return None
    operators = re.findall(r"wX|WX|[GFXN]", match[1] + match[2])
    return " ".join([*operators, match[3]])


@functools.cache
def _parser() -> lark.Lark:
    grammar = importlib.resources.files("rewardspec.logic").joinpath("grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", lexer="basic", maybe_placeholders=False)


_BINARY = {"UNTIL": Until, "RELEASE": Release, "WEAK_UNTIL": WeakUntil, "STRONG_RELEASE": StrongRelease}
_UNARY = {
    "NOT": Not,
    "NEXT": Next,
    "STRONG_NEXT": Next,
    "WEAK_NEXT": WeakNext,
    "EVENTUALLY": Eventually,
    "ALWAYS": Always,
}


_NARY: dict[str, type[Nary]] = {"and": And, "or": Or}


class _Operands(NamedTuple):
    """The operands of an `&` or `|` that an enclosing one may still flatten."""

    rule: str
    operands: list[Formula]


class _Builder:
    """Turns lark's tree into a formula, from the leaves up and without recursion.

    Equal parts of one text become one object, which keeps later passes linear in what is distinct.
    """

    def __init__(self, syntax: Syntax) -> None:
        self.unary: dict[str, type[Formula]] = dict(_UNARY)
        if syntax == "spot":
            self.unary["NEXT"] = WeakNext
        self.shared: dict[Formula, Formula] = {}

    def build(self, text: str) -> Formula:
        tree = _parser().parse(text)
        # `iter_subtrees` yields each subtree after its children, and holds its own stack.  The operands of nested
        # conjunctions, which flatten, are only collected until the outermost is reached.
        built: dict[int, Formula | _Operands] = {}
        for node in tree.iter_subtrees():
            rule = str(node.data)
            parts = [built[id(child)] if isinstance(child, lark.Tree) else child for child in node.children]
            if rule == "group":
                (built[id(node)],) = (part for part in parts if not isinstance(part, lark.Token))
            elif rule in _NARY:
                built[id(node)] = _Operands(rule, self._collect(rule, parts))
            else:
                built[id(node)] = self._share(self.node(rule, [self._finished(part) for part in parts]))
        return self._finished(built[id(tree)])  # type: ignore[return-value]  # a tree is no token

    def _collect(self, rule: str, parts: list[Formula | _Operands | lark.Token]) -> list[Formula]:
        operands: list[Formula] = []
        for part in parts:
            if isinstance(part, _Operands) and part.rule == rule:
                operands.extend(part.operands)
            elif not isinstance(part, lark.Token):
                operands.append(self._finished(part))  # type: ignore[arg-type]
        return operands

    def _finished(self, part: Formula | _Operands | lark.Token) -> Formula | lark.Token:
        return self._share(_NARY[part.rule](*part.operands)) if isinstance(part, _Operands) else part

    def _share(self, formula: Formula) -> Formula:
        return self.shared.setdefault(formula, formula)

    def node(self, rule: str, parts: list[Formula | lark.Token]) -> Formula:
        operands = [part for part in parts if isinstance(part, Formula)]
        tokens = [part for part in parts if isinstance(part, lark.Token)]
        match rule:
            case "true":
                return TRUE
            case "false":
                return FALSE
            case "last":
                return LAST
            case "atom":
                return Atom(str(tokens[0]))
            case "quoted_atom":
                return Atom(re.sub(r"\\(.)", r"\1", tokens[0][1:-1], flags=re.DOTALL))
            case "unary":
                return self.unary[tokens[0].type](*operands)
            case "binary":
                return _BINARY[tokens[0].type](*operands)
            case "xor":
                return Xor(*operands)
            case "implies":
                return Implies(*operands)
            case "iff":
                return Iff(*operands)
        raise AssertionError(f"the grammar has a rule {rule!r} that nothing builds")
