"""The expression language of atoms: labels from named observation components, written in a spec file.

An expression has numbers and `pi`; the components of the observation after the step by their names (`x`), of the one
before it with a prefix (`before.x`), and the `action` (`action[0]` where it has components); the observations
themselves, as `next_obs[2]`, `obs[0, 2]` and the slice `next_obs[1:, 0]`, or `next_obs.agent[0]` where they have
keys; `any`, `all`, `min`, `max`, `mean`, `sum` and `norm`, which make one number of a slice; entries of the `info` that
came with the observation after the step (`info.carrying`, `info.position[0]`); in records, a column so many steps or so
much time ago (`x@60`, `x@60s`), and whether it is a word (`mode == 'auto'`); `+ - * / // % **`; comparisons, which give
1 or 0 and can be chained (`-1 <= x < 1`); `and`, `or` and `not`, which are min, max and one minus, as in formulas; and
the functions of `rewardspec.spec.atoms.operations`, among them the ready-made label shapes.
A text is parsed into a tree here, with every name looked up; `rewardspec.spec.atoms.expression_atoms` makes it a
function. No part of it is ever evaluated as Python.
"""

from __future__ import annotations

import functools
import importlib.resources
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import lark

from rewardspec.errors import SpecError, did_you_mean, line_and_column, marked_line
from rewardspec.logic.durations import seconds
from rewardspec.spec.atoms.components import Components, Path, Span
from rewardspec.spec.atoms.operations import ARITIES, MARGINS, REDUCTIONS

_OBSERVATIONS = {"obs": "before", "next_obs": "after"}  # their moments
_DEEPEST = 200  # nested operators; each is a Python call when the atom is read
_DIGITS = 9  # of an index
_LONGEST = 10_000  # characters; reading more would take seconds


@dataclass(frozen=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True)
class Read:
    """A component of an observation, of the action, or of `info`: at `"before"`, `"action"`, `"after"` or `"info"`."""

    moment: str
    path: Path

    @property
    def rank(self) -> int:
        """How many axes it has: one for each slice."""
        return sum(isinstance(part, Span) for part in self.path)


@dataclass(frozen=True)
class ReadAgo(Read):
    """A column of a record, some rows earlier, or if `timed` some seconds."""

    amount: float
    timed: bool


@dataclass(frozen=True)
class ReadWord(ReadAgo):
    """Whether a column of a record has a word, 1 or 0, in this row or an earlier one."""

    word: str


@dataclass(frozen=True)
class _Word:
    """A word in quotes, which only a comparison can have; `position` is its place in the text."""

    value: str
    position: int


@dataclass(frozen=True)
class Call:
    """A function or operator and its arguments; `rank` is how many axes the result has."""

    function: str
    args: tuple[Node, ...]
    rank: int = field(default=0, repr=False)


@dataclass(frozen=True)
class Reduce:
    """One number of several by a function of `REDUCTIONS`: of all of them, or along one axis, counted from 0.

    `rank` is how many axes are left.
    """

    function: str
    arg: Node
    axis: int | None = None
    rank: int = 0


Node: TypeAlias = Number | Read | Call | Reduce


def rank_of(node: Node) -> int:
    """How many axes the value of an expression has in one environment."""
    return 0 if isinstance(node, Number) else node.rank


def applied(function: str, args: tuple[Node, ...]) -> Call:
    """A function applied to arguments, place by place."""
    return Call(function, args, max(map(rank_of, args)))


def parse_expression(text: str, components: Components) -> Node:
    """Read an expression.

    Example:
        >>> parse_expression("before.x < 2", {"x": (0,)})
        Call(function='<', args=(Read(moment='before', path=(0,)), Number(value=2.0)))
    """
    return _Reader(text, components).read()


def parts_of(node: Node) -> Iterator[Node]:
    """The node and everything below it."""
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, Call):
            stack.extend(reversed(part.args))
        elif isinstance(part, Reduce):
            stack.append(part.arg)


def margin_of(node: Node, crisp: float | None = None) -> Node:
    """The expression of the margin by which a comparison holds: positive where it does, negative where it does not.

    The margin of `a == b` is 1 where both are equal, and else minus their distance; that of `a != b` is its negative.

    Args:
        node: The comparison, or several joined by `and`, `or` and `not`.
        crisp: The margin of `a == b` where it holds, and minus its margin where it does not, in place of these.

    Raises:
        SpecError: The expression is no comparison, nor several joined by `and`, `or` and `not`.

    Example:
        >>> margin_of(parse_expression("x < 2", {"x": (0,)}))
        Call(function='-', args=(Number(value=2.0), Read(moment='after', path=(0,))))
    """
    match node:
        case Call("<" | "<=", (left, right)):
            return applied("-", (right, left))
        case Call(">" | ">=", (left, right)):
            return applied("-", (left, right))
        case Call("==" | "!=" as sign, (left, right)):
            distance: Node = applied("abs", (applied("-", (left, right)),)) if crisp is None else Number(crisp)
            equal, different = Number(1.0 if crisp is None else crisp), applied("-", (Number(0.0), distance))
            margin = applied("where", (applied("==", (left, right)), equal, different))
            return margin if sign == "==" else applied("-", (Number(0.0), margin))
        case Call("min" | "max" as join, args):
            return applied(join, tuple(margin_of(arg, crisp) for arg in args))
        case Reduce("any" | "all" | "min" | "max" as join, arg, axis, rank):
            return Reduce(join, margin_of(arg, crisp), axis, rank)
        case Call("-", (Number(1.0), arg)):  # not
            return applied("-", (Number(0.0), margin_of(arg, crisp)))
    raise SpecError("It is no comparison. Compare two quantities, as in 'abs(x) < 2.4', or give the atom a function.")


@functools.cache
def _parser() -> lark.Lark:
    grammar = (
        importlib.resources.files("rewardspec.spec.atoms").joinpath("expressions.lark").read_text(encoding="utf-8")
    )
    return lark.Lark(grammar, parser="lalr", maybe_placeholders=False)


class _Reader:
    """From text to a tree, with every name looked up."""

    def __init__(self, text: str, components: Components) -> None:
        self.text = text
        self.components = components

    def read(self) -> Node:
        if len(self.text) > _LONGEST:
            raise SpecError(
                f"An expression should have at most {_LONGEST:,} characters. Received {len(self.text):,}. "
                "Write the atom as a function."
            )
        try:
            tree = _parser().parse(self.text)
        except lark.UnexpectedInput as error:
            raise _syntax_error(self.text, error) from None
        built: dict[int, tuple[Node | _Word, int]] = {}  # each node's tree and depth; leaves first, without recursion
        for subtree in tree.iter_subtrees():
            if subtree.data == "arguments":
                continue
            inner = subtree.children[2].children if subtree.data == "call" else subtree.children  # type: ignore[union-attr]
            args = [built[id(child)] for child in inner if isinstance(child, lark.Tree)]
            tokens = [child for child in subtree.children if isinstance(child, lark.Token)]
            deepest = max((depth for _, depth in args), default=0) + max(1, len(args) - 1)
            if deepest > _DEEPEST:
                raise SpecError(f"The expression is nested more than {_DEEPEST} deep. Write the atom as a function.")
            if subtree.data == "call":
                tokens += [child for child in subtree.children[2].children if isinstance(child, lark.Token)]  # type: ignore[union-attr]
            if subtree.data == "word":
                built[id(subtree)] = _Word(tokens[0][1:-1].strip(), tokens[0].start_pos or 0), deepest
                continue
            if subtree.data == "comparison":
                node = self._comparison([node for node, _ in args], tokens)
            else:
                nodes = [self._no_word(node) for node, _ in args]
                self._check_axes(nodes)
                node = self._node(str(subtree.data), nodes, tokens)
            built[id(subtree)] = node, deepest
        whole = self._no_word(built[id(tree)][0])
        if rank_of(whole):
            raise SpecError(
                f"The expression {self.text!r} gives several numbers, and a label is one. Make one of them: any(…), "
                "all(…), min(…), max(…), mean(…), sum(…) or norm(…)."
            )
        return whole

    def _check_axes(self, args: list[Node]) -> None:
        ranks = {rank_of(arg) for arg in args} - {0}
        if len(ranks) > 1:
            raise SpecError(
                f"The expression {self.text!r} combines slices of {min(ranks)} and of {max(ranks)} axes. Combine "
                "slices with equally many, or reduce one of them first: max(next_obs[:, 1:], axis=1)."
            )

    def _node(self, rule: str, args: list[Node], tokens: list[lark.Token]) -> Node:
        match rule:
            case "number":
                return Number(float(tokens[0]))
            case "read":
                return self._name(tokens)
            case "call":
                return self._call(tokens[0], args, next((token for token in tokens if token.type == "AXIS"), None))
            case "group":
                return args[0]
            case "either":
                return _chain("max", args)
            case "both":
                return _chain("min", args)
            case "not":
                return applied("-", (Number(1.0), args[0]))
            case "sign" if tokens[0] == "+":
                return args[0]
            case "sign":
                return Number(-args[0].value) if isinstance(args[0], Number) else applied("-", (Number(0.0), args[0]))
            case "power":
                return applied("**", (args[0], args[1]))
        result = args[0]  # a sum or a product, from left to right
        for token, right in zip(tokens, args[1:], strict=True):
            result = applied(str(token), (result, right))
        return result

    def _no_word(self, node: Node | _Word) -> Node:
        if isinstance(node, _Word):
            raise _at_place("A word has no number", self.text, node.position, _ON_WORDS)
        return node

    def _comparison(self, args: Sequence[Node | _Word], signs: list[lark.Token]) -> Node:
        self._check_axes([arg for arg in args if not isinstance(arg, _Word)])
        links = []
        for sign, left, right in zip(signs, args[:-1], args[1:], strict=True):
            if isinstance(left, _Word):
                links.append(applied(str(sign), (self._says(right, left, sign), Number(1.0))))
            elif isinstance(right, _Word):
                links.append(applied(str(sign), (self._says(left, right, sign), Number(1.0))))
            else:
                links.append(applied(str(sign), (left, right)))
        return _chain("min", links)

    def _says(self, node: Node | _Word, word: _Word, sign: lark.Token) -> Node:
        """Whether a column has a word."""
        if sign not in ("==", "!="):
            raise _at_place(f"Words have no order for {str(sign)!r}", self.text, sign.start_pos or 0, _ON_WORDS)
        if not isinstance(node, Read) or node.moment not in ("before", "after") or node.rank:
            raise _at_place("Only a column can be a word", self.text, word.position, _ON_WORDS)
        if not word.value:
            raise _at_place("This word is empty", self.text, word.position, "Empty cells are read with --missing.")
        amount, timed = (node.amount, node.timed) if isinstance(node, ReadAgo) else (0.0, False)
        return ReadWord(node.moment, node.path, amount, timed, word.value)

    def _name(self, tokens: list[lark.Token]) -> Node:
        if tokens[-1].type != "LAG":
            return self._read(tokens)
        node = self._read(tokens[:-1])
        if not isinstance(node, Read) or node.moment != "after":
            name = "".join(tokens[:-1])
            remedy = "Write a column's name before the '@', for example 'x@60'."
            raise _at_place(f"{name!r} has no earlier values", self.text, tokens[0].start_pos or 0, remedy)
        match = re.fullmatch(r"@\s*([\d.]+)\s*(\w*)", tokens[-1])
        assert match is not None, "the terminal LAG"
        amount, unit = float(match[1]), match[2]
        if unit:
            return ReadAgo(node.moment, node.path, seconds(amount, unit), timed=True)
        if amount != int(amount):
            remedy = "Write a whole number of steps, or a time as in 'x@0.5s'."
            raise _at_place("Steps are whole", self.text, tokens[-1].start_pos or 0, remedy)
        return ReadAgo(node.moment, node.path, amount, timed=False)

    def _read(self, tokens: list[lark.Token]) -> Node:
        parts = [str(token) for token in tokens if token.type == "NAME"]
        indices = self._places(tokens)
        if parts == ["pi"] and not indices:
            return Number(math.pi)
        if parts == ["action"]:
            return Read("action", indices)
        if parts[0] == "info" and (len(parts) > 1 or (indices and isinstance(indices[0], str))):
            return Read("info", (*parts[1:], *indices))
        moment = "before" if parts[0] == "before" and len(parts) > 1 else "after"
        name = ".".join(parts[moment == "before" :])
        if name in self.components:
            return Read(moment, (*self.components[name], *indices))
        if parts[0] in _OBSERVATIONS:
            return Read(_OBSERVATIONS[parts[0]], (*parts[1:], *indices))
        raise self._unknown(name, tokens[0])

    def _places(self, tokens: list[lark.Token]) -> Path:
        """What stands in brackets."""
        places: list[str | int | Span] = []
        sliced = False
        for token in tokens:
            match token.type:
                case "LSQB" if sliced:
                    remedy = "Write all places in one pair of brackets, for example next_obs[1:, 0]."
                    raise _at_place("Nothing can follow a slice", self.text, token.start_pos or 0, remedy)
                case "INDEX" if len(token) > _DIGITS:
                    raise _at_place("This index is too large for any observation", self.text, token.start_pos or 0)
                case "INDEX":
                    places.append(int(token))
                case "KEY":
                    places.append(str(token)[1:-1])
                case "SLICE":
                    limits = [part.strip() for part in token.split(":")]
                    if any(len(limit) > _DIGITS for limit in limits):
                        raise _at_place("This slice is too large for any observation", self.text, token.start_pos or 0)
                    span = Span(*(int(limit) if limit else None for limit in limits))
                    places.append(span)
                    if span.step is not None and span.step < 1:  # JAX and torch differ from NumPy there
                        raise _at_place("The step of a slice should be above 0", self.text, token.start_pos or 0)
                case "RSQB":
                    sliced = any(isinstance(place, Span) for place in places)
        return tuple(places)

    def _unknown(self, name: str, token: lark.Token) -> SpecError:
        if name in ARITIES:
            remedy = f"{name!r} is a function: call it with its arguments in parentheses."
        elif name == "before":
            remedy = "Say which component, for example 'before.x'."
        elif name == "info":
            remedy = "Say which entry, for example 'info.carrying'."
        elif name in _TRUTHS:
            remedy = f"Write {_TRUTHS[name]}."
        elif name in ("action", "previous_action", "last_action"):
            remedy = "An atom sees one action. To compare it with the last one, put that into the observation."
        elif not self.components:
            remedy = (
                "Write next_obs[0] for a number of the observation after the step and obs[0] for one before it; or, in "
                "a spec file, name the observation's components, for example observation = ['x', 'y']."
            )
        else:
            known = ", ".join(self.components)
            hint = did_you_mean(name, [*self.components, *_OBSERVATIONS, "action", "info", "pi"])
            remedy = f"Known components: {known}.{hint}"
        return _at_place(f"Unknown name {name!r}", self.text, token.start_pos or 0, remedy)

    def _call(self, token: lark.Token, args: list[Node], axis: lark.Token | None = None) -> Node:
        name = str(token)
        place = token.start_pos or 0
        if name not in ARITIES:
            remedy = f"Known functions: {', '.join(ARITIES)}.{did_you_mean(name, ARITIES)}"
            raise _at_place(f"Unknown function {name!r}", self.text, place, remedy)
        least, most = ARITIES[name]
        if len(args) < least or (most is not None and len(args) > most):
            wanted = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} to {most}"
            raise _at_place(f"{name} takes {wanted} arguments and has {len(args)}", self.text, place)
        if name in MARGINS and len(args) > MARGINS[name] and not isinstance(args[MARGINS[name]], Number):
            raise _at_place(f"The margin of {name} should be a number", self.text, place)
        if name in REDUCTIONS and len(args) == 1:
            return self._reduction(token, args[0], axis)
        if axis is not None:
            remedy = f"Functions with an axis: {', '.join(REDUCTIONS)}, of one argument."
            raise _at_place(f"{name} has no axis here", self.text, axis.start_pos or 0, remedy)
        return _chain(name, args) if most is None else applied(name, tuple(args))

    def _reduction(self, token: lark.Token, arg: Node, axis: lark.Token | None) -> Node:
        rank = rank_of(arg)
        if not rank:
            remedy = "Write a slice for each axis that it reads, for example next_obs[:], or next_obs[:, 2] of a table."
            if token in ("min", "max"):
                remedy += f" {token} of two or more arguments compares them."
            raise _at_place(f"{token} of one argument takes several numbers", self.text, token.start_pos or 0, remedy)
        if axis is None:
            return Reduce(str(token), arg)
        number = int(axis.partition("=")[2])
        if not -rank <= number < rank:
            remedy = f"It should be in [{-rank}, {rank - 1}]: there is an axis for each slice."
            raise _at_place(f"There is no axis {number}", self.text, axis.start_pos or 0, remedy)
        return Reduce(str(token), arg, number % rank, rank - 1)


def _chain(function: str, args: Sequence[Node]) -> Node:
    """An associative function of two arguments, applied to any number of them."""
    return functools.reduce(lambda left, right: applied(function, (left, right)), args)


# What to tell someone whose expression cannot be read: the place, what was expected, and a remedy.

_ON_WORDS = (
    "A word is compared with a column of a record by == or !=, as in mode == 'auto'. A component is named without "
    "quotes, and a key after a dot: info.carrying."
)
_REMEDIES = {
    "=": "Equality is '=='.",
    "^": "A power is '**'.",
    "~": "Negation is 'not'.",
    ":": "A slice stands in brackets: next_obs[1:3]. A function is named as 'package.module:function', with nothing "
    "else in the text.",
    "?": "A choice is where(condition, then, otherwise).",
    "{": "Group with round parentheses.",
    ";": "An atom is one expression.",
    '"': _ON_WORDS,
    "'": _ON_WORDS,
}
_TRUTHS = {"True": 1, "False": 0}
# Python that the language does not have, and what to write instead.
_PYTHON = {
    r"lambda\b[^:]*:?": "An atom is an expression alone: leave 'lambda' and all up to its ':' out. next_obs[0] is a "
    "number of the observation after the step, obs[0] of the one before it.",
    r"\binfo\.get\s*\(": "Write info.name. If only `reset` does not give the entry, say what the label is "
    "then: { expression = 'info.name', at_reset = 0 }. If it may be missing in a step, write the atom as a function.",
    r"(?:[^\W\d]\w*\.)+(?P<function>[^\W\d]\w*)\s*\(": "A function is called by its name alone",
    r"\[\s*\.\.\.": "An expression reads the last axes by itself: write next_obs[2], in a batch as well.",
    r"\bif\b.*\belse\b": "A choice is where(condition, then, otherwise).",
}
_NAMES_IN_NUMPY = {
    "absolute": "abs", "fabs": "abs", "minimum": "min", "maximum": "max", "amin": "min", "amax": "max",
    "arctan2": "atan2",
}  # fmt: skip
_OPERANDS = frozenset(["NUMBER", "NAME", "LPAR", "NOT"])


def _at_place(message: str, text: str, position: int, remedy: str = "") -> SpecError:
    """A SpecError that shows the line of the text and a caret under the position.

    Example:
        >>> print(_at_place("Unknown name 'y'", "x + y", 4, "Known: x."))
        Unknown name 'y' at line 1, column 5.
        <BLANKLINE>
            x + y
                ^
        Known: x.
    """
    line, column = line_and_column(text, position)
    ending = f"\n{remedy}" if remedy else ""
    return SpecError(f"{message} at line {line}, column {column}.\n\n{marked_line(text, line, column)}{ending}")


def _syntax_error(text: str, error: lark.UnexpectedInput) -> SpecError:
    """The SpecError for a text that the grammar refuses."""
    if not text.strip():
        return SpecError("The expression is empty. Write one, for example 'abs(x) < 2'.")
    for pattern, remedy in _PYTHON.items():
        python = re.search(pattern, text)
        if python is not None:
            name = python.groupdict().get("function")
            if name is not None:
                name = _NAMES_IN_NUMPY.get(name, name)
                remedy = f"{remedy}: {name}(…)." if name in ARITIES else f"{remedy}. Known: {', '.join(ARITIES)}."
            return _at_place("This is not part of the language of expressions", text, python.start(), remedy)
    if isinstance(error, lark.UnexpectedCharacters):
        position = error.pos_in_stream or 0
        return _at_place(f"Unexpected character {error.char!r}", text, position, _REMEDIES.get(error.char, ""))
    if not isinstance(error, lark.UnexpectedToken):
        return SpecError(f"The expression {text!r} cannot be read.")
    names = set(error.accepts or error.expected)
    token = error.token
    if token.type == "$END":
        remedy = "Finish the expression and close every '('." if "RPAR" in names else "Finish the expression."
        return _at_place("The expression stops too early", text, len(text.rstrip()), remedy)
    found = f"Unexpected {str(token)!r}"
    if token.type in ("SLICE", "KEY"):  # where they cannot stand
        return _at_place(found, text, token.start_pos or 0, _REMEDIES[":" if token.type == "SLICE" else str(token)[0]])
    if token.type == "RPAR" and not names & {"RPAR", "NUMBER"}:
        remedy = "This ')' closes nothing: remove it, or open a '(' before it."
    elif "INDEX" in names:
        remedy = "Expected a whole number, a slice such as 1:3, or a key in quotes between the brackets."
    elif "NUMBER" in names:
        remedy = "Expected a number, a component, a function or '('."
    elif token.type in _OPERANDS:
        remedy = "Expected an operator such as '*' or '<' before it."
    else:
        remedy = "Expected an operator or the end of the expression."
    return _at_place(found, text, token.start_pos or 0, remedy)
