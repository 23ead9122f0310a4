"""The expression language of atoms: labels from named observation components, written in a spec file.

An expression has numbers and `pi`; the components of the observation after the step by their names (`x`), of the one
before it with a prefix (`before.x`), and the `action` (`action[0]` where it has components); the observations
themselves, as `next_obs[2]` and `obs[2]`, or `next_obs.agent[0]` where they have keys; `+ - * / // % **`;
comparisons, which give 1 or 0 and can be chained (`-1 <= x < 1`); `and`, `or` and `not`, which are min, max and one
minus, as in formulas; and the functions of `rewardspec.spec.atoms.operations`, among them the ready-made label shapes.
A text is parsed into a tree here, with every name looked up; `rewardspec.spec.atoms.expressions_as_atoms` makes it a
function. No part of it is ever evaluated as Python.
"""

from __future__ import annotations

import functools
import importlib.resources
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import lark

from rewardspec.errors import SpecError, did_you_mean
from rewardspec.spec.atoms.components import Components, Path
from rewardspec.spec.atoms.expression_errors import at_place, explain_syntax_error
from rewardspec.spec.atoms.operations import ARITIES, MARGINS

_OBSERVATIONS = {"obs": "before", "next_obs": "after"}  # their moments
_DEEPEST = 200  # nested operators; each is a Python call when the atom is read


@dataclass(frozen=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True)
class Read:
    """A component of an observation, or of the action.

    Attributes:
        moment: `"before"`, `"action"` or `"after"`.
        path: The component's place.
    """

    moment: str
    path: Path


@dataclass(frozen=True)
class Call:
    """A function or operator and its arguments."""

    function: str
    args: tuple[Node, ...]


Node: TypeAlias = Number | Read | Call


def parse_expression(text: str, components: Components) -> Node:
    """Read an expression.

    Raises:
        SpecError: The text is not an expression, or names what does not exist. Shows the place and a remedy.

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


@functools.cache
def _parser() -> lark.Lark:
    grammar = (
        importlib.resources.files("rewardspec.spec.atoms")
        .joinpath("expression_language.lark")
        .read_text(encoding="utf-8")
    )
    return lark.Lark(grammar, parser="lalr", maybe_placeholders=False)


class _Reader:
    """From text to a tree, with every name looked up."""

    def __init__(self, text: str, components: Components) -> None:
        self.text = text
        self.components = components

    def read(self) -> Node:
        try:
            tree = _parser().parse(self.text)
        except lark.UnexpectedInput as error:
            raise explain_syntax_error(self.text, error) from None
        built: dict[int, tuple[Node, int]] = {}  # each node's tree and depth; leaves first, without recursion
        for subtree in tree.iter_subtrees():
            if subtree.data == "arguments":
                continue
            inner = subtree.children[2].children if subtree.data == "call" else subtree.children  # type: ignore[union-attr]
            args = [built[id(child)] for child in inner if isinstance(child, lark.Tree)]
            tokens = [child for child in subtree.children if isinstance(child, lark.Token)]
            deepest = max((depth for _, depth in args), default=0) + max(1, len(args) - 1)
            if deepest > _DEEPEST:
                raise SpecError(f"The expression is nested more than {_DEEPEST} deep. Write the atom as a function.")
            built[id(subtree)] = self._node(str(subtree.data), [node for node, _ in args], tokens), deepest
        return built[id(tree)][0]

    def _node(self, rule: str, args: list[Node], tokens: list[lark.Token]) -> Node:
        match rule:
            case "number":
                return Number(float(tokens[0]))
            case "read":
                return self._name(tokens)
            case "call":
                return self._call(tokens[0], args)
            case "group":
                return args[0]
            case "either":
                return _chain("max", args)
            case "both":
                return _chain("min", args)
            case "not":
                return Call("-", (Number(1.0), args[0]))
            case "sign":
                return self._signed(str(tokens[0]), args[0])
            case "comparison":
                links = zip(tokens, args[:-1], args[1:], strict=True)
                return _chain("min", [Call(str(token), (left, right)) for token, left, right in links])
            case "power":
                return Call("**", (args[0], args[1]))
        result = args[0]  # a sum or a product, from left to right
        for token, right in zip(tokens, args[1:], strict=True):
            result = Call(str(token), (result, right))
        return result

    @staticmethod
    def _signed(sign: str, arg: Node) -> Node:
        if sign == "+":
            return arg
        return Number(-arg.value) if isinstance(arg, Number) else Call("-", (Number(0.0), arg))

    def _name(self, tokens: list[lark.Token]) -> Node:
        parts = [str(token) for token in tokens if token.type == "NAME"]
        indices = tuple(int(token) for token in tokens if token.type == "INDEX")
        if parts == ["pi"] and not indices:
            return Number(math.pi)
        if parts == ["action"]:
            return Read("action", indices)
        moment = "before" if parts[0] == "before" and len(parts) > 1 else "after"
        name = ".".join(parts[moment == "before" :])
        if name in self.components:
            return Read(moment, (*self.components[name], *indices))
        if parts[0] in _OBSERVATIONS:
            return Read(_OBSERVATIONS[parts[0]], (*parts[1:], *indices))
        raise self._unknown(name, tokens[0])

    def _unknown(self, name: str, token: lark.Token) -> SpecError:
        if name in ARITIES:
            remedy = f"{name!r} is a function: call it with its arguments in parentheses."
        elif name == "before":
            remedy = "Say which component, for example 'before.x'."
        elif not self.components:
            remedy = (
                "Write next_obs[0] for a number of the observation after the step and obs[0] for one before it; or, in "
                "a spec file, name the observation's components, for example observation = ['x', 'y']."
            )
        else:
            known = ", ".join(self.components)
            hint = did_you_mean(name, [*self.components, *_OBSERVATIONS, "action", "pi"])
            remedy = f"Known components: {known}.{hint}"
        return at_place(f"Unknown name {name!r}", self.text, token.start_pos or 0, remedy)

    def _call(self, token: lark.Token, args: list[Node]) -> Node:
        name = str(token)
        place = token.start_pos or 0
        if name not in ARITIES:
            remedy = f"Known functions: {', '.join(ARITIES)}.{did_you_mean(name, ARITIES)}"
            raise at_place(f"Unknown function {name!r}", self.text, place, remedy)
        least, most = ARITIES[name]
        if len(args) < least or (most is not None and len(args) > most):
            wanted = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} to {most}"
            raise at_place(f"{name} takes {wanted} arguments and has {len(args)}", self.text, place)
        if name in MARGINS and len(args) > MARGINS[name] and not isinstance(args[MARGINS[name]], Number):
            raise at_place(f"The margin of {name} should be a number", self.text, place)
        return _chain(name, args) if most is None else Call(name, tuple(args))


def _chain(function: str, args: Sequence[Node]) -> Node:
    """An associative function of two arguments, applied to any number of them."""
    return functools.reduce(lambda left, right: Call(function, (left, right)), args)
