"""From text to formulas: `parse`."""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Iterable
from typing import NamedTuple

import lark

from rewardspec.errors import FormulaError
from rewardspec.logic.dialects import DIALECTS, Dialect, Syntax
from rewardspec.logic.formulas import Affine, And, Atom, Constant, Formula, Nary, Or
from rewardspec.logic.operators import AND, BETWEEN, CONSTANTS, IFF, IMPLIES, OR, PREFIX, XOR
from rewardspec.logic.quantifiers import QUANTIFIERS, AtomOf, Quantified
from rewardspec.logic.syntax_errors import MisuseError, checked, explain_misuse, explain_syntax_error
from rewardspec.logic.unknown_atoms import require_known_atoms


def parse(text: str | Formula, *, syntax: Syntax = "rewardspec", atoms: Iterable[str] | None = None) -> Formula:
    """Parse a formula.

    Args:
        text: The formula, in ASCII, word or Unicode form; the docs list every form. A formula is taken as it is.
        syntax: Whose formulas to read. `"spot"` reads a bare `X` as weak next, as Spot does; `"rtamt"` and `"reelay"`
            read the word forms of those tools, and a formula of the past as one that is judged now, at the last step.
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
    elif syntax not in DIALECTS:
        known = ", ".join(map(repr, DIALECTS))
        raise FormulaError(f"`syntax` should be one of {known}. Received {syntax!r}.")
    else:
        try:
            formula = _Builder(DIALECTS[syntax]).build(text)
        except lark.UnexpectedInput as error:
            raise explain_syntax_error(text, error) from None
        except MisuseError as misuse:
            raise explain_misuse(text, misuse) from None
    if atoms is not None:
        require_known_atoms(formula, atoms)
    return formula


_QUANTIFIER = re.compile(r"\s*(?:(?:forall|exists|mean)\s+|[∀∃]\s*)([^\W\d]\w*)\s*:")
# Only a formula that starts with a quantifier is read with these, so that its words stay free as names of atoms.
_QUANTIFIED = r"""
quantified: QUANTIFIER NAME COLON iff
%extend operand: (NAME | QUOTED) LPAR NAME RPAR -> atom_of
QUANTIFIER.3: /(forall|exists|mean)(?=\s+[^\W\d]\w*\s*:)|∀|∃/
COLON: ":"
"""


@functools.cache
def _parser(syntax: Syntax, quantified: bool = False) -> lark.Lark:
    grammar = importlib.resources.files("rewardspec.logic").joinpath("grammar.lark").read_text(encoding="utf-8")
    names = {"IFF": IFF, "IMPLIES": IMPLIES, "OR": OR, "XOR": XOR, "AND": AND, "BETWEEN": BETWEEN, "PREFIX": PREFIX}
    terminals = [f"{name}.2: {_pattern(DIALECTS[syntax].spellings(binding))}" for name, binding in names.items()]
    terminals.append(f"CONSTANT.2: {_pattern(CONSTANTS)}")
    if DIALECTS[syntax].proposition is not None:
        terminals.extend(
            [f"PROPOSITION.3: /{DIALECTS[syntax].proposition}/", "%extend operand: PROPOSITION -> proposition"]
        )
    start = "quantified" if quantified else "start"
    text = "\n".join([grammar, *terminals, _QUANTIFIED if quantified else ""])
    return lark.Lark(text, parser="lalr", lexer="basic", maybe_placeholders=False, start=start)


def _pattern(spellings: Iterable[str]) -> str:
    """A terminal that matches any of the spellings; a word only as a whole, so that `Fast` is an atom."""
    longest_first = sorted(spellings, key=len, reverse=True)
    choices = [re.escape(text) + (r"(?!\w)" if text.isidentifier() else "") for text in longest_first]
    return "/" + "|".join(choices).replace("/", r"\/") + "/"


class _Operands(NamedTuple):
    """The operands of an `&` or `|` that an enclosing one may still flatten."""

    kind: type[Nary]
    operands: list[Formula]


_NARY: dict[str, type[Nary]] = {"and": And, "or": Or}


class _Builder:
    """Turns lark's tree into a formula, from the leaves up and without recursion.

    Equal parts of one text become one object, which keeps later passes linear in what is distinct.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.shared: dict[Formula, Formula] = {}
        self.variable = ""  # of the quantifier in front

    def build(self, text: str) -> Formula:
        quantifier = _QUANTIFIER.match(text)
        self.variable = "" if quantifier is None else quantifier[1]
        tree = _parser(self.dialect.name, quantifier is not None).parse(text)
        # `iter_subtrees` yields each subtree after its children, and holds its own stack.  The operands of nested
        # conjunctions, which flatten, are only collected until the outermost is reached.
        built: dict[int, Formula | _Operands] = {}
        for node in tree.iter_subtrees():
            rule = str(node.data)
            self._require_same_grouping(node)
            parts = [built[id(child)] for child in node.children if isinstance(child, lark.Tree)]
            if rule == "group":
                (built[id(node)],) = parts
            elif rule in _NARY:
                built[id(node)] = _Operands(_NARY[rule], self._collect(_NARY[rule], parts))
            else:
                tokens = [child for child in node.children if isinstance(child, lark.Token)]
                operands = [self._finished(part) for part in parts]
                built[id(node)] = self._share(self._node(rule, tokens, operands))
        formula = self._finished(built[id(tree)])
        return formula if isinstance(formula, Quantified) else self.dialect.judged(formula)

    def _require_same_grouping(self, node: lark.Tree[lark.Token]) -> None:
        for child in node.children:
            if isinstance(child, lark.Tree) and (node.data, child.data) in self.dialect.grouped_otherwise:
                symbol = next(part for part in child.children if isinstance(part, lark.Token))
                raise MisuseError(
                    symbol,
                    f"{str(symbol)!r} is grouped differently by {self.dialect.name}",
                    "parentheses",
                    "Write parentheses that say which two formulas belong together.",
                )

    def _collect(self, kind: type[Nary], parts: list[Formula | _Operands]) -> list[Formula]:
        operands: list[Formula] = []
        for part in parts:
            if isinstance(part, _Operands) and part.kind is kind:
                operands.extend(part.operands)
            else:
                operands.append(self._finished(part))
        return operands

    def _finished(self, part: Formula | _Operands) -> Formula:
        return self._share(part.kind(*part.operands)) if isinstance(part, _Operands) else part

    def _share(self, formula: Formula) -> Formula:
        return self.shared.setdefault(formula, formula)

    def _atom_of(self, predicate: lark.Token, thing: lark.Token) -> Formula:
        if thing != self.variable:
            remedy = f"The quantifier's variable is {self.variable!r}, and no other can be used."
            raise MisuseError(thing, f"{str(thing)!r} is no variable", f"'{predicate}({self.variable})'", remedy)
        name = _unquoted(predicate) if predicate.type == "QUOTED" else str(predicate)
        return AtomOf(name, str(thing))

    def _node(self, rule: str, tokens: list[lark.Token], operands: list[Formula]) -> Formula:
        match rule:
            case "constant":
                return CONSTANTS[str(tokens[0])]
            case "number":
                return checked(tokens[0], "a number in [0, 1]", Constant, float(tokens[0]))
            case "scale":
                scale, *offset = (float(token) for token in tokens if token.type == "NUMBER")
                return checked(tokens[0], "a scale such as '0.8 * a'", Affine, operands[0], scale, *offset)
            case "quoted_atom":
                return Atom(_unquoted(tokens[0]))
            case "atom":
                return Atom(str(tokens[0]))
            case "atom_of":
                return self._atom_of(tokens[0], tokens[2])
            case "quantified":
                kind = QUANTIFIERS[str(tokens[0])]
                return kind(self.dialect.judged(operands[0]), str(tokens[1]))
            case "proposition":
                return checked(tokens[0], "a proposition", self.dialect.read_proposition, str(tokens[0]))
        symbol, *annotations = tokens
        return self.dialect.operator(symbol, annotations[0] if annotations else None, operands)


def _unquoted(token: lark.Token) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL)
